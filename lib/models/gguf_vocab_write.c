#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/size.h"
#include "lib/base/utf8.h"
#include "lib/bpe/bpe.h"
#include "lib/models/gguf_vocab.h"
#include "lib/text/encoder.h"
#include "lib/vocab/byte_map.h"
#include "lib/vocab/foreign.h"
#include "lib/vocab/vocab_tokens.h"

/* ---- what llama.cpp cannot hold */

tg_status tg_gguf_lose(tg_notes *notes, bool lossy, tg_err *err, const char *what)
{
    if (lossy)
        return tg_notes_add(notes, err, "llama.cpp differs: %s", what);
    return tg_fail(err, TG_EUSAGE, "llama.cpp differs: %s (--lossy accepts that)", what);
}

/* ---- lists of texts */

/* Room for n texts of `bytes` bytes in all. */
static tg_status texts_alloc(tg_gguf_texts *t, size_t n, size_t bytes, tg_err *err)
{
    t->p = malloc(bytes + 1);
    t->ends = malloc(tg_size_mul_sat(n + 1, sizeof *t->ends));
    return t->p && t->ends ? TG_OK : tg_fail_memory(err, bytes, "a vocabulary");
}

static char *texts_end(const tg_gguf_texts *t)
{
    return t->p + (t->n > 0 ? t->ends[t->n - 1] : 0);
}

/* The text that was written at texts_end() ends here. */
static void texts_close(tg_gguf_texts *t, const char *end)
{
    t->ends[t->n++] = (size_t)(end - t->p);
}

static tg_span text_at(const tg_gguf_texts *t, size_t i)
{
    const size_t begin = i > 0 ? t->ends[i - 1] : 0;

    return (tg_span){t->p + begin, t->ends[i] - begin};
}

/* Write bytes as GPT-2's files do; returns the end. */
static char *put_mapped(char *out, const unsigned char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out += tg_byte_map_put(out, bytes[i]);
    return out;
}

/* ---- tokens */

static bool is_special(const tg_tokenizer *tok, size_t id, size_t *next)
{
    const uint32_t *special;
    const size_t n = tg_tokenizer_specials(tok, &special);

    if (*next >= n || special[*next] != id)
        return false;
    ++*next;
    return true;
}

/* Tokens up to v->n; those that the tokenizer lacks are padding. */
static tg_status make_tokens(tg_gguf_vocab *v, const tg_tokenizer *tok, tg_err *err)
{
    const size_t known = tg_tokenizer_vocab_size(tok), pad = 32;
    size_t bytes = pad * v->n, special = 0, n;
    tg_status status;

    for (size_t id = 0; id < known; id++, bytes += TG_BYTE_MAP_MAX * n)
        (void)tg_tokenizer_token(tok, (int32_t)id, &n);
    if ((status = texts_alloc(&v->tokens, v->n, bytes, err)))
        return status;
    if (!(v->type = malloc(v->n * sizeof *v->type)))
        return tg_fail_memory(err, v->n * sizeof *v->type, "a vocabulary");
    for (size_t id = 0; id < v->n; id++) {
        const unsigned char *token = tg_tokenizer_token(tok, (int32_t)id, &n);
        char *out = texts_end(&v->tokens);
        const bool control = is_special(tok, id, &special);

        v->type[id] = n == 0 ? TG_GGUF_UNUSED : control ? TG_GGUF_CONTROL : TG_GGUF_NORMAL;
        if (n == 0)
            out += snprintf(out, pad, "[PAD%zu]", id);
        else if (control)
            out = (char *)memcpy(out, token, n) + n;
        else
            out = put_mapped(out, token, n);
        texts_close(&v->tokens, out);
    }
    return TG_OK;
}

/* llama.cpp stops if two tokens have the same text, which a special and an ordinary one may. */
static tg_status check_unique(const tg_gguf_vocab *v, tg_err *err)
{
    tg_span *sorted = malloc(v->n * sizeof *sorted);
    char shown[TG_TOKEN_SHOWN];
    tg_status status = TG_OK;

    if (!sorted)
        return tg_fail_memory(err, v->n * sizeof *sorted, "a vocabulary");
    for (size_t i = 0; i < v->n; i++)
        sorted[i] = text_at(&v->tokens, i);
    qsort(sorted, v->n, sizeof *sorted, tg_span_compare);
    for (size_t i = 1; !status && i < v->n; i++)
        if (tg_span_compare(&sorted[i - 1], &sorted[i]) == 0)
            status = tg_fail(err, TG_EUSAGE, "GGUF cannot hold two tokens that are written \"%s\"",
                             tg_token_shown(shown, sorted[i].p, sorted[i].n));
    free(sorted);
    return status;
}

/* ---- merges */

