/* Rows of logits in double precision: see kernels.h, and lib/gpt/score.h for what they are for. */
#include <stdbool.h>

#include "lib/kernels/isa/exp64.h"
#include "lib/kernels/isa/isa.h"
#include "lib/kernels/isa/kernels_isa.h"

/* Independent partial sums, enough for any vector and for the latency of an addition; element i belongs to
 * sum i mod LANES. */
#define LANES 32
#define BLOCK 256 /* exponentials at a time, a multiple of LANES */

static double total(const double part[LANES])
{
    double sum = 0;

    for (size_t l = 0; l < LANES; l++)
        sum += part[l];
    return sum;
}

static float greatest(const float *x, size_t n)
{
    float part[LANES], max = x[0];
    size_t i = 0;

    for (size_t l = 0; l < LANES; l++)
        part[l] = x[0];
    for (; i + LANES <= n; i += LANES)
        for (size_t l = 0; l < LANES; l++)
            part[l] = x[i + l] > part[l] ? x[i + l] : part[l];
    for (; i < n; i++)
        max = x[i] > max ? x[i] : max;
    for (size_t l = 0; l < LANES; l++)
        max = part[l] > max ? part[l] : max;
    return max;
}

/* Fewer than BLOCK elements are followed by ones that add nothing. */
static void add_block(double sum[LANES], double weighted[LANES], const float *x, double max, size_t n)
{
    double below[BLOCK], e[BLOCK];

    for (size_t i = 0; i < n; i++)
        below[i] = (double)x[i] - max;
    for (size_t i = n; i < BLOCK; i++)
        below[i] = -EXP64_RANGE - 1;
    for (size_t i = 0; i < BLOCK; i++)
        e[i] = exp_f64(below[i]);
    for (size_t i = 0; i < BLOCK; i += LANES)
        for (size_t l = 0; l < LANES; l++) {
            sum[l] += e[i + l];
            weighted[l] += below[i + l] * e[i + l];
        }
}

void ISA_NAME(softmax_sums)(tg_softmax_sums *out, const float *x, size_t n)
{
    const double max = (double)greatest(x, n);
    double sum[LANES] = {0}, weighted[LANES] = {0};

    for (size_t i = 0; i < n; i += BLOCK)
        add_block(sum, weighted, x + i, max, n - i < BLOCK ? n - i : BLOCK);
    *out = (tg_softmax_sums){max, total(sum), total(weighted)};
}

void ISA_NAME(softmax_probs)(double *p, const float *x, double log_sum, size_t n)
{
    for (size_t i = 0; i < n; i++)
        p[i] = exp_f64((double)x[i] - log_sum);
}

double ISA_NAME(mean_logit)(const double *p, const float *x, size_t n)
{
    double part[LANES] = {0};
    size_t i = 0;

    for (; i + LANES <= n; i += LANES)
        for (size_t l = 0; l < LANES; l++)
            part[l] += p[i + l] * (double)x[i + l];
    for (; i < n; i++)
        part[0] += p[i] * (double)x[i];
    return total(part);
}

/* How many of n elements are greater than `than`, or equal to it. */
static size_t count(const float *x, float than, bool or_equal, size_t n)
{
    uint32_t some;
    size_t all = 0;

    for (size_t i = 0; i < n; i += BLOCK) {
        const size_t end = n - i < BLOCK ? n : i + BLOCK;

        some = 0;
        if (or_equal)
            for (size_t j = i; j < end; j++)
                some += x[j] >= than;
        else
            for (size_t j = i; j < end; j++)
                some += x[j] > than;
        all += some;
    }
    return all;
}

size_t ISA_NAME(count_before)(const float *x, size_t target, size_t n)
{
    return count(x, x[target], true, target) + count(x + target + 1, x[target], false, n - target - 1);
}
