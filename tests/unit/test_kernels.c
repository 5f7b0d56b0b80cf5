/*
 * All kernels except products (test_products.c), forward and backward, of one
 * instruction set: against the references of lib/nn/ref in double precision, at lengths
 * on either side of every vector and block width.  docs/numerics.md derives the
 * tolerances.  Every array is allocated with a few elements more, which must stay.
 */
#include <ctype.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/convert.h"
#include "lib/kernels/kernels.h"
#include "lib/kernels/text_kernels.h"
#include "lib/nn/ref/ref.h"
#include "tests/unit/check.h"

#define EPS 0x1p-24     /* half a unit in the last place of 1 */
#define EXP_ERROR 2e-7  /* relative, of the kernels' exp */
#define TANH_ERROR 3e-7 /* absolute, of the tanh in the kernels' GELU */
#define COUNT(a) (sizeof(a) / sizeof *(a))

static const tg_kernels *kernels;
static const tg_text_kernels *text_kernels;

/* Vectors have 4, 8 or 16 elements; sums over a row take four of them at a time. */
static const size_t lengths[] = {1,  2,  3,  4,  5,  7,  8,  9,  12, 15,  16,  17,  23,  31,  32,
                                 33, 47, 48, 49, 63, 64, 65, 95, 96, 100, 127, 128, 129, 257, 771};

/* ---- arrays of one test */

enum { GUARD = 16 };
static const float guard_value = 7;

static struct array {
    void *memory;
    float *floats; /* NULL for doubles */
    size_t n;
} arrays[64];
static size_t arrays_n;
static uint64_t seed;

static void *keep_array(void *memory, float *floats, size_t n)
{
    if (!memory || arrays_n == COUNT(arrays))
        abort();
    arrays[arrays_n++] = (struct array){memory, floats, n};
    return memory;
}

static void fill_with(float *x, size_t n, float value)
{
    for (size_t i = 0; i < n; i++)
        x[i] = value;
}

static float *nans(size_t n)
{
    float *x = malloc((n + GUARD) * sizeof *x);

    keep_array(x, x, n);
    fill_with(x, n, NAN);
    fill_with(x + n, GUARD, guard_value);
    return x;
}

static float *randoms(size_t n, double scale)
{
    float *x = nans(n);

    check_fill(x, n, ++seed, scale);
    return x;
}

static float *copy(const float *x, size_t n)
{
    return memcpy(nans(n), x, n * sizeof *x);
}

static double *zeros(size_t n)
{
    double *x = calloc(n ? n : 1, sizeof *x);

    return keep_array(x, NULL, n);
}

static double *wide(const float *x, size_t n)
{
    double *y = zeros(n);

    for (size_t i = 0; i < n; i++)
        y[i] = (double)x[i];
    return y;
}

/* The end of a test: nothing was written beyond an array. */
static void done(void)
{
    bool kept = true;

    while (arrays_n > 0) {
        const struct array *a = &arrays[--arrays_n];

        for (size_t i = 0; a->floats && i < GUARD; i++)
            kept = kept && a->floats[a->n + i] == guard_value;
        free(a->memory);
    }
    CHECK(kept);
}

/* ---- comparing */

/* |got - want| <= tolerance * size[i], or max(1, |want|) without sizes. */
static void close_all(int line, const char *what, const float *got, const double *want, const double *size,
                      size_t n, double tolerance)
{
    for (size_t i = 0; i < n; i++) {
        const double unit = size ? size[i] : fmax(1, fabs(want[i]));

        if (!(fabs((double)got[i] - want[i]) <= tolerance * unit)) {
            printf("%s, element %zu of %zu:\n", kernels->isa, i, n);
            check_near(__FILE__, line, (double)got[i], want[i], tolerance * unit, what);
            return;
        }
    }
}

#define CLOSE(got, want, n, tolerance) close_all(__LINE__, #got, got, want, NULL, n, tolerance)
#define WITHIN(got, want, size, n, tolerance) close_all(__LINE__, #got, got, want, size, n, tolerance)
#define SAME(a, b, n) CHECK(memcmp(a, b, (n) * sizeof *(a)) == 0)

/* Run a test for all lengths. */
static void at_all_lengths(void (*test)(size_t n))
{
    for (size_t i = 0; i < COUNT(lengths); i++) {
        test(lengths[i]);
        done();
    }
}

/* ---- attention */

/* Rows of q, k, v and out are longer than D, each by another number of elements, which must stay. */
struct head {
    tg_attention_head op;
    double *out, *lse, *dq, *dk, *dv; /* the reference's, in rows of D */
};

/* Dropout's factors of a query: 0 or 1.25, a function of the query and the key. */
static void factors_of(float *factors, size_t query, size_t first, size_t n, const void *context)
{
    (void)context;
    for (size_t j = 0; j < n; j++)
        factors[j] = check_random(query, first + j) < -0.6 ? 0 : 1.25f;
}

/* `rows` rows of D random elements in rows of ld. */
static float *rows_of(size_t rows, size_t D, size_t ld)
{
    float *x = randoms(rows * ld, 1);

    for (size_t i = 0; i < rows * ld; i++)
        x[i] = i % ld < D ? x[i] : guard_value;
    return x;
}

static double *wide_rows(const float *x, size_t rows, size_t D, size_t ld)
{
    double *y = zeros(rows * D);

    for (size_t i = 0; i < rows * D; i++)
        y[i] = (double)x[i / D * ld + i % D];
    return y;
}

