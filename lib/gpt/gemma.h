/*
 * gemma: what the blocks of Gemma 2 and 3 and of OLMo 2 compute, which norm what they add to the residual
 * stream (lib/gpt/gemma.c).
 */
#ifndef TG_GPT_GEMMA_H
#define TG_GPT_GEMMA_H

#include "lib/gpt/llama.h"

/* The rows of the table of activations that follow attention's, which are Llama's. */
enum {
    TG_GEMMA_OUT = TG_LLAMA_LSE + 1, /* [N,C] att Wo^T */
    TG_GEMMA_OUT_NORMED,             /* [N,C] what attention adds to x */
    TG_GEMMA_OUT_NORMED_RSTD,
    TG_GEMMA_X2,     /* [N,C] the residual stream after attention */
    TG_GEMMA_NORM_2, /* [N,C]; in OLMo 2, which has no norm here, x2 itself */
    TG_GEMMA_NORM_2_RSTD,
    TG_GEMMA_GATE, /* [N,F] */
    TG_GEMMA_UP,
    TG_GEMMA_GATED,
    TG_GEMMA_DOWN,        /* [N,C] */
    TG_GEMMA_DOWN_NORMED, /* [N,C] what the MLP adds to x2 */
    TG_GEMMA_DOWN_NORMED_RSTD,
    TG_GEMMA_NEXT, /* [N,C] the residual stream after the MLP: the next block's x */
    TG_GEMMA_ACTS
};

#endif
