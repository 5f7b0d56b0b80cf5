#include "lib/nn/crossentropy.h"

#include <string.h>

#include "lib/base/size.h"
#include "lib/base/threads.h"
#include "lib/kernels/kernels.h"

/* Rows of logits held at a time: 16 MiB of them, but at least 256, so that the matrix
 * product is efficient. */
static size_t block_rows(size_t N, size_t V)
{
    size_t rows = ((size_t)1 << 22) / V;

    return tg_size_min(N, rows < 256 ? 256 : rows);
}

size_t tg_head_logits(size_t N, size_t V)
{
    return block_rows(N, V) * V;
}

struct rows {
    float *losses, *logits;
    const int32_t *targets;
    float scale; /* 0: no gradients */
    size_t V;
    float cap;     /* of the logits; 0: none */
    float *capped; /* [N,V] a copy of the capped logits, of which backward needs the slopes */
    bool round;    /* to bf16, where the row was */
};

/* The loss of a row, and then its gradient in its place. */
static float one_row(const struct rows *r, size_t n)
{
    const tg_kernels *kernels = tg_kernels_get();
    const size_t target = (size_t)r->targets[n];
    float *row = r->logits + n * r->V, *capped, loss;

    if (r->targets[n] < 0) {
        memset(row, 0, r->V * sizeof *row);
        return 0;
    }
    if (r->cap > 0)
        kernels->softcap_forward(row, r->cap, r->V);
    if (r->cap <= 0 || r->scale == 0)
        return kernels->crossentropy_row(row, r->V, target, r->scale);
    capped = r->capped + n * r->V;
    memcpy(capped, row, r->V * sizeof *row);
    loss = kernels->crossentropy_row(row, r->V, target, r->scale);
    kernels->softcap_backward(row, capped, r->cap, r->V);
    return loss;
}

static void some_rows(void *context, size_t begin, size_t end)
{
    const tg_kernels *kernels = tg_kernels_get();
    const struct rows *r = context;

    for (size_t n = begin; n < end; n++) {
        float *row = r->logits + n * r->V;
        void *rounded = row;

        r->losses[n] = one_row(r, n);
        if (r->round)
            kernels->round16(rounded, row, r->V);
    }
}

void tg_head_loss(float *losses, tg_matrix dinp, tg_matrix inp, const int32_t *targets, const tg_linear *head,
                  double cap, float scale, size_t N, float *logits)
{
    const size_t block = block_rows(N, head->out), V = head->out;
    const bool round = inp.type == TG_TYPE_BF16;
    const tg_matrix out = tg_matrix_of(logits, TG_TYPE_FLOAT, V), none = {0};
    const tg_matrix dout = {logits, inp.type, V, round ? 2 * V : V}; /* each row where its logits were */
    tg_linear some = *head;
    struct rows each = {.logits = logits,
                        .scale = dinp.data ? scale : 0,
                        .V = V,
                        .cap = (float)cap,
                        .capped = logits + block * V,
                        .round = round && dinp.data};

    for (size_t n = 0; n < N; n += block) {
        const size_t rows = tg_size_min(block, N - n);
        const tg_matrix x = tg_matrix_from(inp, n);

        tg_linear_forward(out, none, x, head, rows);
        each.losses = losses + n;
        each.targets = targets + n;
        tg_threads_run(rows, tg_threads_grain(V, 1), some_rows, &each);
        if (!dinp.data)
            continue;
        tg_linear_backward(tg_matrix_from(dinp, n), dout, x, &some, rows);
        some.overwrite = false; /* later blocks add to what the first one wrote */
    }
}