static void close_rows(const float *got, const double *want, size_t rows, size_t D, size_t ld,
                       double tolerance)
{
    bool kept = true;

    for (size_t r = 0; r < rows; r++) {
        CLOSE(got + r * ld, want + r * D, D, tolerance);
        for (size_t d = D; d < ld; d++)
            kept = kept && got[r * ld + d] == guard_value;
    }
    CHECK(kept);
}

static struct head new_head(size_t queries, size_t past, size_t D, bool dropout)
{
    const size_t keys = past + queries;
    struct head h = {.op = {.queries = queries,
                            .past = past,
                            .D = D,
                            .scale = 1 / sqrtf((float)D),
                            .ldq = D + 3,
                            .ldk = D + 5,
                            .ldv = D + 1,
                            .ldo = D + 2,
                            .keep = dropout ? factors_of : NULL}};

    h.op.q = rows_of(queries, D, h.op.ldq);
    h.op.k = rows_of(keys, D, h.op.ldk);
    h.op.v = rows_of(keys, D, h.op.ldv);
    h.op.out = rows_of(queries, D, h.op.ldo);
    h.op.lse = nans(queries);
    return h;
}

/* The reference, a query at a time; with dout also backward. */
static void attend_reference(struct head *h)
{
    const tg_attention_head *op = &h->op;
    const size_t D = op->D, keys = op->past + op->queries;
    const double *q = wide_rows(op->q, op->queries, D, op->ldq), *k = wide_rows(op->k, keys, D, op->ldk);
    const double *v = wide_rows(op->v, keys, D, op->ldv);
    const double *dout = op->dout ? wide_rows(op->dout, op->queries, D, op->ldo) : NULL;
    double *scores = zeros(keys), *probs = zeros(keys), *keep = zeros(keys), *dprobs = zeros(keys);
    float *factors = nans(keys);

    h->out = zeros(op->queries * D);
    h->lse = zeros(op->queries);
    h->dq = zeros(op->queries * D);
    h->dk = zeros(keys * D);
    h->dv = zeros(keys * D);
    for (size_t n = 0; n < op->queries; n++) {
        const size_t i = op->past + n;

        if (op->keep)
            op->keep(factors, n, 0, i + 1, NULL);
        for (size_t j = 0; j <= i; j++)
            keep[j] = op->keep ? (double)factors[j] : 1;
        tg_attention_scores_row_ref64(scores, q + n * D, k, D, keys, D, i);
        tg_softmax_row_ref64(probs, scores, i + 1);
        tg_attention_values_row_ref64(h->out + n * D, probs, keep, v, D, D, i);
        h->lse[n] = scores[i] - log(probs[i]);
        if (!dout)
            continue;
        tg_attention_values_row_backward_ref64(dprobs, h->dv, dout + n * D, probs, keep, v, D, keys, D, i);
        memset(scores, 0, keys * sizeof *scores); /* now their gradient */
        tg_softmax_row_backward_ref64(scores, dprobs, probs, i + 1);
        tg_attention_scores_row_backward_ref64(h->dq + n * D, h->dk, scores, q + n * D, k, D, D, i);
    }
}

/*
 * A score is a sum of D products below 1, divided by sqrt(D); twice its error, exp's
 * and that of the sum of T make the relative error of a probability.
 */
static double attend_tolerance(size_t T, size_t D)
{
    return EXP_ERROR + 2 * (double)(D + 2) * sqrt((double)D) * EPS + 2 * (double)(T + 4) * EPS;
}

/* Scratch of the size that is promised to be enough, filled with NaN. */
static float *attend_scratch(const tg_attention_head *op)
{
    return nans(tg_attention_head_work(op->past + op->queries, op->D));
}

static void check_attend(size_t queries, size_t past, size_t D, bool dropout)
{
    struct head h = new_head(queries, past, D, dropout);
    const double tolerance = attend_tolerance(past + queries, D);
    float *lse = h.op.lse, *out = copy(h.op.out, queries * h.op.ldo);

    attend_reference(&h);
    kernels->attend_forward(&h.op, attend_scratch(&h.op));
    close_rows(h.op.out, h.out, queries, D, h.op.ldo, tolerance);
    CLOSE(lse, h.lse, queries, tolerance);
    h.op.lse = NULL; /* not wanted */
    memcpy(out, h.op.out, queries * h.op.ldo * sizeof *out);
    kernels->attend_forward(&h.op, attend_scratch(&h.op));
    SAME(out, h.op.out, queries * h.op.ldo);
    done();
}

static void check_attend_backward(size_t T, size_t D, bool dropout)
{
    struct head h = new_head(T, 0, D, dropout);
    const double tolerance = 4 * attend_tolerance(T, D) * sqrt((double)D);

    h.op.dout = rows_of(T, D, h.op.ldo);
    h.op.dq = rows_of(T, D, h.op.ldq);
    h.op.dk = rows_of(T, D, h.op.ldk);
    h.op.dv = rows_of(T, D, h.op.ldv);
    h.op.lddk = h.op.ldk;
    h.op.lddv = h.op.ldv;
    attend_reference(&h);
    kernels->attend_forward(&h.op, attend_scratch(&h.op));
    h.op.saved_out = h.op.out;
    h.op.saved_lse = h.op.lse;
    kernels->attend_backward(&h.op, attend_scratch(&h.op));
    close_rows(h.op.dq, h.dq, T, D, h.op.ldq, tolerance);
    close_rows(h.op.dk, h.dk, T, D, h.op.ldk, tolerance);
    close_rows(h.op.dv, h.dv, T, D, h.op.ldv, tolerance);
    done();
}

