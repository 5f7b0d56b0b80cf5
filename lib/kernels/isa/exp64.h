/* exp64: exponentials in double precision. */
#ifndef TG_KERNELS_ISA_EXP64_H
#define TG_KERNELS_ISA_EXP64_H

#include "lib/kernels/isa/isa.h"

#define EXP64_RANGE 708.0

/*
 * exp(x) for x <= 0, relative error below 4e-16; 0 below -EXP64_RANGE, NaN for NaN.
 * x = n ln 2 + r with |r| <= ln 2 / 2.  A Taylor polynomial of degree 13 in r, whose remainder r^14/14! is
 * below 5e-18, is multiplied by 2^n in the exponent's bits.
 */
INLINE double exp_f64(double x)
{
    const double magic = 6755399441055744.0; /* 1.5 * 2^52: adding it rounds to an integer */
    const double bounded =
        x > -EXP64_RANGE ? x : -EXP64_RANGE; /* also replaces a NaN, which the end restores */
    const double shifted = bounded * 0x1.71547652b82fep0 + magic, n = shifted - magic;
    const double high = bounded - n * 0x1.62e42fefa3800p-1, r = high - n * 0x1.ef35793c76730p-45;
    double p = 1.0 / 6227020800.0;
    int64_t bits, exponent;

    p = p * r + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    memcpy(&exponent, &shifted, sizeof exponent); /* its low bits are n */
    memcpy(&bits, &p, sizeof bits);
    bits = (int64_t)((uint64_t)bits + ((uint64_t)exponent << 52));
    memcpy(&p, &bits, sizeof p);
    p = x < -EXP64_RANGE ? 0.0 : p;
    return x == x ? p : x;
}

#endif
