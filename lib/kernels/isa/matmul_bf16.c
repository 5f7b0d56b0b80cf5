/*
 * The matrix product with bf16 operands and float32 sums: see matmul_body.h.
 *
 * A and B are float32 in memory.  Packing rounds them to bf16 (to nearest, ties to even),
 * two values of k to a word, as the processor's dot-product instruction expects.
 */
#include "lib/kernels/isa/kernels_isa.h"

#if defined(__AVX512BF16__) && !defined(__AMX_BF16__)

#include <stdbool.h>

#include "lib/base/size.h"
#include "lib/kernels/isa/bf16.h"
#include "lib/kernels/isa/blocks.h"
#include "lib/kernels/isa/matmul_tile.h"

INLINE vf multiply_add(vf sum, float a, vf b)
{
    uint32_t pair;

    memcpy(&pair, &a, sizeof pair);
    return (vf)_mm512_dpbf16_ps((__m512)sum, (__m512bh)_mm512_set1_epi32((int)pair), (__m512bh)b);
}

#define K_PER_WORD 2
#define WORDS_PER_CHAIN KC_WORDS /* the operands' rounding is far coarser than the sums' */
#include "lib/kernels/isa/matmul_vectors.h"
#define WORDS_UNIT 1
#include "lib/kernels/isa/matmul_body.h"

void ISA_NAME(matmul_bf16)(const tg_matmul *op, const tg_matmul_scratch *scratch)
{
    multiply_blocks(op, scratch);
}

#endif
