/* The table of one instruction set's kernels. */
#include "lib/kernels/isa/kernels_isa.h"

extern const tg_kernels ISA_NAME(kernels);

const tg_kernels ISA_NAME(kernels) = {
    .isa = ISA_TEXT,
#ifdef __AVX512BF16__
    .has_bf16 = true,
#endif
    .matmul = ISA_NAME(matmul),
    .matmul_bf16 = ISA_NAME(matmul_bf16),
    .packed_matrix_pack = ISA_NAME(packed_matrix_pack),
    .packed_matrix_run = ISA_NAME(packed_matrix_run),
    .attend_forward = ISA_NAME(attend_forward),
    .attend_backward = ISA_NAME(attend_backward),
    .attend16_forward = ISA_NAME(attend16_forward),
    .attend16_backward = ISA_NAME(attend16_backward),
    .gelu_tanh_forward = ISA_NAME(gelu_tanh_forward),
    .gelu_tanh_backward = ISA_NAME(gelu_tanh_backward),
    .layernorm_stats = ISA_NAME(layernorm_stats),
    .layernorm_apply = ISA_NAME(layernorm_apply),
    .layernorm_row_backward = ISA_NAME(layernorm_row_backward),
    .layernorm_columns_backward = ISA_NAME(layernorm_columns_backward),
    .softmax_row = ISA_NAME(softmax_row),
    .crossentropy_row = ISA_NAME(crossentropy_row),
    .add = ISA_NAME(add),
    .add_rows = ISA_NAME(add_rows),
    .widen = ISA_NAME(widen),
    .round16 = ISA_NAME(round16),
    .add_rows16 = ISA_NAME(add_rows16),
    .sum_squares = ISA_NAME(sum_squares),
    .normals = ISA_NAME(normals),
    .adamw = ISA_NAME(adamw),
};
