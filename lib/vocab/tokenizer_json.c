/* Hugging Face's tokenizer.json: the byte-level model, and all of the file together. */
#include "lib/vocab/tokenizer_json.h"

#include <stdbool.h>

#include "lib/vocab/foreign.h"
#include "lib/vocab/tokenizer_json_spm.h"
#include "lib/vocab/vocab_builder.h"

/* ---- the model */

static tg_status take_merge(void *context, const tg_vocab_halves *h, tg_err *err)
{
    return tg_vocab_merge(context, h, err);
}

static void read_model(tg_vocab_builder *b, const tg_added_tokens *a, tg_json *j, size_t from)
{
    size_t at[TG_JSON_MODEL_PARTS];

    tg_open_model(at, j, from, false);
    b->whole_pieces = tg_json_bool_at(j, at[TG_JSON_MODEL_IGNORE_MERGES], false);
    tg_read_vocab(b, a, j, at[TG_JSON_MODEL_VOCAB], true);
    /* with a token for every byte it is never used */
    if (!j->status && at[TG_JSON_MODEL_UNK] > 0 && tg_vocab_check_bytes(b, j->err))
        j->status = tg_err_in(j->err, "model with \"unk_token\"");
    tg_read_merges(j, at[TG_JSON_MODEL_MERGES], take_merge, b);
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
    tg_added_tokens added = {.n = 0};
    tg_json j;

    open_file(&j, at, file, err);
    if (!j.status && at[MODEL] == 0)
        j.status = tg_fail(err, TG_EDATA, "not a tokenizer.json: \"model\" is missing");
    if (tg_spm_json_recognize(&j, at[MODEL])) { /* first: models of other types have other components */
        tg_spm_json_read(tok, &j, at);
        return tg_json_close(&j) ? tg_err_in(err, file->name) : TG_OK;
    }
    b.normalizer = tg_read_normalizer(&j, at[NORMALIZER]);
    b.split = tg_read_pre_tokenizer(&j, at[PRE_TOKENIZER]);
    tg_check_decoder(&j, at[DECODER]);
    tg_read_added(&added, &j, at[ADDED]);
    tg_check_added(&added, b.normalizer, &j, at[ADDED]);
    read_model(&b, &added, &j, at[MODEL]);
    j.status = tg_vocab_build(tok, &b, j.status, err);
    tg_added_free(&added);
    return tg_json_close(&j) ? tg_err_in(err, file->name) : TG_OK;
}
