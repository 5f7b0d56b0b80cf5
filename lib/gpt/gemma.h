/*
 * gemma: what the blocks of Gemma 2 and 3 and of OLMo 2 compute, which norm what they add to the residual
 * stream (lib/gpt/gemma.c).
 */
#ifndef TG_GPT_GEMMA_H
#define TG_GPT_GEMMA_H

#include "lib/gpt/llama.h"

/* The rows of the table of activations, in order. */
enum {
    TG_GEMMA_X = TG_ACT_X, /* [N,C] the block's input, the residual stream */
    TG_GEMMA_NORM_1,       /* [N,C]; in OLMo 2 x itself, as a row between products */
    TG_GEMMA_NORM_1_RSTD,
    TG_GEMMA_Q, /* [N,Qd] as projected */
    TG_GEMMA_K, /* [N,KVd] */
    TG_GEMMA_V,
    TG_GEMMA_Q_NORMED, /* each head normed (Gemma 3), or all heads at once (OLMo 2) */
    TG_GEMMA_Q_NORMED_RSTD,
    TG_GEMMA_K_NORMED,
    TG_GEMMA_K_NORMED_RSTD,
    TG_GEMMA_Q_ROTATED,
    TG_GEMMA_K_ROTATED,
    TG_GEMMA_ATT, /* [N,Qd] each head's weighted sums of values */
    TG_GEMMA_LSE,
    TG_GEMMA_OUT,        /* [N,C] att Wo^T */
    TG_GEMMA_OUT_NORMED, /* [N,C] what attention adds to x */
    TG_GEMMA_OUT_NORMED_RSTD,
    TG_GEMMA_X2,     /* [N,C] the residual stream after attention */
    TG_GEMMA_NORM_2, /* [N,C] as NORM_1 */
    TG_GEMMA_NORM_2_RSTD,
    TG_GEMMA_GATE, /* [N,F] */
    TG_GEMMA_UP,
    TG_GEMMA_GATED,
    TG_GEMMA_DOWN,        /* [N,C] */
    TG_GEMMA_DOWN_NORMED, /* [N,C] what the MLP adds */
    TG_GEMMA_DOWN_NORMED_RSTD,
    TG_GEMMA_NEXT, /* [N,C] the residual stream after the MLP: the next block's x */
    TG_GEMMA_ACTS
};

/* Norms of the sublayers' results, besides Llama's parameters. */
enum { TG_OUT_NORM_W = TG_UP_B + 1, TG_DOWN_NORM_W = TG_OUT_NORM_W + 2 };

#endif
