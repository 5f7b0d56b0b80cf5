/*
 * The fast operations (lib/nn) against the references (lib/nn/ref) in double
 * precision, at sizes that no vector or block width divides.  Outputs that are
 * overwritten start as NaN, gradients that are added to start as random numbers, and
 * each operation gives the same bits with one thread and with three.
 * docs/numerics.md derives the tolerances.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/size.h"
#include "lib/base/threads.h"
#include "lib/kernels/matmul.h"
#include "lib/nn/attention.h"
#include "lib/nn/crossentropy.h"
#include "lib/nn/dropout.h"
#include "lib/nn/elementwise.h"
#include "lib/nn/embedding.h"
#include "lib/nn/activation.h"
#include "lib/nn/layernorm.h"
#include "lib/nn/linear.h"
#include "lib/nn/ref/ref.h"
#include "lib/nn/residual.h"
#include "tests/unit/check.h"
#include "tests/unit/fused_qkv.h"

#define EPS 0x1p-24     /* half a unit in the last place of 1 */
#define EXP_ERROR 2e-7  /* relative, of the kernels' exp */
#define TANH_ERROR 3e-7 /* absolute, of the kernels' tanh */

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* ---- memory of one test, each array on its own so that a sanitizer sees its ends */

static void *taken[256];
static size_t taken_count;
static uint64_t seed;

static void *take(size_t count, size_t each)
{
    void *p = aligned_alloc(TG_ALIGN, tg_round_up(tg_size_max(count * each, 1), TG_ALIGN));

    if (!p || taken_count == COUNT(taken))
        abort();
    return taken[taken_count++] = p;
}

/* malloc'd to the byte, for what the operations read and write. */
static void *take_exactly(size_t count, size_t each)
{
    void *p = malloc(count * each);

    if (!p || taken_count == COUNT(taken))
        abort();
    return taken[taken_count++] = p;
}

static tg_attention_scratch take_scratch(size_t keys, size_t D)
{
    tg_attention_scratch scratch;
    tg_arena arena = {0};

    tg_attention_place(&arena, &scratch, TG_TYPE_FLOAT, keys, D, 1);
    scratch.floats = take(scratch.threads * scratch.each, sizeof(float));
    return scratch;
}

/* For as many threads as run now. */
static tg_matmul_scratch take_product_scratch(void)
{
    tg_matmul_scratch scratch;
    tg_arena arena = {0};

    tg_matmul_place(&arena, &scratch);
    scratch.packed = take(arena.used, 1);
    return scratch;
}

static void done(void)
{
    while (taken_count > 0)
        free(taken[--taken_count]);
}

static float *randoms(size_t n)
{
    float *x = take_exactly(n, sizeof *x);

    check_fill(x, n, ++seed, 1);
    return x;
}

static float *nans(size_t n)
{
    float *x = take_exactly(n, sizeof *x);

    for (size_t i = 0; i < n; i++)
        x[i] = NAN;
    return x;
}

static int32_t *ids(size_t n, size_t V)
{
    int32_t *x = take_exactly(n, sizeof *x);

    seed++;
    for (size_t i = 0; i < n; i++)
        x[i] = (int32_t)((check_random(seed, i) + 1) / 2 * (double)V);
    return x;
}

static tg_matrix floats(float *x, size_t cols)
{
    return tg_matrix_of(x, TG_TYPE_FLOAT, cols);
}

static const tg_matrix nothing;

static double *wide(const float *x, size_t n)
{
    double *y = take(n, sizeof *y);

    for (size_t i = 0; i < n; i++)
        y[i] = (double)x[i];
    return y;
}

static double *wide_abs(const float *x, size_t n)
{
    double *y = wide(x, n);

    for (size_t i = 0; i < n; i++)
        y[i] = fabs(y[i]);
    return y;
}

static double *zeros(size_t n)
{
    double *x = take(n, sizeof *x);

    for (size_t i = 0; i < n; i++)
        x[i] = 0;
    return x;
}

static double *results(size_t n)
{
    return take(n, sizeof(double));
}

/* ---- comparing */

/* |got - want| <= tolerance * max(1, |want|) */
#define CLOSE(got, want, n, tolerance) close_all(__LINE__, #got, got, want, NULL, n, tolerance)
/* |got - want| <= tolerance * size, element by element */
#define WITHIN(got, want, size, n, tolerance) close_all(__LINE__, #got, got, want, size, n, tolerance)

static void close_all(int line, const char *what, const float *got, const double *want, const double *size,
                      size_t n, double tolerance)
{
    size_t worst = 0;
    double most = -1;

    for (size_t i = 0; i < n; i++) {
        double unit = size ? size[i] : fmax(1, fabs(want[i]));
        double off = fabs((double)got[i] - want[i]) / unit;

        if (!(off <= most)) { /* a NaN is the worst */
            most = off;
            worst = i;
            if (isnan(off))
                break;
        }
    }
    check_near(__FILE__, line, (double)got[worst], want[worst],
               tolerance * (size ? size[worst] : fmax(1, fabs(want[worst]))), what);
}

#define SAME(a, b, n) CHECK(memcmp(a, b, (n) * sizeof *(a)) == 0)

/* ---- linear: shapes, and the error bound of a sum */

static const size_t shapes[][3] = {
    {1, 1, 1}, {1, 129, 67}, {3, 5, 7}, {17, 33, 65}, {29, 1, 31}, {131, 97, 1}, {64, 64, 64}, {150, 131, 99},
};

/*
 * A sum of K rounded products is off by at most (K + 1) EPS times the sum of their
 * magnitudes, in whatever order it is taken; the reference on absolute values gives
 * that sum.  One more rounding each for bias and residual.
 */
