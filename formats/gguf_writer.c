#include "formats/gguf_writer.h"

#include <assert.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "formats/block_types.h"
#include "lib/base/convert.h"
#include "lib/base/grow.h"
#include "lib/base/size.h"
#include "lib/base/threads.h"

/* Values converted before they are written, and by one thread at a time; multiples of a block's. */
#define PIECE ((size_t)1 << 19)
#define SHARE ((size_t)1 << 14)

/* The kinds: a tensor's type. */
static const struct stored_as {
    uint32_t type;
    size_t values, bytes; /* per block */
    const char *name;
} stored_as[] = {
    [TG_GGUF_AS_F32] = {0, 1, 4, "f32"},
    [TG_GGUF_AS_F16] = {1, 1, 2, "f16"},
    [TG_GGUF_AS_BF16] = {30, 1, 2, "bf16"},
    [TG_GGUF_AS_Q8_0] = {8, TG_Q8_0_VALUES, TG_Q8_0_BYTES, "q8_0"},
};

bool tg_gguf_can_store(tg_gguf_kind kind, size_t row)
{
    return row % stored_as[kind].values == 0;
}

void tg_gguf_begin(tg_gguf_writer *w, int fd)
{
    *w = (tg_gguf_writer){.out.fd = fd};
}

/* ---- the header */

/* Append n bytes; 0 if data is NULL. */
static void append(tg_gguf_writer *w, tg_gguf_bytes *bytes, const void *data, size_t n)
{
    if (n == 0 || w->out.err.code ||
        tg_grow(&bytes->p, &bytes->capacity, tg_size_add_sat(bytes->n, n), 1, "the header of a GGUF file",
                &w->out.err))
        return;
    if (data)
        memcpy(bytes->p + bytes->n, data, n);
    else
        memset(bytes->p + bytes->n, 0, n);
    bytes->n += n;
}

static void append_number(tg_gguf_writer *w, tg_gguf_bytes *bytes, uint64_t number, size_t width)
{
    append(w, bytes, &number, width); /* little-endian */
}

static void append_text(tg_gguf_writer *w, tg_gguf_bytes *bytes, const void *text, size_t n)
{
    append_number(w, bytes, n, 8);
    append(w, bytes, text, n);
}

static void put_key(tg_gguf_writer *w, const char *key, tg_gguf_type type)
{
    assert(!w->begun);
    append_text(w, &w->values, key, strlen(key));
    append_number(w, &w->values, type, 4);
    w->n_values++;
}

void tg_gguf_put_u32(tg_gguf_writer *w, const char *key, uint32_t value)
{
    put_key(w, key, TG_GGUF_U32);
    append_number(w, &w->values, value, 4);
}

void tg_gguf_put_f32(tg_gguf_writer *w, const char *key, float value)
{
    put_key(w, key, TG_GGUF_F32);
    append(w, &w->values, &value, sizeof value);
}

void tg_gguf_put_bool(tg_gguf_writer *w, const char *key, bool value)
{
    const unsigned char byte = value;

    put_key(w, key, TG_GGUF_BOOL);
    append(w, &w->values, &byte, 1);
}

void tg_gguf_put_text(tg_gguf_writer *w, const char *key, const void *text, size_t n)
{
    put_key(w, key, TG_GGUF_TEXT);
    append_text(w, &w->values, text, n);
}

static void put_array(tg_gguf_writer *w, const char *key, tg_gguf_type type, size_t n)
{
    put_key(w, key, TG_GGUF_ARRAY);
    append_number(w, &w->values, type, 4);
    append_number(w, &w->values, n, 8);
}

void tg_gguf_put_i32s(tg_gguf_writer *w, const char *key, const int32_t *value, size_t n)
{
    put_array(w, key, TG_GGUF_I32, n);
    append(w, &w->values, n > 0 ? value : (const int32_t[]){0}, n * sizeof *value);
}

void tg_gguf_put_f32s(tg_gguf_writer *w, const char *key, const float *value, size_t n)
{
    put_array(w, key, TG_GGUF_F32, n);
    append(w, &w->values, n > 0 ? value : (const float[]){0}, n * sizeof *value);
}

void tg_gguf_put_texts(tg_gguf_writer *w, const char *key, size_t n)
{
    put_array(w, key, TG_GGUF_TEXT, n);
}

void tg_gguf_put_element(tg_gguf_writer *w, const void *text, size_t n)
{
    append_text(w, &w->values, text, n);
}

/* ---- tensors */

void tg_gguf_declare(tg_gguf_writer *w, const char *name, size_t ndim, const size_t *shape, tg_gguf_kind kind)
{
    const struct stored_as *as = &stored_as[kind];
    const size_t n = strlen(name);
    struct tg_gguf_declared *d;
    size_t count = 1;

    assert(!w->begun && n < TG_GGUF_NAME_MAX && ndim >= 1 && ndim <= TG_GGUF_DIMS_MAX);
    assert(tg_gguf_can_store(kind, shape[ndim - 1]));
    if (w->out.err.code || tg_grow(&w->declared, &w->capacity, w->n_tensors + 1, sizeof *w->declared,
                                   "the tensors of a GGUF file", &w->out.err))
        return;
    append_text(w, &w->tensors, name, n);
    append_number(w, &w->tensors, ndim, 4);
    for (size_t i = ndim; i-- > 0;) {
        append_number(w, &w->tensors, shape[i], 8);
        count = tg_size_mul_sat(count, shape[i]);
    }
    append_number(w, &w->tensors, as->type, 4);
    append_number(w, &w->tensors, w->data, 8);
    if (count > PTRDIFF_MAX / 4) {
        (void)tg_fail_memory(&w->out.err, SIZE_MAX, name);
        return;
    }
    d = &w->declared[w->n_tensors++];
    *d = (struct tg_gguf_declared){.kind = kind, .count = count};
    memcpy(d->name, name, n + 1);
    w->data += tg_round_up(count / as->values * as->bytes, TG_GGUF_ALIGNMENT);
}

