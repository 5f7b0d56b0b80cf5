/*
 * nanochat: what the blocks of nanochat's model compute (lib/gpt/nanochat.c).
 */
#ifndef TG_GPT_NANOCHAT_H
#define TG_GPT_NANOCHAT_H

#include "lib/gpt/llama.h"

/* The rows of its table of activations: up to attention Llama's. */
enum {
    TG_NANOCHAT_X2 = TG_LLAMA_X2, /* [N,C] the residual stream after attention */
    TG_NANOCHAT_NORM_2,           /* [N,C] */
    TG_NANOCHAT_NORM_2_RSTD,      /* [N] */
    TG_NANOCHAT_FC,               /* [N,F] the MLP before its activation */
    TG_NANOCHAT_ACT,              /* [N,F] and after it */
    TG_NANOCHAT_NEXT,             /* [N,C] the residual stream after the MLP: the next block's x */
    TG_NANOCHAT_ACTS
};

#endif
