/* Hugging Face's tokenizer.json: its added tokens, its model, and all of it together. */
#include "lib/vocab/tokenizer_json.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/grow.h"
#include "lib/vocab/byte_map.h"
#include "lib/vocab/foreign.h"
#include "lib/vocab/tokenizer_json_spm.h"
#include "lib/vocab/vocab_builder.h"

/* ---- added tokens */

/* The added tokens in the order of the file. */
struct added {
    tg_vocab_builder by_number; /* each token's "id" is its number here */
    size_t *id;                 /* [n] the real one */
    size_t n, capacity;
};

static void take_added(void *context, tg_json *j, const tg_added_token *token)
{
    struct added *a = context;

    if (tg_vocab_add(&a->by_number, a->n, token->text.p, token->text.n, false, j->err))
        (void)tg_json_err_in(j);
    else if (!(j->status = tg_grow(&a->id, &a->capacity, a->n + 1, sizeof *a->id, "added tokens", j->err)))
        a->id[a->n++] = token->id;
}

static void read_added(struct added *a, tg_json *j, size_t at)
{
    tg_read_added(j, at, take_added, a);
    if (!j->status && a->n > 0 && tg_vocab_arrange(&a->by_number, j->err))
        j->status = tg_err_in(j->err, "added_tokens");
}

/* ---- the vocabulary */

/* An added token that the vocabulary has too must have the same id there. */
static tg_status compare_id(const struct added *a, uint32_t number, size_t id, tg_span key, tg_err *err)
{
    char shown[TG_TOKEN_SHOWN];

    if (a->id[number] == id)
        return TG_OK;
    return tg_fail(err, TG_EDATA, "\"%s\" has id %zu, but %zu as an added token",
                   tg_token_shown(shown, key.p, key.n), id, a->id[number]);
}

static void read_vocab(tg_vocab_builder *b, const struct added *a, tg_json *j, size_t at)
{
    tg_span key;

    (void)tg_json_go(j, at);
    tg_json_enter(j, TG_JSON_OBJECT);
    while (tg_json_key(j, &key)) {
        const uint32_t number =
            a->n > 0 ? tg_token_table_find(&a->by_number.table, (const unsigned char *)key.p, key.n)
                     : TG_TOKEN_NONE;
        const size_t id = tg_json_get_size(j);

        if (j->status)
            return;
        if (number == TG_TOKEN_NONE ? tg_vocab_add_mapped(b, id, key.p, key.n, j->err)
                                    : compare_id(a, number, id, key, j->err))
            (void)tg_json_err_in(j);
    }
}

static tg_status add_specials(tg_vocab_builder *b, const struct added *a, tg_err *err)
{
    tg_status status = TG_OK;

    for (size_t i = 0; !status && i < a->n; i++) {
        const size_t begin = i > 0 ? a->by_number.ends[i - 1] : 0;

        status =
            tg_vocab_add(b, a->id[i], a->by_number.tokens + begin, a->by_number.ends[i] - begin, true, err);
    }
    return status;
}

/* ---- the model */

static tg_status take_merge(void *context, const tg_vocab_halves *h, tg_err *err)
{
    return tg_vocab_merge(context, h, err);
}

static void read_model(tg_vocab_builder *b, const struct added *a, tg_json *j, size_t from)
{
    size_t at[TG_MODEL_PARTS];

    tg_open_model(at, j, from, false);
    b->whole_pieces = tg_json_bool_at(j, at[TG_MODEL_IGNORE_MERGES], false);
    read_vocab(b, a, j, at[TG_MODEL_VOCAB]);
    if (!j->status && !(j->status = add_specials(b, a, j->err)))
        j->status = tg_vocab_arrange(b, j->err);
    /* with a token for every byte it is never used */
    if (!j->status && at[TG_MODEL_UNK] > 0 && tg_vocab_check_bytes(b, j->err))
        j->status = tg_err_in(j->err, "model with \"unk_token\"");
    tg_read_merges(j, at[TG_MODEL_MERGES], take_merge, b);
}

/* ---- the file */

enum {
    MODEL = TG_JSON_MODEL,
    ADDED = TG_JSON_ADDED,
    NORMALIZER = TG_JSON_NORMALIZER,
    PRE_TOKENIZER = TG_JSON_PRE_TOKENIZER,
    DECODER = TG_JSON_DECODER,
    FILE_NAMES = TG_JSON_PARTS
};

static const char *const file_names[] = {"model", "added_tokens", "normalizer", "pre_tokenizer", "decoder"};

static void open_file(tg_json *j, size_t *at, const tg_file_text *file, tg_err *err)
{
    tg_json_open(j, file->text, file->n, err);
    tg_json_members(j, file_names, FILE_NAMES, at);
    tg_json_end(j);
}

tg_status tg_tokenizer_json_recognize(const tg_file_text *file, bool *is, tg_err *err)
{
    size_t at[FILE_NAMES];
    tg_json j;

    open_file(&j, at, file, err);
    (void)tg_json_go(&j, at[MODEL]);
    *is = at[MODEL] > 0 && tg_json_peek(&j) == TG_JSON_OBJECT; /* a vocabulary may have a token "model" */
    return tg_json_close(&j) ? tg_err_in(err, file->name) : TG_OK;
}

tg_status tg_tokenizer_json_read(const tg_tokenizer **tok, const tg_file_text *file, tg_err *err)
{
    size_t at[FILE_NAMES];
    tg_vocab_builder b = {0};
    struct added added = {0};
    tg_json j;

    open_file(&j, at, file, err);
    if (!j.status && at[MODEL] == 0)
        j.status = tg_fail(err, TG_EDATA, "not a tokenizer.json: \"model\" is missing");
    if (tg_spm_json_recognize(&j, at[MODEL])) {
        tg_spm_json_read(tok, &j, at);
        return tg_json_close(&j) ? tg_err_in(err, file->name) : TG_OK;
    }
    b.normalizer = tg_read_normalizer(&j, at[NORMALIZER]);
    b.split = tg_read_pre_tokenizer(&j, at[PRE_TOKENIZER]);
    tg_check_decoder(&j, at[DECODER]);
    read_added(&added, &j, at[ADDED]);
    read_model(&b, &added, &j, at[MODEL]);
    j.status = tg_vocab_build(tok, &b, j.status, err);
    tg_vocab_builder_free(&added.by_number);
    free(added.id);
    return tg_json_close(&j) ? tg_err_in(err, file->name) : TG_OK;
}
