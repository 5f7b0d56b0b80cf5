/*
 * infer: the forward pass without gradients, layer by layer, with or without a
 * key/value cache.
 *
 * Rows are the n new tokens of one sequence; `past` tokens lie before them in the
 * cache.  For text all at once:
 *
 *     tg_infer_begin(f, ids, n)
 *     for each layer l
 *         tg_infer_qkv(f, l)            f->qkv [n,3C] can be looked at
 *         tg_infer_block(f, l)
 *     tg_infer_end(f)
 *     tg_infer_logits(f, n - 1, logits)
 *
 * or tg_infer_run(), which does just that.
 */
#ifndef TG_GPT_INFER_H
#define TG_GPT_INFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/arena.h"
#include "lib/gpt/model.h"
#include "lib/kernels/matmul.h"
#include "lib/nn/attention.h"

typedef struct tg_infer {
    const tg_model *model;
    size_t rows_max; /* most new tokens at a time */
    size_t rows;     /* n, of the pass under way */
    size_t past;     /* tokens in the cache */
    float *x;        /* [rows,C] residual stream */
    float *normed;   /* [rows,C] */
    float *qkv;      /* [rows,3C] of the current layer */
    float *att;      /* [rows,C] */
    float *fc;       /* [rows,4C] */
    float *k, *v;    /* [L,n_ctx,C] each; NULL: no cache */
    float *stats;    /* LayerNorm's means, then its 1/deviations */
    float *lse;      /* attention's, not used further */
    tg_matmul_scratch matmul; /* scratch of the matrix product */
    tg_attention_scratch attention;
} tg_infer;

/* Place the buffers in an arena (see arena.h), for up to rows_max <= n_ctx new
 * tokens at a time.  Without a cache, past stays 0. */
void tg_infer_place(tg_arena *arena, tg_infer *f, const tg_model *model, size_t rows_max, bool cache);

/* x = token + position embeddings.  past + n <= n_ctx, n <= rows_max, ids in range. */
void tg_infer_begin(tg_infer *f, const int32_t *ids, size_t n);
void tg_infer_qkv(tg_infer *f, size_t layer);
void tg_infer_block(tg_infer *f, size_t layer);
void tg_infer_end(tg_infer *f);

/* Logits [V] of one row of the pass just ended. */
void tg_infer_logits(tg_infer *f, size_t row, float *logits);

/* All of it; logits [V] of the last row. */
void tg_infer_run(tg_infer *f, const int32_t *ids, size_t n, float *logits);

/* Forget the cache. */
void tg_infer_reset(tg_infer *f);

#endif
