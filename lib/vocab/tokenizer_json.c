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

/* Take the added token at an offset. */
static void take_added(struct added *a, tg_json *j, size_t from)
{
    static const char *const names[] = {"id", "content", "single_word", "lstrip", "rstrip"};
    char shown[TG_TOKEN_SHOWN];
    size_t at[5], id;
    tg_span content;

    (void)tg_json_go(j, from);
    tg_json_members(j, names, 5, at);
    j->value = from;
    if (at[0] == 0 || at[1] == 0)
        (void)tg_json_fail(j, "an added token lacks \"%s\"", names[at[0] > 0]);
    (void)tg_json_go(j, at[0]);
    id = tg_json_get_size(j);
    (void)tg_json_go(j, at[1]);
    content = tg_json_get_text(j);
    for (size_t i = 2; i < 5; i++)
        if (tg_json_bool_at(j, at[i], false)) { /* it changes where the token matches */
            j->value = at[i];
            (void)tg_json_fail(j, "added token \"%s\" with \"%s\" is not supported",
                               tg_token_shown(shown, content.p, content.n), names[i]);
        }
    if (j->status)
        return;
    if (tg_vocab_add(&a->by_number, a->n, content.p, content.n, false, j->err))
        (void)tg_json_err_in(j);
    else if (!(j->status = tg_grow(&a->id, &a->capacity, a->n + 1, sizeof *a->id, "added tokens", j->err)))
        a->id[a->n++] = id;
}

static void read_added(struct added *a, tg_json *j, size_t at)
{
    if (at == 0)
        return;
    (void)tg_json_go(j, at);
    tg_json_enter(j, TG_JSON_ARRAY);
    while (tg_json_element_at(j, &at)) {
        const size_t after = j->at;

        take_added(a, j, at);
        (void)tg_json_go(j, after);
    }
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

/* ---- merges */

#define HALF_MAX (TG_BYTE_MAP_MAX * TG_BPE_TOKEN_MAX) /* bytes of a half that may be a token */

/* "A B" */
static void take_joined(tg_vocab_builder *b, tg_json *j)
{
    const tg_span text = tg_json_get_text(j);
    tg_vocab_halves h;

    if (!j->status && (tg_vocab_divide(&h, text.p, text.n, j->err) || tg_vocab_merge(b, &h, j->err)))
        (void)tg_json_err_in(j);
}

/* ["A", "B"]; left [HALF_MAX] is scratch. */
static void take_pair(tg_vocab_builder *b, tg_json *j, char *left)
{
    tg_span text = {left, 0};
    size_t n = 0;

    tg_json_enter(j, TG_JSON_ARRAY);
    for (size_t half = 0; half < 2; half++) {
        if (!tg_json_element(j))
            (void)tg_json_fail(j, "expected two halves of a merge, got %zu", half);
        text = tg_json_get_text(j);
        if (text.n > HALF_MAX)
            (void)tg_json_fail(j, "half of a merge has %zu bytes, expected at most %zu", text.n, HALF_MAX);
        else if (half == 0 && left)
            memcpy(left, text.p, n = text.n);
    }
    if (j->status)
        return;
    if (tg_vocab_merge(b, &(tg_vocab_halves){left, text.p, n, text.n}, j->err))
        (void)tg_json_err_in(j);
    else if (tg_json_element(j))
        (void)tg_json_fail(j, "expected two halves of a merge, got more");
}

static void read_merges(tg_vocab_builder *b, tg_json *j, size_t at)
{
    char *left = malloc(HALF_MAX);

    if (!left && !j->status)
        j->status = tg_fail_memory(j->err, HALF_MAX, "a merge");
    (void)tg_json_go(j, at);
    tg_json_enter(j, TG_JSON_ARRAY);
    while (tg_json_element(j))
        if (tg_json_peek(j) == TG_JSON_ARRAY)
            take_pair(b, j, left);
        else
            take_joined(b, j);
    free(left);
}

/* ---- the model */

enum { TYPE, VOCAB, MERGES, IGNORE_MERGES, UNK, DROPOUT, BYTE_FALLBACK, PREFIX, SUFFIX, MODEL_NAMES };

static const char *const model_names[] = {"type",
                                          "vocab",
                                          "merges",
                                          "ignore_merges",
                                          "unk_token",
                                          "dropout",
                                          "byte_fallback",
                                          "continuing_subword_prefix",
                                          "end_of_word_suffix"};

/* The offsets of the model's members. */
static void open_model(size_t *at, tg_json *j, size_t from)
{
    (void)tg_json_go(j, from);
    tg_json_members(j, model_names, MODEL_NAMES, at);
    if (at[TYPE] > 0) {
        tg_span type;

        (void)tg_json_go(j, at[TYPE]);
        type = tg_json_get_text(j);
        if (!tg_span_is(type, "BPE"))
            tg_json_unsupported(j, "model", type);
    }
    j->value = from;
    for (size_t i = VOCAB; i <= MERGES; i++)
        if (at[i] == 0)
            (void)tg_json_fail(j, "the model has no \"%s\"", model_names[i]);
}

/* Refuse a setting other than false or "", unless the ids of a text cannot depend on it. */
static void check_settings(const size_t *at, tg_json *j)
{
    for (size_t i = DROPOUT; i < MODEL_NAMES; i++) {
        tg_json_kind kind;

        if (at[i] == 0)
            continue;
        (void)tg_json_go(j, at[i]);
        kind = tg_json_peek(j);
        if (kind == TG_JSON_BOOL ? tg_json_get_bool(j) : kind != TG_JSON_STRING || tg_json_get_text(j).n > 0)
            (void)tg_json_fail(j, "model with \"%s\" is not supported", model_names[i]);
    }
}

static void read_model(tg_vocab_builder *b, const struct added *a, tg_json *j, size_t from)
{
    size_t at[MODEL_NAMES];

    open_model(at, j, from);
    check_settings(at, j);
    b->whole_pieces = tg_json_bool_at(j, at[IGNORE_MERGES], false);
    read_vocab(b, a, j, at[VOCAB]);
    if (!j->status && !(j->status = add_specials(b, a, j->err)))
        j->status = tg_vocab_arrange(b, j->err);
    /* with a token for every byte it is never used */
    if (!j->status && at[UNK] > 0 && tg_vocab_check_bytes(b, j->err))
        j->status = tg_err_in(j->err, "model with \"unk_token\"");
    read_merges(b, j, at[MERGES]);
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
