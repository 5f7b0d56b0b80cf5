/*
 * attention: causal multi-head attention, fused: no [T,T] matrix is stored.
 *
 *   s[b,h,i,j] = q[b,i,h,:] . k[b,j,h,:] / sqrt(D)   for j <= i; D = C/H
 *   p = softmax over j        out[b,i,h,:] = sum_j p[b,h,i,j] v[b,j,h,:]
 *
 * q, k, v are the three thirds of the rows of qkv [B,T,3C].  One thread computes all of
 * a (b,h), so results do not depend on the number of threads.
 * Source: Vaswani et al. 2017, arXiv:1706.03762; backward, which recomputes p from the
 * logarithm of each row's sum (lse): Dao et al. 2022, arXiv:2205.14135.
 * References: tg_attention_1h_*_ref, tg_attention_mha_*_ref.
 */
#ifndef TG_NN_ATTENTION_H
#define TG_NN_ATTENTION_H

#include <stddef.h>

#include "lib/base/api.h"
#include "lib/base/arena.h"
#include "lib/nn/dropout.h"
#include "lib/nn/kv_cache.h"

TG_API_BEGIN

/* Scratch for tg_threads() threads, when it is placed. */
typedef struct tg_attention_scratch {
    float *floats;
    size_t each;    /* floats per thread */
    size_t threads; /* max threads to use, even if tg_threads() is larger later */
    double *rows;   /* in double precision, instead: [B,H,4T], per head the scores, the probabilities, and the
                     * gradients of both */
} tg_attention_scratch;

/* Place scratch for up to `keys` keys of D = C/H elements (see arena.h). */
void tg_attention_place(tg_arena *arena, tg_attention_scratch *scratch, size_t keys, size_t D);

/* The arguments that forward and backward have in common. */
typedef struct tg_attention {
    size_t B, T, C, H;
    const tg_dropout *drop; /* of the probabilities; an element's number is its offset in [B,H,T,T].
                             * NULL or p = 0: none */
    const tg_attention_scratch *scratch;
    tg_kv_cache *cache;  /* of the preceding tokens; NULL: no cache */
    size_t layer, first; /* in the cache: the layer, and the first of the B sequences */
} tg_attention;

/*
 * tg_attention_forward
 *
 *   out  [B,T,C]  written       lse  [B,H,T]  written unless there is a cache; for backward
 *   qkv  [B,T,3C] read
 *
 * With a cache, the keys and values of the T new tokens are appended to the `past` ones
 * there, and the queries see all of them; dropout is not applied.
 */
void tg_attention_forward(float *out, float *lse, const float *qkv, const tg_attention *a);

/* tg_attention_backward: dqkv [B,T,3C] written; dout, out [B,T,C], lse, qkv read.  cache is NULL. */
void tg_attention_backward(float *dqkv, const float *dout, const float *out, const float *lse,
                           const float *qkv, const tg_attention *a);

TG_API_END

#endif
