#include "lib/base/decimal.h"

#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char pairs[] = "00010203040506070809101112131415161718192021222324"
                            "25262728293031323334353637383940414243444546474849"
                            "50515253545556575859606162636465666768697071727374"
                            "75767778798081828384858687888990919293949596979899";

/* Powers of ten that a double holds exactly. */
#define EXACT 22
static const double power[EXACT + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                        1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                        1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* ---- whole numbers */

size_t tg_decimal_digits(size_t value)
{
    for (size_t n = 1;; n += 4, value /= 10000) {
        if (value < 10)
            return n;
        if (value < 100)
            return n + 1;
        if (value < 1000)
            return n + 2;
        if (value < 10000)
            return n + 3;
    }
}

/* Write a number below 10^n as n digits. */
static void put_digits(char *out, size_t n, uint64_t value)
{
    while (n >= 2) {
        n -= 2;
        memcpy(out + n, pairs + value % 100 * 2, 2);
        value /= 100;
    }
    if (n == 1)
        out[0] = (char)('0' + value);
}

char *tg_decimal_size(char *out, size_t value)
{
    const size_t n = tg_decimal_digits(value);

    put_digits(out, n, value);
    return out + n;
}

/* ---- real numbers */

/*
 * Round x >= 0, which was computed with at most two roundings, to the nearest whole number.
 * False when x is so close to a tie that these roundings may have moved it across or onto
 * the tie: only the exact value, unknown here, could decide.
 */
static bool nearest(uint64_t *whole, double x)
{
    const uint64_t floor = (uint64_t)x;
    const double over = x - (double)floor - 0.5;

    *whole = floor + (over > 0);
    return fabs(over) > x * 0x1p-51;
}

/* x * 10^k with at most two roundings; |k| <= 2 EXACT. */
static double scale(double x, int k)
{
    if (k < 0)
        return k < -EXACT ? x / power[EXACT] / power[-k - EXACT] : x / power[-k];
    return k > EXACT ? x * power[EXACT] * power[k - EXACT] : x * power[k];
}

#define SIGNIFICANT 9

/* x > 0 as digits * 10^(exponent - 8), 1e8 <= digits < 1e9, rounded to nearest.  False when
 * nearest() cannot tell. */
static bool nine_digits(uint64_t *digits, int *exponent, float x)
{
    uint32_t bits;
    double scaled;
    int e;

    memcpy(&bits, &x, sizeof bits);
    /* 2^b <= x < 2^(b + 1), b = bits / 2^23 - 127, and 1233/4096 is about log10(2): this is
     * the exponent, or 1 less. */
    e = (int)(((bits >> 23) * 1233 + 4096 * 64 - 127 * 1233) >> 12) - 64;
    if (SIGNIFICANT - 1 - e > 2 * EXACT)
        return false;
    scaled = scale((double)x, SIGNIFICANT - 1 - e);
    if (scaled >= 1e9)
        scaled = scale((double)x, SIGNIFICANT - 1 - ++e);
    *exponent = e;
    if (!nearest(digits, scaled))
        return false;
    if (*digits == 1000000000) {
        *digits = 100000000;
        ++*exponent;
    }
    return *digits >= 100000000 && *digits < 1000000000;
}

/* d.ddde-06 */
static char *put_exponential(char *out, const char *digits, size_t n, int exponent)
{
    *out++ = digits[0];
    if (n > 1) {
        *out++ = '.';
        memcpy(out, digits + 1, SIGNIFICANT - 1);
        out += n - 1;
    }
    *out++ = 'e';
    *out++ = exponent < 0 ? '-' : '+';
    put_digits(out, 2, (uint64_t)(exponent < 0 ? -exponent : exponent)); /* below 100 for a float */
    return out + 2;
}

/* 0.000ddd, or ddd.ddd, or ddd */
static char *put_plain(char *out, const char *digits, size_t n, int exponent)
{
    const size_t before = exponent < 0 ? 0 : (size_t)exponent + 1; /* digits before the point */

    if (exponent < 0) {
        memcpy(out, "0.0000", 6);
        out += 1 - exponent;
        memcpy(out, digits, SIGNIFICANT);
        return out + n;
    }
    memcpy(out, digits, SIGNIFICANT);
    if (n <= before)
        return out + before;
    out[before] = '.';
    memcpy(out + before + 1, digits + before, SIGNIFICANT - before);
    return out + n + 1;
}

/* ---- locales with another decimal point */

/* Replace the locale's in a text [n] of printf's. */
static char *put_point(char *out, int n)
{
    const char *const point = localeconv()->decimal_point;
    const size_t size = strlen(point);
    char *const at = strstr(out, point);

    if (!at || size == 0)
        return out + n;
    *at = '.';
    memmove(at + 1, at + size, strlen(at + size) + 1);
    return out + n - (size - 1);
}

char *tg_decimal_general(char *out, int digits, double value)
{
    return put_point(out, snprintf(out, TG_DECIMAL_SIZE, "%.*g", digits, value));
}

/* In the copy for strtod() the locale's point is in the place of ours; a text with the locale's ends there.
 */
double tg_decimal_read(const char *text, const char **end)
{
    char copy[TG_DECIMAL_READ + 16], *stop;
    const char *const point = localeconv()->decimal_point, *const other = strstr(text, point);
    const size_t n = other && strcmp(point, ".") != 0 ? (size_t)(other - text) : strlen(text);
    const size_t before = strcspn(text, "."), size = strlen(point);
    size_t used;
    double value;

    *end = text;
    if (n > TG_DECIMAL_READ || size > 8)
        return 0;
    if (before >= n)
        snprintf(copy, sizeof copy, "%.*s", (int)n, text);
    else
        snprintf(copy, sizeof copy, "%.*s%s%.*s", (int)before, text, point, (int)(n - before - 1),
                 text + before + 1);
    value = strtod(copy, &stop);
    used = (size_t)(stop - copy);
    *end = text + (used > before ? used - (size - 1) : used);
    return value;
}

/* ---- printing */

char *tg_decimal_float(char *out, float value)
{
    char text[SIGNIFICANT];
    uint64_t digits;
    int exponent;
    size_t n = SIGNIFICANT;

    if (value == 0 || !isfinite(value) || !nine_digits(&digits, &exponent, fabsf(value)))
        return tg_decimal_general(out, SIGNIFICANT, (double)value);
    put_digits(text, SIGNIFICANT, digits);
    while (n > 1 && text[n - 1] == '0')
        n--;
    if (value < 0)
        *out++ = '-';
    if (exponent < -4 || exponent >= SIGNIFICANT)
        return put_exponential(out, text, n, exponent);
    return put_plain(out, text, n, exponent);
}

#define DECIMALS 8

char *tg_decimal_fixed(char *out, double value)
{
    const uint64_t unit = 100000000; /* 10^DECIMALS */
    uint64_t whole;

    if (!(fabs(value) < 1e9))
        return tg_decimal_general(out, SIGNIFICANT, value);
    if (fabs(value) >= 1e6 || !nearest(&whole, fabs(value) * (double)unit))
        return put_point(out, snprintf(out, TG_DECIMAL_SIZE, "%.*f", DECIMALS, value));
    if (signbit(value))
        *out++ = '-';
    out = tg_decimal_size(out, whole / unit);
    *out++ = '.';
    put_digits(out, DECIMALS, whole % unit);
    return out + DECIMALS;
}