/* Sizes on either side of a block, a tile's rows (6) and a vector. */
static void attention(void)
{
    static const size_t Ts[] = {1, 2, 3, 4, 5, 6, 7, 13, 15, 16, 17, 33, 63, 64, 65, 67, 128, 130};
    static const size_t Ds[] = {1, 3, 4, 7, 8, 16, 17, 32, 33, 64, 65, 80};

    for (size_t t = 0; t < COUNT(Ts); t++)
        for (size_t d = 0; d < COUNT(Ds); d++) {
            check_attend(Ts[t], 0, Ds[d], (t + d) % 2);
            for (size_t dropout = 0; dropout < 2; dropout++)
                if (check_soak((t + d) % 2 == dropout, 1)) /* in turn, or both */
                    check_attend_backward(Ts[t], Ds[d], dropout);
        }
}

/* As in decoding: few queries or many, after keys that are there already. */
static void attention_after_a_past(void)
{
    static const size_t queries[] = {1, 2, 3, 4, 5, 17, 64, 66};
    static const size_t pasts[] = {1, 6, 15, 16, 47, 63, 64, 65, 100};

    for (size_t i = 0; i < COUNT(queries); i++)
        for (size_t p = 0; p < COUNT(pasts); p++) {
            check_attend(queries[i], pasts[p], 5, p % 2);
            check_attend(queries[i], pasts[p], 32, i % 2);
            check_attend(queries[i], pasts[p], 36, false);
        }
}

/* ---- GELU */

/*
 * Forward: 0.5 |x| times tanh's error, and a few roundings.  The slope: t = tanh u
 * enters as 0.5 t + 0.5 x (1 - t^2) u'; x u' grows to 17 at x = 5, while the error of
 * t shrinks to its last place, 6e-8, as t nears 1.
 */
static void gelu_of(size_t n)
{
    float *x = randoms(n, 8), *d = randoms(n, 1), *out = nans(n), *again = nans(n), *slope = nans(n);
    double *want = zeros(n), *want_slope = zeros(n), *ones = zeros(n), *size = zeros(n);

    for (size_t i = 0; i < n; i++) {
        ones[i] = 1;
        size[i] = 1 + fabs((double)x[i]);
    }
    tg_activation_forward_ref64(want, wide(x, n), n, TG_GELU_TANH);
    tg_activation_backward_ref64(want_slope, ones, wide(x, n), n, TG_GELU_TANH);
    kernels->gelu_tanh_forward(out, x, n);
    WITHIN(out, want, size, n, TANH_ERROR / 2 + 4 * EPS);
    for (size_t i = 0; i < n; i++)
        slope[i] = 1;
    kernels->gelu_tanh_backward(slope, x, n);
    CLOSE(slope, want_slope, n, 8 * TANH_ERROR);
    for (size_t i = 0; i < n; i++)
        slope[i] *= d[i];
    kernels->gelu_tanh_backward(d, x, n);
    CLOSE(d, wide(slope, n), n, 2 * EPS);

    memcpy(again, x, n * sizeof *x); /* in place */
    kernels->gelu_tanh_forward(again, again, n);
    SAME(again, out, n);
}

static void gelu(void)
{
    at_all_lengths(gelu_of);
}

/* Also where the square or the cube of x is infinite. */
static void gelu_far_from_zero(void)
{
    static const float far[] = {10, 1e3F, 1e12F, 1e14F, 1e20F, FLT_MAX, INFINITY};
    float x[2 * COUNT(far)], out[COUNT(x)], slope[COUNT(x)];

    for (size_t i = 0; i < COUNT(far); i++) {
        x[2 * i] = far[i];
        x[2 * i + 1] = -far[i];
        slope[2 * i] = slope[2 * i + 1] = 1;
    }
    kernels->gelu_tanh_forward(out, x, COUNT(x));
    kernels->gelu_tanh_backward(slope, x, COUNT(x));
    for (size_t i = 0; i < COUNT(x); i += 2) {
        CHECK(out[i] == x[i] && slope[i] == 1);
        CHECK_NEAR((double)out[i + 1], 0, 1e-30);
        CHECK_NEAR((double)slope[i + 1], 0, 1e-30);
    }
}

static void tanh_through_gelu(void)
{
    const double scale = sqrt(2 / 3.14159265358979323846);
    double worst = 0;
    float x[1000], y[1000];

    for (int i = 0; i < 1000; i++)
        x[i] = (float)(i - 500) / 50.0f;
    kernels->gelu_tanh_forward(y, x, 1000);
    for (int i = 0; i < 1000; i++) {
        double v = (double)x[i], want = 0.5 * v * (1 + tanh(scale * (v + 0.044715 * v * v * v)));

        /* half of x times tanh's error, and the roundings of the rest */
        worst =
            fmax(worst, fabs((double)y[i] - want) / (0.5 * fabs(v) * TANH_ERROR + 4 * EPS * fabs(v) + 1e-30));
    }
    CHECK_NEAR(worst, 0, 1);
}

/* ---- LayerNorm */

#define LN_EPS 1e-5

