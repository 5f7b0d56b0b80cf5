/*
 * attention: causal multi-head attention, fused: no [T,T] matrix is stored.
 *
 *   s[b,h,i,j] = q[b,i,h,:] . k[b,j,h,:] / sqrt(D)   for j <= i; D = C/H
 *   p = softmax over j        out[b,i,h,:] = sum_j p[b,h,i,j] v[b,j,h,:]
 *
 * q, k, v are the three thirds of the rows of qkv [B,T,3C].  Every (b,h) is one
 * thread's work from start to end: results do not depend on the number of threads.
 * scratch is placed once, for as many threads as OpenMP has then.
 * Source: Vaswani et al. 2017, arXiv:1706.03762; the running form of backward (p
 * made again from the logarithm of the row's sum): Dao et al. 2022, arXiv:2205.14135.
 * References: tg_attention_1h_*_ref, tg_attention_mha_*_ref.
 */
#ifndef TG_NN_ATTENTION_H
#define TG_NN_ATTENTION_H

#include <stddef.h>

#include "lib/base/arena.h"
#include "lib/nn/dropout.h"

typedef struct tg_attention_scratch {
    float *floats;
    size_t each;    /* floats of one thread */
    size_t threads; /* the most that will work, also when OpenMP is given more later */
} tg_attention_scratch;

/* Place scratch for up to `keys` keys of D = C/H elements (see arena.h). */
void tg_attention_place(tg_arena *arena, tg_attention_scratch *scratch, size_t keys, size_t D);

/*
 * tg_attention_forward
 *
 *   out  [B,T,C]  written       lse  [B,H,T]  written; saved for backward
 *   qkv  [B,T,3C] read          drop  on the probabilities, element number = offset
 *                               in [B,H,T,T]; NULL or p = 0: none
 */
void tg_attention_forward(float *out, float *lse, const float *qkv, const tg_dropout *drop, size_t B,
                          size_t T, size_t C, size_t H, const tg_attention_scratch *scratch);

/* tg_attention_backward: dqkv [B,T,3C] written; dout, out [B,T,C], lse, qkv read. */
void tg_attention_backward(float *dqkv, const float *dout, const float *out, const float *lse,
                           const float *qkv, const tg_dropout *drop, size_t B, size_t T, size_t C, size_t H,
                           const tg_attention_scratch *scratch);

/*
 * B sequences, of each of which `past` tokens are in a cache: n new queries a sequence, the
 * thirds of rows of qkv [B,n,3C], over past + n keys and values.
 *
 *   out   [B,n,C]  written
 *   k, v  [past + n,C] of sequence b at k + b*ld
 */
void tg_attention_cached(float *out, const float *qkv, const float *k, const float *v, size_t ld, size_t B,
                         size_t n, size_t past, size_t C, size_t H, const tg_attention_scratch *scratch);

#endif
