/*
 * linear64: products in double precision with weights in float32.
 *
 * The sums are those of tg_linear_*_ref64 on the same weights as doubles, bit for bit:
 * each is taken in ascending order by one thread.  Only the loops are turned, so that
 * a weight is read once for several rows, side by side with its neighbours: ten to thirty
 * times as fast as the reference where the weights do not fit into a cache.
 *
 * Row-major, contiguous; w is [C,OC].  Nothing allocates or fails.
 */
#ifndef TG_ATTN_LINEAR64_H
#define TG_ATTN_LINEAR64_H

#include <stddef.h>

/*
 * out[n,o] = (sum over c of inp[n,c] * w[c,o]) + bias[o]
 *
 *   out  [N,OC]  written      inp  [N,C]  read      bias  [OC]  read, or NULL for none
 */
void tg_linear64_forward(double *out, const double *inp, const float *w, const float *bias, size_t N,
                         size_t C, size_t OC);

/*
 * dinp[n,c] = sum over o of dout[n,o] * w[c,o], which is the gradient of inp; and, with
 * w [V,C] for w [C,OC], the logits of a head
 *
 *   dinp  [N,C]  written      dout  [N,OC]  read
 */
void tg_linear64_transposed(double *dinp, const double *dout, const float *w, size_t N, size_t C, size_t OC);

#endif
