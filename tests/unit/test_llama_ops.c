/*
 * RMSNorm, rotation and gates: the references' backward against central differences of their forward, and the
 * operations (lib/nn) in float, bf16 and double against the references in double, at sizes that no vector
 * divides, with one thread and with three.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/bf16.h"
#include "lib/base/convert.h"
#include "lib/base/threads.h"
#include "lib/kernels/kernels.h"
#include "lib/nn/gated.h"
#include "lib/nn/ref/ref.h"
#include "lib/nn/rmsnorm.h"
#include "lib/nn/rotary.h"
#include "tests/unit/check.h"

#define EPS 0x1p-24
#define STEP 1e-5
#define DIFFERENCE 1e-8 /* as in test_ref.c */
#define NORM_EPS 1e-5

enum { POOL = 1 << 20 };
static double pool[POOL];
static size_t used;
static uint64_t seed;

static double *take(size_t n)
{
    double *p = pool + used;

    if (n > POOL - used)
        abort();
    used += n;
    memset(p, 0, n * sizeof *p);
    return p;
}

/* Numbers that bf16 holds, so that all types begin with the same ones. */
static double *randoms(size_t n)
{
    double *p = take(n);

    seed++;
    for (size_t i = 0; i < n; i++)
        p[i] = (double)tg_float_from_bf16(tg_bf16_from_float((float)(check_random(seed, i) * 2)));
    return p;
}

/* ---- matrices of any type */

static tg_matrix matrix(tg_type type, const double *from, size_t rows, size_t cols)
{
    const tg_matrix m = tg_matrix_of(take(rows * cols), type, cols);

    for (size_t i = 0; i < rows * cols; i++) {
        const double x = from ? from[i] : (double)NAN;

        if (type == TG_TYPE_DOUBLE)
            tg_doubles(m)[i] = x;
        else if (type == TG_TYPE_FLOAT)
            tg_floats(m)[i] = (float)x;
        else
            tg_halves(m)[i] = tg_bf16_from_float((float)x);
    }
    return m;
}

static double element(tg_matrix m, size_t i)
{
    if (m.type == TG_TYPE_DOUBLE)
        return tg_doubles(m)[i];
    return m.type == TG_TYPE_FLOAT ? (double)tg_floats(m)[i] : (double)tg_float_from_bf16(tg_halves(m)[i]);
}

/* What rounding a result to its type adds to an error, relative to max(1, |result|). */
static double unit(tg_type type)
{
    return type == TG_TYPE_BF16 ? 0x1p-8 : type == TG_TYPE_FLOAT ? EPS : 0x1p-50;
}

#define NEAR(m, want, n, tolerance) near(__LINE__, m, want, n, tolerance)
static void near(int line, tg_matrix m, const double *want, size_t n, double tolerance)
{
    for (size_t i = 0; i < n; i++) {
        const double got = element(m, i), off = fabs(got - want[i]) / fmax(1, fabs(want[i]));

        if (!(off <= tolerance + unit(m.type))) {
            CHECK(off <= tolerance + unit(m.type));
            printf("# line %d, element %zu of %zu: %.9g, expected %.9g\n", line, i, n, got, want[i]);
            return;
        }
    }
}

/* ---- central differences: of the sum of f's results, each times a weight */

#define DIFFERENTIATE(f, problem, x, dx, n) differentiate(__LINE__, f, problem, x, dx, n)
static void differentiate(int line, double (*f)(const void *), const void *problem, double *x,
                          const double *dx, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const double at = x[i];
        double above, below, slope;

        x[i] = at + STEP;
        above = f(problem);
        x[i] = at - STEP;
        below = f(problem);
        x[i] = at;
        slope = (above - below) / (2 * STEP);
        if (!(fabs(dx[i] - 1 - slope) <= DIFFERENCE * fmax(1, fabs(slope)))) {
            CHECK(fabs(dx[i] - 1 - slope) <= DIFFERENCE * fmax(1, fabs(slope)));
            printf("# line %d, element %zu: %.12g, expected %.12g\n", line, i, dx[i] - 1, slope);
            return;
        }
    }
}

/* A gradient before it is added to. */
static double *ones(size_t n)
{
    double *p = take(n);

    for (size_t i = 0; i < n; i++)
        p[i] = 1;
    return p;
}

