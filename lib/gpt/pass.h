/*
 * pass: forward and backward through the whole model for a batch.
 *
 * Holds every buffer that a training step needs, placed in an arena: a step allocates nothing.
 * Every block keeps its activations for backward, except those that are computed again: the family's table
 * says which (lib/gpt/acts.h).
 */
#ifndef TG_GPT_PASS_H
#define TG_GPT_PASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/arena.h"
#include "lib/base/watch.h"
#include "lib/gpt/acts.h"
#include "lib/gpt/layers.h"
#include "lib/gpt/model.h"
#include "lib/tg/pass.h"

typedef struct tg_pass {
    tg_acts acts;         /* the caller may change B and T, if T and B*T do not grow; it sets dropout, rng */
    float *losses;        /* [B,T] */
    float *low_rank_work; /* [B,T,R] of the model's adapter */
    tg_matmul_scratch matmul; /* of all products */
    const tg_watch *watch;    /* of tg_pass_run(), set by the caller; NULL: none */
    /* The gradients from this float on are final: called with falling numbers, the last of them 0, while
     * the rest is computed; set by the caller; NULL: nobody asks. */
    void (*final_from)(void *context, size_t first);
    void *final_context;
    size_t final_layer; /* the gradients from this block on are */
    double done, all;   /* work of the current run, in multiplications for each token */
    bool abandoned;     /* by the watch */
} tg_pass;

/*
 * Place the buffers (see arena.h).
 *
 * tg_pass_run() reports the fraction of the work that is done to pass->watch, estimated from the products'
 * sizes, a few times per block.  When it abandons the run, pass->abandoned is true, the result NaN and grads
 * arbitrary; the model is unchanged.
 */
void tg_pass_place(tg_arena *arena, tg_pass *pass, const tg_model *model, const tg_pass_size *size);

/*
 * The same without gradients and dropout, in parts, between which, or by a tap, the activations can be read
 * and changed:
 *
 *     tg_pass_begin(p, ids)
 *     tg_pass_layers(p, 0, tg_layers_end(&p->acts), tap)     from and to any place (lib/gpt/layers.h)
 *     tg_pass_loss(p, targets)
 *
 * What follows a layer's att depends only on its x and att: restore copies of both to resume from
 * there.  Only for a pass that was placed without gradients.
 */
void tg_pass_begin(tg_pass *pass, const int32_t *ids);
void tg_pass_begin_rows(
    tg_pass *pass); /* instead: the run starts at any place, whose rows the caller writes */
bool tg_pass_layers(tg_pass *pass, size_t from, size_t to, const tg_tap *tap);
double tg_pass_loss(tg_pass *pass, const int32_t *targets); /* the mean; each is in p->losses */

/*
 * Instead of tg_pass_loss(): the logits of `rows` rows of the residual stream, at most tg_pass_logits_rows()
 * of them: of x = p->acts.x, or of an earlier one in a tap, as if the rest of the blocks were left out.
 * Returns them [rows,V]; the next call, and a block that follows, overwrite them.
 */
const float *tg_pass_logits(tg_pass *pass, tg_matrix x, size_t rows);

#endif
