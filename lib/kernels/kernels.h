/*
 * kernels: the inner loops, once per instruction set, behind one table.
 *
 * lib/kernels/isa/ is compiled for each instruction set that the compiler targets;
 * tg_kernels_get() picks the best one that the processor has.  All functions are
 * single-threaded over the range that they are given (matmul alone runs threads),
 * allocate nothing and cannot fail.  float32 throughout.
 */
#ifndef TG_KERNELS_KERNELS_H
#define TG_KERNELS_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/kernels/attend.h"
#include "lib/kernels/matmul.h"

/* The values of one optimizer step that all elements share. */
typedef struct tg_adamw_step {
    float learning_rate, beta1, beta2, epsilon, weight_decay;
    float correction1, correction2; /* 1 - beta^t */
    float grad_scale;               /* clipping */
} tg_adamw_step;

typedef struct tg_kernels {
    const char *isa;

    void (*matmul)(const tg_matmul *op, void *work);
    void (*attend_forward)(const tg_attend *op, float *work);
    void (*attend_backward)(const tg_attend *op, float *work);

    /* gelu over n elements; dinp = dout * gelu'(inp). */
    void (*gelu_tanh_forward)(float *out, const float *inp, size_t n);
    void (*gelu_tanh_backward)(float *dinp, const float *dout, const float *inp, size_t n);

    /* One row of C: out = (inp - mean) * rstd * w + b; w, b may be NULL. */
    void (*layernorm_row)(float *out, float *mean, float *rstd, const float *inp, const float *w,
                          const float *b, size_t C, float epsilon);
    /* The same with mean and rstd given. */
    void (*layernorm_apply)(float *out, float mean, float rstd, const float *inp, const float *w,
                            const float *b, size_t C);
    /* Adds to dinp [C]. */
    void (*layernorm_row_backward)(float *dinp, const float *dout, const float *inp, float mean, float rstd,
                                   const float *w, size_t C);

    /* probs = softmax(scores) over n. */
    void (*softmax_row)(float *probs, const float *scores, size_t n);
    /* -log softmax(logits)[target]; logits become (softmax - onehot) * scale when scale != 0. */
    float (*crossentropy_row)(float *logits, size_t n, size_t target, float scale);

    /* y += x; y += a x; y[c] += sum_r x[r*ld + c] over rows in order. */
    void (*add)(float *y, const float *x, size_t n);
    void (*axpy)(float *y, float a, const float *x, size_t n);
    void (*add_rows)(float *y, const float *x, size_t ld, size_t rows, size_t n);

    double (*sum_squares)(const float *x, size_t n);
    void (*adamw)(float *w, float *m, float *v, const float *g, size_t n, const tg_adamw_step *step);
} tg_kernels;

/* The table in use; the same one in every call of a process. */
const tg_kernels *tg_kernels_get(void);

/* All tables that this processor can run, best first; returns how many (at most 8). */
size_t tg_kernels_list(const tg_kernels *list[8]);

#endif