static void check_linear_forward(size_t N, size_t K, size_t M, bool with_bias, bool with_add)
{
    float *x = randoms(N * K), *w = randoms(K * M), *out = nans(N * M), *in_place = randoms(N * M);
    float *bias = with_bias ? randoms(M) : NULL, *add = with_add ? randoms(N * M) : NULL;
    double *want = results(N * M), *size = results(N * M);
    const tg_matmul_scratch scratch = take_product_scratch();
    const tg_linear linear = {.w = w, .b = bias, .in = K, .out = M, .scratch = &scratch};

    tg_linear_forward_ref64(want, wide(x, N * K), wide(w, K * M), with_bias ? wide(bias, M) : NULL, N, K, M);
    tg_linear_forward_ref64(size, wide_abs(x, N * K), wide_abs(w, K * M),
                            with_bias ? wide_abs(bias, M) : NULL, N, K, M);
    for (size_t i = 0; with_add && i < N * M; i++) {
        want[i] += (double)add[i];
        size[i] += fabs((double)add[i]);
    }
    tg_linear_forward(floats(out, M), floats(add, M), floats(x, K), &linear, N);
    WITHIN(out, want, size, N * M, (double)(K + 3) * EPS);

    if (with_add) { /* the residual may be out itself */
        memcpy(in_place, add, N * M * sizeof *add);
        tg_linear_forward(floats(in_place, M), floats(in_place, M), floats(x, K), &linear, N);
        SAME(in_place, out, N * M);
    }
    done();
}

static void linear_forward(void)
{
    for (size_t s = 0; s < COUNT(shapes); s++)
        for (int variant = 0; variant < 4; variant++)
            check_linear_forward(shapes[s][0], shapes[s][1], shapes[s][2], variant & 1, variant & 2);
}

static void check_linear_backward(size_t N, size_t K, size_t M, bool with_bias)
{
    float *x = randoms(N * K), *w = randoms(K * M), *dout = randoms(N * M);
    float *dx = nans(N * K), *dw = randoms(K * M), *db = with_bias ? randoms(M) : NULL;
    double *want_dx = zeros(N * K), *want_dw = wide(dw, K * M), *want_db = with_bias ? wide(db, M) : NULL;
    double *size_dx = zeros(N * K), *size_dw = wide_abs(dw, K * M),
           *size_db = with_bias ? wide_abs(db, M) : NULL;
    const tg_matmul_scratch scratch = take_product_scratch();
    const tg_linear linear = {.w = w, .dw = dw, .db = db, .in = K, .out = M, .scratch = &scratch};

    tg_linear_backward_ref64(want_dx, want_dw, want_db, wide(dout, N * M), wide(x, N * K), wide(w, K * M), N,
                             K, M);
    tg_linear_backward_ref64(size_dx, size_dw, size_db, wide_abs(dout, N * M), wide_abs(x, N * K),
                             wide_abs(w, K * M), N, K, M);
    tg_linear_backward(floats(dx, K), floats(dout, M), floats(x, K), &linear, N);
    WITHIN(dx, want_dx, size_dx, N * K, (double)(M + 2) * EPS);
    WITHIN(dw, want_dw, size_dw, K * M, (double)(N + 2) * EPS);
    if (with_bias)
        WITHIN(db, want_db, size_db, M, (double)(N + 2) * EPS);
    done();
}

/* What was in dw and db does not matter then; otherwise the bits are those of adding to zeros. */
static void linear_overwrites_gradients(void)
{
    enum { N = 19, K = 21, M = 23 };
    float *x = randoms(N * K), *dout = randoms(N * M), *dw[2] = {nans(K * M), nans(K * M)},
          *db[2] = {nans(M), nans(M)};
    const tg_matmul_scratch scratch = take_product_scratch();
    tg_linear linear = {.dw = dw[0], .db = db[0], .overwrite = true, .in = K, .out = M, .scratch = &scratch};

    tg_linear_backward(nothing, floats(dout, M), floats(x, K), &linear, N);
    memset(dw[1], 0, K * M * sizeof(float));
    memset(db[1], 0, M * sizeof(float));
    linear.dw = dw[1];
    linear.db = db[1];
    linear.overwrite = false;
    tg_linear_backward(nothing, floats(dout, M), floats(x, K), &linear, N);
    SAME(dw[0], dw[1], K * M);
    SAME(db[0], db[1], M);
    done();
}

static void linear_backward(void)
{
    for (size_t s = 0; s < COUNT(shapes); s++) {
        check_linear_backward(shapes[s][0], shapes[s][1], shapes[s][2], true);
        check_linear_backward(shapes[s][0], shapes[s][1], shapes[s][2], false);
    }
}

/* Without dinp only the parameters' gradients are computed, the same ones. */
static void linear_backward_parameters_only(void)
{
    enum { N = 19, K = 21, M = 23 };
    float *x = randoms(N * K), *w = randoms(K * M), *dout = randoms(N * M), *dx = nans(N * K);
    float *dw[2] = {randoms(K * M), randoms(K * M)}, *db[2] = {randoms(M), randoms(M)};
    const tg_matmul_scratch scratch = take_product_scratch();
    tg_linear linear = {.w = w, .dw = dw[0], .db = db[0], .in = K, .out = M, .scratch = &scratch};

    memcpy(dw[1], dw[0], K * M * sizeof(float));
    memcpy(db[1], db[0], M * sizeof(float));
    tg_linear_backward(floats(dx, K), floats(dout, M), floats(x, K), &linear, N);
    linear.dw = dw[1];
    linear.db = db[1];
    tg_linear_backward(nothing, floats(dout, M), floats(x, K), &linear, N);
    SAME(dw[0], dw[1], K * M);
    SAME(db[0], db[1], M);
    done();
}

/* Without dw and db only dinp is computed, the same one, and inp is not read. */
static void linear_backward_input_only(void)
{
    enum { N = 19, K = 21, M = 23 };
    float *x = randoms(N * K), *w = randoms(K * M), *dout = randoms(N * M);
    float *dx[2] = {nans(N * K), nans(N * K)}, *dw = randoms(K * M), *db = randoms(M);
    const tg_matmul_scratch scratch = take_product_scratch();
    const tg_linear with = {.w = w, .dw = dw, .db = db, .in = K, .out = M, .scratch = &scratch};
    const tg_linear without = {.w = w, .in = K, .out = M, .scratch = &scratch};

    tg_linear_backward(floats(dx[0], K), floats(dout, M), floats(x, K), &with, N);
    tg_linear_backward(floats(dx[1], K), floats(dout, M), nothing, &without, N);
    SAME(dx[0], dx[1], N * K);
    done();
}

