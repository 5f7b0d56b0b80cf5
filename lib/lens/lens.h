/*
 * lens: what a model would predict if it ended after some of its blocks: its own last norm and output head,
 * applied to the residual stream.
 *
 *     x_0 = what the blocks begin with      x_l = the residual stream after l of L blocks
 *     logits[l,t] = head(norm(x_l[t]))      the model's output is logits[L,t], bit for bit
 *     kl[l,t] = sum_v p_L[v] (log p_L[v] - log p_l[v]),  p = softmax(logits), in nats
 *
 *     tg_lens_open(&lens, model, T, &plan, &err)
 *     tg_lens_run(&lens, ids, take, context, &err)
 *     tg_lens_close(&lens)
 *
 * Weights are used as they are: no norm is folded into them.  Memory is that of a pass, (L+1) T C floats, and
 * the logits of few rows.
 * Source: nostalgebraist 2020, "interpreting GPT: the logit lens".
 */
#ifndef TG_LENS_LENS_H
#define TG_LENS_LENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/arena.h"
#include "lib/base/status.h"
#include "lib/base/watch.h"
#include "lib/gpt/pass.h"
#include "lib/gpt/score.h"

#define TG_LENS_ALL SIZE_MAX

/* What is asked. */
typedef struct tg_lens_plan {
    const int32_t *targets; /* [T] the token that is looked for after each position; -1: none */
    size_t top;             /* the most probable tokens of each row */
    size_t layer, position; /* one of 0 .. L and of 0 .. T-1, or TG_LENS_ALL */
    const tg_watch *watch;  /* told how much is done, cannot abandon; NULL: none */
} tg_lens_plan;

/* A prediction.  The arrays are valid until the next row. */
typedef struct tg_lens_row {
    size_t position, layer; /* after so many blocks */
    int32_t target;         /* or -1 */
    float logit;            /* the target's */
    tg_score score;         /* of the target */
    double kl;
    const int32_t *top; /* [plan.top] the greatest logit first */
    const float *top_logits;
    const double *p_last; /* [V] what the last layer predicts at this position */
} tg_lens_row;

typedef struct tg_lens {
    const tg_model *model;
    tg_lens_plan plan;
    size_t L, T, C, V;
    size_t ids;   /* only the first `ids` logits are of tokens */
    size_t block; /* positions whose logits are computed at a time */
    tg_pass pass;
    float *stream;     /* [L+1,T,C] */
    double *p_last;    /* [block,V] the last layer's probabilities */
    tg_lens_row *rows; /* [block,L+1] */
    int32_t *top;      /* [block,L+1,top] */
    float *top_logits; /* likewise */
    tg_arena arena;
} tg_lens;

/* For texts of T <= n_ctx tokens; plan->top is at most the tokenizer's ids.  Both must outlive the lens,
 * which must not be moved.  TG_EUSAGE: plan's layer or position is out of range; TG_ENOMEM: nothing to close.
 */
TG_MUST_CHECK tg_status tg_lens_open(tg_lens *lens, const tg_model *model, size_t T, const tg_lens_plan *plan,
                                     tg_err *err);
void tg_lens_close(tg_lens *lens); /* a zeroed one is fine */

/* What takes a row; a failure ends the run. */
typedef tg_status (*tg_lens_take)(void *context, const tg_lens_row *row, tg_err *err);

/* Run the model on ids [T], each below vocab_size, and hand over its rows by position, and for each position
 * by layer.  TG_EDATA: a logit is not finite, with its place; and what `take` returns. */
TG_MUST_CHECK tg_status tg_lens_run(tg_lens *lens, const int32_t *ids, tg_lens_take take, void *context,
                                    tg_err *err);

#endif
