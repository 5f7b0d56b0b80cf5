/* A tokenizer.json's values, components, added tokens and model. */
#include <stdlib.h>
#include <string.h>

#include "lib/base/grow.h"
#include "lib/vocab/byte_map.h"
#include "lib/vocab/foreign.h"
#include "lib/vocab/tokenizer_json.h"

/* ---- values */

void tg_json_unsupported(tg_json *j, const char *what, tg_span name)
{
    char shown[TG_TOKEN_SHOWN];

    (void)tg_json_fail(j, "%s \"%s\" is not supported", what, tg_token_shown(shown, name.p, name.n));
}

bool tg_json_bool_at(tg_json *j, size_t at, bool missing)
{
    const size_t was = j->at, value = j->value;

    if (at == 0)
        return missing;
    (void)tg_json_go(j, at);
    missing = tg_json_get_bool(j);
    (void)tg_json_go(j, was);
    j->value = value;
    return missing;
}

tg_span tg_json_text_at(tg_json *j, size_t at)
{
    if (at == 0)
        return (tg_span){"", 0};
    (void)tg_json_go(j, at);
    return tg_json_get_text(j);
}

/* ---- components */

static tg_json_component open_component(tg_json *j, size_t from, const char *const *names, size_t n)
{
    tg_json_component c = {.from = from};

    (void)tg_json_go(j, from);
    tg_json_members(j, names, n, c.at);
    j->value = from;
    if (c.at[TG_COMPONENT_TYPE] == 0)
        (void)tg_json_fail(j, "\"type\" is missing");
    (void)tg_json_go(j, c.at[TG_COMPONENT_TYPE]);
    c.name = tg_json_get_text(j);
    return c;
}

void tg_read_components(tg_json *j, size_t at, const char *const *names, size_t n, tg_take_component *take,
                        void *context)
{
    tg_json_component c;

    if (at == 0)
        return;
    c = open_component(j, at, names, n);
    if (!tg_span_is(c.name, "Sequence")) {
        if (!j->status)
            take(context, j, &c);
        return;
    }
    if (c.at[TG_COMPONENT_LIST] == 0)
        (void)tg_json_fail(j, "\"%s\" is missing", names[TG_COMPONENT_LIST]);
    (void)tg_json_go(j, c.at[TG_COMPONENT_LIST]);
    tg_json_enter(j, TG_JSON_ARRAY);
    while (tg_json_element_at(j, &at)) {
        const size_t after = j->at;

        c = open_component(j, at, names, n);
        if (!j->status)
            take(context, j, &c);
        (void)tg_json_go(j, after);
    }
}

/* ---- added tokens */

/* Append a token whose text is next. */
static void append(tg_added_tokens *a, tg_json *j, const tg_added_token *token, tg_span text)
{
    if (j->status ||
        (j->status = tg_grow(&a->token, &a->capacity, a->n + 1, sizeof *a->token, "added tokens", j->err)))
        return;
    if (tg_vocab_add(&a->by_number, a->n, text.p, text.n, TG_TOKEN_ORDINARY, j->err))
        (void)tg_json_err_in(j);
    else
        a->token[a->n++] = *token;
}

static void read_token(tg_added_tokens *a, tg_json *j, size_t from)
{
    enum { ID, CONTENT, SINGLE_WORD, LSTRIP, RSTRIP, SPECIAL, NORMALIZED, NAMES };
    static const char *const names[] = {"id",     "content", "single_word", "lstrip",
                                        "rstrip", "special", "normalized"};
    char shown[TG_TOKEN_SHOWN];
    tg_added_token token;
    size_t at[NAMES];
    tg_span text;

    (void)tg_json_go(j, from);
    tg_json_members(j, names, NAMES, at);
    j->value = from;
    if (at[ID] == 0 || at[CONTENT] == 0)
        (void)tg_json_fail(j, "an added token lacks \"%s\"", names[at[ID] > 0 ? CONTENT : ID]);
    (void)tg_json_go(j, at[ID]);
    token.id = tg_json_get_size(j);
    token.special = tg_json_bool_at(j, at[SPECIAL], false);
    token.normalized = tg_json_bool_at(j, at[NORMALIZED], !token.special);
    text = tg_json_text_at(j, at[CONTENT]);
    for (size_t i = SINGLE_WORD; i <= RSTRIP; i++)
        if (tg_json_bool_at(j, at[i], false)) { /* it changes where the token matches */
            j->value = at[i];
            (void)tg_json_fail(j, "added token \"%s\" with \"%s\" is not supported",
                               tg_token_shown(shown, text.p, text.n), names[i]);
        }
    append(a, j, &token, text);
}

void tg_read_added(tg_added_tokens *a, tg_json *j, size_t at)
{
    if (at == 0)
        return;
    (void)tg_json_go(j, at);
    tg_json_enter(j, TG_JSON_ARRAY);
    while (tg_json_element_at(j, &at)) {
        const size_t after = j->at;

        read_token(a, j, at);
        (void)tg_json_go(j, after);
    }
    if (!j->status && a->n > 0 && tg_vocab_arrange(&a->by_number, j->err))
        j->status = tg_err_in(j->err, "added_tokens");
}

const unsigned char *tg_added_text(const tg_added_tokens *a, size_t number, size_t *n)
{
    return tg_token_text(a->by_number.ends, a->by_number.tokens, number, n);
}

void tg_added_free(tg_added_tokens *a)
{
    tg_vocab_builder_free(&a->by_number);
    free(a->token);
}

