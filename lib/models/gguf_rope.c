/*
 * The scaling of frequencies from its effect.  GGUF has no names for what Llama 3's is made of
 * (lib/gpt/rope.h) but a divisor for each frequency f: 1 where turns = P f / (2 pi) > high, factor where
 * turns < low, and between them 1 / ((1 - s) / factor + s) with s = (turns - low) / (high - low).  Only P/low
 * and P/high have an effect, so low is 1, as in all files of Llama; the others follow from two frequencies
 * that lie between.
 */
#include <math.h>

#include "lib/models/gguf_families.h"
#include "lib/models/gguf_keys.h"

#define PI 3.14159265358979323846
#define DIVISORS_MAX 1024
#define TOLERANCE 4e-6 /* of s, which the converter computes in float32 */
#define HIGH 4.0       /* Llama's, where nothing says it */

struct divisors {
    double f[DIVISORS_MAX], s[DIVISORS_MAX]; /* [n] f falls */
    size_t n;
    double factor;
};

static double share(const tg_config *c, double f)
{
    const double turns = (double)c->rope_ctx * f / (2 * PI);

    return fmin(fmax((turns - c->rope_low_freq) / (c->rope_high_freq - c->rope_low_freq), 0), 1);
}

/* Whether a context and a bound explain all divisors; c then has them. */
static bool explains(tg_config *c, const struct divisors *d, double context, double high)
{
    if (!(context >= 1 && context <= TG_SIZE_LIMIT && high > 1))
        return false;
    c->rope_ctx = (size_t)context;
    c->rope_high_freq = high;
    for (size_t j = 0; j < d->n; j++)
        if (!(fabs(share(c, d->f[j]) - d->s[j]) <= TOLERANCE))
            return false;
    return true;
}

/* The same for the roundest context that does. */
static bool explains_round(tg_config *c, const struct divisors *d, double context, double high)
{
    for (size_t step = 1024; step >= 1; step /= 2)
        if (explains(c, d, round(context / (double)step) * (double)step, round(high * 1000) / 1000))
            return true;
    return explains(c, d, round(context), high);
}

/* From the frequencies that lie between the bounds, first and last of them; none: first is d->n. */
static bool solve(tg_config *c, const struct divisors *d, size_t first, size_t last)
{
    size_t whole = 0; /* that are not divided */
    double slope, high;

    if (first < last) {
        slope = (d->s[first] - d->s[last]) / (d->f[first] - d->f[last]);
        high = 1 + 1 / (slope * d->f[first] - d->s[first]);
        return explains_round(c, d, 2 * PI * slope * (high - 1), high);
    }
    if (first < d->n)
        return explains_round(c, d, 2 * PI * (1 + (HIGH - 1) * d->s[first]) / d->f[first], HIGH);
    while (whole < d->n && d->s[whole] > 0.5)
        whole++;
    if (whole == 0 || whole == d->n)
        return false;
    return explains_round(c, d, 2 * PI * sqrt(HIGH / d->f[whole - 1] / d->f[whole]), HIGH);
}

static bool find_scaling(tg_config *c, const struct divisors *d)
{
    size_t first = d->n, last = 0;

    for (size_t j = 0; j < d->n; j++)
        if (d->s[j] > TOLERANCE && d->s[j] < 1 - TOLERANCE) {
            first = first < d->n ? first : j;
            last = j;
        }
    c->rope_scaling = TG_ROPE_LLAMA3;
    c->rope_factor = d->factor;
    c->rope_low_freq = 1;
    return solve(c, d, first, last);
}

/* Read them; x [d->n]. */
static tg_status load(struct divisors *d, float *x, const tg_config *c, const tg_stored *stored, tg_err *err)
{
    const size_t n = stored->array.count, width = tg_config_rope_dim(c);
    tg_status status;

    if (n > DIVISORS_MAX || 2 * n != width)
        return tg_fail(err, TG_EDATA,
                       "%s has %zu values, expected %zu, half the channels of a head, at most %d",
                       stored->array.name, n, width / 2, DIVISORS_MAX);
    if ((status = tg_stored_load(x, stored, 0, n, err)))
        return status;
    d->n = n;
    d->factor = tg_gguf_shortest((double)x[n - 1]);
    for (size_t j = 0; j < n; j++) {
        d->f[j] = pow(c->rope_theta, -2.0 * (double)j / (double)width);
        d->s[j] = (1 / (double)x[j] - 1 / d->factor) / (1 - 1 / d->factor);
    }
    return TG_OK;
}

/* Whether all are the same. */
static bool are_equal(const float *x, size_t n)
{
    size_t j = 1;

    while (j < n && x[j] == x[0])
        j++;
    return j >= n;
}

tg_status tg_gguf_read_divisors(tg_config *c, const tg_stored *divisors, tg_err *err)
{
    struct divisors d;
    float x[DIVISORS_MAX];
    tg_status status = load(&d, x, c, divisors, err);

    if (status)
        return status;
    if (are_equal(x, d.n)) {
        c->rope_scaling = x[0] == 1 ? TG_ROPE_PLAIN : TG_ROPE_LINEAR;
        c->rope_factor = d.factor;
        return TG_OK;
    }
    if (d.factor > 1 && find_scaling(c, &d))
        return TG_OK;
    return tg_fail(err, TG_EDATA,
                   "%s: these divisors are not those of Llama 3's scaling, others are not supported",
                   divisors->array.name);
}

double tg_gguf_divisor(const tg_config *c, size_t j)
{
    const double s = share(c, pow(c->rope_theta, -2.0 * (double)j / (double)tg_config_rope_dim(c)));

    return 1 / ((1 - s) / c->rope_factor + s);
}
