/* The named values of a GGUF file that was read. */
#include <assert.h>
#include <string.h>

#include "formats/gguf.h"

const struct tg_gguf_type_info tg_gguf_types[TG_GGUF_TYPES] = {
    [TG_GGUF_U8] = {"u8", 1},       [TG_GGUF_I8] = {"i8", 1},     [TG_GGUF_U16] = {"u16", 2},
    [TG_GGUF_I16] = {"i16", 2},     [TG_GGUF_U32] = {"u32", 4},   [TG_GGUF_I32] = {"i32", 4},
    [TG_GGUF_F32] = {"f32", 4},     [TG_GGUF_BOOL] = {"bool", 1}, [TG_GGUF_TEXT] = {"text", 0},
    [TG_GGUF_ARRAY] = {"array", 0}, [TG_GGUF_U64] = {"u64", 8},   [TG_GGUF_I64] = {"i64", 8},
    [TG_GGUF_F64] = {"f64", 8},
};

const tg_gguf_value *tg_gguf_find(const tg_gguf *g, const char *key)
{
    for (size_t i = 0; i < g->n_values; i++)
        if (tg_span_is(g->value[i].key, key))
            return &g->value[i];
    return NULL;
}

#define BIT(type) (1u << (type))
#define REALS (BIT(TG_GGUF_F32) | BIT(TG_GGUF_F64))
#define INTEGERS (BIT(TG_GGUF_TYPES) - 1 - REALS - BIT(TG_GGUF_BOOL) - BIT(TG_GGUF_TEXT))

/* The value with that key, of one of the types; NULL after a failure. */
static const tg_gguf_value *get(tg_gguf *g, const char *key, bool array, unsigned types, const char *expected)
{
    const tg_gguf_value *v = tg_gguf_find(g, key);

    if (g->status)
        return NULL;
    if (!v)
        g->status = tg_fail(g->err, TG_EDATA, "%s is missing", key);
    else if (v->array != array || !(types & BIT(v->type)))
        g->status = tg_fail(g->err, TG_EDATA, "%s is %s%s, expected %s", key, v->array ? "an array of " : "",
                            tg_gguf_types[v->type].name, expected);
    return g->status ? NULL : v;
}

size_t tg_gguf_get_size(tg_gguf *g, const char *key)
{
    const tg_gguf_value *const v = get(g, key, false, INTEGERS, "an integer");
    const int64_t integer = v ? tg_gguf_integer(v, 0) : 0;

    if (integer >= 0)
        return (size_t)integer;
    g->status = tg_fail(g->err, TG_EDATA, "%s is %lld, expected no negative number", key, (long long)integer);
    return 0;
}

double tg_gguf_get_real(tg_gguf *g, const char *key)
{
    const tg_gguf_value *const v = get(g, key, false, REALS, "a float");

    return v ? tg_gguf_real(v, 0) : 0;
}

bool tg_gguf_get_bool(tg_gguf *g, const char *key, bool otherwise)
{
    const tg_gguf_value *const v =
        tg_gguf_find(g, key) ? get(g, key, false, BIT(TG_GGUF_BOOL), "a truth value") : NULL;

    return v ? tg_gguf_integer(v, 0) != 0 : otherwise;
}

tg_span tg_gguf_get_text(tg_gguf *g, const char *key)
{
    const tg_gguf_value *const v = get(g, key, false, BIT(TG_GGUF_TEXT), "a text");
    const unsigned char *at = v ? v->at : NULL;

    return v ? tg_gguf_next_text(&at) : (tg_span){"", 0};
}

const tg_gguf_value *tg_gguf_get_texts(tg_gguf *g, const char *key)
{
    return get(g, key, true, BIT(TG_GGUF_TEXT), "an array of texts");
}

const tg_gguf_value *tg_gguf_get_integers(tg_gguf *g, const char *key)
{
    return get(g, key, true, INTEGERS, "an array of integers");
}

tg_span tg_gguf_next_text(const unsigned char **at)
{
    uint64_t n;
    tg_span text;

    memcpy(&n, *at, sizeof n);
    text = (tg_span){(const char *)*at + sizeof n, (size_t)n};
    *at += sizeof n + text.n;
    return text;
}

int64_t tg_gguf_integer(const tg_gguf_value *v, size_t i)
{
    const size_t size = tg_gguf_types[v->type].size, shift = 64 - 8 * size;
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

    assert(i < v->n && REALS & BIT(v->type));
    if (v->type == TG_GGUF_F32) {
        memcpy(&single, v->at + 4 * i, sizeof single);
        return (double)single;
    }
    memcpy(&twice, v->at + 8 * i, sizeof twice);
    return twice;
}
