/*
 * Attention with bf16 operands (lib/kernels/attend.h), of one instruction set's kernels, against the
 * references of lib/nn/ref in double precision, which take the same bf16 operands.
 *
 * The bound of every element is computed with it: HALF_ULP16 of each term that was rounded to bf16,
 * and of the result, and what float32 adds.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/convert.h"
#include "lib/kernels/kernels.h"
#include "lib/nn/ref/ref.h"
#include "tests/unit/check.h"

#define EPS 0x1p-24       /* half a unit in the last place of 1 */
#define HALF_ULP16 0x1p-8 /* the same of bf16, and the largest relative error of rounding to it */
#define EXP_ERROR 2e-7    /* relative, of the kernels' exp */
#define COUNT(a) (sizeof(a) / sizeof *(a))

enum { GUARD = 64 };
enum { NOTHING = 0x7FC0, GAP = 0x7FC1 }; /* NaN: in outputs beforehand, and between rows of all arrays */

static const tg_kernels *kernels;

/* ---- memory of a case */

static void *kept[64];
static size_t kept_n;

static void *keep_array(void *memory)
{
    if (!memory || kept_n == COUNT(kept))
        abort();
    return kept[kept_n++] = memory;
}

static double *zeros(size_t n)
{
    return keep_array(calloc(n, sizeof(double)));
}

/* Rows of D elements in rows of ld, aligned to nothing but their type. */
static tg_bf16 *rows_of(size_t rows, size_t D, size_t ld)
{
    tg_bf16 *x = keep_array(malloc((rows * ld + 1) * sizeof *x));

    x++;
    for (size_t i = 0; i < rows * ld; i++)
        x[i] = i % ld < D ? NOTHING : GAP;
    return x;
}

static tg_bf16 *randoms(size_t rows, size_t D, size_t ld)
{
    static uint64_t seed;
    tg_bf16 *x = rows_of(rows, D, ld);
    float *row = keep_array(malloc(D * sizeof *row));

    for (size_t r = 0; r < rows; r++) {
        check_fill(row, D, ++seed, 1);
        (void)tg_round_to_bf16(x + r * ld, row, D);
    }
    return x;
}

static double value(tg_bf16 x)
{
    const uint32_t bits = (uint32_t)x << 16;
    float f;

    memcpy(&f, &bits, sizeof f);
    return (double)f;
}

static double *values(const tg_bf16 *x, size_t rows, size_t D, size_t ld)
{
    double *y = zeros(rows * D);

    for (size_t i = 0; i < rows * D; i++)
        y[i] = value(x[i / D * ld + i % D]);
    return y;
}

static double *magnitudes(const double *x, size_t n)
{
    double *y = zeros(n);

    for (size_t i = 0; i < n; i++)
        y[i] = fabs(x[i]);
    return y;
}

/* ---- one head */

struct head {
    tg_attention_head op;
    double *out, *lse, *dq, *dk, *dv;                   /* the reference's, in rows of D */
    double *out_off, *dq_off, *dk_off, *dv_off, at_lse; /* the bounds of the kernel's errors */
};

/* Dropout's factors of a query: 0 or 1.25, a function of the query and the key. */
static void factors_of(float *factors, size_t query, size_t first, size_t n, const void *context)
{
    (void)context;
    for (size_t j = 0; j < n; j++)
        factors[j] = check_random(query, first + j) < -0.6 ? 0 : 1.25f;
}

static struct head new_head(size_t T, size_t D, bool dropout)
{
    struct head h = {.op = {.queries = T,
                            .D = D,
                            .scale = 1 / sqrtf((float)D),
                            .ldq = D + 3,
                            .ldk = D + 5,
                            .ldv = D + 1,
                            .ldo = D + 2,
                            .keep = dropout ? factors_of : NULL}};

    h.op.q = randoms(T, D, h.op.ldq);
    h.op.k = randoms(T, D, h.op.ldk);
    h.op.v = randoms(T, D, h.op.ldv);
    h.op.dout = randoms(T, D, h.op.ldo);
    h.op.out = rows_of(T, D, h.op.ldo);
    h.op.dq = rows_of(T, D, h.op.ldq);
    h.op.dk = rows_of(T, D, h.op.ldk);
    h.op.dv = rows_of(T, D, h.op.ldv);
    h.op.lddk = h.op.ldk;
    h.op.lddv = h.op.ldv;
    h.op.lse = keep_array(malloc(T * sizeof(float)));
    return h;
}

