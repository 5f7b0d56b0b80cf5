/*
 * pass: forward and backward through the whole model for a batch: losses, gradients, activations.
 *
 *     tg_pass_new(&p, model, &size, &err)
 *     loss = tg_pass_run(p, ids, targets, grads, 1)
 *     tg_pass_destroy(p)
 */
#ifndef TG_TG_PASS_H
#define TG_TG_PASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/tg/api.h"
#include "lib/tg/machine.h"
#include "lib/tg/model.h"
#include "lib/tg/status.h"

TG_API_BEGIN

typedef struct tg_pass tg_pass;

/* Batches of B sequences of T <= n_ctx tokens. */
typedef struct tg_pass_size {
    size_t B, T;
    /* for training; otherwise grads of tg_pass_run() is NULL (asserted), and memory does not grow with the
     * number of layers */
    bool gradients;
    /* with gradients: keep only what is between the blocks, and recompute the rest in backward, with the same
     * result.  Source: Chen et al. 2016, arXiv:1604.06174, with a block as the segment */
    bool recompute;
    /* bf16: what passes from one product to the next is stored in bf16, and products round the weights: these
     * rows are not float32 (tg_acts_values()); n_embd <= 8192 */
    tg_precision precision;
} tg_pass_size;

/* Allocate all memory.  The model must outlive *p.  TG_ENOMEM: *p is NULL. */
TG_MUST_CHECK tg_status tg_pass_new(tg_pass **p, const tg_model *model, const tg_pass_size *size,
                                    tg_err *err);
void tg_pass_destroy(tg_pass *p); /* NULL is fine */

/*
 * Mean cross-entropy of targets [B,T] given ids [B,T]: the sum of the losses divided by B*T.  A target is a
 * token, or negative: such a token is not predicted, and its loss is 0.  Ids and targets must be below
 * vocab_size, which is not checked.  Unless grads is NULL, the gradients of loss_scale times the mean are
 * written to it, a flat buffer of tg_model_floats(), with zeros between the tensors (tg_model_tensor.offset).
 * loss_scale is 1/n where n batches make a step.
 */
double tg_pass_run(tg_pass *pass, const int32_t *ids, const int32_t *targets, float *grads, float loss_scale);

/* After a run: the loss of each token, [B,T]. */
const float *tg_pass_losses(const tg_pass *p);

/* ---- activations, by their rows */

/* What a block computes: row `row` of a list that the model's family has. */
typedef struct tg_acts tg_acts;

/*
 * Called after each operation: reads or changes the activations of `layer`, of which `row` is the last that
 * was computed.  In a pass without gradients rows overwrite one another: the row is valid until the next
 * call. In backward it is called after the operation that computes `row` has computed the gradients of what
 * it reads, but not when rows are computed again.  False ends the run.
 */
typedef struct tg_tap {
    bool (*after)(void *context, tg_acts *a, size_t layer, size_t row);
    void *context;
} tg_tap;

/* The same as tg_pass_run() without gradients, with a tap after each operation (NULL: none), by a pass that
 * was made without them.  NaN: the tap has ended the run. */
double tg_pass_run_tapped(tg_pass *p, const int32_t *ids, const int32_t *targets, const tg_tap *tap);

/*
 * In a tap, or after the run: the logits [rows,V] of `rows` rows of the residual stream, x [rows,C], which
 * are `ld` floats apart, as if the rest of the blocks were left out; at most tg_pass_logits_rows() of them.
 * The next call, and a block that follows, overwrite them.
 */
const float *tg_pass_logits_of(tg_pass *p, float *x, size_t ld, size_t rows);
size_t tg_pass_logits_rows(const tg_pass *p);

/* The name of a row: in GPT-2 "ln_1", "qkv", "att", "x2", "ln_2", "gelu", "next" are those that a tap sees;
 * q, k and v are parts of qkv.  NULL: the family has no such row.  Rows are numbered from 1. */
const char *tg_acts_name(const tg_acts *a, size_t row);

/* The row of this name; 0: the family has none. */
size_t tg_acts_find(const tg_acts *a, const char *name);

/* The values of a row of a layer: `cols` for each of the B*T tokens, which are `ld` apart.  NULL: the model's
 * blocks do not compute it, or it is not float32. */
float *tg_acts_values(const tg_acts *a, size_t layer, size_t row, size_t *cols, size_t *ld);

TG_API_END

#endif
