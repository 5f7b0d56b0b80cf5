/*
 * The matrix product with bf16 operands and float32 sums: see matmul_body.h.
 *
 * A and B are float32 in memory; packing rounds them to bf16 (to nearest, ties to
 * even), two k's to a word, as the processor's dot-product instruction takes them.
 */
#include "lib/kernels/isa/kernels_isa.h"

#if defined(__AVX512BF16__) && !defined(__AMX_BF16__)

#include <stdbool.h>

#include "lib/base/size.h"
#include "lib/kernels/isa/bf16.h"
#include "lib/kernels/isa/blocks.h"
#include "lib/kernels/isa/matmul_tile.h"
#include "lib/kernels/isa/transpose.h"

/* As in matmul.c, VL words at a time. */
INLINE void pack_block(float *restrict panel, const float *restrict x, size_t step, const size_t width)
{
    for (size_t i0 = 0; i0 < width; i0 += VL) {
        vf row[VL];

        for (size_t i = 0; i < VL; i++)
            row[i] = words_along(x + tg_size_min(i0 + i, width - 1) * step);
        transpose(row);
        for (size_t k = 0; k < VL; k++)
            memcpy(panel + k * width + i0, &row[k], tg_size_min(VL, width - i0) * sizeof(float));
    }
}

INLINE void pack(float *restrict panel, const float *restrict x, size_t step, size_t k_step, size_t n,
                 size_t kc, const size_t width)
{
    const size_t words = tg_ceil_div(kc, 2);
    size_t w = 0;

    if (n < width)
        memset(panel, 0, words * width * sizeof *panel);
    if (n == width && step == 1 && width % VL == 0)
        for (; 2 * w + 2 <= kc; w++)
            for (size_t i = 0; i < width; i += VL)
                store(panel + w * width + i,
                      words_across(x + 2 * w * k_step + i, x + (2 * w + 1) * k_step + i));
    if (n == width && k_step == 1)
        for (; 2 * (w + VL) <= kc; w += VL)
            pack_block(panel + w * width, x + 2 * w, step, width);
    for (size_t i = 0; i < n; i++)
        for (size_t j = w; j < words; j++) {
            const float *at = x + i * step + 2 * j * k_step;

            panel[j * width + i] = word(at[0], 2 * j + 1 < kc ? at[k_step] : 0);
        }
}

INLINE vf multiply_add(vf sum, float a, vf b)
{
    uint32_t pair;

    memcpy(&pair, &a, sizeof pair);
    return (vf)_mm512_dpbf16_ps((__m512)sum, (__m512bh)_mm512_set1_epi32((int)pair), (__m512bh)b);
}

#include "lib/kernels/isa/matmul_vectors.h"
#define DEPTH 2
#define ROUND 1
#include "lib/kernels/isa/matmul_body.h"

void K(matmul_bf16)(const tg_matmul *op, void *work)
{
    #pragma omp parallel if (op->M * op->N * op->K >= PARALLEL_FROM)
    multiply_blocks(op, work);
}

#endif
