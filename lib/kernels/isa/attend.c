/*
 * Causal attention of one head: see attend.h.
 *
 * The keys (and, backward, the values) are transposed into scratch once, so that a
 * query's scores come out a vector of keys at a time with no horizontal sums.
 */
#include <math.h>

#include "lib/kernels/isa/isa.h"
#include "lib/kernels/isa/kernels_isa.h"

/* Keys that are scored together: four vectors, to hide the multiply-add's latency. */
#define WIDE (4 * VL)

static size_t padded(size_t keys)
{
    return (keys + TG_ATTEND_PAD - 1) / TG_ATTEND_PAD * TG_ATTEND_PAD;
}

/* xt[d][j] = x[j][d], zeros in the padding. */
static void transpose(float *restrict xt, const float *restrict x, size_t ld, size_t keys, size_t D)
{
    const size_t P = padded(keys);

    for (size_t d = 0; d < D; d++)
        for (size_t j = keys; j < P; j++)
            xt[d * P + j] = 0;
    for (size_t j = 0; j < keys; j++)
        for (size_t d = 0; d < D; d++)
            xt[d * P + j] = x[j * ld + d];
}

/* out[j] = scale * sum_d q[d] xt[d][j] for at least the first n keys. */
static void dots(float *restrict out, const float *restrict q, const float *restrict xt, size_t P, size_t D,
                 size_t n, float scale)
{
    for (size_t j = 0; j < n; j += WIDE) {
        vf sum[4] = {{0}, {0}, {0}, {0}};

        for (size_t d = 0; d < D; d++) {
            vf q_d = splat(q[d]);

            for (size_t l = 0; l < 4; l++)
                sum[l] += q_d * load(xt + d * P + j + l * VL);
        }
        for (size_t l = 0; l < 4; l++)
            store(out + j + l * VL, sum[l] * splat(scale));
    }
}

/* out[d] (+)= sum_j p[j] x[j][d], j in order. */
static void weighted_sum(float *restrict out, const float *restrict p, const float *restrict x, size_t ld,
                         size_t n, size_t D)
{
    size_t d = 0;

    for (; d + 2 * VL <= D; d += 2 * VL) {
        vf even[2] = {{0}, {0}}, odd[2] = {{0}, {0}};
        size_t j = 0;

        for (; j + 2 <= n; j += 2)
            for (size_t l = 0; l < 2; l++) {
                even[l] += splat(p[j]) * load(x + j * ld + d + l * VL);
                odd[l] += splat(p[j + 1]) * load(x + (j + 1) * ld + d + l * VL);
            }
        for (size_t l = 0; j < n && l < 2; l++)
            even[l] += splat(p[j]) * load(x + j * ld + d + l * VL);
        store(out + d, even[0] + odd[0]);
        store(out + d + VL, even[1] + odd[1]);
    }
    for (; d < D; d++) {
        float sum = 0;

        for (size_t j = 0; j < n; j++)
            sum += p[j] * x[j * ld + d];
        out[d] = sum;
    }
}

void K(attend_forward)(const tg_attend *op, float *work)
{
    const size_t keys = op->past + op->queries, P = padded(keys), D = op->D;
    float *kt = work, *row = kt + P * D, *factors = row + P;

    transpose(kt, op->k, op->ldk, keys, D);
    for (size_t i = 0; i < op->queries; i++) {
        const size_t n = op->past + i + 1;
        float most, total = 0, inverse;

        dots(row, op->q + i * op->ldq, kt, P, D, n, op->scale);
        most = row[0];
        for (size_t j = 1; j < n; j++)
            most = row[j] > most ? row[j] : most;
        for (size_t j = 0; j < n; j++)
            row[j] = exp_f32(row[j] - most);
        for (size_t j = 0; j < n; j++)
            total += row[j];
        inverse = 1.0f / total;
        for (size_t j = 0; j < n; j++)
            row[j] *= inverse;
        if (op->lse)
            op->lse[i] = most + logf(total);
        if (op->keep) {
            op->keep(factors, i, n, op->context);
            for (size_t j = 0; j < n; j++)
                row[j] *= factors[j];
        }
        weighted_sum(op->out + i * op->ldo, row, op->v, op->ldv, n, D);
    }
}

static float dot(const float *a, const float *b, size_t n)
{
    float sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/*
 * With p the probabilities and f dropout's factors (1 without):
 *   dv_j = sum_i p_ij f_ij dout_i        dp_ij = f_ij dout_i . v_j
 *   ds_ij = p_ij (dp_ij - sum_j p_ij dp_ij),  where that sum is dout_i . out_i
 *   dq_i = scale sum_j ds_ij k_j         dk_j = scale sum_i ds_ij q_i
 */
void K(attend_backward)(const tg_attend *op, float *work)
{
    const size_t T = op->queries, P = padded(T), D = op->D;
    float *kt = work, *vt = kt + P * D, *p = vt + P * D, *ds = p + P, *factors = ds + P;

    transpose(kt, op->k, op->ldk, T, D);
    transpose(vt, op->v, op->ldv, T, D);
    for (size_t j = 0; j < T; j++) {
        memset(op->dk + j * op->ldk, 0, D * sizeof(float));
        memset(op->dv + j * op->ldv, 0, D * sizeof(float));
    }
    for (size_t i = 0; i < T; i++) {
        const size_t n = i + 1;
        const float *q = op->q + i * op->ldq, *dout = op->dout + i * op->ldo;
        const float through = dot(dout, op->out + i * op->ldo, D);

        dots(p, q, kt, P, D, n, op->scale);
        for (size_t j = 0; j < n; j++)
            p[j] = exp_f32(p[j] - op->lse[i]);
        dots(ds, dout, vt, P, D, n, 1.0f);
        if (op->keep) {
            op->keep(factors, i, n, op->context);
            for (size_t j = 0; j < n; j++)
                ds[j] = p[j] * (ds[j] * factors[j] - through) * op->scale;
            for (size_t j = 0; j < n; j++)
                p[j] *= factors[j];
        } else {
            for (size_t j = 0; j < n; j++)
                ds[j] = p[j] * (ds[j] - through) * op->scale;
        }
        weighted_sum(op->dq + i * op->ldq, ds, op->k, op->ldk, n, D);
        for (size_t j = 0; j < n; j++) {
            K(axpy)(op->dk + j * op->ldk, ds[j], q, D);
            K(axpy)(op->dv + j * op->ldv, p[j], dout, D);
        }
    }
}