static void write_header(tg_gguf_writer *w)
{
    const uint32_t version = 3;
    const size_t end = 24 + w->values.n + w->tensors.n;

    append(w, &w->tensors, NULL, tg_round_up(end, TG_GGUF_ALIGNMENT) - end);
    tg_sink_puts(&w->out, "GGUF");
    tg_sink_put(&w->out, &version, sizeof version);
    tg_sink_put(&w->out, &w->n_tensors, sizeof w->n_tensors);
    tg_sink_put(&w->out, &w->n_values, sizeof w->n_values);
    tg_sink_put(&w->out, w->values.p, w->values.n);
    tg_sink_put(&w->out, w->tensors.p, w->tensors.n);
    w->begun = true;
}

/* ---- values */

/* Nonzero: some values are finite, but not as they are stored. */
static unsigned to_16_bits(unsigned char *out, const float *x, size_t n, tg_gguf_kind kind)
{
    bool (*const round)(void *, const float *, size_t) =
        kind == TG_GGUF_AS_F16 ? tg_round_to_half : tg_round_to_bf16;
    const uint16_t exponent = kind == TG_GGUF_AS_F16 ? 0x7C00 : 0x7F80;
    unsigned beyond = 0;

    if (round(out, x, n))
        return 0;
    for (size_t i = 0; i < n; i++) {
        uint16_t bits;

        memcpy(&bits, out + i * sizeof bits, sizeof bits);
        beyond |= (bits & exponent) == exponent && tg_is_finite(x[i]);
    }
    return beyond;
}

static unsigned to_q8_0(unsigned char *restrict out, const float *restrict x, size_t n)
{
    unsigned beyond = 0;

    for (size_t i = 0; i < n; i += TG_Q8_0_VALUES)
        for (size_t j = i; j < i + TG_Q8_0_VALUES; j++)
            beyond |= !(fabsf(x[j]) <= TG_Q8_0_LIMIT);
    if (!beyond)
        tg_q8_0_encode(out, x, n);
    return beyond;
}

struct conversion {
    unsigned char *out;
    const float *x;
    tg_gguf_kind kind;
    atomic_bool beyond;
};

static void convert_range(void *context, size_t begin, size_t end)
{
    struct conversion *c = context;
    const struct stored_as *as = &stored_as[c->kind];
    unsigned char *const out = c->out + begin / as->values * as->bytes;

    if (c->kind == TG_GGUF_AS_Q8_0 ? to_q8_0(out, c->x + begin, end - begin)
                                   : to_16_bits(out, c->x + begin, end - begin, c->kind))
        c->beyond = true;
}

static void write_converted(tg_gguf_writer *w, const struct tg_gguf_declared *d, const float *x, size_t n)
{
    const struct stored_as *as = &stored_as[d->kind];

    if (!w->piece && !(w->piece = malloc(2 * PIECE)))
        (void)tg_fail_memory(&w->out.err, 2 * PIECE, "a piece of a tensor");
    for (size_t i = 0; !w->out.err.code && i < n; i += PIECE) {
        const size_t part = tg_size_min(PIECE, n - i);
        struct conversion c = {.out = w->piece, .x = x + i, .kind = d->kind};

        tg_threads_run(part, SHARE, convert_range, &c);
        if (c.beyond)
            (void)tg_fail(&w->out.err, TG_EDATA, "%s has a value beyond the range of %s: write it as f32",
                          d->name, as->name);
        tg_sink_put(&w->out, w->piece, part / as->values * as->bytes);
    }
}

/* The padding after a tensor. */
static void end_tensor(tg_gguf_writer *w, const struct tg_gguf_declared *d)
{
    static const unsigned char zeros[TG_GGUF_ALIGNMENT];
    const size_t bytes = d->count / stored_as[d->kind].values * stored_as[d->kind].bytes;

    tg_sink_put(&w->out, zeros, tg_round_up(bytes, TG_GGUF_ALIGNMENT) - bytes);
    w->current++;
    w->done = 0;
}

void tg_gguf_put_values(tg_gguf_writer *w, const float *x, size_t n)
{
    const struct tg_gguf_declared *d;

    if (!w->begun && !w->out.err.code)
        write_header(w);
    if (w->out.err.code)
        return;
    assert(w->current < w->n_tensors);
    d = &w->declared[w->current];
    assert(n <= d->count - w->done && n % stored_as[d->kind].values == 0);
    if (d->kind == TG_GGUF_AS_F32)
        tg_sink_put(&w->out, x, n * sizeof *x);
    else
        write_converted(w, d, x, n);
    w->done += n;
    if (w->done == d->count)
        end_tensor(w, d);
}

tg_status tg_gguf_finish(tg_gguf_writer *w, tg_err *err)
{
    tg_status status;

    if (!w->begun && !w->out.err.code && w->n_tensors == 0)
        write_header(w);
    if (!w->out.err.code && w->current < w->n_tensors)
        (void)tg_fail(&w->out.err, TG_EUSAGE, "%s has %zu values, got %zu", w->declared[w->current].name,
                      w->declared[w->current].count, w->done);
    status = tg_sink_flush(&w->out, err);
    free(w->values.p);
    free(w->tensors.p);
    free(w->declared);
    free(w->piece);
    *w = (tg_gguf_writer){.out.fd = -1};
    return status;
}
