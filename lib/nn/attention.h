/*
 * attention: causal multi-head attention, fused: no [T,T] matrix is stored.
 *
 *   s[b,h,i,j] = q[b,i,h,:] . k[b,j,g,:] / sqrt(D)   for j <= i
 *   p = softmax over j        out[b,i,h,:] = sum_j p[b,h,i,j] v[b,j,g,:]
 *
 * A rule (lib/nn/ref/rule.h) may scale scores otherwise, cap them, or hide keys before a window.
 *
 * There are H heads of queries, and KV heads of keys and values, of D elements each; KV divides H, and H/KV
 * neighbouring heads read the keys of one: g = h / (H/KV).  In GPT-2 KV = H, D = C/H.
 *
 * Any kind of operands (lib/nn/ops.h); in a pass in bf16 all but lse is bf16.
 * One thread computes all of a (b,h), or in backward all of a (b,g), so results do not depend on the
 * number of threads.
 * Source: Vaswani et al. 2017, arXiv:1706.03762; backward, which recomputes p from the
 * logarithm of each row's sum (lse): Dao et al. 2022, arXiv:2205.14135.
 * References: tg_attention_1h_*_ref, tg_attention_mha_*_ref, tg_attention_rule_row_ref.
 */
#ifndef TG_NN_ATTENTION_H
#define TG_NN_ATTENTION_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/arena.h"
#include "lib/base/matrix.h"
#include "lib/nn/dropout.h"
#include "lib/nn/kv_cache.h"
#include "lib/nn/ref/rule.h"

/* Scratch for tg_threads() threads, when it is placed. */
typedef struct tg_attention_scratch {
    float *floats;
    size_t each; /* floats per thread, of which the kernel's come first */
    size_t kernel;
    size_t threads; /* max threads to use, even if tg_threads() is larger later */
} tg_attention_scratch;

/* Place scratch (see arena.h) for operands of a type: up to `keys` keys of D elements, to whose gradients
 * `group` = H/KV heads add; 1 also where there is no backward. */
void tg_attention_place(tg_arena *arena, tg_attention_scratch *scratch, tg_type type, size_t keys, size_t D,
                        size_t group);

/* The arguments that forward and backward have in common. */
typedef struct tg_attention {
    size_t B, T, H, KV, D;
    tg_attention_rule rule;
    const tg_dropout *drop; /* of the probabilities; an element's number is its offset in [B,H,T,T].
                             * NULL or p = 0: none */
    const tg_attention_scratch *scratch;
    tg_kv_cache *cache; /* of the preceding tokens; NULL: no cache */
    /* [B,T] of each token in its document: a 0 begins one, and no token sees another document's; NULL: a
     * sequence is one.  Not with a cache. */
    const int32_t *positions;
    size_t layer, first; /* in the cache: the layer, and the first of the B sequences */
} tg_attention;

/* [B,T,H*D], and [B,T,KV*D] twice, all of one type.  Each may be columns of a wider matrix. */
typedef struct tg_qkv {
    tg_matrix q, k, v;
} tg_qkv;

/*
 * tg_attention_forward
 *
 *   out  [B,T,H*D]   written       lse  [B,H,T]  written, unless there is a cache or in double; for backward
 *
 * With a cache, which is for float32, the keys and values of the T new tokens are appended to the `past` ones
 * there, and the queries see all of them; dropout is not applied.
 */
void tg_attention_forward(tg_matrix out, tg_matrix lse, const tg_qkv *inp, const tg_attention *a);

/* dinp is written; dout is in the layout of out, which with lse is forward's (in double neither is read).
 * cache is NULL. */
void tg_attention_backward(const tg_qkv *dinp, tg_matrix dout, tg_matrix out, tg_matrix lse,
                           const tg_qkv *inp, const tg_attention *a);

#endif
