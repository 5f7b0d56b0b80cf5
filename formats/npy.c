#include "formats/npy.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "formats/span.h"
#include "lib/base/size.h"

#define HEADER_MAX 10000 /* NumPy's limit, without the prefix */

bool tg_npy_holds(tg_dtype dtype)
{
    return tg_dtype_is_valid(dtype) && dtype.kind != 'B';
}

/* ---- writing */

size_t tg_npy_format(unsigned char out[TG_NPY_FORMAT_MAX], const tg_array *a)
{
    char dtype[TG_ARRAY_TEXT_MAX], shape[TG_ARRAY_TEXT_MAX];
    size_t n = 10, length;

    n += (size_t)snprintf((char *)out + n, TG_NPY_FORMAT_MAX - n,
                          "{'descr': '%s', 'fortran_order': False, 'shape': %s, }",
                          tg_dtype_text(dtype, a->dtype), tg_shape_text(shape, a->ndim, a->shape));
    length = tg_round_up(n + 1, 64);
    memset(out + n, ' ', length - n);
    out[length - 1] = '\n';
    memcpy(out, "\x93NUMPY\x01\x00", 8);
    out[8] = (unsigned char)((length - 10) & 0xFF);
    out[9] = (unsigned char)((length - 10) >> 8);
    return length;
}

/* ---- reading: a parser for one kind of Python literal */

typedef struct parser {
    const char *p, *end;
} parser;

static void spaces(parser *in)
{
    while (in->p < in->end && (*in->p == ' ' || *in->p == '\t' || *in->p == '\n' || *in->p == '\r'))
        in->p++;
}

/* Consume the character if it is next. */
static bool take(parser *in, char ch)
{
    spaces(in);
    if (in->p == in->end || *in->p != ch)
        return false;
    in->p++;
    return true;
}

static bool take_word(parser *in, const char *word)
{
    size_t n = strlen(word);

    spaces(in);
    if ((size_t)(in->end - in->p) < n || memcmp(in->p, word, n) != 0)
        return false;
    in->p += n;
    return true;
}

/* Consume a string literal without escapes, into text [size]. */
static bool take_string(parser *in, char *text, size_t size)
{
    size_t n = 0;
    char quote;

    spaces(in);
    if (in->p == in->end || (*in->p != '\'' && *in->p != '"'))
        return false;
    quote = *in->p++;
    while (in->p < in->end && *in->p != quote) {
        if (*in->p < ' ' || *in->p > '~' || *in->p == '\\' || n + 1 >= size)
            return false;
        text[n++] = *in->p++;
    }
    text[n] = '\0';
    return take(in, quote);
}

static bool is_digit(const parser *in)
{
    return in->p < in->end && *in->p >= '0' && *in->p <= '9';
}

static bool take_number(parser *in, size_t *value)
{
    spaces(in);
    if (!is_digit(in))
        return false;
    for (*value = 0; is_digit(in); in->p++)
        if (!tg_size_mul(value, *value, 10) || !tg_size_add(value, *value, (size_t)(*in->p - '0')))
            return false;
    return true;
}

static tg_status parse_dtype(parser *in, tg_array *a, tg_err *err)
{
    char text[32];
    parser inner;
    tg_dtype *t = &a->dtype;

    spaces(in);
    if (in->p < in->end && *in->p == '[')
        return tg_fail(err, TG_EDATA, "the element type is structured, expected numbers");
    if (!take_string(in, text, sizeof text))
        return tg_fail(err, TG_EDATA, "cannot parse 'descr' in the .npy header");
    if (strchr(text, 'O'))
        return tg_fail(err, TG_EDATA, "element type '%s' holds Python objects, expected numbers", text);
    if (text[0] == '>')
        return tg_fail(err, TG_EDATA, "element type '%s' is big-endian, expected little-endian", text);
    inner = (parser){text, text + strlen(text)};
    if (strchr("<|=", text[0]))
        inner.p += text[0] != '\0';
    *t = (tg_dtype){0};
    if (inner.p < inner.end)
        t->kind = *inner.p++;
    if (!is_digit(&inner) || !take_number(&inner, &t->size) || inner.p != inner.end || !tg_npy_holds(*t))
        return tg_fail(err, TG_EDATA, "element type '%s' is not one of u1 u2 u4 u8 i1 i2 i4 i8 f2 f4 f8 b1 S",
                       text);
    if (text[0] == '|' && t->size > 1 && t->kind != 'S')
        return tg_fail(err, TG_EDATA, "element type '%s' has no byte order, expected '<'", text);
    return TG_OK;
}

