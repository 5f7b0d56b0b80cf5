/*
 * attend16: attention as in attend.h, with operands and results in bf16, for training.
 *
 * Query i (0 <= i < queries) sees the keys j <= i.  scale > 0.  Rows begin at any element.
 *
 * Scores and dout . v are float32 sums of exact products of bf16; scale, maximum, sum and lse are
 * float32.  Probabilities, times dropout's factors, and the scores' gradient are rounded to bf16 for
 * the products with v, k, q and dout, whose sums are float32; results are rounded once, at the end.
 * Forward rounds exp(s - max) before it divides by the sum, and sums what is not rounded: the relative
 * error is that of a rounded probability, 2^-8.
 *
 * Kernels without bf16 instructions convert rows to float32 and back, and round results alone.
 */
#ifndef TG_KERNELS_ATTEND16_H
#define TG_KERNELS_ATTEND16_H

#include <stddef.h>

#include "lib/base/api.h"
#include "lib/base/bf16.h"

TG_API_BEGIN

typedef struct tg_attention_head16 {
    size_t queries, D;
    float scale;
    const tg_bf16 *q, *k, *v;
    size_t ldq, ldk, ldv;
    size_t ldo; /* row stride of out and dout */
    void (*keep)(float *factors, size_t query, size_t first, size_t n, const void *context);
    const void *context;
    /* written by forward */
    tg_bf16 *out; /* [queries] rows of D */
    float *lse;   /* [queries], or NULL */
    /* backward: reads forward's out and lse, and dout in the layout of out; writes dq in the layout of
     * q, and dk and dv, with rows lddk and lddv apart */
    const tg_bf16 *saved_out, *dout;
    const float *saved_lse;
    tg_bf16 *dq, *dk, *dv;
    size_t lddk, lddv;
} tg_attention_head16;

/* Floats of scratch for a call with up to `keys` keys; each thread needs its own. */
size_t tg_attention_head16_work(size_t keys, size_t D);

TG_API_END

#endif
