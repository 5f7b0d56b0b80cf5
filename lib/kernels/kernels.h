/*
 * kernels: the inner loops that compute, as one table per instruction set.
 *
 * lib/kernels/isa/ is compiled for each instruction set that the compiler targets;
 * tg_kernels_get() picks the best one that the processor has.  All functions except
 * products are single-threaded.  They allocate nothing and cannot fail.  Numbers are
 * float32.  Text has a table of its own (lib/kernels/text_kernels.h).
 */
#ifndef TG_KERNELS_KERNELS_H
#define TG_KERNELS_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/bf16.h"
#include "lib/base/rng.h"
#include "lib/base/status.h"
#include "lib/kernels/attend.h"
#include "lib/kernels/matmul.h"
#include "lib/kernels/packed_matrix.h"
#include "lib/tg/machine.h"

/* Columns that a thread sums over all rows at a time: whole cache lines. */
#ifndef TG_COLUMNS
#define TG_COLUMNS ((size_t)64)
#endif

/* The values of one optimizer step that all elements share. */
typedef struct tg_adamw_step {
    float learning_rate, beta1, beta2, epsilon, weight_decay;
    float gain1, gain2;             /* 1 - beta, rounded once: 1.0f - beta would be 1.3 % off at 0.999999 */
    float correction1, correction2; /* 1 - beta^t */
    float grad_scale;               /* clipping */
} tg_adamw_step;

/* What RMSNorm multiplies with: offset + w[c]. */
typedef struct tg_gains {
    const float *w; /* NULL: 1 */
    float offset;   /* 1 in Gemma, else 0 */
} tg_gains;

/* Of a row of logits x: its greatest, and sums of e^y and y e^y for y = x - max.  NaN if a logit is. */
typedef struct tg_softmax_sums {
    double max, sum, weighted;
} tg_softmax_sums;

/* Rows of a normalised matrix: row r is ld elements after row r - 1. */
typedef struct tg_row_range {
    const float *mean, *rstd; /* [n] */
    size_t ld, n;
} tg_row_range;

