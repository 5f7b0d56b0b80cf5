/*
 * infer: the forward pass without gradients, step by step, with or without a
 * key/value cache.
 *
 * A pass runs n new tokens of each of `count` sequences, count * n rows, after the
 * cache.past tokens that the cache holds of each.  For one sequence:
 *
 *     tg_infer_begin(f, ids, n)
 *     tg_infer_layers(f, from, to)      from and to any place (lib/gpt/layers.h)
 *     ...                               there the rows of f->acts can be read
 *     tg_infer_end(f)
 *     tg_infer_logits(f, n - 1, 1, logits)
 *
 * tg_infer_run() does all of this.
 */
#ifndef TG_GPT_INFER_H
#define TG_GPT_INFER_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/arena.h"
#include "lib/gpt/acts.h"
#include "lib/gpt/layers.h"
#include "lib/gpt/model.h"
#include "lib/gpt/packed.h"
#include "lib/tg/infer.h"

/* New tokens of a sequence from which a pass with matrices packed in bf16 multiplies with the model's own in
 * precision bf16, if the kernels have instructions for it.  It rounds the same weights, and the other operand
 * as well.  The last product, of the logits, stays packed. */
#define TG_INFER_ROWS16 ((size_t)64)

typedef struct tg_infer {
    const tg_model *model;
    const tg_packed_model *packed; /* may be set after placing; NULL: the model's own matrices */
    tg_acts acts;                  /* in place */
    size_t rows_max;               /* max rows of a pass */
    size_t first, count;           /* the sequences of a pass: tg_infer_select() */
    size_t n;                      /* new tokens per sequence in the current pass */
    const float *x;                /* [count n,C] the residual stream */
    tg_kv_cache cache;             /* k NULL: no cache */
    tg_matmul_scratch matmul;
    const tg_tap *tap; /* may be set after placing: called after each operation, and, with row TG_ACT_X of
                        * layer 0, after the embedding; it does not end the run.  NULL: none */
} tg_infer;

/* Place the buffers in an arena (see arena.h), for passes of up to rows_max rows, and a cache
 * for `sequences` of up to `keys` <= n_ctx tokens; 0, 0: no cache. */
void tg_infer_place(tg_arena *arena, tg_infer *f, const tg_model *model, size_t rows_max, size_t sequences,
                    size_t keys);

/* x = token + position embeddings of ids [count,n].  past + n fits the cache and n_ctx,
 * count n <= rows_max, ids are in range. */
void tg_infer_begin(tg_infer *f, const int32_t *ids, size_t n);
void tg_infer_layers(tg_infer *f, size_t from, size_t to);
void tg_infer_end(tg_infer *f);

#endif
