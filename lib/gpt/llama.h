/*
 * llama: what the blocks of Llama and its relatives compute, and their parameters (lib/gpt/llama.c).
 */
#ifndef TG_GPT_LLAMA_H
#define TG_GPT_LLAMA_H

#include "lib/gpt/block.h"

/* The rows of the table of activations, in order.  Qd = H*D channels of queries, KVd = KV*D of keys, F inner
 * ones. */
enum {
    TG_LLAMA_X = TG_ACT_X, /* [N,C] the block's input, the residual stream */
    TG_LLAMA_NORM_1,       /* [N,C] */
    TG_LLAMA_NORM_1_RSTD,  /* [N] */
    TG_LLAMA_Q,            /* [N,Qd] as projected */
    TG_LLAMA_K,            /* [N,KVd] */
    TG_LLAMA_V,            /* [N,KVd] */
    TG_LLAMA_Q_NORMED,     /* [N,Qd] each head normed, where the config says so */
    TG_LLAMA_Q_NORMED_RSTD,
    TG_LLAMA_K_NORMED, /* [N,KVd] */
    TG_LLAMA_K_NORMED_RSTD,
    TG_LLAMA_Q_ROTATED, /* [N,Qd] what attention reads */
    TG_LLAMA_K_ROTATED, /* [N,KVd] */
    TG_LLAMA_ATT,       /* [N,Qd] each head's weighted sums of values */
    TG_LLAMA_LSE,       /* [B,H,T] the logarithms of the sums of softmax */
    TG_LLAMA_X2,        /* [N,C] the residual stream after attention */
    TG_LLAMA_NORM_2,    /* [N,C] */
    TG_LLAMA_NORM_2_RSTD,
    TG_LLAMA_GATE,  /* [N,F] */
    TG_LLAMA_UP,    /* [N,F] */
    TG_LLAMA_GATED, /* [N,F] act(gate) * up */
    TG_LLAMA_NEXT,  /* [N,C] the residual stream after the MLP: the next block's x */
    TG_LLAMA_ACTS
};

/* What relatives with a page of their own have in common with Llama: from x to att, and the norm after the
 * blocks. */
void tg_llama_attention(tg_block *b);
void tg_llama_attention_backward(tg_block *b);
void tg_llama_norm(tg_acts *a, tg_matrix out, tg_matrix x, size_t rows);
void tg_llama_norm_backward(tg_acts *a, tg_matrix dx, tg_matrix dout, tg_matrix x, size_t rows);

#endif
