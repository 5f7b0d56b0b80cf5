/*
 * attention: causal multi-head attention, fused: no [T,T] matrix is stored.
 *
 *   s[b,h,i,j] = q[b,i,h,:] . k[b,j,g,:] / sqrt(D)   for j <= i
 *   p = softmax over j        out[b,i,h,:] = sum_j p[b,h,i,j] v[b,j,g,:]
 *
 * There are H heads of queries, and KV heads of keys and values, of D elements each; KV divides H, and H/KV
 * neighbouring heads read the keys of one: g = h / (H/KV).  In GPT-2 KV = H, D = C/H.
 *
 * One thread computes all of a (b,h), or in backward all of a (b,g), so results do not depend on the
 * number of threads.
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
    size_t each; /* floats per thread, of which the kernel's come first */
    size_t kernel;
    size_t threads; /* max threads to use, even if tg_threads() is larger later */
    double *rows;   /* in double precision, instead: [B,H,4T], per head the scores, the probabilities, and the
                     * gradients of both */
} tg_attention_scratch;

/* Place scratch for up to `keys` keys of D elements, which `group` = H/KV heads read (see arena.h). */
void tg_attention_place(tg_arena *arena, tg_attention_scratch *scratch, size_t keys, size_t D, size_t group);

/* The arguments that forward and backward have in common. */
typedef struct tg_attention {
    size_t B, T, H, KV, D;
    size_t ldq, ldk, ldv;   /* from one token to the next, in q, k, v and their gradients */
    const tg_dropout *drop; /* of the probabilities; an element's number is its offset in [B,H,T,T].
                             * NULL or p = 0: none */
    const tg_attention_scratch *scratch;
    tg_kv_cache *cache;  /* of the preceding tokens; NULL: no cache */
    size_t layer, first; /* in the cache: the layer, and the first of the B sequences */
} tg_attention;

/*
 * tg_attention_forward
 *
 *   out  [B,T,H*D]   written       lse  [B,H,T]  written unless there is a cache; for backward
 *   q    [B,T,H*D]   read          k, v [B,T,KV*D]  read
 *
 * With a cache, the keys and values of the T new tokens are appended to the `past` ones
 * there, and the queries see all of them; dropout is not applied.
 */
void tg_attention_forward(float *out, float *lse, const float *q, const float *k, const float *v,
                          const tg_attention *a);

/* What backward writes, in the layouts of q, k and v, and what it reads beside those. */
typedef struct tg_attention_gradient {
    float *dq, *dk, *dv;
    const float *dout, *out; /* [B,T,H*D] */
    const float *lse;        /* of forward */
} tg_attention_gradient;

/* cache is NULL. */
void tg_attention_backward(const tg_attention_gradient *g, const float *q, const float *k, const float *v,
                           const tg_attention *a);

TG_API_END

#endif
