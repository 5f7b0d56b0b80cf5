/* The table of one instruction set's kernels. */
#include "lib/kernels/isa/kernels_isa.h"

#define TEXT2(x) #x
#define TEXT(x) TEXT2(x)

extern const tg_kernels K(kernels);

const tg_kernels K(kernels) = {
    .isa = TEXT(TG_ISA),
    .matmul = K(matmul),
#ifdef __AVX512BF16__
    .matmul_bf16 = K(matmul_bf16),
#endif
    .weights_pack = K(weights_pack),
    .weights_run = K(weights_run),
    .attend_forward = K(attend_forward),
    .attend_backward = K(attend_backward),
    .gelu_tanh_forward = K(gelu_tanh_forward),
    .gelu_tanh_slope = K(gelu_tanh_slope),
    .layernorm_row = K(layernorm_row),
    .layernorm_apply = K(layernorm_apply),
    .layernorm_row_backward = K(layernorm_row_backward),
    .softmax_row = K(softmax_row),
    .crossentropy_row = K(crossentropy_row),
    .multiply = K(multiply),
    .add = K(add),
    .add_rows = K(add_rows),
    .sum_squares = K(sum_squares),
    .adamw = K(adamw),
};
