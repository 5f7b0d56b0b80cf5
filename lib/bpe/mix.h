/*
 * mix: a hash of two words, for tables whose keys come from a text.
 *
 * The two are multiplied, and the halves of the product are combined by exclusive or.  If both words
 * are first combined with an unpredictable seed, nobody can prepare words that collide.
 */
#ifndef TG_BPE_MIX_H
#define TG_BPE_MIX_H

#include <stdint.h>

static inline uint64_t tg_mix(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 uint128;
    const uint128 product = (uint128)a * b;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

#endif