/* As in test_kernels.c: the relative error of a probability in float32. */
static double tolerance_of(size_t T, size_t D)
{
    return EXP_ERROR + 2 * (double)(D + 2) * sqrt((double)D) * EPS + 2 * (double)(T + 4) * EPS;
}

static double dot(const double *a, const double *b, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* y += a x */
static void add_times(double *y, double a, const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] += a * x[i];
}

/* The operands of a head in double, their magnitudes, and what of a query. */
struct operands {
    double *q, *k, *v, *dout, *saved; /* saved: the out that backward reads */
    double *abs_q, *abs_k, *abs_v, *abs_dout, *abs_saved;
    double *scores, *probs, *keep;
};

static struct operands operands_of(const tg_attention_head *op)
{
    const size_t T = op->queries, D = op->D;
    struct operands x = {.q = values(op->q, T, D, op->ldq),
                         .k = values(op->k, T, D, op->ldk),
                         .v = values(op->v, T, D, op->ldv),
                         .dout = values(op->dout, T, D, op->ldo),
                         .saved = values(op->out, T, D, op->ldo),
                         .scores = zeros(T),
                         .probs = zeros(T),
                         .keep = zeros(T)};

    x.abs_q = magnitudes(x.q, T * D);
    x.abs_k = magnitudes(x.k, T * D);
    x.abs_v = magnitudes(x.v, T * D);
    x.abs_dout = magnitudes(x.dout, T * D);
    x.abs_saved = magnitudes(x.saved, T * D);
    return x;
}

/* The gradients that query i contributes to, and their bounds before the last rounding. */
static void backward_row(struct head *h, const struct operands *x, size_t i)
{
    const size_t T = h->op.queries, D = h->op.D;
    const double tolerance = 2 * tolerance_of(T, D), scale = (double)h->op.scale;
    const double *dout = x->dout + i * D, *abs_dout = x->abs_dout + i * D;
    double *dprobs = calloc(T, sizeof *dprobs), *ds = calloc(T, sizeof *ds), mean = 0, given;

    tg_attention_values_row_backward_ref64(dprobs, h->dv, dout, x->probs, x->keep, x->v, D, T, D, i);
    tg_softmax_row_backward_ref64(ds, dprobs, x->probs, i + 1);
    for (size_t j = 0; j <= i; j++)
        mean += x->probs[j] * dprobs[j];
    given = dot(dout, x->saved + i * D, D); /* of the out that was rounded */
    for (size_t j = 0; j <= i; j++) {
        const double kept_p = x->probs[j] * x->keep[j];
        double size, off;

        ds[j] += x->probs[j] * (mean - given);
        size = x->probs[j] *
               (x->keep[j] * dot(abs_dout, x->abs_v + j * D, D) + dot(abs_dout, x->abs_saved + i * D, D));
        off = scale * (HALF_ULP16 * fabs(ds[j]) + tolerance * size);
        add_times(h->dv_off + j * D, kept_p * (HALF_ULP16 + tolerance), abs_dout, D);
        add_times(h->dq_off + i * D, off, x->abs_k + j * D, D);
        add_times(h->dk_off + j * D, off, x->abs_q + i * D, D);
    }
    tg_attention_scores_row_backward_ref64(h->dq + i * D, h->dk, ds, x->q + i * D, x->k, D, D, i);
    free(dprobs);
    free(ds);
}

