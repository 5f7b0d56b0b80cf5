/* GPT-2's files: vocab.bpe or merges.txt, encoder.json or vocab.json. */
#include <stdio.h>
#include <string.h>

#include "formats/json.h"
#include "lib/vocab/byte_map.h"
#include "lib/vocab/foreign.h"
#include "lib/vocab/vocab_builder.h"

static const char end_of_text[] = "<|endoftext|>";

/* ---- merges */

typedef struct halves {
    const char *left, *right;
    size_t n_left, n_right;
} halves;

/* Read the merge of the next line from *at on; *more = false after the last one. */
static tg_status next_merge(halves *h, const tg_file_text *file, size_t *at, bool *more, tg_err *err)
{
    static const char version[] = "#version";
    const bool first = *at == 0;
    const char *line, *space;
    size_t n;

    *more = tg_file_line(file, at, &line, &n);
    if (*more && first && n >= strlen(version) && memcmp(line, version, strlen(version)) == 0)
        *more = tg_file_line(file, at, &line, &n);
    if (!*more)
        return TG_OK;
    space = memchr(line, ' ', n);
    if (!space || memchr(space + 1, ' ', n - (size_t)(space + 1 - line))) {
        char shown[TG_TOKEN_SHOWN];

        return tg_fail(err, TG_EDATA, "expected two halves of a merge separated by a space, got \"%s\"",
                       tg_token_shown(shown, line, n));
    }
    *h = (halves){line, space + 1, (size_t)(space - line), n - (size_t)(space + 1 - line)};
    return TG_OK;
}

/* Prefix a message with the file's name and the line that ends at `at`. */
static tg_status in_line(const tg_file_text *file, size_t at, tg_err *err)
{
    size_t line = 0;
    char where[32];
    const char *text;

    /* unreached: no line: the file has more than `at` bytes */
    for (size_t from = 0, n; from < at && tg_file_line(file, &from, &text, &n);)
        line++;
    snprintf(where, sizeof where, "line %zu", line);
    (void)tg_err_in(err, where);
    return tg_err_in(err, file->name);
}

/* Add the tokens that the merges make, with ids from `id` on; or, with `pairs`, the merges. */
static tg_status add_merges(tg_vocab_builder *b, const tg_file_text *file, size_t id, bool pairs, tg_err *err)
{
    size_t at = 0;
    bool more = true;
    tg_status status = TG_OK;

    while (more) {
        halves h;

        status = next_merge(&h, file, &at, &more, err);
        if (!status && more)
            status = pairs ? tg_vocab_merge(b, h.left, h.n_left, h.right, h.n_right, err)
                           : tg_vocab_add_merged(b, id++, h.left, h.n_left, h.right, h.n_right, err);
        if (status)
            return in_line(file, at, err);
    }
    return TG_OK;
}

/* ---- ids */

/* GPT-2's own. */
static tg_status number_tokens(tg_vocab_builder *b, const tg_file_text *merges, tg_err *err)
{
    tg_status status = TG_OK;

    for (size_t i = 0; !status && i < 256; i++) {
        const unsigned char byte = tg_byte_map_order(i);

        status = tg_vocab_add(b, i, &byte, 1, false, err);
    }
    if (!status)
        status = add_merges(b, merges, 256, false, err);
    return status ? status : tg_vocab_add(b, b->n_entries, end_of_text, strlen(end_of_text), true, err);
}

/* Add the ids of an object of tokens and ids. */
static tg_status read_ids(tg_vocab_builder *b, const tg_file_text *vocab, bool special_end, tg_err *err)
{
    tg_span key;
    tg_json j;

    tg_json_open(&j, vocab->text, vocab->n, err);
    tg_json_enter(&j, TG_JSON_OBJECT);
    while (tg_json_key(&j, &key)) {
        const size_t id = tg_json_get_size(&j);

        if (j.status)
            break;
        if (special_end && tg_span_is(key, end_of_text) ? tg_vocab_add(b, id, key.p, key.n, true, err)
                                                        : tg_vocab_add_mapped(b, id, key.p, key.n, err))
            (void)tg_json_err_in(&j);
    }
    tg_json_end(&j);
    return tg_json_close(&j) ? tg_err_in(err, vocab->name) : TG_OK;
}

/* Whether a merge makes "<|endoftext|>". */
static bool makes_end_of_text(const tg_file_text *merges)
{
    const size_t n = strlen(end_of_text);
    size_t at = 0;
    bool more = true;
    halves h;

    while (!next_merge(&h, merges, &at, &more, NULL) && more)
        if (h.n_left + h.n_right == n && memcmp(h.left, end_of_text, h.n_left) == 0 &&
            memcmp(h.right, end_of_text + h.n_left, h.n_right) == 0)
            return true;
    return false;
}

tg_status tg_gpt2_files_read(const tg_tokenizer **tok, const tg_file_text *merges, const tg_file_text *vocab,
                             tg_err *err)
{
    tg_vocab_builder b = {0};
    tg_status status =
        vocab ? read_ids(&b, vocab, !makes_end_of_text(merges), err) : number_tokens(&b, merges, err);

    *tok = NULL;
    if (status)
        goto done;
    if (tg_vocab_arrange(&b, err)) {
        status = tg_err_in(err, vocab ? vocab->name : merges->name);
        goto done;
    }
    if ((status = add_merges(&b, merges, 0, true, err)))
        goto done;
    if ((status = tg_vocab_build(tok, &b, TG_SPLIT_GPT2, TG_NORMALIZER_NONE, false, err)))
        status = tg_err_in(err, merges->name);

done:
    tg_vocab_builder_free(&b);
    return status;
}
