/*
 * attend_few: attention of a few queries, as in decoding, where reading keys and values is the
 * limit.  Nothing is packed, because each key is used only once per query.
 *
 * The rows that a head reads are far apart, so the processor does not foresee them: they are
 * prefetched, a block of VL keys ahead.
 */
#ifndef TG_KERNELS_ATTEND_FEW_H
#define TG_KERNELS_ATTEND_FEW_H

#include <math.h>

#include "lib/base/size.h"
#include "lib/kernels/attend.h"
#include "lib/kernels/isa/isa.h"
#include "lib/kernels/isa/transpose.h"

#define FEW_VECTORS (VL == 16 ? 4 : 8) /* of out that are summed at a time */
#define FEW_LINE 16                    /* floats of a cache line */

/* The first key that query i sees. */
INLINE size_t first_seen(const tg_attention_head *op, size_t i)
{
    const size_t keys = op->past + i + 1;

    return op->window > 0 && keys > op->window ? keys - op->window : 0;
}

/* The first n < VL of a vector; the others are 0. */
INLINE vf load_some(const float *p, size_t n)
{
    float x[VL] = {0};

    memcpy(x, p, n * sizeof *x);
    return load(x);
}

INLINE void prefetch_row(const float *x, size_t n)
{
    for (size_t i = 0; i < n; i += FEW_LINE)
        __builtin_prefetch(x + i, 0, 3);
}

/* q . k_j for the VL keys from k on; row r of them is row min(r, last). */
INLINE vf scores_of(const float *q, const float *k, size_t ldk, size_t D, size_t last)
{
    vf part[VL];

    for (size_t r = 0; r < VL; r++) {
        const float *key = k + tg_size_min(r, last) * ldk;
        size_t d = 0;

        if (last >= VL)
            prefetch_row(k + tg_size_min(r + VL, last) * ldk, D);
        part[r] = (vf){0};
        for (; d + VL <= D; d += VL)
            part[r] = add_product(part[r], load(q + d), load(key + d));
        if (d < D)
            part[r] = add_product(part[r], load_some(q + d, D - d), load_some(key + d, D - d));
    }
    transpose(part);
    for (size_t n = VL / 2; n > 0; n /= 2)
        for (size_t r = 0; r < n; r++)
            part[r] += part[r + n];
    return part[0];
}

/* s = probabilities of n keys from k on before the division by their sum, padded with zeros to whole vectors;
 * returns the sum. */
INLINE float weigh_keys(float *s, float *greatest, const tg_attention_head *op, const float *q,
                        const float *k, size_t n)
{
    const size_t whole = tg_round_up(n, VL);
    vf max = splat(-INFINITY), sum = {0};
    float lane[VL];

    for (size_t j = 0; j < n; j += VL)
        store(s + j, scores_of(q, k + j * op->ldk, op->ldk, op->D, n - 1 - j) * splat(op->scale));
    if (op->cap > 0)
        cap_each(s, op->cap, n);
    for (size_t j = n; j < whole; j++)
        s[j] = -INFINITY;
    for (size_t j = 0; j < whole; j += VL)
        max = larger(max, load(s + j));
    store(lane, max);
    *greatest = lane[0];
    for (size_t l = 1; l < VL; l++)
        *greatest = lane[l] > *greatest ? lane[l] : *greatest;
    for (size_t j = 0; j < whole; j++)
        s[j] = exp_f32(s[j] - *greatest);
    for (size_t j = 0; j < whole; j += VL)
        sum += load(s + j);
    return sum_lanes(sum);
}

/* out = scale sum_j s_j v_j, for some vectors of D; each row prefetches all of a later one. */
INLINE void gather_values(float *out, const float *s, const float *v, size_t ldv, size_t n, float scale,
                          const size_t vectors)
{
    vf sum[FEW_VECTORS];

    for (size_t i = 0; i < vectors; i++)
        sum[i] = (vf){0};
    for (size_t j = 0; j < n; j++, v += ldv) {
        prefetch_row(v + tg_size_min(VL, n - 1 - j) * ldv, vectors * VL);
        for (size_t i = 0; i < vectors; i++)
            sum[i] = add_product(sum[i], splat(s[j]), load(v + i * VL));
    }
    for (size_t i = 0; i < vectors; i++)
        store(out + i * VL, sum[i] * splat(scale));
}

/* work: as many floats as there are keys, and VL more. */
static void forward_few(const tg_attention_head *op, float *work)
{
    const size_t D = op->D;

    for (size_t i = 0; i < op->queries; i++) {
        const size_t first = first_seen(op, i), n = op->past + i + 1 - first;
        const float *k = (const float *)op->k + first * op->ldk, *v = (const float *)op->v + first * op->ldv;
        float *out = (float *)op->out + i * op->ldo, max, sum;
        size_t d = 0;

        sum = weigh_keys(work, &max, op, (const float *)op->q + i * op->ldq, k, n);
        for (; d + FEW_VECTORS * VL <= D; d += FEW_VECTORS * VL)
            gather_values(out + d, work, v + d, op->ldv, n, 1 / sum, FEW_VECTORS);
        for (; d + VL <= D; d += VL)
            gather_values(out + d, work, v + d, op->ldv, n, 1 / sum, 1);
        for (; d < D; d++) {
            out[d] = 0;
            for (size_t j = 0; j < n; j++)
                out[d] += work[j] * v[j * op->ldv + d];
            out[d] /= sum;
        }
        if (op->lse)
            op->lse[i] = max + logf(sum);
    }
}

#endif
