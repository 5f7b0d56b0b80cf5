/*
 * The matrix product with bf16 operands and float32 sums: see matmul_body.h.
 *
 * Operands that are float32 in memory are rounded while they are packed.  With AVX-512 BF16, a word has
 * two values of k, and an instruction adds two products to a sum.  Elsewhere a word is one value, widened
 * to float32: the product of two bf16 is exact in it, and bf16 saves memory and bandwidth only.
 */
#include "lib/kernels/isa/kernels_isa.h"

#ifndef __AMX_BF16__

#include <stdbool.h>

#include "lib/base/size.h"
#include "lib/kernels/isa/blocks.h"
#include "lib/kernels/isa/matmul_tile.h"

#ifdef __AVX512BF16__

#include "lib/kernels/isa/matmul_words.h"

INLINE vf multiply_add(vf sum, float a, vf b)
{
    uint32_t pair;

    memcpy(&pair, &a, sizeof pair);
    return (vf)_mm512_dpbf16_ps((__m512)sum, (__m512bh)_mm512_set1_epi32((int)pair), (__m512bh)b);
}

#else

/* VL values, rounded to bf16. */
INLINE vf words_along(const void *x, const tg_type type)
{
    if (type == TG_TYPE_BF16)
        return load_bf16(x);
    return (vf)(__builtin_convertvector(to_bf16(load(x)), vu) << 16);
}

INLINE vf words_across(const void *x, const void *same, const size_t n, const tg_type type)
{
    float some[VL] = {0};

    (void)same;
    if (n < VL)
        x = memcpy(some, x, n * size_of(type));
    return words_along(x, type);
}

INLINE float word(const void *x, const void *same, const tg_type type)
{
    return words_across(x, same, 1, type)[0];
}

INLINE vf multiply_add(vf sum, float a, vf b)
{
    return add_product(sum, splat(a), b);
}

#define K_PER_WORD 1

#endif

#define A_MAY_BE_HALVES true
#define WORDS_PER_CHAIN KC_WORDS /* the operands' rounding is far coarser than the sums' */
#include "lib/kernels/isa/matmul_vectors.h"
#define WORDS_UNIT 1
#include "lib/kernels/isa/matmul_body.h"

size_t ISA_NAME(matmul_bf16_part)(size_t K)
{
    return part_of_k(K);
}

void ISA_NAME(matmul_bf16)(const tg_matmul *op, const tg_matmul_scratch *scratch)
{
    multiply_blocks(op, scratch);
}

#endif