static void check_layernorm(size_t C, bool with_w, bool with_b)
{
    float *x = randoms(C, 1), *dout = randoms(C, 1), *dx = randoms(C, 1), *out = nans(C), *again = nans(C);
    float *w = with_w ? randoms(C, 1) : NULL, *b = with_b ? randoms(C, 1) : NULL;
    float *mean = nans(1), *rstd = nans(1);
    double *want = zeros(C), *want_mean = zeros(1), *want_rstd = zeros(1), *want_dx = wide(dx, C);
    double *wx = wide(x, C), *ww = w ? wide(w, C) : NULL;
    double most, unit = (double)(2 * C + 8) * EPS;

    tg_layernorm_forward_ref64(want, want_mean, want_rstd, wx, ww, b ? wide(b, C) : NULL, 1, C, LN_EPS);
    tg_layernorm_backward_ref64(want_dx, NULL, NULL, wide(dout, C), want_mean, want_rstd, wx, ww, 1, C);
    most = fmax(1, *want_rstd);
    kernels->layernorm_stats(mean, rstd, x, C, (float)LN_EPS);
    kernels->layernorm_apply(out, *mean, *rstd, x, w, b, C);
    CLOSE(mean, want_mean, 1, (double)(C + 1) * EPS);
    CLOSE(rstd, want_rstd, 1, unit * most);
    CLOSE(out, want, C, unit * most);
    kernels->layernorm_row_backward(dx, dout, x, *mean, *rstd, w, C);
    CLOSE(dx, want_dx, C, 2 * unit * most * most);

    for (size_t c = 0; c < C; c += 3) /* in pieces */
        kernels->layernorm_apply(again + c, *mean, *rstd, x + c, w ? w + c : NULL, b ? b + c : NULL,
                                 C - c < 3 ? C - c : 3);
    CLOSE(again, want, C, unit * most);
    kernels->layernorm_apply(x, *mean, *rstd, x, w, b, C); /* in place */
    SAME(x, out, C);
    done();
}

/* The gradients of gain and bias, of matrices in wider ones, added to what is there. */
static void check_layernorm_columns(size_t rows, size_t C)
{
    const size_t ld = C + 5;
    float *x = randoms(rows * ld, 1), *dout = randoms(rows * ld, 1), *mean = randoms(rows, 1);
    float *rstd = randoms(rows, 1), *dw = randoms(C, 1), *db = randoms(C, 1), *again = nans(C);
    double *want_dw = wide(dw, C), *want_db = wide(db, C), *size = zeros(C);
    const tg_row_range range = {mean, rstd, ld, rows};

    for (size_t c = 0; c < C; c++) {
        size[c] = 1;
        for (size_t r = 0; r < rows; r++) {
            const double d = (double)dout[r * ld + c];
            const double norm = ((double)x[r * ld + c] - (double)mean[r]) * (double)rstd[r];

            want_db[c] += d;
            want_dw[c] += d * norm;
            size[c] += fabs(d) + fabs(d) * (fabs((double)x[r * ld + c]) + 1);
        }
    }
    memcpy(again, db, C * sizeof *db);
    kernels->layernorm_columns_backward(dw, db, dout, x, &range, C);
    WITHIN(dw, want_dw, size, C, (double)(rows + 4) * EPS);
    WITHIN(db, want_db, size, C, (double)(rows + 4) * EPS);
    kernels->layernorm_columns_backward(NULL, again, dout, x, &range, C);
    SAME(again, db, C);
    done();
}

static void layernorm_columns(void)
{
    for (size_t i = 0; i < COUNT(lengths); i++)
        if (lengths[i] > 0)
            check_layernorm_columns(i % 9 + 1, lengths[i]);
}

static void layernorm(void)
{
    for (size_t i = 1; i < COUNT(lengths); i++) /* one element alone has no deviation */
        for (int variant = 0; variant < 4; variant++)
            check_layernorm(lengths[i], variant & 1, variant & 2);
}

/* ---- softmax and cross-entropy */

/* The difference of scores is rounded, at up to 20. */
static void softmax_of(size_t n)
{
    float *x = randoms(n, 10), *out = nans(n);
    double *want = zeros(n);

    tg_softmax_row_ref64(want, wide(x, n), n);
    kernels->softmax_row(out, x, n);
    CLOSE(out, want, n, EXP_ERROR + (double)(n + 4) * EPS + 20 * EPS);
    kernels->softmax_row(x, x, n); /* in place */
    SAME(x, out, n);

    for (size_t at = 0; at < n; at += 1 + n / 5) { /* a score that would overflow alone */
        fill_with(x, n, 0);
        x[at] = 300;
        tg_softmax_row_ref64(want, wide(x, n), n);
        kernels->softmax_row(x, x, n);
        CLOSE(x, want, n, EPS);
    }
}

static void softmax(void)
{
    at_all_lengths(softmax_of);
}

/* The quotient's rounding, eps of x, times a slope of at most 1, and tanh's error; then those of y and its
 * square. */
static void softcap_of(size_t n)
{
    const float caps[] = {0.5f, 3, 30};

    for (size_t i = 0; i < COUNT(caps); i++) {
        float *x = randoms(n, 10), *d = randoms(n, 1), *y = copy(x, n);
        double *want = zeros(n), *want_d = zeros(n), *size = zeros(n);
        const double cap = (double)caps[i];

        tg_softcap_forward_ref64(want, wide(x, n), n, cap);
        kernels->softcap_forward(y, caps[i], n);
        for (size_t j = 0; j < n; j++)
            size[j] = cap;
        WITHIN(y, want, size, n, TANH_ERROR + 4 * EPS);
        tg_softcap_backward_ref64(want_d, wide(d, n), wide(y, n), n, cap);
        kernels->softcap_backward(d, y, caps[i], n);
        CLOSE(d, want_d, n, 6 * EPS);
    }
}

