/* A vocabulary of SentencePiece's kind as Hugging Face's tokenizer.json. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/utf8.h"
#include "lib/bpe/pairs.h"
#include "lib/bpe/token_table.h"
#include "lib/spm/spm.h"
#include "lib/text/ids.h"
#include "lib/vocab/foreign.h"
#include "lib/vocab/spm_pieces.h"
#include "lib/vocab/tokenizer_json.h"
#include "lib/vocab/vocab_tokens.h"

#define BYTE_TEXT 6 /* bytes of "<0x0A>" */

struct writing {
    const tg_spm_vocab *v;
    size_t unknown; /* the id of the unknown piece; v->n: there is none */

    /* The pieces as the file has them: a byte as "<0x0A>". */
    uint32_t *ends;
    unsigned char *texts;

    const tg_pair *merges; /* [n_merges] those that can happen */
    size_t n_merges;
    uint32_t *made_by;  /* [v->n] the merge that makes each; TG_RANK_NONE: none does */
    uint32_t *right_of; /* [v->n] scratch */
};

static const unsigned char *piece(const struct writing *w, size_t id, size_t *n)
{
    return tg_token_text(w->ends, w->texts, id, n);
}

static bool has_prefix(const struct writing *w)
{
    return w->v->prefix != TG_SPM_PREFIX_NONE;
}

/* ---- what the file can hold */

static tg_status refuse(const struct writing *w, size_t id, const char *why, tg_err *err)
{
    char shown[TG_TOKEN_SHOWN];
    size_t n;
    const unsigned char *text = piece(w, id, &n);

    return tg_fail(err, TG_EUSAGE, TG_JSON_REFUSAL "token %zu, \"%s\", %s", id,
                   tg_token_shown(shown, text, n), why);
}

static bool has_space(const unsigned char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (text[i] == ' ' || (n - i >= TG_SPM_SPACE_BYTES && memcmp(text + i, TG_SPM_SPACE, 3) == 0))
            return true;
    return false;
}

/* Without a prefix, user-defined pieces are found where spaces are U+2581 already, otherwise before that. */
static tg_status check_user_defined(const struct writing *w, size_t id, tg_err *err)
{
    size_t n;
    const unsigned char *text = piece(w, id, &n);

    if (w->v->prefix == TG_SPM_PREFIX_PARTS)
        return refuse(w, id, "is user-defined, and a space is put before it at the start of a text", err);
    if (has_prefix(w) && has_space(text, n))
        return refuse(w, id, "is user-defined and has a space", err);
    return TG_OK;
}

static tg_status check_piece(const struct writing *w, size_t id, tg_err *err)
{
    const unsigned char type = w->v->types[id];
    unsigned char byte;
    size_t n;
    const unsigned char *text = piece(w, id, &n);

    if (!tg_utf8_valid(text, n))
        return refuse(w, id, "is not UTF-8", err);
    if (type != TG_SPM_BYTE && tg_spm_is_byte(text, n, &byte))
        return refuse(w, id, "would be taken for a byte", err);
    if (type == TG_SPM_USER_DEFINED)
        return n > 0 ? check_user_defined(w, id, err) : TG_OK;
    if ((type == TG_SPM_CONTROL || type == TG_SPM_UNKNOWN) &&
        !tg_ids_contain(w->v->special, w->v->n_special, id))
        return refuse(w, id, "is a control token, but not special", err);
    if (type == TG_SPM_UNKNOWN && id != w->unknown)
        return refuse(w, id, "is a second unknown token", err);
    if (type == TG_SPM_UNUSED && w->made_by[id] != TG_RANK_NONE)
        return refuse(w, id, "is divided again after it has been merged", err);
    return TG_OK;
}

/* No two may be the same key. */
static tg_status check_keys(const struct writing *w, tg_err *err)
{
    const tg_bpe_vocab texts = {.n = w->v->n, .ends = w->ends, .tokens = w->texts};
    tg_token_table table;
    tg_err why = {0};
    const tg_status status = tg_vocab_table(&table, &texts, &why);

    if (!status)
        tg_token_table_free(&table);
    else if (status == TG_EDATA)
        return tg_fail(err, TG_EUSAGE, TG_JSON_REFUSAL "%s", why.message);
    else if (err)
        *err = why;
    return status;
}

/* ---- scores and ranks */

static float score(const struct writing *w, size_t rank)
{
    return w->v->scores[w->merges[rank].made];
}

/*
 * Of merges with one score the leftmost is first, whichever it is; ranks have an order.  The two say the same
 * if no two different ones overlap, and none makes what a merge with that score or a higher one needs.
 */
