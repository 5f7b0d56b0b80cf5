/* Hugging Face's tokenizer.json: its added tokens, its model, and all of it together. */
#include "lib/vocab/tokenizer_json.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/grow.h"
#include "lib/vocab/byte_map.h"
#include "lib/vocab/foreign.h"
#include "lib/vocab/vocab_builder.h"

/* ---- added tokens */

/* The added tokens in the order of the file. */
struct added {
    tg_vocab_builder by_number; /* each token's "id" is its number here */
    size_t *id;                 /* [n] the real one */
    size_t n, capacity;
};

static void free_added(struct added *a)
{
    tg_vocab_builder_free(&a->by_number);
    free(a->id);
}

/* Refuse an option that changes where the token matches. */
static tg_status check_option(const tg_json *file, size_t at, const char *name, tg_json_text content,
                              tg_err *err)
{
    char shown[TG_TOKEN_SHOWN];
    bool set;
    tg_json j;
    tg_status status;

    if ((status = tg_json_bool_at(&set, file, at, false, err)) || !set)
        return status;
    tg_json_open_at(&j, file, at);
    return tg_json_fail(&j, err, "added token \"%s\" with \"%s\" is not supported",
                        tg_token_shown(shown, content.p, content.n), name);
}

static tg_status keep_id(struct added *a, size_t id, tg_err *err)
{
    const tg_status status = tg_grow(&a->id, &a->capacity, a->n + 1, sizeof *a->id, "added tokens", err);

    if (!status)
        a->id[a->n++] = id;
    return status;
}

/* Take the added token at an offset. */
static tg_status take_added(struct added *a, const tg_json *file, size_t from, tg_err *err)
{
    static const char *const names[] = {"id", "content", "single_word", "lstrip", "rstrip"};
    size_t at[5], id;
    tg_json_text content;
    tg_json j;
    tg_status status;

    tg_json_open_at(&j, file, from);
    if ((status = tg_json_members(&j, names, 5, at, err)))
        goto done;
    j.value = from;
    if (at[0] == 0 || at[1] == 0) {
        status = tg_json_fail(&j, err, "an added token lacks \"%s\"", names[at[0] > 0]);
        goto done;
    }
    j.at = at[0];
    if ((status = tg_json_get_size(&j, &id, err)))
        goto done;
    j.at = at[1];
    if ((status = tg_json_get_text(&j, &content, err)))
        goto done;
    for (size_t i = 2; i < 5; i++)
        if ((status = check_option(file, at[i], names[i], content, err)))
            goto done;
    if (tg_vocab_add(&a->by_number, a->n, content.p, content.n, false, err))
        status = tg_json_err_in(&j, err);
    else
        status = keep_id(a, id, err);

done:
    tg_json_close(&j);
    return status;
}

static tg_status read_added(struct added *a, const tg_json *file, size_t at, tg_err *err)
{
    tg_json j;
    bool more;
    tg_status status;

    if (at == 0)
        return TG_OK;
    tg_json_open_at(&j, file, at);
    status = tg_json_enter(&j, TG_JSON_ARRAY, err);
    /* unreached: an element that fails: open_file() has passed the text */
    while (!status && !(status = tg_json_element_at(&j, &at, &more, err)) && more)
        status = take_added(a, file, at, err);
    tg_json_close(&j);
    if (status || a->n == 0)
        return status;
    return tg_vocab_arrange(&a->by_number, err) ? tg_err_in(err, "added_tokens") : TG_OK;
}

/* ---- the vocabulary */

/* An added token that the vocabulary has too must have the same id there. */
static tg_status compare_id(const struct added *a, uint32_t number, size_t id, tg_json_text key, tg_err *err)
{
    char shown[TG_TOKEN_SHOWN];

    if (a->id[number] == id)
        return TG_OK;
    return tg_fail(err, TG_EDATA, "\"%s\" has id %zu, but %zu as an added token",
                   tg_token_shown(shown, key.p, key.n), id, a->id[number]);
}

