/* kernels_isa: the prototypes of one instruction set's kernels; see kernels.h. */
#include "lib/kernels/isa/isa.h"
#include "lib/kernels/kernels.h"

void ISA_NAME(matmul)(const tg_matmul *op, const tg_matmul_scratch *scratch);
void ISA_NAME(matmul_bf16)(const tg_matmul *op, const tg_matmul_scratch *scratch);
void ISA_NAME(packed_matrix_pack)(const tg_packed_matrix *w, const float *b, size_t b_row, size_t b_col);
void ISA_NAME(packed_matrix_run)(const tg_matmul *op, const tg_packed_matrix *w);
void ISA_NAME(attend_forward)(const tg_attention_head *op, float *work);
void ISA_NAME(attend_backward)(const tg_attention_head *op, float *work);
void ISA_NAME(attend16_forward)(const tg_attention_head16 *op, float *work);
void ISA_NAME(attend16_backward)(const tg_attention_head16 *op, float *work);
void ISA_NAME(gelu_tanh_forward)(float *out, const float *inp, size_t n);
void ISA_NAME(gelu_tanh_backward)(float *d, const float *inp, size_t n);
void ISA_NAME(layernorm_stats)(float *mean, float *rstd, const float *inp, size_t C, float epsilon);
void ISA_NAME(layernorm_apply)(float *out, float mean, float rstd, const float *inp, const float *w,
                               const float *b, size_t C);
void ISA_NAME(layernorm_row_backward)(float *dinp, const float *dout, const float *inp, float mean,
                                      float rstd, const float *w, size_t C);
void ISA_NAME(layernorm_columns_backward)(float *dw, float *db, const float *dout, const float *inp,
                                          const tg_row_range *rows, size_t n);
void ISA_NAME(softmax_row)(float *probs, const float *scores, size_t n);
float ISA_NAME(crossentropy_row)(float *logits, size_t n, size_t target, float scale);
void ISA_NAME(add)(float *y, const float *x, size_t n);
void ISA_NAME(add_rows)(float *y, const float *x, size_t ld, size_t rows, size_t n);
void ISA_NAME(widen)(float *out, const tg_bf16 *x, size_t n);
void ISA_NAME(round16)(tg_bf16 *out, const float *x, size_t n);
void ISA_NAME(add_rows16)(float *y, const tg_bf16 *x, size_t ld, size_t rows, size_t n);
double ISA_NAME(sum_squares)(const float *x, size_t n);
void ISA_NAME(normals)(float *out, const tg_rng *rng, uint64_t first, size_t n, double std);
void ISA_NAME(adamw)(float *w, float *m, float *v, const float *g, size_t n, const tg_adamw_step *step);