static tg_status make_merges(tg_gguf_vocab *v, const tg_bpe_vocab *bpe, tg_err *err)
{
    size_t bytes = 0, n, m;
    tg_status status;

    for (size_t i = 0; i < bpe->n_merges; i++) {
        (void)tg_vocab_token(bpe, bpe->merges[i][0], &n);
        (void)tg_vocab_token(bpe, bpe->merges[i][1], &m);
        bytes += TG_BYTE_MAP_MAX * (n + m) + 1;
    }
    if ((status = texts_alloc(&v->merges, bpe->n_merges, bytes, err)))
        return status;
    for (size_t i = 0; i < bpe->n_merges; i++) {
        const unsigned char *left = tg_vocab_token(bpe, bpe->merges[i][0], &n),
                            *right = tg_vocab_token(bpe, bpe->merges[i][1], &m);
        char *out = put_mapped(texts_end(&v->merges), left, n);

        *out++ = ' ';
        texts_close(&v->merges, put_mapped(out, right, m));
    }
    return TG_OK;
}

/* The merges that put together a character of n bytes, except those that `last`, before it in order, has. */
static void add_merges(tg_gguf_texts *t, const unsigned char *text, size_t n, const unsigned char *last)
{
    for (size_t i = 1; i < n; i++) {
        char *out;

        if (memcmp(last, text, i + 1) == 0)
            continue;
        out = put_mapped(texts_end(t), text, i);
        *out++ = ' ';
        texts_close(t, put_mapped(out, text + i, 1));
    }
}

/* Characters, in the order of their code points, which is that of their bytes. */
static tg_status make_char_merges(tg_gguf_vocab *v, const tg_tokenizer *tok, tg_err *err)
{
    const size_t known = tg_tokenizer_vocab_size(tok), bytes = TG_BYTE_MAP_MAX * TG_UTF8_MAX + 1;
    unsigned char last[TG_UTF8_MAX] = {0};
    tg_status status;

    if ((status = texts_alloc(&v->merges, TG_UTF8_MAX * known, TG_UTF8_MAX * known * bytes, err)))
        return status;
    for (size_t id = 0; id < known; id++) {
        size_t n;
        const unsigned char *token = tg_tokenizer_token(tok, (int32_t)id, &n);

        add_merges(&v->merges, token, n, last);
        memset(last, 0, sizeof last);
        memcpy(last, token, n);
    }
    return TG_OK;
}

/* ---- rules */

/* Whether a token's text, on its own, is encoded as other ids: as several, because no other token has it. */
static tg_status is_unmade(bool *unmade, tg_encoder *e, const tg_bpe_vocab *bpe, size_t id, tg_err *err)
{
    size_t count = 0, n;
    int32_t ids[4];
    bool last = false;
    tg_text text;
    tg_status status;

    text.next = tg_vocab_token(bpe, id, &text.n);
    while (!last) {
        const bool ended = text.n == 0;

        status = ended ? tg_encoder_finish(e, ids, 4, &n, err) : tg_encoder_encode(e, &text, ids, 4, &n, err);
        if (status == TG_EDATA) { /* it has a byte that is no token: nothing makes it */
            *unmade = true;
            return TG_OK;
        }
        if (status)
            return status;
        count += n;
        last = ended && n < 4;
    }
    *unmade = count != 1;
    return TG_OK;
}

/* Whether it makes a difference that a piece which is a token becomes that token: merges do not lead to all.
 */
static tg_status whole_pieces_matter(bool *matter, const tg_bpe_vocab *bpe, tg_err *err)
{
    tg_bpe_vocab merging = *bpe;
    const tg_tokenizer *tok;
    tg_encoder *e = NULL;
    size_t s = 0, n;
    tg_status status;

    *matter = false;
    merging.whole_pieces = false;
    merging.split = TG_SPLIT_NONE;
    merging.normalizer = TG_NORMALIZER_NONE;
    if ((status = tg_bpe_create(&tok, &merging, err)))
        return status;
    status = tg_encoder_create(&e, tok, err);
    for (size_t id = 0; !status && !*matter && id < bpe->n; id++) {
        const bool special = s < bpe->n_special && bpe->special[s] == id;

        s += special;
        (void)tg_vocab_token(bpe, id, &n);
        if (!special && n > 1)
            status = is_unmade(matter, e, bpe, id, err);
    }
    tg_encoder_free(e);
    tg_tokenizer_free(tok);
    return status;
}

static tg_status choose_pre(tg_gguf_vocab *v, const tg_bpe_vocab *bpe, bool lossy, tg_notes *notes,
                            tg_err *err)
{
    const tg_gguf_pre *pre = tg_gguf_pre_for(bpe->split, bpe->whole_pieces);
    char what[128];
    bool matter = false;
    tg_status status = TG_OK;

    if (!pre) {
        snprintf(what, sizeof what, "it has no rule like \"%s\" to split texts", tg_split_name(bpe->split));
        status = tg_gguf_lose(notes, lossy, err, what);
        pre = tg_gguf_pre_for(TG_SPLIT_GPT2, false);
    }
    v->pre = pre->name;
    if (!status && pre->differs) {
        snprintf(what, sizeof what, "it splits %s otherwise", pre->differs);
        status = tg_gguf_lose(notes, lossy, err, what);
    }
    if (!status && bpe->normalizer == TG_NORMALIZER_NFC)
        status = tg_gguf_lose(notes, lossy, err, "it does not normalise texts (NFC)");
    if (!status && pre->whole_pieces != bpe->whole_pieces)
        status = whole_pieces_matter(&matter, bpe, err);
    if (!status && matter)
        status = tg_gguf_lose(notes, lossy, err, "it does not reach tokens that no merges make");
    return status;
}

