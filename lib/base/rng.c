#include "lib/base/rng.h"

#include <assert.h>
#include <math.h>

__extension__ typedef unsigned __int128 uint128;

void tg_philox4x32(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];

    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53 * c0;
        uint64_t p1 = (uint64_t)0xCD9E8D57 * c2;

        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9;
        k1 += 0xBB67AE85;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

void tg_rng_block(uint32_t out[4], const tg_rng *rng, uint64_t index)
{
    const uint32_t key[2] = {(uint32_t)rng->seed, (uint32_t)(rng->seed >> 32)};
    const uint32_t counter[4] = {
        (uint32_t)index,
        (uint32_t)(index >> 32),
        (uint32_t)rng->step,
        (uint32_t)(rng->step >> 32) | rng->purpose << 8,
    };

    assert(rng->step >> 40 == 0 && rng->purpose < 1u << 24);
    tg_philox4x32(out, counter, key);
}

uint64_t tg_rng_u64(const tg_rng *rng, uint64_t index)
{
    uint32_t w[4];

    tg_rng_block(w, rng, index);
    return (uint64_t)w[1] << 32 | w[0];
}

double tg_rng_uniform(const tg_rng *rng, uint64_t index)
{
    return (double)(tg_rng_u64(rng, index) >> 11) * 0x1p-53;
}

double tg_rng_normal(const tg_rng *rng, uint64_t index)
{
    const double two_pi = 6.283185307179586476925;
    uint32_t w[4];
    double u, v;

    tg_rng_block(w, rng, index);
    u = ((double)(((uint64_t)w[1] << 32 | w[0]) >> 11) + 1.0) * 0x1p-53; /* (0,1] */
    v = (double)(((uint64_t)w[3] << 32 | w[2]) >> 11) * 0x1p-53;
    return sqrt(-2.0 * log(u)) * cos(two_pi * v);
}

uint64_t tg_rng_below(const tg_rng *rng, uint64_t index, uint64_t n)
{
    return (uint64_t)((uint128)tg_rng_u64(rng, index) * n >> 64);
}

static uint64_t feistel(const tg_rng *rng, unsigned half_bits, uint64_t x)
{
    const uint64_t mask = ((uint64_t)1 << half_bits) - 1;
    uint64_t left = x >> half_bits, right = x & mask;

    for (uint64_t round = 0; round < 4; round++) {
        uint64_t mixed = tg_rng_u64(rng, right << 3 | round | 4);
        uint64_t next = (left ^ mixed) & mask;

        left = right;
        right = next;
    }
    return left << half_bits | right;
}

uint64_t tg_rng_permute(const tg_rng *rng, uint64_t n, uint64_t i)
{
    unsigned half_bits = 1;

    assert(i < n && n <= (uint64_t)1 << 60);
    while ((uint64_t)1 << 2 * half_bits < n)
        half_bits++;
    do
        i = feistel(rng, half_bits, i);
    while (i >= n);
    return i;
}
