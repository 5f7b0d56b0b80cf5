/*
 * plain: GPT-2's forward pass as plainly as it can be written, in double precision: the page to read first,
 * and what the fast pass (lib/gpt/gpt2.c) is compared with, in tests and by tg-attn-dump --check --plain.
 * Other families' is plain_llama.h.
 *
 *     x = wte[ids] + wpe
 *     for each block
 *         x = x + attention(ln_1(x))
 *         x = x + mlp(ln_2(x))
 *     logits = ln_f(x) head^T + bias;  head is wte when the config is tied
 *
 *     tg_plain_open(&p, &config, weights, B, T, &err)
 *     tg_plain_embed(&p, ids)
 *     for (l = 0; l < config.n_layer; l++)
 *         tg_plain_attend(&p, l), tg_plain_mlp(&p, l)
 *     tg_plain_logits(&p, logits)
 *     tg_plain_close(&p)
 *
 * Its operations are the references of lib/nn/ref.  Nothing is fast, and a [T,T] matrix is stored for each
 * head.
 * Source: Radford et al. 2019, "Language Models are Unsupervised Multitask Learners".
 */
#ifndef TG_GPT_PLAIN_H
#define TG_GPT_PLAIN_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/arena.h"
#include "lib/base/status.h"
#include "lib/gpt/params.h"
#include "lib/nn/ref/ref.h"

/* Where parameters come from: a tensor, or NULL when the config leaves it out. */
typedef struct tg_plain_weights {
    const double *(*get)(void *context, tg_param_kind kind, size_t layer);
    void *context;
} tg_plain_weights;

/* Dropout masks, 0 or 1/(1-p) each; NULL: no dropout there. */
typedef struct tg_plain_masks {
    const double *embedding; /* [B,T,C]      on wte + wpe */
    const double *probs;     /* [L,B,H,T,T]  on the attention's probabilities */
    const double *att_proj;  /* [L,B,T,C]    on what attention adds to x */
    const double *fc_proj;   /* [L,B,T,C]    on what the MLP adds to x */
} tg_plain_masks;

typedef struct tg_plain {
    const tg_config *config;
    tg_plain_weights weights;
    tg_plain_masks masks; /* the caller may set them */
    size_t B, T;
    double *x;                      /* [B,T,C] the residual stream */
    double *normed;                 /* [B,T,C] the last LayerNorm's output */
    double *added;                  /* [B,T,C] what the last sublayer has added to x */
    double *fc;                     /* [B,T,4C] the MLP's inner values */
    double *mean, *rstd;            /* [B,T] */
    tg_attention_buffers_ref64 att; /* of the last attention */
    tg_arena arena;                 /* of all these */
} tg_plain;

/* The config is GPT-2's; it and the weights must outlive p.  TG_ENOMEM: nothing to close. */
TG_MUST_CHECK tg_status tg_plain_open(tg_plain *p, const tg_config *config, tg_plain_weights weights,
                                      size_t B, size_t T, tg_err *err);
void tg_plain_close(tg_plain *p);

void tg_plain_embed(tg_plain *p, const int32_t *ids); /* ids [B,T] */
void tg_plain_attend(tg_plain *p, size_t layer);
void tg_plain_mlp(tg_plain *p, size_t layer);
void tg_plain_logits(tg_plain *p, double *logits); /* logits [B,T,V] written */

#endif