/* ---- the model */

static const char *const model_names[] = {"vocab",
                                          "merges",
                                          "unk_token",
                                          "ignore_merges",
                                          "dropout",
                                          "continuing_subword_prefix",
                                          "end_of_word_suffix",
                                          "byte_fallback"};

/* Refuse a setting other than false or "". */
static void check_setting(const size_t *at, tg_json *j, size_t i, const char *and)
{
    tg_json_kind kind;

    if (at[i] == 0)
        return;
    (void)tg_json_go(j, at[i]);
    kind = tg_json_peek(j);
    if (kind == TG_JSON_BOOL ? tg_json_get_bool(j) : kind != TG_JSON_STRING || tg_json_get_text(j).n > 0)
        (void)tg_json_fail(j, "model with \"%s\"%s is not supported", model_names[i], and);
}

void tg_open_model(size_t at[TG_JSON_MODEL_PARTS], tg_json *j, size_t from, bool falls_back)
{
    (void)tg_json_go(j, from);
    tg_json_members(j, model_names, TG_JSON_MODEL_PARTS, at);
    j->value = from;
    for (size_t i = TG_JSON_MODEL_VOCAB; i <= TG_JSON_MODEL_MERGES; i++)
        if (at[i] == 0)
            (void)tg_json_fail(j, "the model has no \"%s\"", model_names[i]);
    check_setting(at, j, TG_JSON_MODEL_DROPOUT, "");
    check_setting(at, j, TG_JSON_MODEL_PREFIX, "");
    check_setting(at, j, TG_JSON_MODEL_SUFFIX, "");
    if (falls_back)
        check_setting(at, j, TG_JSON_MODEL_IGNORE_MERGES, " and \"byte_fallback\"");
    else
        check_setting(at, j, TG_JSON_MODEL_BYTE_FALLBACK, "");
}

/* ---- its vocabulary */

/* Whether an added token has this text.  It must have the same id as in the model. */
static bool is_added(const tg_added_tokens *a, tg_json *j, size_t id, tg_span key)
{
    const uint32_t number =
        a->n > 0 ? tg_token_table_find(&a->by_number.table, (const unsigned char *)key.p, key.n)
                 : TG_TOKEN_NONE;
    char shown[TG_TOKEN_SHOWN];

    if (number != TG_TOKEN_NONE && a->token[number].id != id)
        (void)tg_json_fail(j, "\"%s\" has id %zu, but %zu as an added token",
                           tg_token_shown(shown, key.p, key.n), id, a->token[number].id);
    return number != TG_TOKEN_NONE;
}

static void add_added(tg_vocab_builder *b, const tg_added_tokens *a, bool byte_level, tg_json *j)
{
    for (size_t i = 0; !j->status && i < a->n; i++) {
        size_t n;
        const unsigned char *text = tg_added_text(a, i, &n);
        const tg_token_role role = !byte_level           ? TG_TOKEN_ORDINARY
                                   : a->token[i].special ? TG_TOKEN_SPECIAL
                                                         : TG_TOKEN_ADDED;

        j->status = tg_vocab_add(b, a->token[i].id, text, n, role, j->err);
    }
}

void tg_read_vocab(tg_vocab_builder *b, const tg_added_tokens *a, tg_json *j, size_t at, bool byte_level)
{
    tg_span key;

    (void)tg_json_go(j, at);
    tg_json_enter(j, TG_JSON_OBJECT);
    while (tg_json_key(j, &key)) {
        const size_t id = tg_json_get_size(j);

        if (j->status || is_added(a, j, id, key))
            continue;
        if (byte_level ? tg_vocab_add_mapped(b, id, key.p, key.n, j->err)
                       : tg_vocab_add(b, id, key.p, key.n, TG_TOKEN_ORDINARY, j->err))
            (void)tg_json_err_in(j);
    }
    add_added(b, a, byte_level, j);
    if (!j->status)
        j->status = tg_vocab_arrange(b, j->err);
}

/* ---- merges */

#define HALF_MAX (TG_BYTE_MAP_MAX * TG_BPE_TOKEN_MAX) /* bytes of a half that may be a token */

/* "A B" */
static void take_joined(tg_json *j, tg_take_merge *take, void *context)
{
    const tg_span text = tg_json_get_text(j);
    tg_vocab_halves h;

    if (!j->status && (tg_vocab_divide(&h, text.p, text.n, j->err) || take(context, &h, j->err)))
        (void)tg_json_err_in(j);
}

/* ["A", "B"]; left [HALF_MAX] is scratch. */
static void take_pair(tg_json *j, char *left, tg_take_merge *take, void *context)
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
    if (take(context, &(tg_vocab_halves){left, text.p, n, text.n}, j->err))
        (void)tg_json_err_in(j);
    else if (tg_json_element(j))
        (void)tg_json_fail(j, "expected two halves of a merge, got more");
}

void tg_read_merges(tg_json *j, size_t at, tg_take_merge *take, void *context)
{
    char *left = malloc(HALF_MAX);

    if (!left && !j->status)
        j->status = tg_fail_memory(j->err, HALF_MAX, "a merge");
    (void)tg_json_go(j, at);
    tg_json_enter(j, TG_JSON_ARRAY);
    while (tg_json_element(j))
        if (tg_json_peek(j) == TG_JSON_ARRAY)
            take_pair(j, left, take, context);
        else
            take_joined(j, take, context);
    free(left);
}