/* The reference, a query at a time; backward takes the kernel's out, which forward has written. */
static void reference(struct head *h, bool backward)
{
    const tg_attention_head *op = &h->op;
    const size_t T = op->queries, D = op->D;
    struct operands x = operands_of(op);
    float *factors = keep_array(malloc(T * sizeof *factors));

    h->out = zeros(T * D), h->out_off = zeros(T * D), h->lse = zeros(T);
    h->dq = zeros(T * D), h->dk = zeros(T * D), h->dv = zeros(T * D);
    h->dq_off = zeros(T * D), h->dk_off = zeros(T * D), h->dv_off = zeros(T * D);
    for (size_t i = 0; i < T; i++) {
        if (op->keep)
            op->keep(factors, i, 0, i + 1, NULL);
        for (size_t j = 0; j <= i; j++)
            x.keep[j] = op->keep ? (double)factors[j] : 1;
        tg_attention_scores_row_ref64(x.scores, x.q + i * D, x.k, D, T, D, i);
        tg_softmax_row_ref64(x.probs, x.scores, i + 1);
        tg_attention_values_row_ref64(h->out + i * D, x.probs, x.keep, x.v, D, D, i);
        h->lse[i] = x.scores[i] - log(x.probs[i]);
        for (size_t j = 0; j <= i; j++)
            add_times(h->out_off + i * D, x.probs[j] * x.keep[j] * (HALF_ULP16 + tolerance_of(T, D)),
                      x.abs_v + j * D, D);
        if (backward)
            backward_row(h, &x, i);
    }
}

/* ---- comparing */

/* Every element within its bound before the last rounding, and that; nothing between rows was written. */
static void close_rows(int line, const char *what, const tg_bf16 *got, size_t ld, const double *want,
                       const double *off, const tg_attention_head *op)
{
    const size_t D = op->D;
    bool stayed = true;

    for (size_t r = 0; r < op->queries; r++) {
        for (size_t d = D; d < ld; d++)
            stayed = stayed && got[r * ld + d] == GAP;
        for (size_t d = 0; d < D; d++) {
            const double w = want[r * D + d], o = off[r * D + d],
                         bound = o + HALF_ULP16 * (fabs(w) + o) + 1e-37;

            if (!(fabs(value(got[r * ld + d]) - w) <= bound)) {
                printf("%s, T %zu, D %zu, row %zu, element %zu:\n", kernels->isa, op->queries, D, r, d);
                check_near(__FILE__, line, value(got[r * ld + d]), w, bound, what);
                return;
            }
        }
    }
    CHECK(stayed);
}

