/*
 * embedding: token vectors, scaled, plus position vectors.
 *
 *   out[b,t,c] = wte[ids[b,t],c] * scale + wpe[first + position[b,t],c]
 *
 * The caller ensures that ids are in [0, V).  Reference: tg_embedding_*_ref.
 */
#ifndef TG_NN_EMBEDDING_H
#define TG_NN_EMBEDDING_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/bf16.h"

/* The parameters, and where their gradients are added. */
typedef struct tg_embedding {
    const float *wte, *wpe; /* [V,C], [n_ctx,C]; wpe NULL: none */
    const tg_bf16 *wte16;   /* [V,C] used instead of wte unless NULL */
    float *dwte, *dwpe;     /* the same shapes; NULL when no gradient is wanted */
    size_t C;
    float scale;              /* 1, except in Gemma; with wpe it is 1 */
    const int32_t *positions; /* [B,T]; NULL: that of token t is t */
} tg_embedding;

/* out [B,T,C] is written; ids [B,T] are read; first + each position < n_ctx. */
void tg_embedding_forward(float *out, const int32_t *ids, const tg_embedding *embedding, size_t first,
                          size_t B, size_t T);

/* Adds dout [B,T,C] to dwte and dwpe, rows in order, for positions from 0. */
void tg_embedding_backward(const float *dout, const int32_t *ids, const tg_embedding *embedding, size_t B,
                           size_t T);

#endif
