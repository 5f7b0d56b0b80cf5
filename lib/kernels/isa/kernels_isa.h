/* kernels_isa: the prototypes of one instruction set's kernels; see kernels.h. */
#include "lib/kernels/isa/isa.h"
#include "lib/kernels/kernels.h"

void K(matmul)(const tg_matmul *op, const tg_matmul_scratch *scratch);
#ifdef __AVX512BF16__
void K(matmul_bf16)(const tg_matmul *op, const tg_matmul_scratch *scratch);
#endif
void K(weights_pack)(const tg_weights *w, const float *b, size_t b_row, size_t b_col);
void K(weights_run)(const tg_matmul *op, const tg_weights *w);
void K(attend_forward)(const tg_attend *op, float *work);
void K(attend_backward)(const tg_attend *op, float *work);
void K(gelu_tanh_forward)(float *out, const float *inp, size_t n);
void K(gelu_tanh_slope)(float *out, float *slope, const float *inp, size_t n);
void K(layernorm_row)(float *out, float *mean, float *rstd, const float *inp, const float *w, const float *b,
                      size_t C, float epsilon);
void K(layernorm_apply)(float *out, float mean, float rstd, const float *inp, const float *w, const float *b,
                        size_t C);
void K(layernorm_row_backward)(float *dinp, const float *dout, const float *inp, float mean, float rstd,
                               const float *w, size_t C);
void K(softmax_row)(float *probs, const float *scores, size_t n);
float K(crossentropy_row)(float *logits, size_t n, size_t target, float scale);
void K(multiply)(float *out, const float *x, const float *y, size_t n);
void K(add)(float *y, const float *x, size_t n);
void K(add_rows)(float *y, const float *x, size_t ld, size_t rows, size_t n);
double K(sum_squares)(const float *x, size_t n);
void K(adamw)(float *w, float *m, float *v, const float *g, size_t n, const tg_adamw_step *step);