/* A bias whose gradient is summed over part of wider rows. */
static void bias_backward_strided(void)
{
    enum { N = 21, WIDTH = 70, LD = 83 };
    float *dout = randoms(N * LD), *db = randoms(WIDTH);
    double *want = wide(db, WIDTH), *size = wide_abs(db, WIDTH);

    for (size_t n = 0; n < N; n++)
        for (size_t c = 0; c < WIDTH; c++) {
            want[c] += (double)dout[n * LD + c];
            size[c] += fabs((double)dout[n * LD + c]);
        }
    tg_bias_backward(db, tg_matrix_columns(floats(dout, LD), 0, WIDTH), N);
    WITHIN(db, want, size, WIDTH, (N + 1) * EPS);
    done();
}

/* ---- embedding */

static void embedding(void)
{
    enum { B = 3, T = 17, C = 71, V = 5, FIRST = 4, CTX = 25 };
    int32_t *tokens = ids(B * T, V);
    float *wte = randoms(V * C), *wpe = randoms(CTX * C), *out = nans(B * T * C), *want = nans(B * T * C);
    float *dout = randoms(B * T * C), *dwte = randoms(V * C), *dwpe = randoms(CTX * C);
    double *want_te = wide(dwte, V * C), *want_pe = wide(dwpe, CTX * C);
    double *size_te = wide_abs(dwte, V * C), *size_pe = wide_abs(dwpe, CTX * C);
    const tg_embedding embedding = {.wte = wte, .wpe = wpe, .dwte = dwte, .dwpe = dwpe, .C = C, .scale = 1};

    tg_embedding_forward(out, tokens, &embedding, FIRST, B, T);
    tg_embedding_forward_ref(want, tokens, wte, wpe + FIRST * C, B, T, C);
    SAME(out, want, B * T * C);

    tg_embedding_backward(dout, tokens, &embedding, B, T);
    tg_embedding_backward_ref64(want_te, want_pe, wide(dout, B * T * C), tokens, B, T, C);
    tg_embedding_backward_ref64(size_te, size_pe, wide_abs(dout, B * T * C), tokens, B, T, C);
    WITHIN(dwte, want_te, size_te, V * C, (B * T + 1) * EPS);
    WITHIN(dwpe, want_pe, size_pe, CTX * C, (B + 1) * EPS);
    done();
}

/* ---- layernorm */

#define LN_EPS 1e-5

/* The mean and the variance are sums of C; what follows is magnified by rstd, once
 * forward and, with the second sum, once more backward. */
static void check_layernorm(size_t N, size_t C, bool with_w, bool with_b)
{
    float *x = randoms(N * C), *dout = randoms(N * C), *dx = randoms(N * C);
    float *w = with_w ? randoms(C) : NULL, *b = with_b ? randoms(C) : NULL;
    float *dw = with_w ? randoms(C) : NULL, *db = with_b ? randoms(C) : NULL;
    float *out = nans(N * C), *again = nans(N * C), *mean = nans(N), *rstd = nans(N);
    double *wx = wide(x, N * C), *ww = with_w ? wide(w, C) : NULL, *wb = with_b ? wide(b, C) : NULL;
    double *want = results(N * C), *want_mean = results(N), *want_rstd = results(N);
    double *want_dx = wide(dx, N * C), *want_dw = with_w ? wide(dw, C) : NULL,
           *want_db = with_b ? wide(db, C) : NULL;
    double most = 1, unit = (double)(2 * C + 8) * EPS;
    const tg_layernorm norm = {w, b, dw, db, C, LN_EPS};
    const tg_norm_stats stats = {floats(mean, 1), floats(rstd, 1)};

    tg_layernorm_forward_ref64(want, want_mean, want_rstd, wx, ww, wb, N, C, LN_EPS);
    tg_layernorm_backward_ref64(want_dx, want_dw, want_db, wide(dout, N * C), want_mean, want_rstd, wx, ww, N,
                                C);
    tg_layernorm_forward(floats(out, C), stats, floats(x, C), &norm, N);
    for (size_t n = 0; n < N; n++)
        most = fmax(most, want_rstd[n]);
    CLOSE(mean, want_mean, N, (double)(C + 1) * EPS);
    CLOSE(rstd, want_rstd, N, unit * most);
    CLOSE(out, want, N * C, unit * most);

    tg_layernorm_recompute(floats(again, C), stats, floats(x, C), &norm, N);
    SAME(again, out, N * C);
    tg_layernorm_backward(floats(dx, C), floats(dout, C), floats(x, C), stats, &norm, N);
    CLOSE(dx, want_dx, N * C, 2 * unit * most * most);
    if (dw)
        CLOSE(dw, want_dw, C, (unit + (double)N * EPS) * most * sqrt((double)N));
    if (db)
        CLOSE(db, want_db, C, (double)(N + 1) * EPS * (double)(N + 1));

    tg_layernorm_forward(floats(x, C), stats, floats(x, C), &norm, N); /* in place */
    SAME(x, out, N * C);
    done();
}

static void layernorm(void)
{
    static const size_t sizes[][2] = {{1, 2}, {3, 5}, {7, 33}, {19, 129}, {5, 768}};

    for (size_t s = 0; s < COUNT(sizes); s++)
        for (int variant = 0; variant < 4; variant++)
            check_layernorm(sizes[s][0], sizes[s][1], variant & 1, variant & 2);
}

/* ---- gelu */

/*
 * Forward: 0.5 |x| times tanh's error, and a few roundings.  Backward: t = tanh u
 * enters as 0.5 t + 0.5 x (1 - t^2) u'; x u' grows to 17 at x = 5, while the error of
 * t shrinks to its last place, 6e-8, as t nears 1.
 */
