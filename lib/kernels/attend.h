/*
 * attend: causal attention of one head, fused: the scores, softmax and weighted sum of
 * one block of queries at a time, so that no [T,T] matrix is stored.
 *
 * There are past + queries keys; query i (0 <= i < queries) sees the keys j <= past + i, with a window of W
 * only the last W of them.  Vectors have D elements; row i of q is at q + i*ldq, and so on, and begins at
 * any element.
 *
 *   s_j = scale * q_i . k_j      p_j = exp(s_j - lse_i)      out_i = sum_j p_j v_j
 *   lse_i = log sum_j exp(s_j)
 *
 * With a cap, s_j = cap * tanh(scale * q_i . k_j / cap).
 *
 * keep, if not NULL, fills factors [n] with dropout's factors of the probabilities of keys
 * first .. first+n-1.
 *
 * Operands and results are float32.  attend16, which is for training, has bf16, scale > 0 and past = 0.
 *
 * In bf16 scores and dout . v are float32 sums of exact products of bf16; scale, maximum, sum and lse are
 * float32.  Probabilities, times dropout's factors, and the scores' gradient are rounded to bf16 for
 * the products with v, k, q and dout, whose sums are float32; results are rounded once, at the end.
 * Forward rounds exp(s - max) before it divides by the sum, and sums what is not rounded: the relative
 * error is that of a rounded probability, 2^-8.  Kernels without bf16 instructions convert rows to float32
 * and back, and round results alone.
 */
#ifndef TG_KERNELS_ATTEND_H
#define TG_KERNELS_ATTEND_H

#include <stddef.h>

typedef struct tg_attention_head {
    size_t queries, past, D;
    float scale;
    float cap;             /* 0: none */
    size_t window;         /* 0: none */
    const void *q, *k, *v; /* here and below float, or tg_bf16 */
    size_t ldq, ldk, ldv;
    size_t ldo; /* row stride of out and dout */
    void (*keep)(float *factors, size_t query, size_t first, size_t n, const void *context);
    const void *context;
    /* written by forward */
    void *out;  /* [queries] rows of D */
    float *lse; /* [queries], or NULL */
    /* backward, with past = 0: reads forward's out and lse, and dout in the layout of out;
     * writes dq in the layout of q, and dk and dv, with rows lddk and lddv apart */
    const void *saved_out, *dout;
    const float *saved_lse;
    void *dq, *dk, *dv;
    size_t lddk, lddv;
} tg_attention_head;

/* Floats of scratch for a call with up to `keys` keys; each thread needs its own. */
size_t tg_attention_head_work(size_t keys, size_t D);
size_t tg_attention_head16_work(size_t keys, size_t D); /* attend16 */

/* In float32, fewer queries than these are computed as in decoding, with other sums than more of them: a
 * query's results do not depend on the queries next to it except in this. */
#define TG_ATTEND_FEW ((size_t)4)

/* Queries of a block, and keys of a block: a multiple of 32, two of the longest vectors. */
#ifndef TG_ATTEND_BLOCK
#define TG_ATTEND_BLOCK ((size_t)64)
#endif

#endif