static tg_status check_overlap(const struct writing *w, size_t first, size_t end, tg_err *err)
{
    const tg_pair *merges = w->merges;
    size_t other = end;

    for (size_t r = first; r < end; r++)
        w->right_of[merges[r].right] = (uint32_t)r;
    for (size_t r = first; r < end; r++) {
        const uint32_t before = w->right_of[merges[r].left], last = w->right_of[merges[r].right];

        if ((before != TG_RANK_NONE && before != r) ||
            (last != r && merges[last].left == merges[last].right)) /* b + a, and a + a */
            other = r;
    }
    for (size_t r = first; r < end; r++)
        w->right_of[merges[r].right] = TG_RANK_NONE;
    return other == end ? TG_OK
                        : refuse(w, merges[other].made,
                                 "has the score of another, and which of them is made first depends on their "
                                 "places in a text",
                                 err);
}

static bool is_tied(const struct writing *w, size_t r)
{
    return (r > 0 && score(w, r - 1) == score(w, r)) ||
           (r + 1 < w->n_merges && score(w, r + 1) == score(w, r));
}

static tg_status check_half(const struct writing *w, size_t r, uint32_t half, tg_err *err)
{
    const uint32_t before = half < w->v->n ? w->made_by[half] : TG_RANK_NONE, made = w->merges[r].made;

    if (half >= w->v->n)
        return refuse(w, made, "is merged from a character that is no token", err);
    if (before != TG_RANK_NONE && score(w, before) <= score(w, r) && is_tied(w, before))
        return refuse(w, made, "is merged from one whose score others have", err);
    return TG_OK;
}

static tg_status check_merges(const struct writing *w, tg_err *err)
{
    tg_status status = TG_OK;

    for (size_t r = 0; !status && r < w->n_merges; r++)
        if (!(status = check_half(w, r, w->merges[r].left, err)))
            status = check_half(w, r, w->merges[r].right, err);
    for (size_t first = 0, end; !status && first < w->n_merges; first = end) {
        end = first + 1;
        while (end < w->n_merges && score(w, end) == score(w, first))
            end++;
        status = check_overlap(w, first, end, err);
    }
    return status;
}

static tg_status check(const struct writing *w, tg_err *err)
{
    tg_status status = TG_OK;

    for (size_t id = 0; !status && id < w->v->n; id++)
        status = check_piece(w, id, err);
    if (status || (status = check_keys(w, err)))
        return status;
    return check_merges(w, err);
}

/* ---- parts of the file */

static void put_piece(tg_sink *sink, const struct writing *w, size_t id)
{
    size_t n;
    const unsigned char *text = piece(w, id, &n);

    tg_json_put_quoted(sink, text, n);
}

static void put_added(tg_sink *sink, const struct writing *w)
{
    bool any = false;

    for (size_t id = 0; id < w->v->n; id++) {
        const bool user = w->v->types[id] == TG_SPM_USER_DEFINED;
        const tg_added_token token = {.id = id, .special = !user, .normalized = user && !has_prefix(w)};
        size_t n;
        const unsigned char *text = piece(w, id, &n);

        if (n == 0 || (!user && !tg_ids_contain(w->v->special, w->v->n_special, id)))
            continue;
        tg_json_put_added(sink, &token, text, n, any);
        any = true;
    }
    tg_sink_puts(sink, any ? "\n  ],\n" : "],\n");
}

#define REPLACE(from, to)                                                                                    \
    "{\"type\": \"Replace\", \"pattern\": {\"String\": \"" from "\"}, \"content\": \"" to "\"}"

/* Where spaces become U+2581, and the prefix. */
static void put_spaces(tg_sink *sink, const struct writing *w)
{
    const bool metaspace = w->v->prefix >= TG_SPM_PREFIX_METASPACE;

    if (!has_prefix(w))
        tg_sink_puts(sink, "  \"normalizer\": " REPLACE(" ", TG_SPM_SPACE) ",\n");
    else if (metaspace)
        tg_sink_puts(sink, "  \"normalizer\": null,\n");
    else
        tg_sink_puts(sink, "  \"normalizer\": {\"type\": \"Sequence\", \"normalizers\": [\n"
                           "    {\"type\": \"Prepend\", \"prepend\": \"" TG_SPM_SPACE "\"},\n"
                           "    " REPLACE(" ", TG_SPM_SPACE) "\n  ]},\n");
    if (metaspace)
        tg_sink_print(sink,
                      "  \"pre_tokenizer\": {\"type\": \"Metaspace\", \"replacement\": \"" TG_SPM_SPACE
                      "\", \"prepend_scheme\": \"%s\", \"split\": false},\n",
                      w->v->prefix == TG_SPM_PREFIX_FIRST ? "first" : "always");
    else
        tg_sink_puts(sink, "  \"pre_tokenizer\": null,\n");
}

static void put_decoder(tg_sink *sink, const struct writing *w)
{
    tg_sink_puts(sink, "  \"decoder\": {\"type\": \"Sequence\", \"decoders\": [\n"
                       "    " REPLACE(TG_SPM_SPACE, " ") ",\n"
                                                         "    {\"type\": \"ByteFallback\"},\n"
                                                         "    {\"type\": \"Fuse\"}");
    if (has_prefix(w))
        tg_sink_puts(sink, ",\n    {\"type\": \"Strip\", \"content\": \" \", \"start\": 1, \"stop\": 0}");
    tg_sink_puts(sink, "\n  ]},\n");
}