/* ---- the vocabulary */

/* llama.cpp takes some token as the end of a text, 11 if the file names none: the right one, else one that
 * is no text, else the last. */
static tg_status choose_end(tg_gguf_vocab *v, const tg_tokenizer *tok, tg_notes *notes, tg_err *err)
{
    const int32_t end = tg_tokenizer_end_of_text(tok);
    char shown[TG_TOKEN_SHOWN];
    const unsigned char *token;
    size_t id, n;

    v->bos = v->eos = (uint32_t)end;
    if (end >= 0)
        return TG_OK;
    for (id = v->n - 1; id > 0 && v->type[id] == TG_GGUF_NORMAL; id--)
        ;
    if (v->type[id] == TG_GGUF_NORMAL)
        id = strcmp(v->kind, "bytes") == 0 ? 0 : v->n - 1;
    v->bos = v->eos = (uint32_t)id;
    if (v->type[id] != TG_GGUF_NORMAL)
        return TG_OK;
    token = tg_tokenizer_token(tok, (int32_t)id, &n);
    return tg_notes_add(notes, err,
                        "the vocabulary has no token that ends a text; llama.cpp needs one, and will stop at "
                        "token %zu, \"%s\"",
                        id, tg_token_shown(shown, token, n));
}

static tg_status make(tg_gguf_vocab *v, const tg_tokenizer *tok, bool lossy, tg_notes *notes, tg_err *err)
{
    const tg_bpe_vocab *bpe = tg_bpe_vocab_of(tok);
    tg_status status;

    v->pre = tg_gguf_pre_for(TG_SPLIT_GPT2, false)->name;
    if ((status = make_tokens(v, tok, err)) || (status = check_unique(v, err)))
        return status;
    if (bpe)
        status = choose_pre(v, bpe, lossy, notes, err);
    if (!status)
        status = bpe ? make_merges(v, bpe, err) : make_char_merges(v, tok, err);
    return status ? status : choose_end(v, tok, notes, err);
}

tg_status tg_gguf_vocab_make(tg_gguf_vocab *v, const tg_tokenizer *tok, size_t n, bool lossy, tg_notes *notes,
                             tg_err *err)
{
    *v = (tg_gguf_vocab){.n = n};
    if (!tok || !tg_tokenizer_has_text(tok))
        return TG_OK;
    v->kind = tg_tokenizer_kind_name(tok);
    /* unreached: another kind: there is none with a text */
    if (strcmp(v->kind, "bytes") == 0 || strcmp(v->kind, "char") == 0 || strcmp(v->kind, "bpe") == 0)
        return make(v, tok, lossy, notes, err);
    v->kind = NULL;
    return tg_gguf_lose(notes, lossy, err, "it has no such vocabulary");
}

void tg_gguf_vocab_put(tg_gguf_writer *w, const tg_gguf_vocab *v)
{
    static const char bpe[] = "gpt2", none[] = "no_vocab";

    if (!v->kind) {
        tg_gguf_put_text(w, "tokenizer.ggml.model", none, strlen(none));
        return;
    }
    tg_gguf_put_text(w, "tokenizer.ggml.model", bpe, strlen(bpe));
    tg_gguf_put_text(w, "tokenizer.ggml.pre", v->pre, strlen(v->pre));
    tg_gguf_put_texts(w, "tokenizer.ggml.tokens", v->n);
    for (size_t i = 0; i < v->n; i++)
        tg_gguf_put_element(w, text_at(&v->tokens, i).p, text_at(&v->tokens, i).n);
    tg_gguf_put_i32s(w, "tokenizer.ggml.token_type", v->type, v->n);
    tg_gguf_put_texts(w, "tokenizer.ggml.merges", v->merges.n);
    for (size_t i = 0; i < v->merges.n; i++)
        tg_gguf_put_element(w, text_at(&v->merges, i).p, text_at(&v->merges, i).n);
    tg_gguf_put_u32(w, "tokenizer.ggml.bos_token_id", v->bos);
    tg_gguf_put_u32(w, "tokenizer.ggml.eos_token_id", v->eos);
    tg_gguf_put_bool(w, "tokenizer.ggml.add_bos_token", false);
    tg_gguf_put_text(w, TG_GGUF_KIND_KEY, v->kind, strlen(v->kind));
}

void tg_gguf_vocab_free(tg_gguf_vocab *v)
{
    free(v->tokens.p);
    free(v->tokens.ends);
    free(v->merges.p);
    free(v->merges.ends);
    free(v->type);
    *v = (tg_gguf_vocab){0};
}
