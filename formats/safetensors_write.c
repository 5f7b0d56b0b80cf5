/* Writing a safetensors file. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/json.h"
#include "formats/safetensors.h"
#include "formats/sink.h"
#include "lib/base/decimal.h"
#include "lib/base/grow.h"
#include "lib/base/size.h"

#define ALIGN ((size_t)64) /* of the data's begin */
#define LENGTH ((size_t)8)

/* A text that grows; the first failure is kept in err. */
struct text {
    char *p;
    size_t n, capacity;
    tg_err err;
};

static void put(struct text *t, const char *p, size_t n)
{
    if (t->err.code || tg_grow(&t->p, &t->capacity, t->n + n, 1, "the header", &t->err))
        return;
    memcpy(t->p + t->n, p, n);
    t->n += n;
}

static void puts_text(struct text *t, const char *text)
{
    put(t, text, strlen(text));
}

static void put_size(struct text *t, size_t value)
{
    char digits[TG_DECIMAL_SIZE] = "";

    put(t, digits, (size_t)(tg_decimal_size(digits, value) - digits));
}

static void put_name(struct text *t, const char *name)
{
    char escaped[TG_JSON_ESCAPE_MAX + 1];

    puts_text(t, "\"");
    for (; *name != '\0'; name++)
        put(t, escaped, tg_json_escape(escaped, (unsigned char)*name, ""));
    puts_text(t, "\"");
}

static void put_tensor(struct text *t, const tg_array *a, size_t begin)
{
    puts_text(t, ",");
    put_name(t, a->name);
    puts_text(t, ":{\"dtype\":\"");
    puts_text(t, tg_safetensors_type(a->dtype));
    puts_text(t, "\",\"shape\":[");
    for (size_t i = 0; i < a->ndim; i++) {
        puts_text(t, i > 0 ? "," : "");
        put_size(t, a->shape[i]);
    }
    puts_text(t, "],\"data_offsets\":[");
    put_size(t, begin);
    puts_text(t, ",");
    put_size(t, begin + a->bytes);
    puts_text(t, "]}");
}

/* The length and the JSON; *bytes of data follow. */
static tg_status make_header(struct text *t, size_t *bytes, const tg_array *arrays, size_t n, tg_err *err)
{
    uint64_t length;

    *bytes = 0;
    puts_text(t, "length..{\"__metadata__\":{\"format\":\"pt\"}");
    for (size_t i = 0; i < n; i++) {
        tg_array a = arrays[i];
        const size_t begin = *bytes;

        if (!tg_safetensors_type(a.dtype))
            return tg_fail(err, TG_EUSAGE, "%s: safetensors has no type %c%zu", a.name, a.dtype.kind,
                           a.dtype.size);
        if (!tg_array_measure(&a) || !tg_size_add(bytes, begin, a.bytes))
            return tg_fail(err, TG_EUSAGE, "%s: the sizes exceed the address space", a.name);
        put_tensor(t, &a, begin);
    }
    puts_text(t, "}");
    while (t->n % ALIGN != 0 && !t->err.code)
        puts_text(t, " ");
    if (t->err.code)
        return tg_fail(err, t->err.code, "%s", t->err.message);
    /* unreached: a model has at most TG_NAMES_MAX tensors */
    if (t->n - LENGTH > TG_SAFETENSORS_HEADER_MAX)
        return tg_fail(err, TG_EUSAGE, "the header would exceed %zu bytes", TG_SAFETENSORS_HEADER_MAX);
    length = t->n - LENGTH;
    for (size_t i = 0; i < LENGTH; i++)
        t->p[i] = (char)(length >> 8 * i & 0xFF);
    return TG_OK;
}

tg_status tg_safetensors_begin(tg_safetensors_writer *w, int fd, const tg_array *arrays, size_t n,
                               tg_err *err)
{
    struct text text = {0};
    size_t bytes;
    tg_status status = make_header(&text, &bytes, arrays, n, err);

    if (!status)
        status = tg_write_all(fd, text.p, text.n, err);
    free(text.p);
    *w = (tg_safetensors_writer){fd, bytes};
    return status;
}

tg_status tg_safetensors_put(tg_safetensors_writer *w, const void *data, size_t bytes, tg_err *err)
{
    assert(bytes <= w->left);
    w->left -= bytes;
    return tg_write_all(w->fd, data, bytes, err);
}

void tg_safetensors_end(const tg_safetensors_writer *w)
{
    assert(w->left == 0);
    (void)w;
}
