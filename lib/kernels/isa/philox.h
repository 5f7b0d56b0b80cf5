/* philox: tg_philox4x32() (lib/base/rng.h) of many counters at a time. */
#ifndef TG_KERNELS_ISA_PHILOX_H
#define TG_KERNELS_ISA_PHILOX_H

#include "lib/kernels/isa/kernels_isa.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

/* A vector of 64-bit numbers, of which a word of Philox is the lower half; the upper half means nothing. */
typedef uint64_t vq __attribute__((vector_size(VL * 4)));

#define IN_VECTOR (VL / 2)
#define VECTORS 4                             /* at a time: enough to hide how long a product takes */
#define LANES ((size_t)(VECTORS * IN_VECTOR)) /* counters at a time */

/* The products of the lower halves. */
INLINE vq product(vq a, vq b)
{
#if VL == 16
    return (vq)_mm512_mul_epu32((__m512i)a, (__m512i)b);
#elif VL == 8 && defined(__AVX2__)
    return (vq)_mm256_mul_epu32((__m256i)a, (__m256i)b);
#elif VL == 4 && defined(__SSE2__)
    return (vq)_mm_mul_epu32((__m128i)a, (__m128i)b);
#elif VL == 4 && defined(__aarch64__)
    return (vq)vmull_u32(vmovn_u64((uint64x2_t)a), vmovn_u64((uint64x2_t)b));
#else
    return (a & 0xFFFFFFFF) * (b & 0xFFFFFFFF);
#endif
}

/* Blocks first .. first + LANES - 1 of a stream, as tg_rng_block() has them: word i of each is the lower half
 * of an element of word[i]. */
INLINE void philox(uint64_t word[4][LANES], const tg_rng *rng, uint64_t first)
{
    static const uint64_t numbers[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    uint32_t k0 = (uint32_t)rng->seed, k1 = (uint32_t)(rng->seed >> 32);
    vq c[4][VECTORS], number;

    memcpy(&number, numbers, sizeof number);
    for (size_t v = 0; v < VECTORS; v++) {
        c[0][v] = number + (first + v * IN_VECTOR);
        c[1][v] = c[0][v] >> 32;
        c[2][v] = (vq){0} + (uint32_t)rng->step;
        c[3][v] = (vq){0} + ((uint32_t)(rng->step >> 32) | rng->purpose << 8);
    }
    for (int round = 0; round < 10; round++) {
        for (size_t v = 0; v < VECTORS; v++) {
            const vq p0 = product(c[0][v], (vq){0} + 0xD2511F53), p1 = product(c[2][v], (vq){0} + 0xCD9E8D57);

            c[0][v] = (p1 >> 32) ^ c[1][v] ^ k0;
            c[2][v] = (p0 >> 32) ^ c[3][v] ^ k1;
            c[1][v] = p1;
            c[3][v] = p0;
        }
        k0 += 0x9E3779B9;
        k1 += 0xBB67AE85;
    }
    for (size_t i = 0; i < 4; i++)
        for (size_t v = 0; v < VECTORS; v++)
            memcpy(word[i] + v * IN_VECTOR, &c[i][v], sizeof c[i][v]);
}

#endif