static void check_gelu(tg_activation kind)
{
    enum { N = 4003 };
    float *x = randoms(N), *out = nans(N), *dout = randoms(N), *dx = nans(N);
    float *again = nans(N);
    double *want = results(N), *want_dx = zeros(N), *size = results(N);

    for (size_t i = 0; i < N; i++) {
        x[i] = ((float)i - 2001) * 0.01f; /* -20 ... 20 */
        size[i] = 1 + fabs((double)x[i]);
    }
    tg_activation_forward_ref64(want, wide(x, N), N, kind);
    for (size_t i = 0; i < N; i++)
        size[i] = fmax(size[i], want[i]); /* relu2 is larger */
    tg_activation_backward_ref64(want_dx, wide(dout, N), wide(x, N), N, kind);
    tg_activation_forward(floats(out, 1), floats(x, 1), N, kind);
    WITHIN(out, want, size, N, TANH_ERROR / 2 + 4 * EPS);
    memcpy(dx, dout, N * sizeof *dx);
    tg_activation_gradient_elements(kind)(dx, x, N);
    CLOSE(dx, want_dx, N, 8 * TANH_ERROR);

    tg_activation_elements(kind)(again, x, N);
    SAME(again, out, N);
    tg_activation_forward(floats(x, 1), floats(x, 1), N, kind); /* in place */
    SAME(x, out, N);
    done();
}

static void gelu(void)
{
    check_gelu(TG_GELU_TANH);
    check_gelu(TG_GELU_ERF);
    check_gelu(TG_SILU);
    check_gelu(TG_RELU2);
}

/* ---- the head */

/* rows of w are [V,C]: the reference wants the transpose [C,V]. */
static double *transposed(const float *w, size_t V, size_t C)
{
    double *t = results(V * C);

    for (size_t v = 0; v < V; v++)
        for (size_t c = 0; c < C; c++)
            t[c * V + v] = (double)w[v * C + c];
    return t;
}

struct head_case {
    size_t N, V, C;
    double cap; /* of the logits; 0: none */
    float *x, *w, *bias, *dw, *dbias;
    int32_t *targets;
    float scale;
};

/* The references in a row: logits, losses, dlogits, dx, dw [C,V], dbias. */
static void head_reference(const struct head_case *h, double *losses, double *dx, double *dw, double *dbias)
{
    size_t N = h->N, V = h->V, C = h->C;
    double *logits = results(N * V), *dlogits = zeros(N * V), *dcapped = zeros(N * V), *each = results(N);
    double *x = wide(h->x, N * C), *w = transposed(h->w, V, C);

    for (size_t n = 0; n < N; n++)
        each[n] = (double)h->scale;
    tg_linear_forward_ref64(logits, x, w, h->bias ? wide(h->bias, V) : NULL, N, C, V);
    if (h->cap > 0)
        tg_softcap_forward_ref64(logits, logits, N * V, h->cap);
    tg_crossentropy_forward_ref64(losses, logits, h->targets, N, V);
    tg_crossentropy_backward_ref64(dlogits, each, logits, h->targets, N, V);
    if (h->cap > 0)
        tg_softcap_backward_ref64(dcapped, dlogits, logits, N * V, h->cap);
    tg_linear_backward_ref64(dx, dw, dbias, h->cap > 0 ? dcapped : dlogits, x, w, N, C, V);
}

/* ignored: one target of so many is none; 0: all are targets. */
static void check_head(size_t N, size_t V, size_t C, bool with_bias, double cap, size_t ignored)
{
    struct head_case h = {.N = N, .V = V, .C = C, .cap = cap, .scale = 1 / (float)N};
    float *losses = nans(N), *losses2 = nans(N), *dx = nans(N * C), *logits;
    double *want = results(N), *want_dx = zeros(N * C), *want_dw, *want_db, *dw_t = results(V * C);
    const tg_matmul_scratch scratch = take_product_scratch();
    tg_linear head = {.in = C, .out = V, .transposed = true, .scratch = &scratch};
    /* the logits' error, a sum of C terms, then a sum of V or of N */
    double tolerance = EXP_ERROR + (double)(2 * C + tg_size_max(V, N) + 8) * EPS;

    h.x = randoms(N * C);
    h.w = randoms(V * C);
    h.bias = with_bias ? randoms(V) : NULL;
    h.dw = randoms(V * C);
    h.dbias = with_bias ? randoms(V) : NULL;
    h.targets = ids(N, V);
    for (size_t n = 0; ignored > 0 && n < N; n += ignored)
        h.targets[n] = -1;
    want_dw = transposed(h.dw, V, C);
    want_db = with_bias ? wide(h.dbias, V) : NULL;
    head_reference(&h, want, want_dx, want_dw, want_db);

    head.w = h.w;
    head.b = h.bias;
    head.dw = h.dw;
    head.db = h.dbias;
    logits = nans(tg_head_logits(N, V) * (cap > 0 ? 2 : 1));
    tg_head_loss(losses, floats(dx, C), floats(h.x, C), h.targets, &head, cap, h.scale, N, logits);
    CLOSE(losses, want, N, tolerance * sqrt((double)C));
    CLOSE(dx, want_dx, N * C, tolerance);
    for (size_t v = 0; v < V; v++)
        for (size_t c = 0; c < C; c++)
            dw_t[v * C + c] = want_dw[c * V + v];
    CLOSE(h.dw, dw_t, V * C, tolerance);
    if (with_bias)
        CLOSE(h.dbias, want_db, V, tolerance);

    logits = nans(tg_head_logits(N, V));
    tg_head_loss(losses2, nothing, floats(h.x, C), h.targets, &head, cap, h.scale, N, logits);
    SAME(losses, losses2, N);
    done();
}

static void head_loss(void)
{
    check_head(1, 3, 2, true, 0, 0);
    check_head(37, 259, 33, false, 0, 0);
    check_head(37, 259, 33, true, 0, 0);
    check_head(300, 17001, 3, true, 0, 0); /* more rows than one block of logits holds */
    check_head(1, 3, 2, true, 0.7, 0);
    check_head(37, 259, 33, false, 3, 0);
    if (check_soak(0, 1))
        check_head(300, 17001, 3, true, 1.5, 0);
    check_head(1, 3, 2, true, 0, 1); /* nothing is predicted */
    check_head(37, 259, 33, true, 0, 2);
    check_head(300, 17001, 3, true, 1.5, 7);
}

/* ---- dropout */

static tg_dropout dropping(float p)
{
    return (tg_dropout){p, {.seed = 7, .purpose = TG_RNG_DROPOUT, .step = 11}};
}

