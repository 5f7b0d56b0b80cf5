/*
 * Attention with bf16 in memory, without bf16 instructions: see attend.h.  A head's rows become
 * float32, and its results bf16; between the two it is attention in float32.  Where there are such
 * instructions, it is for heads with a window or a cap.
 */
#include "lib/base/convert.h"
#include "lib/kernels/isa/kernels_isa.h"

#ifdef __AVX512BF16__
#define FORWARD attend16_wide_forward
#define BACKWARD attend16_wide_backward
#else
#define FORWARD attend16_forward
#define BACKWARD attend16_backward
#endif

/* Rows of D, contiguous. */
static float *widen(float *restrict to, const tg_bf16 *restrict x, size_t ld, size_t rows, size_t D)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t d = 0; d < D; d++)
            to[r * D + d] = tg_float_from_bf16(x[r * ld + d]);
    return to + rows * D;
}

static void narrow(tg_bf16 *restrict to, size_t ld, const float *restrict x, size_t rows, size_t D)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t d = 0; d < D; d++)
            to[r * ld + d] = tg_bf16_from_float(x[r * D + d]);
}

/* The same attention in float32, with q, k and v in scratch; *rest is what remains of it. */
static tg_attention_head widened(const tg_attention_head *op, float *work, float **rest)
{
    const size_t T = op->queries, D = op->D;
    tg_attention_head wide = {.queries = T,
                              .D = D,
                              .scale = op->scale,
                              .cap = op->cap,
                              .window = op->window,
                              .ldq = D,
                              .ldk = D,
                              .ldv = D,
                              .ldo = D,
                              .lddk = D,
                              .lddv = D,
                              .keep = op->keep,
                              .context = op->context};

    wide.q = work;
    wide.k = work = widen(work, op->q, op->ldq, T, D);
    wide.v = work = widen(work, op->k, op->ldk, T, D);
    *rest = widen(work, op->v, op->ldv, T, D);
    return wide;
}

void ISA_NAME(FORWARD)(const tg_attention_head *op, float *work)
{
    float *rest;
    tg_attention_head wide = widened(op, work, &rest);

    wide.out = rest;
    wide.lse = op->lse;
    ISA_NAME(attend_forward)(&wide, rest + op->queries * op->D);
    narrow(op->out, op->ldo, wide.out, op->queries, op->D);
}

void ISA_NAME(BACKWARD)(const tg_attention_head *op, float *work)
{
    const size_t T = op->queries, D = op->D;
    float *rest, *dq, *dk, *dv;
    tg_attention_head wide = widened(op, work, &rest);

    wide.saved_lse = op->saved_lse;
    wide.saved_out = rest;
    wide.dout = rest = widen(rest, op->saved_out, op->ldo, T, D);
    wide.dq = dq = widen(rest, op->dout, op->ldo, T, D);
    wide.dk = dk = dq + T * D;
    wide.dv = dv = dk + T * D;
    ISA_NAME(attend_backward)(&wide, dv + T * D);
    narrow(op->dq, op->ldq, dq, T, D);
    narrow(op->dk, op->lddk, dk, T, D);
    narrow(op->dv, op->lddv, dv, T, D);
}
