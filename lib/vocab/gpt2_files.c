/* GPT-2's files: vocab.bpe or merges.txt, encoder.json or vocab.json. */
#include <string.h>

#include "formats/json.h"
#include "lib/vocab/byte_map.h"
#include "lib/vocab/foreign.h"
#include "lib/vocab/vocab_builder.h"

static const char end_of_text[] = "<|endoftext|>";

/* ---- merges */

/* Read the merge of the next line; *more = false after the last one. */
static tg_status next_merge(tg_vocab_halves *h, tg_file_lines *lines, bool *more, tg_err *err)
{
    static const char version[] = "#version";
    const bool first = lines->at == 0;
    const char *line;
    size_t n;

    *more = tg_file_line(lines, &line, &n);
    if (*more && first && n >= strlen(version) && memcmp(line, version, strlen(version)) == 0)
        *more = tg_file_line(lines, &line, &n);
    return *more ? tg_vocab_divide(h, line, n, err) : TG_OK;
}

/* Add the tokens that the merges make, with ids from `id` on; or, with `pairs`, the merges. */
static tg_status add_merges(tg_vocab_builder *b, const tg_file_text *file, size_t id, bool pairs, tg_err *err)
{
    tg_file_lines lines = {.file = file};
    bool more = true;
    tg_status status = TG_OK;

    while (more) {
        tg_vocab_halves h;

        status = next_merge(&h, &lines, &more, err);
        if (!status && more)
            status = pairs ? tg_vocab_merge(b, &h, err) : tg_vocab_add_merged(b, id++, &h, err);
        if (status) {
            (void)tg_file_line_err(&lines, err);
            return tg_err_in(err, file->name);
        }
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

        status = tg_vocab_add(b, i, &byte, 1, TG_TOKEN_ORDINARY, err);
    }
    if (!status)
        status = add_merges(b, merges, 256, false, err);
    return status ? status
                  : tg_vocab_add(b, b->n_entries, end_of_text, strlen(end_of_text), TG_TOKEN_SPECIAL, err);
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
        if (special_end && tg_span_is(key, end_of_text)
                ? tg_vocab_add(b, id, key.p, key.n, TG_TOKEN_SPECIAL, err)
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
    tg_file_lines lines = {.file = merges};
    bool more = true;
    tg_vocab_halves h;

    while (!next_merge(&h, &lines, &more, NULL) && more)
        if (h.n_left + h.n_right == n && memcmp(h.left, end_of_text, h.n_left) == 0 &&
            memcmp(h.right, end_of_text + h.n_left, h.n_right) == 0)
            return true;
    return false;
}

tg_status tg_gpt2_files_read(const tg_tokenizer **tok, const tg_file_text *merges, const tg_file_text *vocab,
                             tg_err *err)
{
    tg_vocab_builder b = {.split = TG_SPLIT_GPT2};
    tg_status status =
        vocab ? read_ids(&b, vocab, !makes_end_of_text(merges), err) : number_tokens(&b, merges, err);
    bool complete;

    if (!status && (status = tg_vocab_arrange(&b, err)))
        status = tg_err_in(err, vocab ? vocab->name : merges->name);
    if (!status)
        status = add_merges(&b, merges, 0, true, err);
    complete = status == TG_OK;
    status = tg_vocab_build(tok, &b, status, err);
    return status && complete ? tg_err_in(err, merges->name) : status;
}