/* Two values only; a share of p zeros, give or take five standard deviations. */
static void dropout_share(void)
{
    enum { N = 100003 };
    const float p = 0.3f;
    tg_dropout drop = dropping(p);
    float *factors = nans(N);
    size_t zero = 0;

    tg_dropout_factors(factors, &drop, 0, N);
    for (size_t i = 0; i < N; i++) {
        zero += factors[i] == 0;
        CHECK(factors[i] == 0 || factors[i] == 1 / (1 - p));
    }
    CHECK_NEAR((double)zero / N, 0.3, 5 * sqrt(0.3 * 0.7 / N));
    done();
}

/* The factor of an element does not depend on where the call began. */
static void dropout_is_by_element(void)
{
    enum { N = 10007 };
    tg_dropout drop = dropping(0.2f), next = drop;
    float *factors = nans(N), *pieces = nans(N), *x = randoms(N), *applied = randoms(N), *want = nans(N);

    memcpy(applied, x, N * sizeof *x);
    tg_dropout_factors(factors, &drop, 0, N);
    for (size_t at = 0, len = 1; at < N; at += len, len = len % 13 + 1)
        tg_dropout_factors(pieces + at, &drop, at, tg_size_min(len, N - at));
    SAME(factors, pieces, N);

    tg_dropout_apply(applied, &drop, N);
    tg_dropout_forward_ref(want, x, factors, N);
    SAME(applied, want, N);

    next.rng.step++;
    tg_dropout_factors(pieces, &next, 0, N);
    CHECK(memcmp(factors, pieces, N * sizeof *factors) != 0);
    done();
}

static void dropout_of_nothing(void)
{
    tg_dropout drop = dropping(0);
    float *x = randoms(9), *same = randoms(9);

    memcpy(same, x, 9 * sizeof *x);
    tg_dropout_apply(x, &drop, 9);
    SAME(x, same, 9);
    done();
}

/* ---- attention */

struct attention {
    size_t B, T, C, H;
    float *qkv, *dout;
    const tg_dropout *drop;
    double *out, *lse, *dqkv; /* the reference's */
};

static void log_sums(double *lse, const double *scores, size_t B, size_t H, size_t T)
{
    for (size_t row = 0; row < B * H * T; row++) {
        double sum = 0;

        for (size_t j = 0; j <= row % T; j++)
            sum += exp(scores[row * T + j]);
        lse[row] = log(sum);
    }
}

/* q, k, v sliced from qkv, the reference core, and its gradients put back. */
static void attention_reference(struct attention *a)
{
    size_t B = a->B, T = a->T, C = a->C, H = a->H, n = B * T * C, square = B * H * T * T;
    double *qkv = wide(a->qkv, 3 * n), *dout = wide(a->dout, n), *x[3], *dx[3], *keep = NULL;
    double *scores = results(square), *probs = results(square), *ds = results(square), *dp = results(square);

    a->out = results(n);
    a->lse = results(B * H * T);
    a->dqkv = zeros(3 * n);
    if (a->drop) {
        float *factors = nans(square);

        tg_dropout_factors(factors, a->drop, 0, square);
        keep = wide(factors, square);
    }
    for (size_t p = 0; p < 3; p++) {
        x[p] = results(n);
        dx[p] = zeros(n);
        tg_slice_forward_ref64(x[p], qkv, B * T, 3 * C, p * C, C);
    }
    tg_attention_mha_forward_ref64(a->out, probs, scores, x[0], x[1], x[2], keep, B, T, H, C / H);
    tg_attention_mha_backward_ref64(dx[0], dx[1], dx[2], dp, ds, dout, probs, x[0], x[1], x[2], keep, B, T, H,
                                    C / H);
    for (size_t p = 0; p < 3; p++)
        tg_slice_backward_ref64(a->dqkv, dx[p], B * T, 3 * C, p * C, C);
    log_sums(a->lse, scores, B, H, T);
}

/*
 * A score is a sum of D products below 1, divided by sqrt(D); twice its error, exp's
 * and that of the sum of T make the relative error of a probability.  Backward has
 * two such sums more, of terms that dropout magnifies.
 */
static double attention_tolerance(size_t T, size_t D)
{
    return EXP_ERROR + 2 * (double)(D + 2) * sqrt((double)D) * EPS + 2 * (double)(T + 4) * EPS;
}

static void check_attention(size_t B, size_t T, size_t C, size_t H, float p)
{
    tg_dropout drop = dropping(p);
    struct attention a = {.B = B, .T = T, .C = C, .H = H, .drop = p > 0 ? &drop : NULL};
    size_t n = B * T * C;
    float *out = nans(n), *lse = nans(B * H * T), *dqkv = nans(3 * n);
    const tg_attention_scratch scratch = take_scratch(T, C / H);
    double tolerance = attention_tolerance(T, C / H);
    const tg_attention op = {FUSED_QKV(B, T, C, H), .drop = a.drop, .scratch = &scratch};

    a.qkv = randoms(3 * n);
    a.dout = randoms(n);
    attention_reference(&a);
    fused_qkv_forward(out, lse, a.qkv, &op);
    fused_qkv_backward(dqkv, a.dout, out, lse, a.qkv, &op);
    CLOSE(out, a.out, n, tolerance);
    CLOSE(lse, a.lse, B * H * T, tolerance);
    CLOSE(dqkv, a.dqkv, 3 * n, 4 * tolerance * sqrt((double)(C / H)));
    done();
}

static void attention(void)
{
    static const size_t sizes[][4] = {
        {1, 1, 1, 1}, {2, 5, 6, 3}, {1, 37, 35, 1}, {3, 67, 66, 2}, {2, 130, 64, 1}, {2, 33, 128, 8},
    };

    for (size_t s = 0; s < COUNT(sizes); s++) {
        check_attention(sizes[s][0], sizes[s][1], sizes[s][2], sizes[s][3], 0);
        check_attention(sizes[s][0], sizes[s][1], sizes[s][2], sizes[s][3], 0.25f);
    }
}