typedef struct tg_kernels {
    const char *isa;
    bool has_bf16; /* instructions for products of bf16 */

    void (*matmul)(const tg_matmul *op, const tg_matmul_scratch *scratch);
    /* The same with A and B rounded to bf16. */
    void (*matmul_bf16)(const tg_matmul *op, const tg_matmul_scratch *scratch);
    /* tg_matmul_part() of each */
    size_t (*matmul_part)(size_t K);
    size_t (*matmul_bf16_part)(size_t K);
    /* see lib/kernels/packed_matrix.h */
    void (*packed_matrix_pack)(const tg_packed_matrix *w, const float *b, size_t b_row, size_t b_col);
    void (*packed_matrix_run)(const tg_matmul *op, const tg_packed_matrix *w);
    void (*attend_forward)(const tg_attention_head *op, float *work);
    void (*attend_backward)(const tg_attention_head *op, float *work);
    void (*attend16_forward)(const tg_attention_head *op, float *work);
    void (*attend16_backward)(const tg_attention_head *op, float *work);

    /* out = gelu(inp), n elements; out may be inp.  d *= gelu'(inp). */
    void (*gelu_tanh_forward)(float *out, const float *inp, size_t n);
    void (*gelu_tanh_backward)(float *d, const float *inp, size_t n);

    /* The mean of one row of C, and 1 / sqrt(its variance + epsilon). */
    void (*layernorm_stats)(float *mean, float *rstd, const float *inp, size_t C, float epsilon);
    /* Any C elements of a row: out = (inp - mean) * rstd * w + b; w, b may be NULL. */
    void (*layernorm_apply)(float *out, float mean, float rstd, const float *inp, const float *w,
                            const float *b, size_t C);
    /* Adds to dinp [C]. */
    void (*layernorm_row_backward)(float *dinp, const float *dout, const float *inp, float mean, float rstd,
                                   const float *w, size_t C);
    /* Adds to dw and db [n], either of which may be NULL, the sums over the rows, in order, of
     * dout (inp - mean) rstd and of dout, for n columns. */
    void (*layernorm_columns_backward)(float *dw, float *db, const float *dout, const float *inp,
                                       const tg_row_range *rows, size_t n);

    /* Any n elements of a row, the first of which is element `first`: out = inp * rstd * gain. */
    void (*rmsnorm_apply)(float *out, const float *inp, float rstd, const tg_gains *gains, size_t first,
                          size_t n);
    /* sum dout * inp * gain */
    double (*rmsnorm_dot)(const float *dout, const float *inp, const tg_gains *gains, size_t first, size_t n);
    /* dinp += dout * gain * rstd - inp * factor */
    void (*rmsnorm_backward)(float *dinp, const float *dout, const float *inp, float rstd, float factor,
                             const tg_gains *gains, size_t first, size_t n);

    /* (out_a, out_b) = (a cos - b sin, b cos + a sin), n of each; out_a may be a, and out_b b.  sign is 1, or
     * -1: the other way. */
    void (*rotate)(float *out_a, float *out_b, const float *a, const float *b, const float *cosines,
                   const float *sines, float sign, size_t n);

    /* out = silu(inp), n elements; out may be inp.  d *= silu'(inp). */
    void (*silu_forward)(float *out, const float *inp, size_t n);
    void (*silu_backward)(float *d, const float *inp, size_t n);

    /* The same of the square of ReLU. */
    void (*relu2_forward)(float *out, const float *inp, size_t n);
    void (*relu2_backward)(float *d, const float *inp, size_t n);

    /* y *= x; y += a * b * scale */
    void (*multiply)(float *y, const float *x, size_t n);
    void (*add_products)(float *y, const float *a, const float *b, float scale, size_t n);

    /* x = cap tanh(x / cap), n elements.  d *= 1 - (y / cap)^2, its slope, by the result y. */
    void (*softcap_forward)(float *x, float cap, size_t n);
    void (*softcap_backward)(float *d, const float *y, float cap, size_t n);

    /* probs = softmax(scores) over n. */
    void (*softmax_row)(float *probs, const float *scores, size_t n);
    /* -log softmax(logits)[target]; logits become (softmax - onehot) * scale when scale != 0. */
    float (*crossentropy_row)(float *logits, size_t n, size_t target, float scale);

    /* y += x; y[c] += sum_r x[r*ld + c] over rows in order. */
    void (*add)(float *y, const float *x, size_t n);
    void (*add_rows)(float *y, const float *x, size_t ld, size_t rows, size_t n);

    /* The same with x in bf16. */
    void (*add_rows16)(float *y, const tg_bf16 *x, size_t ld, size_t rows, size_t n);

    /* out = x; rounding is to nearest, ties to even, and out may be where x is. */
    void (*widen)(float *out, const tg_bf16 *x, size_t n);
    void (*round16)(tg_bf16 *out, const float *x, size_t n);

    double (*sum_squares)(const float *x, size_t n);

    /* Of n logits x (lib/gpt/score.h), in double precision: sums over them; p = exp(x - log_sum), which is at
     * most 1; sum p x; and how many are greater than x[target], or equal and before it. */
    void (*softmax_sums)(tg_softmax_sums *out, const float *x, size_t n);
    void (*softmax_probs)(double *p, const float *x, double log_sum, size_t n);
    double (*mean_logit)(const double *p, const float *x, size_t n);
    size_t (*count_before)(const float *x, size_t target, size_t n);

    /* out [n] = the words `first`, first + 1, ... of a stream: word i % 4 of tg_rng_block() i / 4. */
    void (*random_words)(uint32_t *out, const tg_rng *rng, uint64_t first, size_t n);
    /* out [n]: 0 where such a word is below the threshold, elsewhere `kept`. */
    void (*dropout_factors)(float *out, const tg_rng *rng, uint64_t first, size_t n, uint32_t threshold,
                            float kept);

    /* out [n] = std times the numbers `first`, first + 1, ... of tg_rng_normal(), rounded to float: the same
     * bits with every instruction set. */
    void (*normals)(float *out, const tg_rng *rng, uint64_t first, size_t n, double std);

    void (*adamw)(float *w, float *m, float *v, const float *g, size_t n, const tg_adamw_step *step);
} tg_kernels;

/* All tables that this processor can run, best first; returns their number, at most 8. */
size_t tg_kernels_list(const tg_kernels *list[8]);

/*
 * Compare every kernel of a table with the portable one's, on a tiny case, in less than a
 * millisecond.  TG_EDATA: one computes wrongly.  TG_ENOMEM.
 */
TG_MUST_CHECK tg_status tg_kernels_check(const tg_kernels *k, tg_err *err);

/*
 * The table in use.  The first call chooses and checks the best one, or uses the portable
 * one if that computes wrongly, unless tg_kernels_choose() was called before.
 */
const tg_kernels *tg_kernels_get(void);

#endif
