/*
 * embedding: token plus position vectors.
 *
 *   out[b,t,c] = wte[ids[b,t],c] + wpe[first + t,c]
 *
 * Ids are in [0, V): the caller has checked.  Reference: tg_embedding_*_ref.
 */
#ifndef TG_NN_EMBEDDING_H
#define TG_NN_EMBEDDING_H

#include <stddef.h>
#include <stdint.h>

/*
 *   out  [B,T,C]  written      ids  [B,T]  read
 *   wte  [V,C]  read           wpe  [n_ctx,C]  read, first + T <= n_ctx
 */
void tg_embedding_forward(float *out, const int32_t *ids, const float *wte, const float *wpe, size_t first,
                          size_t B, size_t T, size_t C);

/* Adds dout [B,T,C] into dwte [V,C] and dwpe [n_ctx,C], rows in order. */
void tg_embedding_backward(float *dwte, float *dwpe, const float *dout, const int32_t *ids, size_t B,
                           size_t T, size_t C);

#endif