static void softcap(void)
{
    at_all_lengths(softcap_of);
}

static void crossentropy_of(size_t n)
{
    const size_t targets[] = {0, n / 2, n - 1};
    const double tolerance = EXP_ERROR + (double)(n + 24) * EPS, scale = 0.375;

    for (size_t i = 0; i < COUNT(targets); i++) {
        float *logits = randoms(n, 10), *same = copy(logits, n), loss[2];
        const int32_t target = (int32_t)targets[i];
        double *want = zeros(n), want_loss;

        tg_crossentropy_forward_ref64(&want_loss, wide(logits, n), &target, 1, n);
        tg_crossentropy_backward_ref64(want, &scale, wide(logits, n), &target, 1, n);
        loss[0] = kernels->crossentropy_row(same, n, targets[i], 0);
        loss[1] = kernels->crossentropy_row(logits, n, targets[i], (float)scale);
        CLOSE(loss, &want_loss, 1, tolerance);
        SAME(loss, loss + 1, 1);
        CLOSE(logits, want, n, tolerance);
    }
}

static void crossentropy(void)
{
    at_all_lengths(crossentropy_of);
}

/* softmax of {0, x}: its ratio is exp(x) up to two roundings. */
static void exp_over_the_whole_range(void)
{
    double worst = 0;

    for (int i = 0; i < 200000; i++) {
        float x = -87.0f * (float)i / 200000.0f, row[2] = {0, x}, probs[2];

        kernels->softmax_row(probs, row, 2);
        worst = fmax(worst, fabs((double)probs[1] / (double)probs[0] / exp((double)x) - 1));
    }
    CHECK_NEAR(worst, 0, EXP_ERROR + 3 * EPS);
}

static void a_nan_stays_one(void)
{
    float row[40] = {0}, out[40];

    row[3] = NAN;
    kernels->gelu_tanh_forward(out, row, 40);
    CHECK(isnan(out[3]) && !isnan(out[4]));
    CHECK(isnan(kernels->crossentropy_row(row, 40, 0, 0)));
    row[3] = NAN;
    kernels->softcap_forward(row, 3, 40);
    CHECK(isnan(row[3]) && !isnan(row[4]));
}

/* ---- elements and sums: one rounding each */

static void elements_of(size_t n)
{
    float *x = randoms(n, 1), *y = randoms(n, 1), *sum = nans(n);

    for (size_t i = 0; i < n; i++)
        sum[i] = x[i] + y[i];
    kernels->add(y, x, n);
    SAME(y, sum, n);
}

/* Rounded as tg_bf16_from_float() does, also in place, and widened exactly. */
static void halves_of(size_t n)
{
    float *x = randoms(n, 1), *wide_again = nans(n), *want = nans(n);
    tg_bf16 *half = (tg_bf16 *)nans(n);
    bool right = true;

    if (n > 3) { /* ties, the largest, and what is not finite */
        x[0] = 1 + 0x1p-8f;
        x[1] = 1 + 0x3p-8f;
        x[2] = FLT_MAX;
        x[3] = -INFINITY;
    }
    if (n > 4)
        x[4] = NAN;
    kernels->round16(half, x, n);
    kernels->widen(wide_again, half, n);
    for (size_t i = 0; i < n; i++) {
        want[i] = tg_float_from_bf16(tg_bf16_from_float(x[i]));
        right = right && (wide_again[i] == want[i] || (isnan(wide_again[i]) && isnan(want[i])));
    }
    CHECK(right);
    kernels->round16((tg_bf16 *)x, x, n);
    CHECK(memcmp(x, half, n * sizeof *half) == 0);
}

static void halves(void)
{
    at_all_lengths(halves_of);
}

/* Sums of rows in bf16, in order. */
static void rows_of_halves(void)
{
    enum { ROWS = 7, LD = 103 };

    for (size_t n = 1; n <= 100; n += 11) {
        float *x = randoms(ROWS * LD, 1), *y = randoms(n, 1), *want = nans(n), *rounded = nans(ROWS * LD);
        tg_bf16 *half = (tg_bf16 *)nans(ROWS * LD);

        kernels->round16(half, x, ROWS * LD);
        kernels->widen(rounded, half, ROWS * LD);
        memcpy(want, y, n * sizeof *y);
        kernels->add_rows(want, rounded, LD, ROWS, n);
        kernels->add_rows16(y, half, LD, ROWS, n);
        SAME(y, want, n);
        done();
    }
}

static void elements(void)
{
    at_all_lengths(elements_of);
}

/* Rows in order, as a loop adds them: the same bits.  What lies between rows is not read. */
static void rows_are_added_in_order(size_t n)
{
    enum { ROWS = 7 };
    const size_t ld = n + 5;
    float *x = randoms(ROWS * ld, 1), *y = randoms(n, 1), *want = copy(y, n);

    for (size_t r = 0; r < ROWS; r++)
        for (size_t c = 0; c < ld; c++)
            if (c < n)
                want[c] += x[r * ld + c];
            else
                x[r * ld + c] = NAN;
    kernels->add_rows(y, x, ld, ROWS, n);
    SAME(y, want, n);
    kernels->add_rows(y, x, ld, 0, n);
    SAME(y, want, n);
}

