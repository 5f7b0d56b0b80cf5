#include "lib/nn/embedding.h"

#include "lib/base/convert.h"
#include "lib/base/size.h"
#include "lib/base/threads.h"
#include "lib/kernels/kernels.h"

struct tokens {
    float *out;        /* forward */
    const float *dout; /* backward */
    const int32_t *ids;
    const tg_embedding *embedding;
    size_t first, B, T;
};

static size_t position_of(const struct tokens *t, size_t bt)
{
    return t->embedding->positions ? (size_t)t->embedding->positions[bt] : bt % t->T;
}

/* Where the vector of a token is, or, if it is bf16, has been widened: out. */
static const float *token_vector(float *out, const tg_embedding *e, int32_t id)
{
    const size_t at = (size_t)id * e->C;

    if (!e->wte16)
        return e->wte + at;
    tg_floats_from_bf16(out, e->wte16 + at, e->C);
    return out;
}

static void forward_rows(void *context, size_t begin, size_t end)
{
    const struct tokens *t = context;
    const size_t C = t->embedding->C;

    for (size_t bt = begin; bt < end; bt++) {
        const float *token = token_vector(t->out + bt * C, t->embedding, t->ids[bt]);
        const float *wpe = t->embedding->wpe,
                    *position = wpe ? wpe + (t->first + position_of(t, bt)) * C : NULL;

        for (size_t c = 0; position && c < C; c++)
            t->out[bt * C + c] = token[c] + position[c];
        for (size_t c = 0; !position && c < C; c++)
            t->out[bt * C + c] = token[c] * t->embedding->scale;
    }
}

void tg_embedding_forward(float *out, const int32_t *ids, const tg_embedding *embedding, size_t first,
                          size_t B, size_t T)
{
    struct tokens tokens = {.out = out, .ids = ids, .embedding = embedding, .first = first, .B = B, .T = T};

    tg_threads_run(B * T, tg_threads_grain(embedding->C, 1), forward_rows, &tokens);
}

static void add_scaled(float *y, const float *x, float scale, size_t n)
{
    if (scale == 1)
        tg_kernels_get()->add(y, x, n);
    for (size_t i = 0; scale != 1 && i < n; i++)
        y[i] += x[i] * scale;
}

/* Threads share the columns, so that each sum runs over (b,t) in order even when many rows
 * have the same token. */
static void backward_columns(void *context, size_t begin, size_t end)
{
    const tg_kernels *kernels = tg_kernels_get();
    const struct tokens *t = context;
    const size_t C = t->embedding->C;

    for (size_t c = begin; c < end; c += TG_COLUMNS) {
        const size_t n = tg_size_min(TG_COLUMNS, end - c);

        for (size_t bt = 0; bt < t->B * t->T; bt++) {
            const float *dout = t->dout + bt * C + c;

            if (t->embedding->dwte)
                add_scaled(t->embedding->dwte + (size_t)t->ids[bt] * C + c, dout, t->embedding->scale, n);
            if (t->embedding->dwpe)
                kernels->add(t->embedding->dwpe + position_of(t, bt) * C + c, dout, n);
        }
    }
}

void tg_embedding_backward(const float *dout, const int32_t *ids, const tg_embedding *embedding, size_t B,
                           size_t T)
{
    struct tokens tokens = {.dout = dout, .ids = ids, .embedding = embedding, .B = B, .T = T};

    if (!embedding->dwte && !embedding->dwpe)
        return;
    tg_threads_run(embedding->C, tg_threads_grain(B * T, TG_COLUMNS), backward_columns, &tokens);
}
