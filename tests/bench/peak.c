/* The processor's own limits, for one instruction set: compiled like a kernel. */
#include "lib/kernels/isa/isa.h"

#ifdef __AVX512BF16__
#include <immintrin.h>
#endif

double ISA_NAME(peak_float32)(size_t rounds);
double ISA_NAME(peak_bf16)(size_t rounds);

/* Independent chains, to hide the latency, all in registers: of 32 or of 16. */
#if defined(__AVX512F__) || defined(__ARM_NEON)
#define SUMS 24
#else
#define SUMS 12
#endif

/* Multiply-adds that depend on nothing but themselves; returns how many operations. */
double ISA_NAME(peak_float32)(size_t rounds)
{
    vf sum[SUMS], a = splat(0.999f), b = splat(1e-3f);
    float out = 0;

    for (size_t i = 0; i < SUMS; i++)
        sum[i] = splat((float)i);
    for (size_t r = 0; r < rounds; r++)
#pragma GCC unroll 24
        for (size_t i = 0; i < SUMS; i++)
            sum[i] = sum[i] * a + b;
    for (size_t i = 0; i < SUMS; i++)
        out += sum_lanes(sum[i]);
    return out > 0 ? 2.0 * VL * SUMS * (double)rounds : 0;
}

/* The same for bf16 dot products; 0 where there are none. */
double ISA_NAME(peak_bf16)(size_t rounds)
{
#if defined(__AMX_BF16__)
    struct {
        uint8_t palette, start_row, reserved[14];
        uint16_t row_bytes[16];
        uint8_t rows[16];
    } config = {.palette = 1};

    for (size_t i = 0; i < 8; i++) {
        config.row_bytes[i] = 64;
        config.rows[i] = 16;
    }
    __asm__ volatile("" ::"r"(&config) : "memory"); /* gcc believes that 8 bytes are read */
    _tile_loadconfig(&config);
    for (size_t r = 0; r < rounds; r++) {
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    _tile_release();
    return 4.0 * 2 * 16 * 16 * 32 * (double)rounds;
#elif defined(__AVX512BF16__)
    __m512 sum[SUMS];
    __m512bh a = (__m512bh)_mm512_set1_epi16(0x3f80), b = (__m512bh)_mm512_set1_epi16(0x3a80);
    float out = 0;

    for (size_t i = 0; i < SUMS; i++)
        sum[i] = _mm512_set1_ps((float)i);
    for (size_t r = 0; r < rounds; r++)
#pragma GCC unroll 24
        for (size_t i = 0; i < SUMS; i++)
            sum[i] = _mm512_dpbf16_ps(sum[i], a, b);
    for (size_t i = 0; i < SUMS; i++)
        out += sum_lanes((vf)sum[i]);
    return out > 0 ? 4.0 * VL * SUMS * (double)rounds : 0;
#else
    (void)rounds;
    return 0;
#endif
}
