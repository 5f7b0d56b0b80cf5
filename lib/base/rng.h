/*
 * rng: random numbers as a pure function of (seed, purpose, step, index).
 *
 * Philox4x32-10, a counter-based generator.  It has no state to carry or save: any
 * number can be computed at any time, in any order, on any thread.
 * Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC11.
 */
#ifndef TG_BASE_RNG_H
#define TG_BASE_RNG_H

#include <stdint.h>

/* What the numbers are for.  Two purposes never share a number.  The values are part of
 * a run's format: a resumed run must get the same numbers. */
enum tg_rng_purpose {
    TG_RNG_INIT = 1,    /* step: the tensor's index      index: element */
    TG_RNG_SHUFFLE = 2, /* step: epoch */
    TG_RNG_DROPOUT = 3, /* step: training step           index: element */
    TG_RNG_SAMPLE = 4,  /* step: position of the token   index: sequence */
    TG_RNG_ROUND = 5,   /* step: training step           index: parameter */
    TG_RNG_LEND = 6     /* the same, of matrices that an adapter changes */
};

/* One stream of numbers; plain values, copied freely. */
typedef struct tg_rng {
    uint64_t seed;
    uint32_t purpose;
    uint64_t step; /* below 2^40 */
} tg_rng;

/* Four 32-bit words for block `index` of the stream. */
void tg_rng_block(uint32_t out[4], const tg_rng *rng, uint64_t index);

/* The generator itself, from counter and key to output; for tests with known answers. */
void tg_philox4x32(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2]);

/* Number `index` of the stream: 64 random bits; uniform in [0,1) with 53 bits;
 * standard normal (Box-Muller in double precision). */
uint64_t tg_rng_u64(const tg_rng *rng, uint64_t index);
double tg_rng_uniform(const tg_rng *rng, uint64_t index);
double tg_rng_normal(const tg_rng *rng, uint64_t index);

/* Uniform in [0, n), n >= 1, with a bias of at most n * 2^-64. */
uint64_t tg_rng_below(const tg_rng *rng, uint64_t index, uint64_t n);

/* The place of item i < n in the stream's random permutation of [0, n).  Uses no memory: a
 * Feistel network of four rounds over the next even power of two, applied until the value
 * is below n (at most four times on average). */
uint64_t tg_rng_permute(const tg_rng *rng, uint64_t n, uint64_t i);

#endif