/* p = 0 is no dropout at all. */
static void attention_without_dropout(void)
{
    enum { B = 2, T = 9, C = 10, H = 2 };
    tg_dropout drop = dropping(0);
    float *qkv = randoms(B * T * 3 * C), *out[2] = {nans(B * T * C), nans(B * T * C)}, *lse = nans(B * H * T);
    const tg_attention_scratch scratch = take_scratch(T, C / H);
    const tg_attention without = {FUSED_QKV(B, T, C, H), .scratch = &scratch};
    const tg_attention with = {FUSED_QKV(B, T, C, H), .drop = &drop, .scratch = &scratch};

    fused_qkv_forward(out[0], lse, qkv, &without);
    fused_qkv_forward(out[1], lse, qkv, &with);
    SAME(out[0], out[1], B * T * C);
    done();
}

/* Scores of several hundred: exp of them would overflow, the softmax does not. */
static void attention_of_large_scores(void)
{
    enum { T = 21, C = 8 };
    struct attention a = {.B = 1, .T = T, .C = C, .H = 1};
    float *out = nans(T * C), *lse = nans(T), *dqkv = nans(T * 3 * C);
    const tg_attention_scratch scratch = take_scratch(T, C);
    const tg_attention op = {FUSED_QKV(1, T, C, 1), .scratch = &scratch};
    double scores = 400 / sqrt(8.0) * 8; /* the largest possible score */

    a.qkv = randoms(T * 3 * C);
    a.dout = randoms(T * C);
    for (size_t t = 0; t < T; t++)
        for (size_t c = 0; c < 2 * C; c++) /* q and k, not v */
            a.qkv[t * 3 * C + c] *= 20;
    attention_reference(&a);
    fused_qkv_forward(out, lse, a.qkv, &op);
    fused_qkv_backward(dqkv, a.dout, out, lse, a.qkv, &op);
    CLOSE(out, a.out, T * C, 2 * (C + 2) * EPS * scores);
    CLOSE(lse, a.lse, T, 2 * (C + 2) * EPS * scores);
    CLOSE(dqkv, a.dqkv, T * 3 * C, 4 * 20 * (C + 2) * EPS * scores);
    done();
}

/* An empty cache of one layer, as large as that, for a number of sequences. */
static tg_kv_cache take_cache(size_t sequences, size_t keys, size_t C)
{
    tg_kv_cache cache;
    tg_arena arena = {0};

    tg_kv_cache_place(&arena, &cache, sequences, 1, keys, C);
    cache.k = nans(sequences * keys * C);
    cache.v = nans(sequences * keys * C);
    return cache;
}

/* New queries over a cache: the last rows of attention over everything.  The sequence is the
 * cache's second; what the first one holds does not matter. */
static void check_cached(size_t past, size_t n, size_t C, size_t H)
{
    size_t T = past + n;
    struct attention a = {.B = 1, .T = T, .C = C, .H = H};
    float *first = nans(tg_size_max(past, 1) * C), *out = nans(n * C);
    const tg_attention_scratch scratch = take_scratch(T, C / H);
    tg_kv_cache cache = take_cache(2, T + 3, C);
    tg_attention op = {FUSED_QKV(1, past, C, H), .scratch = &scratch, .cache = &cache, .first = 1};

    a.qkv = randoms(T * 3 * C);
    a.dout = randoms(T * C);
    attention_reference(&a);
    if (past > 0) {
        fused_qkv_forward(first, NULL, a.qkv, &op);
        CLOSE(first, a.out, past * C, attention_tolerance(T, C / H));
    }
    cache.past = past;
    op.T = n;
    fused_qkv_forward(out, NULL, a.qkv + past * 3 * C, &op);
    CLOSE(out, a.out + past * C, n * C, attention_tolerance(T, C / H));
    done();
}

/* Every sequence of the cache has what the first had. */
static void cache_broadcast(void)
{
    enum { S = 3, KEYS = 7, PAST = 5, C = 6 };
    float *qkv = randoms(PAST * 3 * C);
    tg_kv_cache cache = take_cache(S, KEYS, C);

    tg_kv_cache_append(&cache, 0, qkv + C, 3 * C, qkv + 2 * C, 3 * C, 0, 1, PAST);
    cache.past = PAST;
    tg_kv_cache_broadcast(&cache);
    for (size_t s = 0; s < S; s++) {
        for (size_t t = 0; t < PAST; t++) {
            const size_t at = tg_kv_cache_at(&cache, s, 0) + t * C;

            SAME(cache.k + at, qkv + (t * 3 + 1) * C, C);
            SAME(cache.v + at, qkv + (t * 3 + 2) * C, C);
        }
        CHECK(isnan(cache.k[tg_kv_cache_at(&cache, s, 0) + PAST * C]));
    }
    done();
}

static void attention_cached(void)
{
    check_cached(0, 7, 6, 2);
    check_cached(12, 1, 6, 3);
    check_cached(65, 3, 34, 1);
    check_cached(130, 17, 66, 2);
}

/* ---- the end of a sublayer, and what passes do element by element */

/* out = residual + drop(inp W + b), from the parts; and its gradients. */
static void check_residual(float p)
{
    enum { N = 11, K = 13, M = 21 };
    const tg_dropout drop = dropping(p);
    float *x = randoms(N * K), *w = randoms(K * M), *b = randoms(M), *residual = randoms(N * M);
    float *out = nans(N * M), *want = nans(N * M), *scratch = nans(N * M), *dout = randoms(N * M);
    float *dropped = nans(N * M), *dx[2] = {nans(N * K), nans(N * K)};
    float *dw[2] = {randoms(K * M), nans(K * M)}, *db[2] = {randoms(M), nans(M)};
    const tg_matmul_scratch product = take_product_scratch();
    tg_linear linear = {.w = w, .b = b, .dw = dw[0], .db = db[0], .in = K, .out = M, .scratch = &product};

    memcpy(dw[1], dw[0], K * M * sizeof(float));
    memcpy(db[1], db[0], M * sizeof(float));
    tg_residual_forward(floats(out, M), floats(residual, M), floats(x, K), &linear, &drop, N);
    tg_linear_forward(floats(want, M), nothing, floats(x, K), &linear, N);
    tg_dropout_apply(want, &drop, N * M);
    for (size_t i = 0; i < N * M; i++)
        want[i] += residual[i];
    CLOSE(out, wide(want, N * M), N * M, 4 * (K + 2) * EPS);

    tg_residual_backward(floats(dx[0], K), floats(dout, M), floats(x, K), &linear, &drop, floats(scratch, M),
                         N);
    memcpy(dropped, dout, N * M * sizeof(float));
    tg_dropout_apply(dropped, &drop, N * M);
    linear.dw = dw[1];
    linear.db = db[1];
    tg_linear_backward(floats(dx[1], K), floats(dropped, M), floats(x, K), &linear, N);
    SAME(dx[0], dx[1], N * K);
    SAME(dw[0], dw[1], K * M);
    SAME(db[0], db[1], M);
    done();
}