static double dot(const double *a, const double *b, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* ---- rmsnorm */

struct norm {
    size_t N, C;
    double offset, *x, *w, *out, *rstd, *dout;
};

static double norm_loss(const void *problem)
{
    const struct norm *p = problem;

    tg_rmsnorm_forward_ref64(p->out, p->rstd, p->x, p->w, p->offset, p->N, p->C, NORM_EPS);
    return dot(p->out, p->dout, p->N * p->C);
}

static struct norm a_norm(size_t N, size_t C, bool with_w, double offset)
{
    used = 0;
    return (struct norm){N,           C,       offset,        randoms(N * C), with_w ? randoms(C) : NULL,
                         take(N * C), take(N), randoms(N * C)};
}

static void norm_reference(void)
{
    for (int variant = 0; variant < 4; variant++) {
        const struct norm p = a_norm(4, 7, variant & 1, variant & 2 ? 1 : 0);
        double *dx = ones(4 * 7), *dw = p.w ? ones(7) : NULL;

        norm_loss(&p);
        tg_rmsnorm_backward_ref64(dx, dw, p.dout, p.rstd, p.x, p.w, p.offset, 4, 7);
        DIFFERENTIATE(norm_loss, &p, p.x, dx, 4 * 7);
        if (p.w)
            DIFFERENTIATE(norm_loss, &p, p.w, dw, 7);
    }
}

static float *floats(const double *x, size_t n)
{
    return x ? tg_floats(matrix(TG_TYPE_FLOAT, x, 1, n)) : NULL;
}

/* in and out have their types; what passes between them is as out.  The results in *dump, for threads. */
static void check_norm(tg_type in, tg_type out, size_t N, size_t C, bool with_w, double offset)
{
    const struct norm p = a_norm(N, C, with_w, offset);
    const double eps = (double)(float)NORM_EPS, terms = (double)C, rows = (double)N;
    double *dx = take(N * C), *dw = take(C), *start = randoms(N * C), most = 1;
    const tg_type stats = in == TG_TYPE_BF16 ? TG_TYPE_FLOAT : in;
    tg_rmsnorm norm = {floats(p.w, C), NULL, (float)offset, C, NORM_EPS};
    const tg_matrix x = matrix(in, p.x, N, C), y = matrix(out, NULL, N, C), rstd = matrix(stats, NULL, N, 1);
    const tg_matrix dout = matrix(out, p.dout, N, C), d = matrix(in, NULL, N, C),
                    added = matrix(in, start, N, C);
    const tg_matrix again = matrix(out, NULL, N, C);
    const double zero[1] = {0};
    double *twice = take(N), *doubled = take(N * C);

    for (size_t i = 0; i < N * C; i++)
        doubled[i] = (twice[i / C] = 2) * p.x[i] * (p.w ? offset + p.w[i % C] : 1);
    tg_rmsnorm_forward_ref64(p.out, p.rstd, p.x, p.w, offset, N, C, eps);
    for (size_t n = 0; n < N; n++)
        most = fmax(most, p.rstd[n]);
    tg_rmsnorm_forward(y, rstd, x, &norm, N);
    NEAR(y, p.out, N * C, 6 * EPS * 4);
    NEAR(rstd, p.rstd, N, 2 * EPS);
    tg_rmsnorm_recompute(again, rstd, x, &norm, N);
    for (size_t i = 0; i < N * C; i++)
        CHECK(element(again, i) == element(y, i));
    tg_rmsnorm_recompute(again, matrix(stats, twice, N, 1), x, &norm, N); /* rstd is taken as it is */
    NEAR(again, doubled, N * C, 6 * EPS * 4);

    tg_rmsnorm_backward_ref64(dx, p.w ? dw : NULL, p.dout, p.rstd, p.x, p.w, offset, N, C);
    if (p.w && in != TG_TYPE_DOUBLE) {
        norm.dw = floats(start, C);
        for (size_t c = 0; c < C; c++)
            norm.dw[c] = (float)zero[0];
    }
    tg_rmsnorm_backward(d, false, dout, rstd, x, &norm, N);
    NEAR(d, dx, N * C, (12 + terms) * EPS * most * most * 8);
    if (norm.dw)
        NEAR(tg_matrix_of(norm.dw, TG_TYPE_FLOAT, C), dw, C, (rows + 4) * EPS * most * rows * 4);
    norm.dw = NULL;
    tg_rmsnorm_backward(added, true, dout, rstd, x, &norm, N);
    for (size_t i = 0; i < N * C; i++)
        dx[i] += start[i];
    NEAR(added, dx, N * C, (12 + terms) * EPS * most * most * 8);
}

static void norm(void)
{
    static const size_t sizes[][2] = {{1, 1}, {3, 5}, {5, 17}, {2, 64}, {2, 515}, {1, 1025}};

    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int variant = 0; variant < 4; variant++) {
            const size_t N = sizes[s][0], C = sizes[s][1];
            const double offset = variant & 2 ? 1 : 0;

            check_norm(TG_TYPE_FLOAT, TG_TYPE_FLOAT, N, C, variant & 1, offset);
            check_norm(TG_TYPE_FLOAT, TG_TYPE_BF16, N, C, variant & 1, offset);
            check_norm(TG_TYPE_BF16, TG_TYPE_BF16, N, C, variant & 1, offset);
            check_norm(TG_TYPE_BF16, TG_TYPE_FLOAT, N, C, variant & 1, offset);
            check_norm(TG_TYPE_DOUBLE, TG_TYPE_DOUBLE, N, C, variant & 1, offset);
        }
}