static tg_status parse_shape(parser *in, tg_array *a, tg_err *err)
{
    bool comma = true, good = take(in, '(');

    for (a->ndim = 0; good && !take(in, ')'); a->ndim++) {
        if (a->ndim == TG_DIMS_MAX)
            return tg_fail(err, TG_EDATA, "the shape has more than %d dimensions", TG_DIMS_MAX);
        good = comma && take_number(in, &a->shape[a->ndim]);
        comma = good && take(in, ',');
    }
    if (good && (a->ndim != 1 || comma)) /* (3) is not a tuple */
        return TG_OK;
    return tg_fail(err, TG_EDATA, "cannot parse 'shape' in the .npy header");
}

/* The dictionary, with its three keys in any order. */
static tg_status parse_dict(parser *in, tg_array *a, bool *fortran, tg_err *err)
{
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    unsigned seen = 0;
    bool comma = true;

    if (!take(in, '{'))
        return tg_fail(err, TG_EDATA, "the .npy header is not a dictionary");
    while (!take(in, '}')) {
        char key[16];
        unsigned k = 0;
        tg_status status;

        if (!comma || !take_string(in, key, sizeof key) || !take(in, ':'))
            return tg_fail(err, TG_EDATA, "the .npy header is not a dictionary of three keys");
        while (k < 3 && strcmp(key, keys[k]) != 0)
            k++;
        if (k == 3 || seen & 1u << k)
            return tg_fail(err, TG_EDATA, "the .npy header has %s key '%s'",
                           k == 3 ? "an unknown" : "a duplicate", key);
        seen |= 1u << k;
        status = k == 0 ? parse_dtype(in, a, err) : k == 2 ? parse_shape(in, a, err) : TG_OK;
        if (status)
            return status;
        if (k == 1 && !(*fortran = take_word(in, "True")) && !take_word(in, "False"))
            return tg_fail(err, TG_EDATA, "cannot parse 'fortran_order' in the .npy header");
        comma = take(in, ',');
    }
    for (unsigned k = 0; k < 3; k++)
        if (!(seen & 1u << k))
            return tg_fail(err, TG_EDATA, "the .npy header lacks '%s'", keys[k]);
    return TG_OK;
}

tg_status tg_npy_length(const unsigned char *first, size_t *length, tg_err *err)
{
    const bool wide = first[6] == 2;
    const size_t n = wide ? tg_get32(first + 8) : tg_get16(first + 8);

    if (memcmp(first, "\x93NUMPY", 6) != 0)
        return tg_fail(err, TG_EDATA, "not an .npy array");
    if ((first[6] != 1 && first[6] != 2) || first[7] != 0)
        return tg_fail(err, TG_EDATA, ".npy version %u.%u, expected 1.0 or 2.0", first[6], first[7]);
    if (n > HEADER_MAX || n < 2)
        return tg_fail(err, TG_EDATA, ".npy header of %zu bytes, expected 2 to %d", n, HEADER_MAX);
    *length = (wide ? 12 : 10) + n;
    return TG_OK;
}

tg_status tg_npy_parse(const unsigned char *head, size_t length, tg_array *a, tg_err *err)
{
    const char *text = (const char *)head;
    parser in = {text + (head[6] == 2 ? 12 : 10), text + length};
    bool fortran = false;
    size_t long_dims = 0;
    tg_status status = parse_dict(&in, a, &fortran, err);

    if (status)
        return status;
    spaces(&in);
    if (in.p != in.end || in.end[-1] != '\n')
        return tg_fail(err, TG_EDATA, "the .npy header does not end with spaces and a newline");
    if (!tg_array_measure(a))
        return tg_fail(err, TG_EDATA, "the shape is too large, expected less than 2^63 bytes");
    for (size_t i = 0; i < a->ndim; i++)
        long_dims += a->shape[i] > 1;
    if (fortran && long_dims > 1 && a->count > 0)
        return tg_fail(err, TG_EDATA,
                       "Fortran order, expected C order; save it with numpy.ascontiguousarray");
    return TG_OK;
}
