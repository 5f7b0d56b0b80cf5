/* The named values of a GGUF file that was read. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "formats/gguf.h"

static const struct kind {
    const char *name;
    size_t size; /* 0: not fixed */
} kinds[TG_GGUF_TYPES] = {
    [TG_GGUF_U8] = {"u8", 1},       [TG_GGUF_I8] = {"i8", 1},     [TG_GGUF_U16] = {"u16", 2},
    [TG_GGUF_I16] = {"i16", 2},     [TG_GGUF_U32] = {"u32", 4},   [TG_GGUF_I32] = {"i32", 4},
    [TG_GGUF_F32] = {"f32", 4},     [TG_GGUF_BOOL] = {"bool", 1}, [TG_GGUF_TEXT] = {"text", 0},
    [TG_GGUF_ARRAY] = {"array", 0}, [TG_GGUF_U64] = {"u64", 8},   [TG_GGUF_I64] = {"i64", 8},
    [TG_GGUF_F64] = {"f64", 8},
};

const char *tg_gguf_type_name(tg_gguf_type type)
{
    return kinds[type].name;
}

size_t tg_gguf_type_size(tg_gguf_type type)
{
    return kinds[type].size;
}

bool tg_gguf_is(tg_gguf_text text, const char *word)
{
    return text.n == strlen(word) && memcmp(text.p, word, text.n) == 0;
}

const tg_gguf_value *tg_gguf_find(const tg_gguf *g, const char *key)
{
    for (size_t i = 0; i < g->n_values; i++)
        if (tg_gguf_is(g->value[i].key, key))
            return &g->value[i];
    return NULL;
}

static bool is_integer(tg_gguf_type type)
{
    return type != TG_GGUF_F32 && type != TG_GGUF_F64 && type != TG_GGUF_BOOL && type != TG_GGUF_TEXT;
}

static bool is_real(tg_gguf_type type)
{
    return type == TG_GGUF_F32 || type == TG_GGUF_F64;
}

static bool is_bool(tg_gguf_type type)
{
    return type == TG_GGUF_BOOL;
}

static bool is_text(tg_gguf_type type)
{
    return type == TG_GGUF_TEXT;
}

/* The value with that key, of a type that `is` accepts. */
static tg_status get(const tg_gguf_value **v, const tg_gguf *g, const char *key, bool array,
                     bool (*is)(tg_gguf_type), const char *expected, tg_err *err)
{
    *v = tg_gguf_find(g, key);
    if (!*v)
        return tg_fail(err, TG_EDATA, "%s is missing", key);
    if ((*v)->array != array || !is((*v)->type))
        return tg_fail(err, TG_EDATA, "%s is %s%s, expected %s", key, (*v)->array ? "an array of " : "",
                       kinds[(*v)->type].name, expected);
    return TG_OK;
}

tg_status tg_gguf_get_size(size_t *size, const tg_gguf *g, const char *key, tg_err *err)
{
    const tg_gguf_value *v;
    const tg_status status = get(&v, g, key, false, is_integer, "an integer", err);
    int64_t integer;

    if (status)
        return status;
    integer = tg_gguf_integer(v, 0);
    if (integer < 0)
        return tg_fail(err, TG_EDATA, "%s is %lld, expected no negative number", key, (long long)integer);
    *size = (size_t)integer;
    return TG_OK;
}

tg_status tg_gguf_get_real(double *real, const tg_gguf *g, const char *key, tg_err *err)
{
    const tg_gguf_value *v;
    const tg_status status = get(&v, g, key, false, is_real, "a float", err);

    if (!status)
        *real = tg_gguf_real(v, 0);
    return status;
}

tg_status tg_gguf_get_bool(bool *truth, const tg_gguf *g, const char *key, tg_err *err)
{
    const tg_gguf_value *v;
    const tg_status status = get(&v, g, key, false, is_bool, "a bool", err);

    if (!status)
        *truth = v->at[0] == 1;
    return status;
}

tg_status tg_gguf_get_text(tg_gguf_text *text, const tg_gguf *g, const char *key, tg_err *err)
{
    const tg_gguf_value *v;
    const tg_status status = get(&v, g, key, false, is_text, "a text", err);
    const unsigned char *at;

    if (status)
        return status;
    at = v->at;
    *text = tg_gguf_next_text(&at);
    return TG_OK;
}

tg_status tg_gguf_get_texts(const tg_gguf_value **texts, const tg_gguf *g, const char *key, tg_err *err)
{
    return get(texts, g, key, true, is_text, "an array of texts", err);
}

tg_status tg_gguf_get_integers(const tg_gguf_value **integers, const tg_gguf *g, const char *key, tg_err *err)
{
    return get(integers, g, key, true, is_integer, "an array of integers", err);
}

tg_gguf_text tg_gguf_next_text(const unsigned char **at)
{
    uint64_t n;
    tg_gguf_text text;

    memcpy(&n, *at, sizeof n);
    text = (tg_gguf_text){(const char *)*at + sizeof n, (size_t)n};
    *at += sizeof n + text.n;
    return text;
}

int64_t tg_gguf_integer(const tg_gguf_value *v, size_t i)
{
    const size_t size = kinds[v->type].size, shift = 64 - 8 * size;
    const bool is_signed =
        v->type == TG_GGUF_I8 || v->type == TG_GGUF_I16 || v->type == TG_GGUF_I32 || v->type == TG_GGUF_I64;
    uint64_t bits = 0;

    assert(i < v->n && size > 0);
    memcpy(&bits, v->at + i * size, size);
    if (is_signed) /* the sign's bit goes to the top, and comes back */
        return (int64_t)(bits << shift) >> shift;
    return bits > INT64_MAX ? INT64_MAX : (int64_t)bits;
}

double tg_gguf_real(const tg_gguf_value *v, size_t i)
{
    float single;
    double twice;

    assert(i < v->n && is_real(v->type));
    if (v->type == TG_GGUF_F32) {
        memcpy(&single, v->at + 4 * i, sizeof single);
        return (double)single;
    }
    memcpy(&twice, v->at + 8 * i, sizeof twice);
    return twice;
}