/* Through the activation before it: the same gradients, times its slope, in place of gelu(pre). */
static void check_residual_after_gelu(float p, tg_activation kind)
{
    enum { N = 11, K = 13, M = 21 };
    const tg_dropout drop = dropping(p);
    float *pre = randoms(N * K), *x = nans(N * K), *w = randoms(K * M), *dout = randoms(N * M);
    float *dx = nans(N * K), *scratch = nans(N * M), *dw[2] = {randoms(K * M), nans(K * M)};
    const tg_matmul_scratch product = take_product_scratch();
    tg_linear linear = {.w = w, .dw = dw[0], .in = K, .out = M, .scratch = &product};

    memcpy(dw[1], dw[0], K * M * sizeof(float));
    tg_activation_forward(floats(x, K), floats(pre, K), N, kind);
    tg_residual_backward(floats(dx, K), floats(dout, M), floats(x, K), &linear, &drop, floats(scratch, M), N);
    tg_activation_gradient_elements(kind)(dx, pre, N * K);
    linear.dw = dw[1];
    tg_residual_after_activation_backward(floats(x, K), floats(dout, M), floats(x, K), floats(pre, K),
                                          &linear, kind, &drop, floats(scratch, M), N);
    CLOSE(x, wide(dx, N * K), N * K, 4 * EPS);
    SAME(dw[0], dw[1], K * M);
    done();
}

static void residual(void)
{
    check_residual_after_gelu(0, TG_GELU_TANH);
    check_residual_after_gelu(0.3f, TG_GELU_ERF);
    check_residual_after_gelu(0, TG_SILU);
    check_residual_after_gelu(0, TG_RELU2);
    check_residual(0);
    check_residual(0.3f);
}

static void elementwise(void)
{
    enum { N = 200003 }; /* more than one thread's part */
    float *a = randoms(N), *b = randoms(N), *out = nans(N);
    double sum = 0;

    tg_add(out, a, b, N);
    for (size_t i = 0; i < N; i++) {
        CHECK(out[i] == a[i] + b[i]);
        sum += (double)a[i];
    }
    CHECK(tg_mean(a, N) == sum / N);
    tg_copy(out, a, N);
    SAME(out, a, N);
    tg_add(b, a, b, N); /* in place */
    tg_zero(out, N);
    for (size_t i = 0; i < N; i++)
        CHECK(out[i] == 0);
    done();
}

/* ---- threads: big enough that every operation divides its work */

enum { BIG_N = 270, BIG_C = 132, BIG_V = 300, BIG_B = 3, BIG_T = 90, BIG_H = 4 };

static void all_linear(float *out)
{
    enum { OC = 99 };
    float *x = randoms(BIG_N * BIG_C), *w = randoms(BIG_C * OC), *b = randoms(OC),
          *dout = randoms(BIG_N * OC);
    float *dx = out + BIG_N * OC, *dw = dx + BIG_N * BIG_C, *db = dw + BIG_C * OC;
    const tg_matmul_scratch scratch = take_product_scratch();
    const tg_linear linear = {
        .w = w, .b = b, .dw = dw, .db = db, .in = BIG_C, .out = OC, .scratch = &scratch};

    memset(dw, 0, (BIG_C * OC + OC) * sizeof *dw);
    tg_linear_forward(floats(out, OC), nothing, floats(x, BIG_C), &linear, BIG_N);
    tg_linear_backward(floats(dx, BIG_C), floats(dout, OC), floats(x, BIG_C), &linear, BIG_N);
}

/* One row only: the product has its own way for that. */
static void all_linear_row(float *out)
{
    float *x = randoms(BIG_N), *w = randoms(BIG_N * BIG_V), *dout = randoms(BIG_V);
    float *dx = out + BIG_V, *dw = dx + BIG_N;
    const tg_matmul_scratch scratch = take_product_scratch();
    const tg_linear linear = {.w = w, .dw = dw, .in = BIG_N, .out = BIG_V, .scratch = &scratch};

    memset(dw, 0, BIG_N * BIG_V * sizeof *dw);
    tg_linear_forward(floats(out, BIG_V), nothing, floats(x, BIG_N), &linear, 1);
    tg_linear_backward(floats(dx, BIG_N), floats(dout, BIG_V), floats(x, BIG_N), &linear, 1);
}

static void all_layernorm(float *out)
{
    float *x = randoms(BIG_N * BIG_C), *w = randoms(BIG_C), *b = randoms(BIG_C),
          *dout = randoms(BIG_N * BIG_C);
    float *dx = out + BIG_N * BIG_C, *mean = dx + BIG_N * BIG_C, *rstd = mean + BIG_N, *dw = rstd + BIG_N,
          *db = dw + BIG_C;
    const tg_layernorm norm = {w, b, dw, db, BIG_C, LN_EPS};
    const tg_norm_stats stats = {floats(mean, 1), floats(rstd, 1)};

    memset(dx, 0, BIG_N * BIG_C * sizeof *dx);
    memset(dw, 0, 2 * BIG_C * sizeof *dw);
    tg_layernorm_forward(floats(out, BIG_C), stats, floats(x, BIG_C), &norm, BIG_N);
    tg_layernorm_backward(floats(dx, BIG_C), floats(dout, BIG_C), floats(x, BIG_C), stats, &norm, BIG_N);
}

