/*
 * attention_heads: what attention on float32 and on bf16 have in common: the heads of all sequences,
 * shared among threads.
 */
#ifndef TG_NN_ATTENTION_HEADS_H
#define TG_NN_ATTENTION_HEADS_H

#include "lib/base/threads.h"
#include "lib/nn/attention.h"

/* The calling thread's scratch. */
static inline float *tg_attention_own(const tg_attention_scratch *scratch)
{
    return scratch->floats + tg_threads_self() * scratch->each;
}

/* The probabilities of one (b,h): where its rows begin in [B,H,T,T]. */
typedef struct tg_attention_rows {
    const tg_dropout *drop;
    size_t first, T;
} tg_attention_rows;

static inline void tg_attention_keep(float *factors, size_t query, size_t first, size_t n,
                                     const void *context)
{
    const tg_attention_rows *rows = context;

    tg_dropout_factors(factors, rows->drop, rows->first + query * rows->T + first, n);
}

/* Offset in [B,T,H,D] of the first row of one (b,h). */
static inline size_t tg_attention_row(size_t bh, size_t T, size_t C, size_t H)
{
    return bh / H * T * C + bh % H * (C / H);
}

/* Run body for each (b,h), by several threads if every query has so many keys. */
static inline void tg_attention_each_head(const tg_attention *a, size_t keys, tg_threads_body *body,
                                          void *context)
{
    const size_t heads = a->B * a->H;
    const bool large = a->B * a->T * keys * a->C > 65536;

    tg_threads_run_on(a->scratch->threads, heads, large ? 1 : heads, body, context);
}

#endif