static void add_rows(void)
{
    at_all_lengths(rows_are_added_in_order);
}

static void sum_of_squares_of(size_t n)
{
    const float *x = randoms(n, 3);
    double want = 0;

    for (size_t i = 0; i < n; i++)
        want += (double)x[i] * (double)x[i];
    CHECK_NEAR(kernels->sum_squares(x, n), want, 1e-12 * want);
}

static void sum_of_squares(void)
{
    at_all_lengths(sum_of_squares_of);
}

/* ---- AdamW */

static void adamw_of(size_t n)
{
    const tg_adamw_step s = {.learning_rate = 0.01f,
                             .beta1 = 0.9f,
                             .beta2 = 0.99f,
                             .gain1 = 0.1f,
                             .gain2 = 0.01f,
                             .epsilon = 1e-8f,
                             .weight_decay = 0.1f,
                             .correction1 = 0.19f,
                             .correction2 = 0.0199f,
                             .grad_scale = 0.5f};
    float *w = randoms(n, 1), *m = randoms(n, 1), *v = nans(n), *g = randoms(n, 1);
    double *want_w = zeros(n), *want_m = zeros(n), *want_v = zeros(n);

    for (size_t i = 0; i < n; i++) {
        const double gi = 0.5 * (double)g[i], wi = (double)w[i];

        v[i] = m[i] * m[i];
        want_m[i] = 0.9 * (double)m[i] + 0.1 * gi;
        want_v[i] = 0.99 * (double)v[i] + 0.01 * gi * gi;
        want_w[i] = wi - 0.01 * (want_m[i] / 0.19 / (sqrt(want_v[i] / 0.0199) + 1e-8) + 0.1 * wi);
    }
    kernels->adamw(w, m, v, g, n, &s);
    CLOSE(w, want_w, n, 40 * EPS);
    CLOSE(m, want_m, n, 40 * EPS);
    CLOSE(v, want_v, n, 40 * EPS);
}

static void adamw(void)
{
    at_all_lengths(adamw_of);
}

/* ---- normal random numbers */

static void normals_of(size_t n)
{
    const tg_rng rng = {.seed = n * 0x123456789, .purpose = TG_RNG_INIT, .step = n};
    float *got = nans(n + 1);

    kernels->normals(got, &rng, ((uint64_t)1 << 32) - 30, n, 0.02);
    for (size_t i = 0; i < n; i++)
        CHECK(got[i] == (float)(0.02 * tg_rng_normal(&rng, ((uint64_t)1 << 32) - 30 + i)));
    CHECK(isnan(got[n]));
}

static void normals(void)
{
    at_all_lengths(normals_of);
}

/* Enough of them that some are doubtful: at the ends of the range, and between two floats. */
static void many_normals(void)
{
    const size_t n = check_rounds(1000000);
    float *got = nans(n);

    for (uint64_t stream = 0; stream < 2; stream++) {
        const tg_rng rng = {.seed = stream, .purpose = TG_RNG_INIT, .step = 3};
        const double std = stream == 0 ? 1.0 : 0.02 / sqrt(24);
        size_t wrong = 0;

        kernels->normals(got, &rng, 0, n, std);
        for (size_t i = 0; i < n; i++)
            wrong += got[i] != (float)(std * tg_rng_normal(&rng, i));
        CHECK_EQ(wrong, 0);
    }
}

/* ---- random words */

static void random_words_of(size_t n)
{
    const tg_rng rng = {.seed = n * 0x987654321, .purpose = TG_RNG_DROPOUT, .step = ((uint64_t)1 << 33) + n};
    uint32_t *got = (uint32_t *)nans(n + 1), want[4];
    float *factors = nans(n);

    /* from any word of a block on, across the end of 32 bits */
    for (uint64_t first = ((uint64_t)1 << 34) - 32; first < ((uint64_t)1 << 34) - 28; first++) {
        got[n] = 12345;
        kernels->random_words(got, &rng, first, n);
        kernels->dropout_factors(factors, &rng, first, n, 1u << 31, 1.5f);
        for (size_t i = 0; i < n; i++) {
            tg_rng_block(want, &rng, (first + i) / 4);
            CHECK(got[i] == want[(first + i) % 4]);
            CHECK(factors[i] == (got[i] < 1u << 31 ? 0 : 1.5f));
        }
        CHECK_EQ(got[n], 12345);
    }
}

static void random_words(void)
{
    at_all_lengths(random_words_of);
}

/* ---- the choice */

/* Each of these leaves out what it should do, or a part of it. */
static void no_matmul(const tg_matmul *op, const tg_matmul_scratch *scratch)
{
    (void)op, (void)scratch;
}

static void no_packed_run(const tg_matmul *op, const tg_packed_matrix *w)
{
    (void)op, (void)w;
}

static void no_pack(const tg_packed_matrix *w, const float *b, size_t b_row, size_t b_col)
{
    (void)b, (void)b_row, (void)b_col;
    memset(w->panels, 0, 64 * w->K * (size_t)(4 >> w->type));
    for (size_t n = 0; w->scales && n < w->N; n++)
        w->scales[n] = 1;
}

static void no_attend(const tg_attention_head *op, float *work)
{
    (void)op, (void)work;
}

static void no_dv(const tg_attention_head *op, float *work)
{
    kernels->attend_backward(op, work);
    ((float *)op->dv)[op->D * op->queries - 1] += 0.01f;
}