#define CLOSE_ROWS(h, name, ld)                                                                              \
    close_rows(__LINE__, #name, (h).op.name, (h).op.ld, (h).name, (h).name##_off, &(h).op)

/* Run a kernel with scratch of the size that is promised to be enough, filled with NaN. */
static void run(void (*kernel)(const tg_attention_head *op, float *work), const tg_attention_head *op)
{
    const size_t n = tg_attention_head16_work(op->queries, op->D);
    float *work = malloc((n + GUARD) * sizeof *work);
    bool stayed = true;

    for (size_t i = 0; i < n + GUARD; i++)
        work[i] = i < n ? NAN : 7;
    kernel(op, work);
    for (size_t i = 0; i < GUARD; i++)
        stayed = stayed && work[n + i] == 7;
    CHECK(stayed);
    free(work);
}

static void check_head(size_t T, size_t D, bool dropout)
{
    struct head h = new_head(T, D, dropout);
    tg_bf16 *out = rows_of(T, D, h.op.ldo);
    bool near = true;

    run(kernels->attend16_forward, &h.op);
    h.op.saved_out = h.op.out;
    h.op.saved_lse = h.op.lse;
    run(kernels->attend16_backward, &h.op);
    reference(&h, true);
    CLOSE_ROWS(h, out, ldo);
    CLOSE_ROWS(h, dq, ldq);
    CLOSE_ROWS(h, dk, ldk);
    CLOSE_ROWS(h, dv, ldv);
    for (size_t i = 0; i < T; i++)
        near = near && fabs((double)h.op.lse[i] - h.lse[i]) <= tolerance_of(T, D) * fmax(1, fabs(h.lse[i]));
    CHECK(near);

    memcpy(out, h.op.out, T * h.op.ldo * sizeof *out); /* lse is not wanted */
    h.op.lse = NULL;
    run(kernels->attend16_forward, &h.op);
    CHECK(memcmp(out, h.op.out, T * h.op.ldo * sizeof *out) == 0);
    while (kept_n > 0)
        free(kept[--kept_n]);
}

/* Sizes on either side of a block, of a vector, of a tile's rows and of a pair. */
static void all_sizes(void)
{
    static const size_t Ts[] = {1, 2, 3, 5, 8, 15, 16, 17, 31, 32, 33, 47, 63, 64, 65, 66, 96, 128, 130, 193};
    static const size_t Ds[] = {1, 2, 3, 15, 16, 17, 31, 32, 33, 48, 64, 65, 80, 97, 128};

    const bool both = check_soak(0, 1); /* without dropout and with it, or in turn */

    for (size_t t = 0; t < COUNT(Ts); t++)
        for (size_t d = 0; d < COUNT(Ds); d++)
            for (size_t dropout = 0; dropout < 2; dropout++)
                if (Ts[t] * Ds[d] < 9000 && (both || (t + d) % 2 == dropout))
                    check_head(Ts[t], Ds[d], dropout);
}

/* Scores as large as trained heads have, where one probability is nearly all. */
static void peaked(void)
{
    struct head h = new_head(130, 64, false);

    for (size_t i = 0; i < 130 * h.op.ldq; i++) /* times 128: the exponent of bf16 begins at bit 7 */
        if (i % h.op.ldq < 64)
            ((tg_bf16 *)h.op.q)[i] = (tg_bf16)(((const tg_bf16 *)h.op.q)[i] + (7 << 7));
    run(kernels->attend16_forward, &h.op);
    reference(&h, false);
    for (size_t i = 0; i < 130 * 64; i++) /* a score's error: its size, below 1024, times (D + 2) EPS */
        h.out_off[i] *= 1 + 2 * 1024 * 66 * EPS / HALF_ULP16;
    CLOSE_ROWS(h, out, ldo);
    while (kept_n > 0)
        free(kept[--kept_n]);
}

/* It may reach the queries of its block that do not see it, as 0 times NaN. */
static void a_nan_stays_one(void)
{
    struct head h = new_head(70, 32, false);

    ((tg_bf16 *)h.op.v)[66 * h.op.ldv + 3] = NOTHING;
    run(kernels->attend16_forward, &h.op);
    for (size_t i = 0; i < 70; i++)
        if (i < 64 || i >= 66)
            CHECK(isnan(value(((const tg_bf16 *)h.op.out)[i * h.op.ldo + 3])) == (i >= 66));
    while (kept_n > 0)
        free(kept[--kept_n]);
}

#ifdef TG_TILES_MODEL
/* Heads with a window or a cap, which have no tiles, are tried with the other instruction sets. */
void tg_attend16_wide_forward_tiles_model(const tg_attention_head *op, float *work);
void tg_attend16_wide_backward_tiles_model(const tg_attention_head *op, float *work);

void tg_attend16_wide_forward_tiles_model(const tg_attention_head *op, float *work)
{
    (void)op, (void)work;
    abort();
}

void tg_attend16_wide_backward_tiles_model(const tg_attention_head *op, float *work)
{
    (void)op, (void)work;
    abort();
}
#endif

/* The tile unit's kernels on a model of the tile unit; the rest of them takes the avx512bf16 instructions. */
static void on_modelled_tiles(void)
{
#ifdef TG_TILES_MODEL
    void tg_attend16_forward_tiles_model(const tg_attention_head *op, float *work);
    void tg_attend16_backward_tiles_model(const tg_attention_head *op, float *work);
    const tg_kernels *const here = kernels;
    tg_kernels tiles = *kernels;

    if (strcmp(kernels->isa, "avx512bf16") != 0)
        return;
    tiles.isa = "tiles_model";
    tiles.attend16_forward = tg_attend16_forward_tiles_model;
    tiles.attend16_backward = tg_attend16_backward_tiles_model;
    kernels = &tiles;
    all_sizes();
    peaked();
    a_nan_stays_one();
    kernels = here;
#endif
}

static void tests(void)
{
    kernels = tg_kernels_get();
    RUN(all_sizes);
    RUN(peaked);
    RUN(a_nan_stays_one);
    RUN(on_modelled_tiles);
}

int main(int argc, char **argv)
{
    return check_each_isa(argc, argv, tests);
}
