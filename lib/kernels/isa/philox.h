/* philox: tg_philox4x32() (lib/base/rng.h) of many counters at a time. */
#ifndef TG_KERNELS_ISA_PHILOX_H
#define TG_KERNELS_ISA_PHILOX_H

#include "lib/kernels/isa/kernels_isa.h"

#define LANES 32 /* counters at a time: enough to hide how long a product takes */

/* Blocks first .. first + LANES - 1 of a stream, as tg_rng_block() has them: word i of each in c_i. */
INLINE void philox(uint32_t c0[LANES], uint32_t c1[LANES], uint32_t c2[LANES], uint32_t c3[LANES],
                   const tg_rng *rng, uint64_t first)
{
    uint32_t k0 = (uint32_t)rng->seed, k1 = (uint32_t)(rng->seed >> 32);

    for (size_t l = 0; l < LANES; l++) {
        c0[l] = (uint32_t)(first + l);
        c1[l] = (uint32_t)((first + l) >> 32);
        c2[l] = (uint32_t)rng->step;
        c3[l] = (uint32_t)(rng->step >> 32) | rng->purpose << 8;
    }
    for (int round = 0; round < 10; round++) {
        for (size_t l = 0; l < LANES; l++) {
            const uint64_t p0 = (uint64_t)0xD2511F53 * c0[l], p1 = (uint64_t)0xCD9E8D57 * c2[l];

            c0[l] = (uint32_t)(p1 >> 32) ^ c1[l] ^ k0;
            c2[l] = (uint32_t)(p0 >> 32) ^ c3[l] ^ k1;
            c1[l] = (uint32_t)p1;
            c3[l] = (uint32_t)p0;
        }
        k0 += 0x9E3779B9;
        k1 += 0xBB67AE85;
    }
}

#endif