/* ---- rotary: H heads of D channels, of which d are rotated */

enum { B = 2, T = 5, H = 3 };

static void angles(double *table, size_t d, size_t first)
{
    for (size_t i = 0; i < d / 2; i++)
        tg_rotary_fill(tg_matrix_of(table, TG_TYPE_DOUBLE, d), i, pow(100, -2.0 * (double)i / (double)d),
                       first, T);
}

/* The table as the references take it. */
static void split_table(double *cosines, double *sines, const double *table, size_t d)
{
    for (size_t t = 0; t < T; t++)
        for (size_t i = 0; i < d / 2; i++) {
            cosines[t * (d / 2) + i] = table[t * d + i];
            sines[t * (d / 2) + i] = table[t * d + d / 2 + i];
        }
}

static void check_rotary(tg_type type, size_t D, size_t d)
{
    const size_t N = B * T, n = N * H * D;
    double *x, *table, *cosines, *sines, *want, *back;
    tg_matrix out, inp, turned;
    tg_rotary rotary;

    used = 0;
    x = randoms(n), table = take(T * d), cosines = take(T * d), sines = take(T * d);
    want = take(n), back = take(n);
    angles(table, d, 7);
    CHECK(fabs(table[2 * d] - cos(9.0)) < 1e-15 && fabs(table[2 * d + d / 2] - sin(9.0)) < 1e-15);
    split_table(cosines, sines, table, d);
    tg_rotary_forward_ref64(want, x, cosines, sines, B, T, H, D, d);
    tg_rotary_backward_ref64(back, want, cosines, sines, B, T, H, D, d);
    for (size_t i = 0; i < n; i++)
        CHECK(fabs(back[i] - x[i]) <= 1e-14); /* a rotation's inverse is its transpose */

    inp = matrix(type, x, N, H * D), out = matrix(type, NULL, N, H * D);
    rotary = (tg_rotary){matrix(type == TG_TYPE_DOUBLE ? type : TG_TYPE_FLOAT, table, T, d), T, D, NULL};
    tg_rotary_forward(out, inp, &rotary, N);
    NEAR(out, want, n, 8 * EPS);
    tg_rotary_forward(inp, inp, &rotary, N); /* in place */
    for (size_t i = 0; i < n; i++)
        CHECK(element(inp, i) == element(out, i));
    turned = matrix(type, NULL, N, H * D);
    tg_rotary_backward(turned, out, &rotary, N);
    NEAR(turned, x, n, 16 * EPS + 2 * unit(type));
}

static void rotary(void)
{
    static const size_t sizes[][2] = {{2, 2}, {6, 4}, {10, 10}, {33, 8}, {64, 64}, {70, 66}, {1040, 1034}};

    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int type = TG_TYPE_FLOAT; type <= TG_TYPE_BF16; type++)
            check_rotary((tg_type)type, sizes[s][0], sizes[s][1]);
}

/* ---- gates */

struct gate {
    size_t n;
    tg_activation kind;
    double *gate, *up, *out, *dout;
};

static double gate_loss(const void *problem)
{
    const struct gate *p = problem;

    tg_gated_forward_ref64(p->out, p->gate, p->up, p->n, p->kind);
    return dot(p->out, p->dout, p->n);
}

static struct gate a_gate(size_t n, tg_activation kind)
{
    used = 0;
    return (struct gate){n, kind, randoms(n), randoms(n), take(n), randoms(n)};
}

static void gate_reference(void)
{
    for (int kind = TG_GELU_TANH; kind < TG_ACTIVATION_KINDS; kind++) {
        const struct gate p = a_gate(101, (tg_activation)kind);
        double *dgate = ones(101), *dup = ones(101);

        tg_gated_backward_ref64(dgate, dup, p.dout, p.gate, p.up, 101, p.kind);
        DIFFERENTIATE(gate_loss, &p, p.gate, dgate, 101);
        DIFFERENTIATE(gate_loss, &p, p.up, dup, 101);
    }
}

