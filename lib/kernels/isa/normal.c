/*
 * Normal random numbers, many at a time, with the bits of tg_rng_normal() rounded to float.
 *
 * Vectors compute each number with a relative error below DOUBT.  Where the numbers on both sides of it,
 * that far away, round to the same float, so does every double in between: libm's among them.  Elsewhere,
 * about once in 10^4 numbers, and where a relative error is not so small, tg_rng_normal() decides.
 */
#include <math.h>
#include <stdbool.h>

#include "lib/kernels/isa/philox.h"

#define DOUBT 1e-12

/* The double with these bits, and the reverse. */
INLINE double of_bits(uint64_t bits)
{
    double x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

INLINE uint64_t bits_of(double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* A number below 2^52 as a double: there the bits of 2^52 + n end with those of n. */
INLINE double whole(uint64_t n)
{
    return of_bits(0x4330000000000000 | n) - 0x1p52;
}

/* The 53 upper bits of 64, as a double. */
INLINE double upper53(uint32_t low, uint32_t high)
{
    return whole(high) * 0x1p21 + whole(low >> 11);
}

/* u and v of Box and Muller, as in tg_rng_normal(), for the numbers from `first` on. */
static void uniforms(double u[LANES], double v[LANES], const tg_rng *rng, uint64_t first)
{
    uint64_t word[4][LANES];

    philox(word, rng, first);
    for (size_t l = 0; l < LANES; l++) {
        u[l] = (upper53((uint32_t)word[0][l], (uint32_t)word[1][l]) + 1.0) * 0x1p-53;
        v[l] = upper53((uint32_t)word[2][l], (uint32_t)word[3][l]) * 0x1p-53;
    }
}

/* -2 log u, u in (0,1]: u = 2^e m, log m = 2 (s + s^3/3 + ...), s = (m - 1)/(m + 1), |s| < 0.172. */
INLINE double minus_2_log(double u)
{
    const uint64_t bits = bits_of(u);
    const double near1 = of_bits((bits & 0x000FFFFFFFFFFFFF) | 0x3FF0000000000000);
    const double exponent = whole(bits >> 52) - 1023;
    const bool large = near1 > 1.4142135623730951;
    const double m = large ? 0.5 * near1 : near1, e = large ? exponent + 1 : exponent;
    const double s = (m - 1) / (m + 1), z = s * s;
    double sum = 1.0 / 21;

    sum = sum * z + 1.0 / 19;
    sum = sum * z + 1.0 / 17;
    sum = sum * z + 1.0 / 15;
    sum = sum * z + 1.0 / 13;
    sum = sum * z + 1.0 / 11;
    sum = sum * z + 1.0 / 9;
    sum = sum * z + 1.0 / 7;
    sum = sum * z + 1.0 / 5;
    sum = sum * z + 1.0 / 3;
    sum = sum * z + 1.0;
    return -2 * (e * 0.6931471805599453 + 2 * s * sum);
}

/* cos 2 pi v, v in [0,1): 4 v = q + r with |r| <= 1/2, and the series of cos or sin at r pi/2. */
INLINE double cos_2_pi(double v)
{
    const double shifted = 4 * v + 0x1.8p52; /* rounds to a whole number, in the last bits */
    const uint64_t q = bits_of(shifted);
    const double r = (4 * v - (shifted - 0x1.8p52)) * 1.5707963267948966, z = r * r;
    double c = 1.0 / 20922789888000, s = 1.0 / 355687428096000;

    c = c * z - 1.0 / 87178291200;
    c = c * z + 1.0 / 479001600;
    c = c * z - 1.0 / 3628800;
    c = c * z + 1.0 / 40320;
    c = c * z - 1.0 / 720;
    c = c * z + 1.0 / 24;
    c = c * z - 1.0 / 2;
    c = c * z + 1;
    s = s * z - 1.0 / 1307674368000;
    s = s * z + 1.0 / 6227020800;
    s = s * z - 1.0 / 39916800;
    s = s * z + 1.0 / 362880;
    s = s * z - 1.0 / 5040;
    s = s * z + 1.0 / 120;
    s = s * z - 1.0 / 6;
    s = (s * z + 1) * r;
    /* cos(q pi/2 + x): cos x, -sin x, -cos x, sin x */
    return of_bits(bits_of((q & 1) != 0 ? s : c) ^ ((q + 1) & 2) << 62);
}

/* LANES numbers times std, rounded; returns whether all are certain: doubt[l] is 1 where one is not. */
static bool draw(float out[LANES], uint32_t doubt[LANES], const tg_rng *rng, uint64_t first, double std)
{
    double u[LANES], v[LANES], x[LANES];
    uint32_t any = 0;

    uniforms(u, v, rng, first);
    for (size_t l = 0; l < LANES; l++)
        x[l] = minus_2_log(u[l]);
    for (size_t l = 0; l < LANES; l++) {
        const double root = sqrt(x[l]), cosine = cos_2_pi(v[l]), number = std * (root * cosine);
        const float above = (float)(number * (1 + DOUBT)), below = (float)(number * (1 - DOUBT));

        out[l] = above;
        doubt[l] = (above != below) | (cosine * cosine < 0x1p-20) | (x[l] < 0x1p-10);
    }
    for (size_t l = 0; l < LANES; l++)
        any |= doubt[l];
    return any == 0;
}

void ISA_NAME(normals)(float *out, const tg_rng *rng, uint64_t first, size_t n, double std)
{
    float numbers[LANES];
    uint32_t doubt[LANES];

    for (size_t i = 0; i < n; i += LANES) {
        const size_t some = n - i < LANES ? n - i : LANES;

        if (!draw(numbers, doubt, rng, first + i, std))
            for (size_t l = 0; l < some; l++)
                if (doubt[l])
                    numbers[l] = (float)(std * tg_rng_normal(rng, first + i + l));
        memcpy(out + i, numbers, some * sizeof *out);
    }
}
