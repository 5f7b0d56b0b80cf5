/* lib/base/decimal against printf: the same bytes. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/decimal.h"
#include "lib/base/rng.h"
#include "tests/unit/check.h"

/* Millions of numbers: only the first that differ are shown. */
static void same(const char *got, const char *end, const char *want)
{
    static int shown;
    const bool equal = (size_t)(end - got) == strlen(want) && memcmp(got, want, (size_t)(end - got)) == 0;

    if (!equal && shown++ < 10)
        printf("got %.*s, not %s\n", (int)(end - got), got, want);
    if (!equal)
        CHECK(equal);
}

static void try_float(float x)
{
    char got[TG_DECIMAL_SIZE], want[64];

    snprintf(want, sizeof want, "%.9g", (double)x);
    same(got, tg_decimal_float(got, x), want);
}

static void try_fixed(double x)
{
    char got[TG_DECIMAL_SIZE], want[64];

    snprintf(want, sizeof want, fabs(x) < 1e9 ? "%.8f" : "%.9g", x);
    same(got, tg_decimal_fixed(got, x), want);
}

static void try_size(size_t n)
{
    char got[TG_DECIMAL_SIZE], want[64];

    snprintf(want, sizeof want, "%zu", n);
    CHECK_EQ(tg_decimal_digits(n), strlen(want));
    same(got, tg_decimal_size(got, n), want);
}

static float float_of(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Also the numbers next to x. */
static void around_float(float x)
{
    float below = x, above = x;

    for (int n = 0; n < 4; n++) {
        try_float(below);
        try_float(-above);
        below = nextafterf(below, -INFINITY);
        above = nextafterf(above, INFINITY);
    }
}

static void around_fixed(double x)
{
    double below = x, above = x;

    for (int n = 0; n < 4; n++) {
        try_fixed(below);
        try_fixed(-above);
        below = nextafter(below, -HUGE_VAL);
        above = nextafter(above, HUGE_VAL);
    }
}

/* ---- whole numbers */

static void sizes(void)
{
    size_t power = 1;

    for (size_t n = 0; n < 20000; n++)
        try_size(n);
    for (int k = 0; k < 20; k++, power *= 10) {
        try_size(power - 1);
        try_size(power);
        try_size(power * 7 + 3);
    }
    try_size(SIZE_MAX);
}

/* ---- "%.9g" */

static void special_floats(void)
{
    const float x[] = {0.0f,     -0.0f,        1.0f,    0.1f,           0.5f,        100.0f,   123456789.0f,
                       1e9f,     999999999.0f, FLT_MIN, FLT_MAX,        FLT_EPSILON, INFINITY, -1e9f,
                       -FLT_MAX, 1e-4f,        1e-5f,   9.99999975e-5f, 16777216,    1e10f,    1e22f,
                       1e23f,    1e30f,        1e-14f,  1e-15f,         1e-36f,      1e-37f,   1e-38f};

    for (size_t i = 0; i < sizeof x / sizeof x[0]; i++) {
        try_float(x[i]);
        try_float(-x[i]);
    }
    try_float(NAN);
    try_float(FLT_TRUE_MIN);
}

/* Powers of ten and of two, and the numbers next to them. */
static void float_powers(void)
{
    for (int k = -46; k <= 38; k++)
        around_float(strtof(
            (char[8]){'1', 'e', k < 0 ? '-' : '+', (char)('0' + abs(k) / 10), (char)('0' + abs(k) % 10)},
            NULL));
    for (int k = -149; k < 128; k++)
        around_float(ldexpf(1, k));
}

/* Exactly between two texts of nine digits: k + 1/2 with nine digits before the point,
 * and the same with fewer. */
static void float_ties(void)
{
    for (uint32_t k = 0; k < 200000; k++) {
        try_float(ldexpf((float)(k * 2 + 1), -8));   /* ends in 5 in the eighth decimal */
        try_float(ldexpf((float)(8388608 + k), -3)); /* seven digits and three decimals, at most */
        try_float(ldexpf((float)(12345678 + k), -4));
        try_float(ldexpf((float)(16000000 + k), -7));         /* 125000.0078125 */
        try_float(ldexpf((float)(10000000 + k * 32 + 1), 6)); /* ten digits, the last a 4 or so */
    }
}

/* Each exponent, subnormals included, with mantissas drawn. */
static void floats_of_all_sizes(void)
{
    const tg_rng rng = {.seed = 1};

    for (uint64_t n = 0, end = check_rounds(check_soak(1000000, 3000000)); n < end; n++) {
        const float x = float_of((uint32_t)tg_rng_u64(&rng, n));

        if (isfinite(x))
            try_float(x);
    }
}

/* Numbers such as scores and probabilities are. */
static void usual_floats(void)
{
    for (uint64_t n = 0, end = check_rounds(1000000); n < end; n++) {
        const double r = check_random(2, n);

        try_float((float)(r * 10));
        try_float((float)exp(r * 20));
    }
}

/* ---- "%.8f" */

static void fixed(void)
{
    const double x[] = {0,
                        0.383651730931,
                        0.5,
                        1e-9,
                        5e-9,
                        1.5e-8,
                        4.9999999999e-9,
                        999999.99999999,
                        1e6,
                        999999999.99,
                        1e9,
                        1e300,
                        HUGE_VAL,
                        5e-324,
                        0.999999995,
                        0.99999999499999,
                        123456.123456785};

    for (size_t i = 0; i < sizeof x / sizeof x[0]; i++)
        around_fixed(x[i]);
    try_fixed((double)NAN);
    for (uint64_t n = 0, end = check_rounds(check_soak(400000, 1000000)); n < end; n++) {
        const double r = check_random(3, n);

        try_fixed(r);
        try_fixed(ldexp(r, (int)(n % 40) - 15));
        try_fixed(exp(r * 30));
    }
    /* ties: eight decimals of a number with nine binary places end in 5 and nothing */
    for (int n = 1; n < 100000; n += 2)
        around_fixed(ldexp(n, -9));
}

int main(void)
{
    RUN(sizes);
    RUN(special_floats);
    RUN(float_powers);
    RUN(float_ties);
    RUN(floats_of_all_sizes);
    RUN(usual_floats);
    RUN(fixed);
    return check_done();
}