static void check_gate(tg_type type, tg_activation kind, size_t N, size_t F)
{
    const struct gate p = a_gate(N * F, kind);
    double *dg = take(N * F), *du = take(N * F);
    const tg_matrix g = matrix(type, p.gate, N, F), u = matrix(type, p.up, N, F),
                    dout = matrix(type, p.dout, N, F), out = matrix(type, NULL, N, F);
    const tg_matrix dgate = matrix(type, NULL, N, F), dup = matrix(type, NULL, N, F);

    gate_loss(&p);
    tg_gated_backward_ref64(dg, du, p.dout, p.gate, p.up, N * F, kind);
    tg_gated_forward(out, g, u, kind, N);
    NEAR(out, p.out, N * F, 2e-6);
    tg_gated_backward(dgate, dup, dout, g, u, kind, N);
    NEAR(dgate, dg, N * F, 4e-6);
    NEAR(dup, du, N * F, 2e-6);
    tg_gated_backward(g, dout, dout, g, u, kind, N); /* in place */
    for (size_t i = 0; i < N * F; i++)
        CHECK(element(g, i) == element(dgate, i) && element(dout, i) == element(dup, i));
}

static void gate(void)
{
    for (int kind = TG_GELU_TANH; kind < TG_ACTIVATION_KINDS; kind++)
        for (int type = TG_TYPE_FLOAT; type <= TG_TYPE_BF16; type++) {
            check_gate((tg_type)type, (tg_activation)kind, 3, 1);
            check_gate((tg_type)type, (tg_activation)kind, 5, 37);
            check_gate((tg_type)type, (tg_activation)kind, 2, 1030);
        }
}

/* SiLU at the ends, and of what is not a number. */
static void silu_values(void)
{
    const float x[] = {-1000, -200, -88, -20, 0, 20, 88, 1000, INFINITY, NAN, -30, -5, 5, 1, -1, 0.5f, 2, 3};
    enum { N = sizeof x / sizeof *x };
    float y[N], slope[N];

    for (size_t i = 0; i < N; i++)
        slope[i] = 1;
    tg_kernels_get()->silu_forward(y, x, N);
    tg_kernels_get()->silu_backward(slope, x, N);
    for (size_t i = 0; i < N; i++) {
        const double s = 1 / (1 + exp(-(double)x[i])), want = (double)x[i] * s;

        if (isnan(x[i])) {
            CHECK(isnan(y[i]) && isnan(slope[i]));
        } else if (isinf(x[i])) {
            CHECK(isinf(y[i]));
        } else {
            CHECK(fabs((double)y[i] - want) <= 3e-7 * fmax(1, fabs(want)));
            CHECK(fabs((double)slope[i] - s * (1 + (double)x[i] * (1 - s))) <= 1e-6);
        }
    }
}

/* ---- the same bits with any number of threads */

static void threads(void)
{
    enum { N = 700, C = 96, F = N * C };
    static float first[4][F];
    static float x[F], y[F], dw[C], rstd[N];
    const tg_matrix m = tg_matrix_of(x, TG_TYPE_FLOAT, C), out = tg_matrix_of(y, TG_TYPE_FLOAT, C);
    const size_t before = tg_threads();

    for (int n = 1; n <= 3; n += 2) {
        const tg_rmsnorm norm = {x, dw, 1, C, NORM_EPS};

        tg_threads_set((size_t)n);
        check_fill(x, F, 5, 1);
        memset(dw, 0, sizeof dw);
        tg_rmsnorm_forward(out, tg_matrix_of(rstd, TG_TYPE_FLOAT, 1), m, &norm, N);
        if (n == 1)
            memcpy(first[0], y, sizeof y);
        CHECK(memcmp(first[0], y, sizeof y) == 0);
        tg_rmsnorm_backward(out, false, m, tg_matrix_of(rstd, TG_TYPE_FLOAT, 1), m, &norm, N);
        if (n == 1) {
            memcpy(first[1], y, sizeof y);
            memcpy(first[2], dw, sizeof dw);
        }
        CHECK(memcmp(first[1], y, sizeof y) == 0 && memcmp(first[2], dw, sizeof dw) == 0);
    }
    tg_threads_set(before);
}

static void tests(void)
{
    RUN(norm_reference);
    RUN(norm);
    RUN(rotary);
    RUN(gate_reference);
    RUN(gate);
    RUN(silu_values);
    RUN(threads);
}

int main(int argc, char **argv)
{
    return check_each_isa(argc, argv, tests);
}
