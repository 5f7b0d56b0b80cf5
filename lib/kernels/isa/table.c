/* The table of one instruction set's kernels. */
#include "lib/kernels/isa/kernels_isa.h"

extern const tg_kernels ISA_NAME(kernels);

#ifdef __AVX512BF16__
#define HAS_BF16 true
#else
#define HAS_BF16 false
#endif
#define MEMBER(name) .name = ISA_NAME(name),

const tg_kernels ISA_NAME(kernels) = {.isa = ISA_TEXT, .has_bf16 = HAS_BF16, EACH_KERNEL(MEMBER)};