static void all_gelu(float *out)
{
    size_t n = BIG_N * BIG_C;
    float *x = randoms(n), *dout = randoms(n), *w = randoms(BIG_C * BIG_C);
    const tg_matmul_scratch scratch = take_product_scratch();
    const tg_linear linear = {.w = w, .in = BIG_C, .out = BIG_C, .scratch = &scratch};

    tg_linear_activation_forward(floats(out, BIG_C), floats(out, BIG_C), floats(x, BIG_C), &linear,
                                 TG_GELU_TANH, BIG_N);
    tg_activation_forward(floats(out + n, BIG_C), floats(x, BIG_C), BIG_N, TG_GELU_TANH);
    tg_activation_forward(floats(out + 2 * n, BIG_C), floats(x, BIG_C), BIG_N, TG_GELU_ERF);
    tg_linear_after_activation_backward(floats(out + 3 * n, BIG_C), floats(dout, BIG_C), floats(x, BIG_C),
                                        floats(x, BIG_C), &linear, TG_GELU_TANH, BIG_N);
}

static void all_embedding(float *out)
{
    float *wte = randoms(BIG_V * BIG_C), *wpe = randoms(BIG_T * BIG_C), *dout = randoms(BIG_N * BIG_C);
    float *dwte = out + BIG_N * BIG_C, *dwpe = dwte + BIG_V * BIG_C;
    int32_t *tokens = ids(BIG_N, 7); /* each many times */
    const tg_embedding embedding = {
        .wte = wte, .wpe = wpe, .dwte = dwte, .dwpe = dwpe, .C = BIG_C, .scale = 1};

    memset(dwte, 0, (BIG_V + BIG_T) * BIG_C * sizeof *dwte);
    tg_embedding_forward(out, tokens, &embedding, 0, BIG_B, BIG_T);
    tg_embedding_backward(dout, tokens, &embedding, BIG_B, BIG_T);
}

static void all_head(float *out)
{
    float *x = randoms(BIG_N * BIG_C), *w = randoms(BIG_V * BIG_C), *b = randoms(BIG_V);
    float *losses = out, *dx = losses + BIG_N, *dw = dx + BIG_N * BIG_C, *db = dw + BIG_V * BIG_C;
    float *logits = nans(tg_head_logits(BIG_N, BIG_V));
    int32_t *targets = ids(BIG_N, BIG_V);
    const tg_matmul_scratch scratch = take_product_scratch();
    const tg_linear head = {.w = w,
                            .b = b,
                            .dw = dw,
                            .db = db,
                            .in = BIG_C,
                            .out = BIG_V,
                            .transposed = true,
                            .scratch = &scratch};

    memset(dw, 0, (BIG_V * BIG_C + BIG_V) * sizeof *dw);
    tg_head_loss(losses, floats(dx, BIG_C), floats(x, BIG_C), targets, &head, 0, 0.01f, BIG_N, logits);
}

static void all_dropout(float *out)
{
    tg_dropout drop = dropping(0.1f);

    check_fill(out, BIG_N * BIG_C, 3, 1);
    tg_dropout_apply(out, &drop, BIG_N * BIG_C);
}

static void all_attention(float *out)
{
    float *qkv = randoms(BIG_N * 3 * BIG_C), *dout = randoms(BIG_N * BIG_C);
    float *lse = out + BIG_N * BIG_C, *dqkv = lse + BIG_H * BIG_N, *cached = dqkv + BIG_N * 3 * BIG_C;
    tg_kv_cache cache = take_cache(1, BIG_N, BIG_C);
    tg_dropout drop = dropping(0.1f);
    const tg_attention_scratch scratch = take_scratch(BIG_N, BIG_C / BIG_H);
    tg_attention op = {FUSED_QKV(BIG_B, BIG_T, BIG_C, BIG_H), .drop = &drop, .scratch = &scratch};

    fused_qkv_forward(out, lse, qkv, &op);
    fused_qkv_backward(dqkv, dout, out, lse, qkv, &op);
    op.B = 1;
    op.drop = NULL;
    op.cache = &cache;
    check_fill(cache.k, BIG_N * BIG_C, 8, 1);
    check_fill(cache.v, BIG_N * BIG_C, 9, 1);
    cache.past = BIG_N - BIG_T;
    fused_qkv_forward(cached, NULL, qkv, &op);
}

/* Run with 1 and with 3 threads; same bits in all that was written. */
static void check_threads(void (*op)(float *out), size_t n)
{
    float *one = nans(n), *three = nans(n);
    size_t written = 0;

    tg_threads_set(1);
    seed = 0;
    op(one);
    tg_threads_set(3);
    seed = 0;
    op(three);
    for (size_t i = 0; i < n; i++)
        written += isnan(one[i]) ? 0 : 1;
    CHECK_EQ(written, n);
    SAME(one, three, n);
    done();
}

static void threads(void)
{
    const size_t before = tg_threads(), n = BIG_N * BIG_C;

    check_threads(all_linear, BIG_N * 99 + n + BIG_C * 99 + 99);
    check_threads(all_linear_row, BIG_V + BIG_N + BIG_N * BIG_V);
    check_threads(all_layernorm, 2 * n + 2 * BIG_N + 2 * BIG_C);
    check_threads(all_gelu, 4 * n);
    check_threads(all_embedding, n + (BIG_V + BIG_T) * BIG_C);
    check_threads(all_head, BIG_N + n + BIG_V * BIG_C + BIG_V);
    check_threads(all_dropout, n);
    check_threads(all_attention, n + BIG_H * BIG_N + 3 * n + BIG_T * BIG_C);
    tg_threads_set(before);
}

static void tests(void)
{
    RUN(linear_forward);
    RUN(linear_backward);
    RUN(linear_overwrites_gradients);
    RUN(linear_backward_parameters_only);
    RUN(linear_backward_input_only);
    RUN(bias_backward_strided);
    RUN(embedding);
    RUN(layernorm);
    RUN(gelu);
    RUN(head_loss);
    RUN(dropout_share);
    RUN(dropout_is_by_element);
    RUN(dropout_of_nothing);
    RUN(attention);
    RUN(attention_without_dropout);
    RUN(attention_of_large_scores);
    RUN(attention_cached);
    RUN(cache_broadcast);
    RUN(residual);
    RUN(elementwise);
    RUN(threads);
}

int main(int argc, char **argv)
{
    return check_each_isa(argc, argv, tests);
}
