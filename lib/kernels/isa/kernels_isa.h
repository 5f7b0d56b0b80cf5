/* kernels_isa: the kernels of one instruction set, which are members of tg_kernels (kernels.h). */
#include "lib/kernels/isa/isa.h"
#include "lib/kernels/kernels.h"

/* clang-format off */
#define EACH_KERNEL(X)                                                                                       \
    X(matmul)                                                                                                \
    X(matmul_bf16)                                                                                           \
    X(matmul_part)                                                                                           \
    X(matmul_bf16_part)                                                                                      \
    X(packed_matrix_pack)                                                                                    \
    X(packed_matrix_run)                                                                                     \
    X(attend_forward)                                                                                        \
    X(attend_backward)                                                                                       \
    X(attend16_forward)                                                                                      \
    X(attend16_backward)                                                                                     \
    X(gelu_tanh_forward)                                                                                     \
    X(gelu_tanh_backward)                                                                                    \
    X(layernorm_stats)                                                                                       \
    X(layernorm_apply)                                                                                       \
    X(layernorm_row_backward)                                                                                \
    X(layernorm_columns_backward)                                                                            \
    X(rmsnorm_apply)                                                                                     \
    X(rmsnorm_dot)                                                                                       \
    X(rmsnorm_backward)                                                                                  \
    X(rotate)                                                                                            \
    X(silu_forward)                                                                                      \
    X(silu_backward)                                                                                     \
    X(relu2_forward)                                                                                     \
    X(relu2_backward)                                                                                    \
    X(multiply)                                                                                          \
    X(add_products)                                                                                      \
    X(softcap_forward)                                                                                       \
    X(softcap_backward)                                                                                      \
    X(softmax_row)                                                                                           \
    X(crossentropy_row)                                                                                      \
    X(add)                                                                                                   \
    X(add_rows)                                                                                              \
    X(add_rows16)                                                                                            \
    X(widen)                                                                                                 \
    X(round16)                                                                                               \
    X(sum_squares)                                                                                           \
    X(softmax_sums)                                                                                          \
    X(softmax_probs)                                                                                         \
    X(mean_logit)                                                                                            \
    X(count_before)                                                                                          \
    X(random_words)                                                                                          \
    X(dropout_factors)                                                                                       \
    X(normals)                                                                                               \
    X(adamw)
/* clang-format on */

#define DECLARE(name) __typeof__(*((tg_kernels *)NULL)->name) ISA_NAME(name);
EACH_KERNEL(DECLARE)

/* attend16 where bf16 has instructions, of heads with a window or a cap. */
void ISA_NAME(attend16_wide_forward)(const tg_attention_head *op, float *work);
void ISA_NAME(attend16_wide_backward)(const tg_attention_head *op, float *work);
