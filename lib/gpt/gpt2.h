/*
 * gpt2: what GPT-2's blocks compute, and the parts of its page (lib/gpt/gpt2.c) that a relative of it takes
 * as they are.
 */
#ifndef TG_GPT_GPT2_H
#define TG_GPT_GPT2_H

#include "lib/gpt/block.h"

/* The rows of its table of activations, in order. */
enum {
    TG_GPT2_X = TG_ACT_X, /* [N,C] the block's input, the residual stream */
    TG_GPT2_LN_1,         /* [N,C] ln_1(x) */
    TG_GPT2_LN_1_MEAN,
    TG_GPT2_LN_1_RSTD, /* [N] */
    TG_GPT2_QKV,       /* [N,3C] */
    TG_GPT2_Q,         /* [N,C] its thirds */
    TG_GPT2_K,
    TG_GPT2_V,
    TG_GPT2_ATT,  /* [N,C] each head's weighted sums of values */
    TG_GPT2_LSE,  /* [B,H,T] the logarithms of the sums of softmax */
    TG_GPT2_X2,   /* [N,C] the residual stream after attention */
    TG_GPT2_LN_2, /* [N,C] ln_2(x2) */
    TG_GPT2_LN_2_MEAN,
    TG_GPT2_LN_2_RSTD, /* [N] */
    TG_GPT2_FC,        /* [N,4C] the MLP before GELU */
    TG_GPT2_GELU,      /* [N,4C] and after it */
    TG_GPT2_NEXT,      /* [N,C] the residual stream after the MLP: the next block's x */
    TG_GPT2_ACTS
};

extern const tg_act_row tg_gpt2_acts[TG_GPT2_ACTS];

void tg_gpt2_embed(tg_acts *a, const int32_t *ids);
void tg_gpt2_embed_backward(tg_acts *a, const int32_t *ids);
void tg_gpt2_norm(tg_acts *a, tg_matrix out, tg_matrix x, size_t rows);
void tg_gpt2_norm_backward(tg_acts *a, tg_matrix dx, tg_matrix dout, tg_matrix x, size_t rows);

#endif