static tg_status read_vocab(tg_vocab_builder *b, const struct added *a, const tg_json *file, size_t at,
                            tg_err *err)
{
    tg_json_text key;
    tg_json j;
    size_t id;
    bool more;
    tg_status status;

    tg_json_open_at(&j, file, at);
    status = tg_json_enter(&j, TG_JSON_OBJECT, err);
    while (!status && !(status = tg_json_key(&j, &key, &more, err)) && more) {
        const uint32_t number =
            a->n > 0 ? tg_token_table_find(&a->by_number.table, (const unsigned char *)key.p, key.n)
                     : TG_TOKEN_NONE;

        if ((status = tg_json_get_size(&j, &id, err)))
            break;
        status = number == TG_TOKEN_NONE ? tg_vocab_add_mapped(b, id, key.p, key.n, err)
                                         : compare_id(a, number, id, key, err);
        if (status)
            (void)tg_json_err_in(&j, err);
    }
    tg_json_close(&j);
    return status;
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
static tg_status take_joined(tg_vocab_builder *b, tg_json *j, tg_err *err)
{
    char shown[TG_TOKEN_SHOWN];
    tg_json_text text;
    const char *space;
    size_t n;
    tg_status status = tg_json_get_text(j, &text, err);

    if (status)
        return status;
    space = memchr(text.p, ' ', text.n);
    n = space ? (size_t)(space - text.p) : text.n;
    if (!space || memchr(space + 1, ' ', text.n - n - 1))
        return tg_json_fail(j, err, "expected two halves of a merge separated by a space, got \"%s\"",
                            tg_token_shown(shown, text.p, text.n));
    return tg_vocab_merge(b, text.p, n, space + 1, text.n - n - 1, err) ? tg_json_err_in(j, err) : TG_OK;
}

/* ["A", "B"]; left [HALF_MAX] is scratch. */
static tg_status take_pair(tg_vocab_builder *b, tg_json *j, char *left, tg_err *err)
{
    tg_json_text text = {left, 0};
    size_t n = 0;
    bool more;
    tg_status status = tg_json_enter(j, TG_JSON_ARRAY, err);

    for (size_t half = 0; !status && half < 2; half++) {
        /* unreached: open_file() has passed the text */
        if ((status = tg_json_element(j, &more, err)))
            return status;
        if (!more)
            return tg_json_fail(j, err, "expected two halves of a merge, got %zu", half);
        status = tg_json_get_text(j, &text, err);
        if (!status && text.n > HALF_MAX)
            return tg_json_fail(j, err, "half of a merge has %zu bytes, expected at most %zu", text.n,
                                HALF_MAX);
        if (!status && half == 0)
            memcpy(left, text.p, n = text.n);
    }
    if (status)
        return status;
    if (tg_vocab_merge(b, left, n, text.p, text.n, err))
        return tg_json_err_in(j, err);
    /* unreached: an element that fails: open_file() has passed the text */
    if ((status = tg_json_element(j, &more, err)) || !more)
        return status;
    return tg_json_fail(j, err, "expected two halves of a merge, got more");
}

static tg_status read_merges(tg_vocab_builder *b, const tg_json *file, size_t at, tg_err *err)
{
    char *left = malloc(HALF_MAX);
    tg_json_kind kind;
    tg_json j;
    bool more;
    tg_status status;

    if (!left)
        return tg_fail_memory(err, HALF_MAX, "a merge");
    tg_json_open_at(&j, file, at);
    status = tg_json_enter(&j, TG_JSON_ARRAY, err);
    /* unreached: as above */
    while (!status && !(status = tg_json_element(&j, &more, err)) && more)
        /* unreached: as above */
        if (!(status = tg_json_peek(&j, &kind, err)))
            status = kind == TG_JSON_ARRAY ? take_pair(b, &j, left, err) : take_joined(b, &j, err);
    tg_json_close(&j);
    free(left);
    return status;
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
static tg_status open_model(size_t *at, const tg_json *file, size_t from, tg_err *err)
{
    tg_json j;
    tg_json_text type;
    tg_status status;

    tg_json_open_at(&j, file, from);
    if ((status = tg_json_members(&j, model_names, MODEL_NAMES, at, err)))
        goto done;
    if (at[TYPE] > 0) {
        j.at = at[TYPE];
        if ((status = tg_json_get_text(&j, &type, err)))
            goto done;
        if (!tg_json_is(type, "BPE"))
            status = tg_json_unsupported(&j, "model", type, err);
    }
    j.value = status ? j.value : from;
    for (size_t i = VOCAB; !status && i <= MERGES; i++)
        if (at[i] == 0)
            status = tg_json_fail(&j, err, "the model has no \"%s\"", model_names[i]);

done:
    tg_json_close(&j);
    return status;
}

/* Refuse a setting other than false or "", unless the ids of a text cannot depend on it. */
static tg_status check_settings(const size_t *at, const tg_json *file, tg_err *err)
{
    tg_status status = TG_OK;

    for (size_t i = DROPOUT; !status && i < MODEL_NAMES; i++) {
        tg_json_kind kind;
        tg_json_text text = {"", 1};
        bool set = true;
        tg_json j;

        if (at[i] == 0)
            continue;
        tg_json_open_at(&j, file, at[i]);
        status = tg_json_peek(&j, &kind, err);
        /* unreached: a status: open_file() has passed the text */
        if (!status && kind == TG_JSON_BOOL)
            status = tg_json_get_bool(&j, &set, err);
        /* unreached: as above */
        else if (!status && kind == TG_JSON_STRING)
            status = tg_json_get_text(&j, &text, err);
        if (!status && set && text.n > 0)
            status = tg_json_fail(&j, err, "model with \"%s\" is not supported", model_names[i]);
        tg_json_close(&j);
    }
    return status;
}

static tg_status read_model(tg_vocab_builder *b, const struct added *a, bool *whole_pieces,
                            const tg_json *file, size_t from, tg_err *err)
{
    size_t at[MODEL_NAMES];
    tg_status status;

    if ((status = open_model(at, file, from, err)) || (status = check_settings(at, file, err)) ||
        (status = tg_json_bool_at(whole_pieces, file, at[IGNORE_MERGES], false, err)) ||
        (status = read_vocab(b, a, file, at[VOCAB], err)) || (status = add_specials(b, a, err)) ||
        (status = tg_vocab_arrange(b, err)))
        return status;
    if (at[UNK] > 0 && tg_vocab_check_bytes(b, err)) /* with a token for every byte it is never used */
        return tg_err_in(err, "model with \"unk_token\"");
    return read_merges(b, file, at[MERGES], err);
}

/* ---- the file */

enum { MODEL, ADDED, NORMALIZER, PRE_TOKENIZER, DECODER, FILE_NAMES };

static const char *const file_names[] = {"model", "added_tokens", "normalizer", "pre_tokenizer", "decoder"};

static tg_status open_file(tg_json *j, size_t *at, const tg_file_text *file, tg_err *err)
{
    tg_status status;

    tg_json_open(j, file->text, file->n);
    if ((status = tg_json_members(j, file_names, FILE_NAMES, at, err)))
        return status;
    return tg_json_end(j, err);
}

tg_status tg_tokenizer_json_recognize(const tg_file_text *file, bool *is, tg_err *err)
{
    size_t at[FILE_NAMES];
    tg_json_kind kind;
    tg_json j;
    tg_status status = open_file(&j, at, file, err);

    if (!status && (*is = at[MODEL] > 0)) { /* a vocabulary may have a token "model" */
        j.at = at[MODEL];
        status = tg_json_peek(&j, &kind, err);
        /* unreached: a status: open_file() has passed the text */
        *is = !status && kind == TG_JSON_OBJECT;
    }
    tg_json_close(&j);
    return status ? tg_err_in(err, file->name) : TG_OK;
}

tg_status tg_tokenizer_json_read(const tg_tokenizer **tok, const tg_file_text *file, tg_err *err)
{
    size_t at[FILE_NAMES];
    tg_vocab_builder b = {0};
    struct added added = {0};
    tg_normalizer normalizer;
    tg_split split;
    bool whole_pieces;
    tg_json j;
    tg_status status = open_file(&j, at, file, err);

    *tok = NULL;
    if (status)
        goto done;
    if (at[MODEL] == 0) {
        status = tg_fail(err, TG_EDATA, "not a tokenizer.json: \"model\" is missing");
        goto done;
    }
    if ((status = tg_read_normalizer(&normalizer, &j, at[NORMALIZER], err)) ||
        (status = tg_read_pre_tokenizer(&split, &j, at[PRE_TOKENIZER], err)) ||
        (status = tg_check_decoder(&j, at[DECODER], err)) ||
        (status = read_added(&added, &j, at[ADDED], err)) ||
        (status = read_model(&b, &added, &whole_pieces, &j, at[MODEL], err)))
        goto done;
    status = tg_vocab_build(tok, &b, split, normalizer, whole_pieces, err);

done:
    tg_vocab_builder_free(&b);
    free_added(&added);
    tg_json_close(&j);
    return status ? tg_err_in(err, file->name) : TG_OK;
}
