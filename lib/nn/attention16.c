/* Attention on bf16: see lib/nn/ops16.h and lib/nn/attention.h. */
#include <math.h>

#include "lib/base/size.h"
#include "lib/kernels/kernels.h"
#include "lib/nn/attention_heads.h"
#include "lib/nn/ops16.h"

void tg_attention16_place(tg_arena *arena, tg_attention_scratch *scratch, size_t keys, size_t D)
{
    scratch->threads = tg_threads();
    scratch->each = tg_round_up(tg_attend16_work(keys, D), TG_ALIGN / sizeof(float));
    scratch->floats = tg_arena_take(arena, scratch->threads * scratch->each, sizeof(float));
}

/* The arrays of an operation; what it does not use is NULL. */
struct arrays {
    tg_bf16 *out, *dqkv;
    float *lse;
    const tg_bf16 *qkv, *dout, *saved_out;
    const float *saved_lse;
    const tg_attention *a;
};

/* The kernel's inputs for one (b,h); the caller adds the outputs. */
static tg_attend16 head(const struct arrays *x, const tg_attention_rows *rows, size_t bh)
{
    const tg_attention *a = x->a;
    const size_t T = a->T, C = a->C, D = C / a->H, at = bh / a->H * T * 3 * C + bh % a->H * D;

    return (tg_attend16){
        .queries = T,
        .D = D,
        .scale = 1.0f / sqrtf((float)D),
        .q = x->qkv + at,
        .k = x->qkv + at + C,
        .v = x->qkv + at + 2 * C,
        .ldq = 3 * C,
        .ldk = 3 * C,
        .ldv = 3 * C,
        .ldo = C,
        .keep = rows->drop && rows->drop->p > 0 ? tg_attention_keep : NULL,
        .context = rows,
    };
}

static void forward(void *context, size_t begin, size_t end)
{
    const struct arrays *x = context;
    const tg_attention *a = x->a;
    const size_t T = a->T;

    for (size_t bh = begin; bh < end; bh++) {
        const tg_attention_rows rows = {.drop = a->drop, .first = bh * T * T, .T = T};
        tg_attend16 op = head(x, &rows, bh);

        op.out = x->out + tg_attention_row(bh, T, a->C, a->H);
        op.lse = x->lse + bh * T;
        tg_kernels_get()->attend16_forward(&op, tg_attention_own(a->scratch));
    }
}

void tg_attention16_forward(tg_bf16 *out, float *lse, const tg_bf16 *qkv, const tg_attention *a)
{
    struct arrays x = {.out = out, .lse = lse, .qkv = qkv, .a = a};

    tg_attention_each_head(a, a->T, forward, &x);
}

static void backward(void *context, size_t begin, size_t end)
{
    const struct arrays *x = context;
    const tg_attention *a = x->a;
    const size_t T = a->T;

    for (size_t bh = begin; bh < end; bh++) {
        const tg_attention_rows rows = {.drop = a->drop, .first = bh * T * T, .T = T};
        const size_t at = tg_attention_row(bh, T, a->C, a->H);
        tg_attend16 op = head(x, &rows, bh);

        op.saved_out = x->saved_out + at;
        op.saved_lse = x->saved_lse + bh * T;
        op.dout = x->dout + at;
        op.dq = x->dqkv + (op.q - x->qkv);
        op.dk = x->dqkv + (op.k - x->qkv);
        op.dv = x->dqkv + (op.v - x->qkv);
        tg_kernels_get()->attend16_backward(&op, tg_attention_own(a->scratch));
    }
}

void tg_attention16_backward(tg_bf16 *dqkv, const tg_bf16 *dout, const tg_bf16 *out, const float *lse,
                             const tg_bf16 *qkv, const tg_attention *a)
{
    struct arrays x = {.dqkv = dqkv, .dout = dout, .saved_out = out, .saved_lse = lse, .qkv = qkv, .a = a};

    tg_attention_each_head(a, a->T, backward, &x);
}
