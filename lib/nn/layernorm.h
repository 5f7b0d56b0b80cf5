/*
 * layernorm: normalise each C-vector, then scale and shift.
 *
 *   out[n,c] = (inp[n,c] - mean[n]) * rstd[n] * w[c] + bias[c]
 *
 * N rows (B*T).  Row-major, contiguous, float32.  N, C >= 1.
 * Source: Ba et al. 2016, arXiv:1607.06450.  Reference: tg_layernorm_*_ref.
 * Tolerances: docs/numerics.md
 */
#ifndef TG_NN_LAYERNORM_H
#define TG_NN_LAYERNORM_H

#include <stddef.h>

/*
 * tg_layernorm_forward
 *
 *   out   [N,C]  written; may equal inp
 *   mean  [N]    written; saved for backward
 *   rstd  [N]    written; 1/sqrt(var + epsilon), var biased
 *   inp   [N,C]  read          w, bias  [C]  read, or NULL for none
 */
void tg_layernorm_forward(float *out, float *mean, float *rstd, const float *inp, const float *w,
                          const float *bias, size_t N, size_t C, float epsilon);

/* The same output again from the saved mean and rstd. */
void tg_layernorm_recompute(float *out, const float *mean, const float *rstd, const float *inp, const float *w,
                        const float *bias, size_t N, size_t C);

/*
 * tg_layernorm_backward: adds into dinp [N,C], dw [C], dbias [C] (NULL: none).
 *
 *   dout, inp  [N,C]  read     mean, rstd  [N]  read     w  [C]  read, or NULL
 */
void tg_layernorm_backward(float *dinp, float *dw, float *dbias, const float *dout, const float *inp,
                           const float *mean, const float *rstd, const float *w, size_t N, size_t C);

#endif
