/*
 * stablelm: what the blocks of StableLM compute (lib/gpt/stablelm.c).
 */
#ifndef TG_GPT_STABLELM_H
#define TG_GPT_STABLELM_H

#include "lib/gpt/block.h"

/* The rows of its table of activations, in order.  Qd = H*D channels of queries, KVd = KV*D of keys, F inner
 * ones. */
enum {
    TG_STABLELM_X = TG_ACT_X, /* [N,C] the block's input, the residual stream */
    TG_STABLELM_LN_1,         /* [N,C] ln_1(x) */
    TG_STABLELM_LN_1_MEAN,
    TG_STABLELM_LN_1_RSTD, /* [N] */
    TG_STABLELM_Q,         /* [N,Qd] as projected */
    TG_STABLELM_K,         /* [N,KVd] */
    TG_STABLELM_V,         /* [N,KVd] */
    TG_STABLELM_Q_ROTATED, /* [N,Qd] of each head the first channels are rotated */
    TG_STABLELM_K_ROTATED, /* [N,KVd] */
    TG_STABLELM_ATT,       /* [N,Qd] each head's weighted sums of values */
    TG_STABLELM_LSE,       /* [B,H,T] the logarithms of the sums of softmax */
    TG_STABLELM_X2,        /* [N,C] the residual stream after attention */
    TG_STABLELM_LN_2,      /* [N,C] ln_2(x2) */
    TG_STABLELM_LN_2_MEAN,
    TG_STABLELM_LN_2_RSTD, /* [N] */
    TG_STABLELM_GATE,      /* [N,F] */
    TG_STABLELM_UP,        /* [N,F] */
    TG_STABLELM_GATED,     /* [N,F] act(gate) * up */
    TG_STABLELM_NEXT,      /* [N,C] the residual stream after the MLP: the next block's x */
    TG_STABLELM_ACTS
};

#endif