static void put_vocab(tg_sink *sink, const struct writing *w)
{
    const char *before = "\n      ";

    tg_sink_puts(sink, "    \"vocab\": {");
    for (size_t id = 0; id < w->v->n; id++) {
        size_t n;

        (void)piece(w, id, &n);
        if (n == 0)
            continue;
        tg_sink_puts(sink, before);
        put_piece(sink, w, id);
        tg_sink_puts(sink, ": ");
        tg_sink_put_size(sink, id);
        before = ",\n      ";
    }
    tg_sink_puts(sink, "\n    },\n");
}

/* Two texts each: in one text, readers take a merge that begins with "#version" for a comment. */
static void put_merges(tg_sink *sink, const struct writing *w)
{
    tg_sink_puts(sink, "    \"merges\": [");
    for (size_t r = 0; r < w->n_merges; r++) {
        tg_sink_puts(sink, r > 0 ? ",\n      [" : "\n      [");
        put_piece(sink, w, w->merges[r].left);
        tg_sink_puts(sink, ", ");
        put_piece(sink, w, w->merges[r].right);
        tg_sink_puts(sink, "]");
    }
    tg_sink_puts(sink, w->n_merges > 0 ? "\n    ]\n" : "]\n");
}

/* Characters that are no piece become bytes if all these are pieces, otherwise unk_token, one for a run. */
static void put_model(tg_sink *sink, const struct writing *w)
{
    tg_sink_puts(sink, "  \"model\": {\n"
                       "    \"type\": \"BPE\", \"dropout\": null, \"unk_token\": ");
    if (w->unknown < w->v->n)
        put_piece(sink, w, w->unknown);
    else
        tg_sink_puts(sink, "null");
    tg_sink_puts(sink, ",\n    \"continuing_subword_prefix\": null, \"end_of_word_suffix\": null,\n"
                       "    \"fuse_unk\": true, \"byte_fallback\": true, \"ignore_merges\": false,\n");
    put_vocab(sink, w);
    put_merges(sink, w);
    tg_sink_puts(sink, "  }\n");
}

static tg_status put_file(int fd, const struct writing *w, size_t first, tg_err *err)
{
    tg_sink sink = {.fd = fd};
    size_t n = 0;
    const unsigned char *text = first < w->v->n ? piece(w, first, &n) : NULL;

    tg_json_put_begin(&sink);
    put_added(&sink, w);
    put_spaces(&sink, w);
    tg_json_put_post_processor(&sink, first, text, n);
    put_decoder(&sink, w);
    put_model(&sink, w);
    tg_sink_puts(&sink, "}\n");
    return tg_sink_flush(&sink, err);
}

/* ---- all */

static void make_texts(struct writing *w)
{
    uint32_t put = 0;

    for (size_t id = 0; id < w->v->n; id++) {
        size_t n;
        const unsigned char *token = tg_token_text(w->v->ends, w->v->tokens, id, &n);
        char byte[BYTE_TEXT + 1];

        if (w->v->types[id] == TG_SPM_BYTE) {
            (void)snprintf(byte, sizeof byte, "<0x%02X>", token[0]);
            memcpy(w->texts + put, byte, n = BYTE_TEXT);
        } else if (n > 0) {
            memcpy(w->texts + put, token, n);
        }
        w->ends[id] = put += (uint32_t)n;
    }
}

static tg_status make(struct writing *w, tg_err *err)
{
    const size_t n = w->v->n, bytes = w->v->ends[n - 1] + (size_t)256 * BYTE_TEXT;

    w->ends = malloc(n * sizeof *w->ends);
    w->texts = malloc(bytes);
    w->made_by = malloc(n * sizeof *w->made_by);
    w->right_of = malloc(n * sizeof *w->right_of);
    if (!w->ends || !w->texts || !w->made_by || !w->right_of)
        return tg_fail_memory(err, bytes + n * 3 * sizeof *w->ends, "a vocabulary");
    make_texts(w);
    memset(w->made_by, 0xFF, n * sizeof *w->made_by);
    memset(w->right_of, 0xFF, n * sizeof *w->right_of);
    for (size_t r = 0; r < w->n_merges; r++)
        w->made_by[w->merges[r].made] = (uint32_t)r;
    w->unknown = 0;
    while (w->unknown < n && w->v->types[w->unknown] != TG_SPM_UNKNOWN)
        w->unknown++;
    return TG_OK;
}

tg_status tg_spm_json_write(int fd, const tg_tokenizer *tok, size_t first, tg_err *err)
{
    struct writing w = {.v = tg_spm_vocab_of(tok)};
    tg_status status;

    w.merges = tg_spm_merge_list(tok, &w.n_merges);
    if (!(status = make(&w, err)) && !(status = check(&w, err)) && fd >= 0)
        status = put_file(fd, &w, first, err);
    free(w.ends);
    free(w.texts);
    free(w.made_by);
    free(w.right_of);
    return status;
}