static void no_attend16(const tg_attention_head *op, float *work)
{
    (void)op, (void)work;
}

static void no_dv16(const tg_attention_head *op, float *work)
{
    kernels->attend16_backward(op, work);
    ((tg_bf16 *)op->dv)[0] ^= 0x8000;
}

static void no_map(float *out, const float *inp, size_t n)
{
    memcpy(out, inp, n * sizeof *out);
}

static void no_slope(float *d, const float *inp, size_t n)
{
    kernels->gelu_tanh_backward(d, inp, n - 1);
}

static void no_layernorm(float *mean, float *rstd, const float *inp, size_t C, float epsilon)
{
    kernels->layernorm_stats(mean, rstd, inp, C, epsilon);
    *rstd += 0.001f;
}

static void no_columns(float *dw, float *db, const float *dout, const float *inp, const tg_row_range *rows,
                       size_t n)
{
    const tg_row_range some = {rows->mean, rows->rstd, rows->ld, rows->n - 1};

    kernels->layernorm_columns_backward(dw, db, dout, inp, &some, n);
}

static void no_rounding(tg_bf16 *out, const float *x, size_t n)
{
    kernels->round16(out, x, n);
    out[n - 1] = 0;
}

static void no_widening(float *out, const tg_bf16 *x, size_t n)
{
    kernels->widen(out, x, n);
    out[0] = 0;
}

static void no_rows16(float *y, const tg_bf16 *x, size_t ld, size_t rows, size_t n)
{
    kernels->add_rows16(y, x, ld, rows - 1, n);
}

static void no_apply(float *out, float mean, float rstd, const float *inp, const float *w, const float *b,
                     size_t C)
{
    (void)b;
    kernels->layernorm_apply(out, mean, rstd, inp, w, NULL, C);
}

static void no_layernorm_backward(float *dinp, const float *dout, const float *inp, float mean, float rstd,
                                  const float *w, size_t C)
{
    (void)w;
    kernels->layernorm_row_backward(dinp, dout, inp, mean, rstd, NULL, C);
}

static float no_gradient(float *logits, size_t n, size_t target, float scale)
{
    (void)scale;
    return kernels->crossentropy_row(logits, n, target, 1);
}

static void no_cap(float *x, float cap, size_t n)
{
    kernels->softcap_forward(x, cap, n - 1);
}

static void no_cap_slope(float *d, const float *y, float cap, size_t n)
{
    kernels->softcap_backward(d, y, cap, n - 1);
}

static void no_sum(float *y, const float *x, size_t n)
{
    kernels->add(y, x, n - 1);
}

static void no_rows(float *y, const float *x, size_t ld, size_t rows, size_t n)
{
    kernels->add_rows(y, x, ld, rows - 1, n);
}

static double no_squares(const float *x, size_t n)
{
    return kernels->sum_squares(x, n - 1);
}

static void no_sums(tg_softmax_sums *out, const float *x, size_t n)
{
    kernels->softmax_sums(out, x, n - 1);
}

static void no_probs(double *p, const float *x, double log_sum, size_t n)
{
    kernels->softmax_probs(p, x, log_sum + 1e-4, n);
}

static double no_mean(const double *p, const float *x, size_t n)
{
    return kernels->mean_logit(p, x, n - 1);
}

static size_t no_count(const float *x, size_t target, size_t n)
{
    return kernels->count_before(x, target, n) + 1;
}

static void no_normals(float *out, const tg_rng *rng, uint64_t first, size_t n, double std)
{
    kernels->normals(out, rng, first + 1, n, std);
}

static void no_words(uint32_t *out, const tg_rng *rng, uint64_t first, size_t n)
{
    kernels->random_words(out, rng, first - first % 4, n);
}

static void no_factors(float *out, const tg_rng *rng, uint64_t first, size_t n, uint32_t threshold,
                       float kept)
{
    kernels->dropout_factors(out, rng, first, n, threshold + (1u << 26), kept);
}

static void no_step(float *w, float *m, float *v, const float *g, size_t n, const tg_adamw_step *step)
{
    kernels->adamw(w, m, v, g, n - 2, step);
}

/* What each byte is, from the C locale's functions and by name. */
static tg_masks masks_of(unsigned char byte)
{
    const bool high = byte > 0x7F;
    const tg_masks m = {
        .letter = !high && isalpha(byte),
        .upper = !high && isupper(byte),
        .lower = !high && islower(byte),
        .number = !high && isdigit(byte),
        .space = !high && isspace(byte),
        .blank = byte == ' ',
        .line = byte == '\n' || byte == '\r',
        .apostrophe = byte == '\'',
        .slash = byte == '/',
        .high = high,
        .other = high || !(isalnum(byte) || isspace(byte)),
    };

    return m;
}

/* Every byte at every place. */
static void masks(void)
{
    enum { WORDS = 256 };
    static unsigned char text[WORDS * 64 + 1];
    static tg_masks got[WORDS];

    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (unsigned char)(i + i / 64);
    text_kernels->masks(got, text + 1, WORDS);
    for (size_t w = 0; w < WORDS; w++) {
        uint64_t all[sizeof(tg_masks) / sizeof(uint64_t)] = {0}, bits[COUNT(all)];

        for (size_t i = 0; i < 64; i++) {
            const tg_masks want = masks_of(text[1 + 64 * w + i]);

            memcpy(bits, &want, sizeof bits);
            for (size_t k = 0; k < COUNT(all); k++)
                all[k] |= bits[k] << i;
        }
        CHECK(memcmp(&got[w], all, sizeof all) == 0);
    }
    text_kernels->masks(got, NULL, 0);
}

