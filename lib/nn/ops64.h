/*
 * ops64: the operations of this folder in double precision, on float32 parameters.
 *
 * For derivations and checks, where exactness matters more than speed.  Each operation adds in
 * the same order as its reference in lib/nn/ref: the results have the reference's bits for the
 * same parameters converted to double.  Names, arguments and aliasing are those of the float32
 * operations.  Only activations have gradients: dw and db must be NULL.  Dropout must be off and
 * cache NULL.  (All asserted.)  Nothing allocates or fails.
 */
#ifndef TG_NN_OPS64_H
#define TG_NN_OPS64_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/arena.h"
#include "lib/nn/attention.h"
#include "lib/nn/dropout.h"
#include "lib/nn/gelu.h"
#include "lib/nn/layernorm.h"
#include "lib/nn/linear.h"

/* ---- lib/nn/elementwise.h */

void tg_zero64(double *x, size_t n);

/* ---- lib/nn/layernorm.h */

typedef struct tg_row_stats64 {
    double *mean, *rstd; /* [N] */
} tg_row_stats64;

void tg_layernorm64_forward(double *out, tg_row_stats64 stats, const double *inp, const tg_layernorm *norm,
                            size_t N);
void tg_layernorm64_recompute(double *out, tg_row_stats64 stats, const double *inp, const tg_layernorm *norm,
                              size_t N);
void tg_layernorm64_backward(double *dinp, const double *dout, const double *inp, tg_row_stats64 stats,
                             const tg_layernorm *norm, size_t N);

/* ---- lib/nn/linear.h: ten to thirty times as fast as the reference where W exceeds the cache */

/* add is not out */
void tg_linear64_forward(double *out, const double *add, const double *inp, const tg_linear *linear,
                         size_t N);
void tg_linear64_gelu_forward(double *out, double *pre, const double *inp, const tg_linear *linear,
                              tg_gelu_kind kind, size_t N);
/* dinp is not NULL; inp is not read. */
void tg_linear64_backward(double *dinp, const double *dout, const double *inp, const tg_linear *linear,
                          size_t N);

/* ---- lib/nn/gelu.h */

void tg_gelu64_forward(double *out, const double *inp, size_t n, tg_gelu_kind kind);

/* ---- lib/nn/attention.h */

/* Place scratch->rows (see arena.h). */
void tg_attention64_place(tg_arena *arena, tg_attention_scratch *scratch, size_t B, size_t T, size_t H);

typedef struct tg_attention64_gradient {
    double *dq, *dk, *dv;
    const double *dout;
} tg_attention64_gradient;

/* The probabilities are not kept: backward computes them again. */
void tg_attention64_forward(double *out, const double *q, const double *k, const double *v,
                            const tg_attention *a);
void tg_attention64_backward(const tg_attention64_gradient *g, const double *q, const double *k,
                             const double *v, const tg_attention *a);

/* ---- lib/nn/residual.h */

void tg_residual64_forward(double *out, const double *residual, const double *inp, const tg_linear *linear,
                           const tg_dropout *drop, size_t N);
void tg_residual64_backward(double *dinp, const double *dout, const double *inp, const tg_linear *linear,
                            const tg_dropout *drop, size_t N);
void tg_residual64_after_gelu_backward(double *dpre, const double *dout, const double *inp, const double *pre,
                                       const tg_linear *linear, tg_gelu_kind kind, const tg_dropout *drop,
                                       size_t N);

#endif
