/*
 * attribute: a logit as a sum of what each part of the model has written to the residual stream (direct logit
 * attribution).
 *
 * At a position, for a token a, or for the difference of two, a - b:
 *
 *     logit = sum_c normed[c] (head[a,c] - head[b,c]) + bias
 *     normed[c] = (x[c] - mean) * scale * gain[c] + shift[c]        mean and shift: only of a LayerNorm
 *     x = embedding + position + sum over blocks of (heads + bias) + (units of the MLP + bias)
 *
 * With the scale that the last norm has in this run, this is linear in x, so that each part of x has its part
 * of the logit: value = scale * (part . u), where u[c] = gain[c] (head[a,c] - head[b,c]), less its mean where
 * the norm subtracts one.  A head's part is also a sum over the keys, of what their values have given.  Where
 * a family has norms after attention and MLP, these too have the scale that they have in this run.
 *
 * Weights are used as they are, and nothing is processed or folded.  If the model caps its logits, the sum is
 * the logit before the cap.  Parts are in double precision, from the model's own float32 activations; the
 * residue is what is left to the logit that the model computes.
 * Sources: Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits"; Wang et al. 2022,
 * arXiv:2211.00593.
 */
#ifndef TG_LENS_ATTRIBUTE_H
#define TG_LENS_ATTRIBUTE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/attn/attn.h"
#include "lib/base/arena.h"
#include "lib/base/status.h"
#include "lib/gpt/pass.h"
#include "lib/gpt/sublayer.h"

/* What is attributed. */
typedef struct tg_attribute_plan {
    size_t position;
    int32_t token, minus;  /* minus: -1, none */
    size_t units;          /* of each MLP, the units with the largest parts, at most n_inner */
    const tg_watch *watch; /* told how much is done, cannot abandon; NULL: none */
} tg_attribute_plan;

typedef struct tg_attribution {
    const tg_model *model;
    tg_attribute_plan plan;
    size_t L, T, C, H, inner;
    double scale;               /* of the last norm */
    double logit;               /* as the model has it, before a cap, in float32; */
    double capped;              /* and after it; the same where there is none */
    const float *logits;        /* [V] at the position, after the cap; until the next run */
    double sum;                 /* of all parts */
    double *head;               /* [L,H] */
    double *key;                /* [L,H,T] their parts by key; 0 for keys that the query does not see */
    double *unit;               /* [L,inner] of the MLPs */
    double *mlp;                /* [L] the sums of these */
    double *bias[TG_SUBLAYERS]; /* [L] of the layers that write to the stream */
    double embedding, wpe;      /* of the token's vector, and of its position's where the model has them */
    double shift, head_bias;    /* of the last norm, and of the output head */
    /* while it runs */
    tg_pass pass;
    tg_attn_scratch scratch;
    double *u;                 /* [C] before the last norm's scale */
    double *through;           /* [C] u through the norm after a sublayer */
    double *out;               /* [C] what the sublayer gives to this norm */
    double *gradient, *inputs; /* [the wider of Q and n_inner] of a sublayer's inputs */
    double *probs;             /* [H,T] */
    tg_arena arena;
} tg_attribution;

/* For texts of T <= n_ctx tokens.  The model must outlive it, and it must not be moved.  TG_EUSAGE: the
 * position, or the number of units, is out of range.  TG_ENOMEM.  After a failure nothing is to close. */
TG_MUST_CHECK tg_status tg_attribution_open(tg_attribution *a, const tg_model *model, size_t T,
                                            const tg_attribute_plan *plan, tg_err *err);
void tg_attribution_close(tg_attribution *a); /* a zeroed one is fine */

/* Run the model on ids [T], each below vocab_size, and fill in the numbers.  TG_EDATA: a part, or the logit,
 * is not finite. */
TG_MUST_CHECK tg_status tg_attribution_run(tg_attribution *a, const int32_t *ids, tg_err *err);

/* What the parts leave. */
static inline double tg_attribution_residue(const tg_attribution *a)
{
    return a->logit - a->sum;
}

/* The `n` units of a layer whose parts are largest, the largest first, into units [n]. */
void tg_attribution_top_units(size_t *units, size_t n, const tg_attribution *a, size_t layer);

#endif
