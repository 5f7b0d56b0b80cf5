/*
 * neox: what the blocks of GPT-NeoX compute, and Pythia's with them (lib/gpt/neox.c).
 */
#ifndef TG_GPT_NEOX_H
#define TG_GPT_NEOX_H

#include "lib/gpt/block.h"

/* The rows of its table of activations, in order. */
enum {
    TG_NEOX_X = TG_ACT_X, /* [N,C] the block's input, the residual stream */
    TG_NEOX_LN_1,         /* [N,C] ln_1(x) */
    TG_NEOX_LN_1_MEAN,
    TG_NEOX_LN_1_RSTD,
    TG_NEOX_Q, /* [N,C] as projected */
    TG_NEOX_K,
    TG_NEOX_V,
    TG_NEOX_Q_ROTATED, /* [N,C] of each head the first channels are rotated */
    TG_NEOX_K_ROTATED,
    TG_NEOX_ATT, /* [N,C] each head's weighted sums of values */
    TG_NEOX_LSE,
    TG_NEOX_X2,   /* [N,C] x and what attention adds */
    TG_NEOX_LN_2, /* [N,C] ln_2(x), not of x2 */
    TG_NEOX_LN_2_MEAN,
    TG_NEOX_LN_2_RSTD,
    TG_NEOX_FC,   /* [N,F] the MLP before GELU */
    TG_NEOX_GELU, /* [N,F] and after it */
    TG_NEOX_NEXT, /* [N,C] x2 and what the MLP adds: the next block's x */
    TG_NEOX_ACTS
};

#endif
