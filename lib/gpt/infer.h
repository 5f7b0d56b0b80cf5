/*
 * infer: the forward pass without gradients, layer by layer, with or without a
 * key/value cache.
 *
 * Rows are the n new tokens of each of `count` sequences; `past` tokens of each lie
 * before them in the cache.  For text all at once:
 *
 *     tg_infer_begin(f, ids, n)
 *     for each layer l
 *         tg_infer_qkv(f, l)            f->qkv [n,3C] can be looked at
 *         tg_infer_block(f, l)
 *     tg_infer_end(f)
 *     tg_infer_logits(f, n - 1, 1, logits)
 *
 * or tg_infer_run(), which does just that.
 */
#ifndef TG_GPT_INFER_H
#define TG_GPT_INFER_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/arena.h"
#include "lib/gpt/model.h"
#include "lib/gpt/packed.h"
#include "lib/kernels/matmul.h"
#include "lib/nn/attention.h"

typedef struct tg_infer {
    const tg_model *model;
    const tg_packed_model *packed; /* of the model, to multiply with; NULL: its own matrices.  Set after placing */
    size_t rows_max;         /* most new tokens at a time, of all sequences */
    size_t sequences, keys;  /* that the cache has room for; 0: there is none */
    size_t first, count;     /* the sequences of a pass: tg_infer_select() */
    size_t n, rows;          /* of the pass under way; rows = count n */
    size_t past;             /* tokens of each sequence in the cache */
    float *x;        /* [rows,C] residual stream */
    float *normed;   /* [rows,C] */
    float *qkv;      /* [rows,3C] of the current layer */
    float *att;      /* [rows,C] */
    float *fc;       /* [rows,4C] */
    float *k, *v;    /* [sequences,L,keys,C] each; NULL: no cache */
    float *stats;    /* LayerNorm's means, then its 1/deviations */
    float *lse;      /* attention's, not used further */
    tg_matmul_scratch matmul; /* scratch of the matrix product */
    tg_attention_scratch attention;
} tg_infer;

/* Place the buffers in an arena (see arena.h), for up to rows_max new tokens at a time,
 * and a cache for `sequences` of up to `keys` <= n_ctx tokens; 0, 0: none, past stays 0. */
void tg_infer_place(tg_arena *arena, tg_infer *f, const tg_model *model, size_t rows_max, size_t sequences,
                    size_t keys);

/* The sequences that the next passes run, first .. first + count - 1, of which there is at
 * least one; at first only number 0.  All have the same `past`: who runs some alone runs the
 * others for as many tokens before going on with all of them. */
void tg_infer_select(tg_infer *f, size_t first, size_t count);

/* x = token + position embeddings of ids [count,n].  past + n fits the cache and n_ctx,
 * count n <= rows_max, ids are in range. */
void tg_infer_begin(tg_infer *f, const int32_t *ids, size_t n);
void tg_infer_qkv(tg_infer *f, size_t layer);
void tg_infer_block(tg_infer *f, size_t layer);
void tg_infer_end(tg_infer *f);

/* Logits [rows,V] of some rows of the pass just ended, whose rows of `normed` they overwrite. */
void tg_infer_logits(tg_infer *f, size_t first_row, size_t rows, float *logits);

/* All of it; logits [count,V] of each sequence's last row.  count or n is 1. */
void tg_infer_run(tg_infer *f, const int32_t *ids, size_t n, float *logits);

/* Let all sequences have in the cache what number 0 has: a copy of its `past` tokens. */
void tg_infer_broadcast_cache(tg_infer *f);

/* Forget the cache, of all sequences. */
void tg_infer_reset(tg_infer *f);

#endif