static void no_masks(tg_masks *masks, const unsigned char *text, size_t words)
{
    text_kernels->masks(masks, text, words);
    for (size_t w = 0; w < words; w++)
        masks[w].space &= ~masks[w].line;
}

/* With any one kernel replaced by a wrong one, the check finds it. */
static void the_check_finds_a_wrong_kernel(void)
{
    tg_kernels wrong[32];
    tg_err err;

    for (size_t i = 0; i < COUNT(wrong); i++)
        wrong[i] = *kernels;
    wrong[0].matmul = no_matmul;
    wrong[1].matmul_bf16 = no_matmul;
    wrong[2].packed_matrix_pack = no_pack;
    wrong[3].packed_matrix_run = no_packed_run;
    wrong[4].attend_forward = no_attend;
    wrong[5].attend_backward = no_dv;
    wrong[6].gelu_tanh_forward = no_map;
    wrong[7].gelu_tanh_backward = no_slope;
    wrong[8].layernorm_stats = no_layernorm;
    wrong[9].layernorm_apply = no_apply;
    wrong[10].layernorm_row_backward = no_layernorm_backward;
    wrong[11].crossentropy_row = no_gradient;
    wrong[12].round16 = no_rounding;
    wrong[13].add = no_sum;
    wrong[14].add_rows = no_rows;
    wrong[15].sum_squares = no_squares;
    wrong[16].adamw = no_step;
    wrong[17].softmax_row = no_map;
    wrong[18].layernorm_columns_backward = no_columns;
    wrong[19].normals = no_normals;
    wrong[20].widen = no_widening;
    wrong[21].add_rows16 = no_rows16;
    wrong[22].attend16_forward = no_attend16;
    wrong[23].attend16_backward = no_dv16;
    wrong[24].softcap_forward = no_cap;
    wrong[25].softcap_backward = no_cap_slope;
    wrong[26].softmax_sums = no_sums;
    wrong[27].softmax_probs = no_probs;
    wrong[28].mean_logit = no_mean;
    wrong[29].count_before = no_count;
    wrong[30].random_words = no_words;
    wrong[31].dropout_factors = no_factors;
    CHECK_OK(tg_kernels_check(kernels, &err), &err);
    for (size_t i = 0; i < COUNT(wrong); i++) {
        CHECK_EQ(tg_kernels_check(&wrong[i], &err), TG_EDATA);
        CHECK_HAS(err.message, kernels->isa);
    }
}

static void the_check_finds_a_wrong_kernel_of_text(void)
{
    tg_text_kernels wrong = *text_kernels;
    tg_err err;

    wrong.masks = no_masks;
    CHECK_OK(tg_text_kernels_check(text_kernels, &err), &err);
    CHECK_EQ(tg_text_kernels_check(&wrong, &err), TG_EDATA);
    CHECK_HAS(err.message, kernels->isa);
}

/* The set in use, of numbers and of text. */
static void in_use(const char *numbers, const char *text)
{
    CHECK(strcmp(tg_kernels_get()->isa, numbers) == 0);
    CHECK(strcmp(tg_text_kernels_get()->isa, text) == 0);
}

static void choosing(void)
{
    const tg_kernels *all[8], *before = tg_kernels_get();
    const size_t n = tg_kernels_list(all);
    tg_err err;

    for (size_t k = 0; k < n; k++) {
        CHECK_OK(tg_kernels_choose(all[k]->isa, &err), &err);
        CHECK(tg_kernels_get() == all[k]);
        in_use(all[k]->isa, all[k]->isa);
    }
    CHECK_EQ(tg_kernels_choose("z80", &err), TG_EUSAGE);
    CHECK_HAS(err.message, "z80");
    CHECK_HAS(err.message, "portable");
    CHECK_EQ(tg_text_kernels_choose("z80", &err), TG_EUSAGE);
    in_use(all[n - 1]->isa, all[n - 1]->isa);
    CHECK_OK(tg_text_kernels_choose(NULL, &err), &err);
    in_use(all[n - 1]->isa, all[0]->isa);
    CHECK_OK(tg_kernels_choose(NULL, &err), &err);
    in_use(all[0]->isa, all[0]->isa);
    CHECK_OK(tg_kernels_choose(before->isa, &err), &err);
}

static void tests(void)
{
    kernels = tg_kernels_get();
    text_kernels = tg_text_kernels_get();
    RUN(attention);
    RUN(attention_after_a_past);
    RUN(gelu);
    RUN(gelu_far_from_zero);
    RUN(tanh_through_gelu);
    RUN(layernorm);
    RUN(layernorm_columns);
    RUN(softmax);
    RUN(softcap);
    RUN(crossentropy);
    RUN(exp_over_the_whole_range);
    RUN(a_nan_stays_one);
    RUN(elements);
    RUN(halves);
    RUN(rows_of_halves);
    RUN(add_rows);
    RUN(sum_of_squares);
    RUN(adamw);
    RUN(random_words);
    RUN(normals);
    RUN(many_normals);
    RUN(masks);
    RUN(the_check_finds_a_wrong_kernel);
    RUN(the_check_finds_a_wrong_kernel_of_text);
    RUN(choosing);
}

int main(int argc, char **argv)
{
    return check_each_isa(argc, argv, tests);
}
