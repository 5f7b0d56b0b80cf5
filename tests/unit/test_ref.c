/*
 * The reference operations: every backward against central differences of its
 * forward in double precision, the float ones against the double ones, and the
 * identities that tie the attention variants together.  docs/numerics.md derives
 * the tolerances.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/nn/ref/ref.h"
#include "tests/unit/check.h"

#define FLOAT_EPS 0x1p-24 /* half a unit in the last place of 1 */
#define DOUBLE_EPS 0x1p-53
#define STEP 1e-5       /* truncation STEP^2 f'''/6, rounding DOUBLE_EPS |f| / STEP: both below 1e-9 here */
#define DIFFERENCE 1e-8 /* allowed between backward and central difference, relative to max(1, |d|) */
#define PRIOR 1.0       /* what is in a gradient before backward adds to it */

/* ---- the same numbers in both precisions */

typedef struct pair {
    float *f;
    double *d;
    size_t n;
} pair;

enum { POOL = 1 << 16 };
static float pool_f[POOL];
static double pool_d[POOL];
static size_t pool_used;
static uint64_t seed;

static pair take(size_t n)
{
    pair p = {pool_f + pool_used, pool_d + pool_used, n};

    if (n > POOL - pool_used)
        abort();
    pool_used += n;
    return p;
}

static void put(pair p, size_t i, float value)
{
    p.f[i] = value;
    p.d[i] = (double)value;
}

static pair constant(size_t n, float value)
{
    pair p = take(n);

    for (size_t i = 0; i < n; i++)
        put(p, i, value);
    return p;
}

static pair output(size_t n)
{
    return constant(n, NAN);
}

static pair gradient(size_t n)
{
    return constant(n, (float)PRIOR);
}

/* Random in [-1,1), exact in float. */
static pair input(size_t n)
{
    pair p = take(n);

    check_fill(p.f, n, ++seed, 1);
    for (size_t i = 0; i < n; i++)
        p.d[i] = (double)p.f[i];
    return p;
}

/* A dropout mask: one in four is 0, the others 4/3. */
static pair mask(size_t n)
{
    pair p = take(n);

    seed++;
    for (size_t i = 0; i < n; i++)
        put(p, i, check_random(seed, i) < -0.5 ? 0.0f : 4.0f / 3.0f);
    return p;
}

static const pair none = {NULL, NULL, 0};

static void start(void)
{
    pool_used = 0;
    seed = 0;
}

/* ---- the checks */

#define AGREE(p, tolerance) agree(__LINE__, #p, p, tolerance)
static void agree(int line, const char *name, pair p, double tolerance)
{
    for (size_t i = 0; i < p.n; i++)
        check_near(__FILE__, line, (double)p.f[i], p.d[i], tolerance * fmax(1, fabs(p.d[i])), name);
}

#define SAME(a, b)                                                                                           \
    CHECK(memcmp((a).f, (b).f, (a).n * sizeof *(a).f) == 0 &&                                                \
          memcmp((a).d, (b).d, (a).n * sizeof *(a).d) == 0)

/* dx (less PRIOR) against (loss(x + STEP) - loss(x - STEP)) / 2 STEP, for every x. */
#define DIFFERENTIATE(loss, problem, x, dx) differentiate(__LINE__, #dx, loss, problem, x, dx)
static void differentiate(int line, const char *name, double (*loss)(const void *), const void *problem,
                          pair x, pair dx)
{
    for (size_t i = 0; i < x.n; i++) {
        double at = x.d[i], up, down;

        x.d[i] = at + STEP;
        up = loss(problem);
        x.d[i] = at - STEP;
        down = loss(problem);
        x.d[i] = at;
        check_near(__FILE__, line, dx.d[i] - PRIOR, (up - down) / (2 * STEP),
                   DIFFERENCE * fmax(1, fabs(dx.d[i] - PRIOR)), name);
    }
}

/* The scalar that is differentiated: sum of out * dout, whose gradient is dout. */
static double dot(pair out, pair dout)
{
    double sum = 0;

    for (size_t i = 0; i < out.n; i++)
        sum += out.d[i] * dout.d[i];
    return sum;
}

/* ---- embedding */

struct embedding {
    int32_t ids[6];
    pair wte, wpe, out, dout;
};

static double embedding_loss(const void *problem)
{
    const struct embedding *p = problem;

    tg_embedding_forward_ref64(p->out.d, p->ids, p->wte.d, p->wpe.d, 2, 3, 4);
    return dot(p->out, p->dout);
}

static void embedding(void)
{
    start();
    struct embedding p = {{4, 0, 4, 1, 4, 0}, input(5 * 4), input(7 * 4), output(24), input(24)};
    pair dwte = gradient(p.wte.n), dwpe = gradient(p.wpe.n);

    tg_embedding_forward_ref(p.out.f, p.ids, p.wte.f, p.wpe.f, 2, 3, 4);
    tg_embedding_backward_ref(dwte.f, dwpe.f, p.dout.f, p.ids, 2, 3, 4);
    embedding_loss(&p);
    tg_embedding_backward_ref64(dwte.d, dwpe.d, p.dout.d, p.ids, 2, 3, 4);
    CHECK(p.out.f[(1 * 3 + 2) * 4 + 1] == p.wte.f[0 * 4 + 1] + p.wpe.f[2 * 4 + 1]);
    AGREE(p.out, FLOAT_EPS);
    AGREE(dwte, 4 * FLOAT_EPS * 4); /* at most 4 additions, of sums below 4 */
    AGREE(dwpe, 3 * FLOAT_EPS * 3);
    DIFFERENTIATE(embedding_loss, &p, p.wte, dwte);
    DIFFERENTIATE(embedding_loss, &p, p.wpe, dwpe);
}

/* ---- linear */

enum { N = 5, IN = 4, OUT = 3 };

struct linear {
    pair x, w, b, out, dout;
};

static double linear_loss(const void *problem)
{
    const struct linear *p = problem;

    tg_linear_forward_ref64(p->out.d, p->x.d, p->w.d, p->b.d, N, IN, OUT);
    return dot(p->out, p->dout);
}

static void check_linear(bool with_bias)
{
    start();
    struct linear p = {input(N * IN), input(IN * OUT), with_bias ? input(OUT) : none, output(N * OUT),
                       input(N * OUT)};
    pair dx = gradient(p.x.n), dw = gradient(p.w.n), db = with_bias ? gradient(OUT) : none;

    tg_linear_forward_ref(p.out.f, p.x.f, p.w.f, p.b.f, N, IN, OUT);
    tg_linear_backward_ref(dx.f, dw.f, db.f, p.dout.f, p.x.f, p.w.f, N, IN, OUT);
    linear_loss(&p);
    tg_linear_backward_ref64(dx.d, dw.d, db.d, p.dout.d, p.x.d, p.w.d, N, IN, OUT);

    /* K products and one addition, all partial sums below K + 1 */
    AGREE(p.out, (2 * IN + 1) * FLOAT_EPS * (IN + 1));
    AGREE(dx, (2 * OUT + 1) * FLOAT_EPS * (OUT + 1));
    AGREE(dw, (2 * N + 1) * FLOAT_EPS * (N + 1));
    AGREE(db, (N + 1) * FLOAT_EPS * (N + 1));
    DIFFERENTIATE(linear_loss, &p, p.x, dx);
    DIFFERENTIATE(linear_loss, &p, p.w, dw);
    DIFFERENTIATE(linear_loss, &p, p.b, db);
}

static void linear(void)
{
    check_linear(true);
}

static void linear_without_bias(void)
{
    check_linear(false);
}

static void linear_by_hand(void)
{
    const double x[2 * 2] = {1, 2, 3, 4}, w[2 * 3] = {1, 0, -1, 2, 5, 0}, b[3] = {10, 20, 30};
    const double want[2 * 3] = {15, 30, 29, 21, 40, 27};
    double out[6];

    tg_linear_forward_ref64(out, x, w, b, 2, 2, 3);
    for (size_t i = 0; i < 6; i++)
        CHECK(out[i] == want[i]);
}

/* The same sums with the matrix transposed, so the same bits. */
static void linear_transposed(void)
{
    start();
    pair x = input(N * IN), w = input(IN * OUT), b = input(OUT), t = take(IN * OUT);
    pair out = output(N * OUT), out2 = output(N * OUT);

    for (size_t c = 0; c < IN; c++)
        for (size_t o = 0; o < OUT; o++)
            put(t, o * IN + c, w.f[c * OUT + o]);
    for (int with_bias = 0; with_bias < 2; with_bias++) {
        tg_linear_forward_ref(out.f, x.f, w.f, with_bias ? b.f : NULL, N, IN, OUT);
        tg_linear_forward_ref64(out.d, x.d, w.d, with_bias ? b.d : NULL, N, IN, OUT);
        tg_linear_transposed_forward_ref(out2.f, x.f, t.f, with_bias ? b.f : NULL, N, IN, OUT);
        tg_linear_transposed_forward_ref64(out2.d, x.d, t.d, with_bias ? b.d : NULL, N, IN, OUT);
        SAME(out, out2);
    }
}

/* ---- slice */

static void slice(void)
{
    start();
    pair x = input(3 * 7), out = output(3 * 2), dout = input(3 * 2), dx = gradient(3 * 7);

    tg_slice_forward_ref(out.f, x.f, 3, 7, 4, 2);
    tg_slice_forward_ref64(out.d, x.d, 3, 7, 4, 2);
    tg_slice_backward_ref(dx.f, dout.f, 3, 7, 4, 2);
    tg_slice_backward_ref64(dx.d, dout.d, 3, 7, 4, 2);
    for (size_t n = 0; n < 3; n++) {
        for (size_t c = 0; c < 7; c++) {
            bool inside = c >= 4 && c < 6;

            if (inside)
                CHECK(out.d[n * 2 + c - 4] == x.d[n * 7 + c]);
            CHECK(dx.d[n * 7 + c] == (inside ? PRIOR + dout.d[n * 2 + c - 4] : PRIOR));
        }
    }
    AGREE(out, 0);
    AGREE(dx, FLOAT_EPS);
}

/* ---- layernorm */

#define LN_EPS 1e-5
enum { ROWS = 4, WIDTH = 6 };

struct layernorm {
    pair x, w, b, out, mean, rstd, dout;
};

static double layernorm_loss(const void *problem)
{
    const struct layernorm *p = problem;

    tg_layernorm_forward_ref64(p->out.d, p->mean.d, p->rstd.d, p->x.d, p->w.d, p->b.d, ROWS, WIDTH, LN_EPS);
    return dot(p->out, p->dout);
}

static void check_layernorm(bool with_w, bool with_b)
{
    start();
    struct layernorm p = {
        input(ROWS * WIDTH),
        with_w ? input(WIDTH) : none,
        with_b ? input(WIDTH) : none,
        output(ROWS * WIDTH),
        output(ROWS),
        output(ROWS),
        input(ROWS * WIDTH),
    };
    pair dx = gradient(p.x.n), dw = with_w ? gradient(WIDTH) : none, db = with_b ? gradient(WIDTH) : none;
    double most = 0;

    tg_layernorm_forward_ref(p.out.f, p.mean.f, p.rstd.f, p.x.f, p.w.f, p.b.f, ROWS, WIDTH, (float)LN_EPS);
    tg_layernorm_backward_ref(dx.f, dw.f, db.f, p.dout.f, p.mean.f, p.rstd.f, p.x.f, p.w.f, ROWS, WIDTH);
    layernorm_loss(&p);
    tg_layernorm_backward_ref64(dx.d, dw.d, db.d, p.dout.d, p.mean.d, p.rstd.d, p.x.d, p.w.d, ROWS, WIDTH);

    /* two sums of WIDTH, then a few operations on what rstd magnifies */
    for (size_t n = 0; n < ROWS; n++)
        most = fmax(most, p.rstd.d[n]);
    AGREE(p.mean, (WIDTH + 1) * FLOAT_EPS);
    AGREE(p.rstd, (2 * WIDTH + 4) * FLOAT_EPS);
    AGREE(p.out, (2 * WIDTH + 8) * FLOAT_EPS * most);
    AGREE(dx, (4 * WIDTH + 12) * FLOAT_EPS * most * most);
    AGREE(dw, (2 * WIDTH + 8 + ROWS) * FLOAT_EPS * most * ROWS);
    AGREE(db, (ROWS + 1) * FLOAT_EPS * (ROWS + 1));
    DIFFERENTIATE(layernorm_loss, &p, p.x, dx);
    DIFFERENTIATE(layernorm_loss, &p, p.w, dw);
    DIFFERENTIATE(layernorm_loss, &p, p.b, db);
}

static void layernorm(void)
{
    check_layernorm(true, true);
}

static void layernorm_without_affine(void)
{
    check_layernorm(false, false);
    check_layernorm(true, false);
    check_layernorm(false, true);
}

/* Mean 0 and (biased) variance var/(var + eps); a constant row becomes the bias. */
static void layernorm_normalises(void)
{
    const double x[2 * 4] = {1, 2, 3, 4, 7, 7, 7, 7}, b[4] = {0.5, -1, 0, 2};
    double out[8], mean[2], rstd[2], sum = 0, squares = 0;

    tg_layernorm_forward_ref64(out, mean, rstd, x, NULL, NULL, 2, 4, LN_EPS);
    for (size_t c = 0; c < 4; c++) {
        sum += out[c];
        squares += out[c] * out[c];
    }
    CHECK_NEAR(mean[0], 2.5, 1e-15);
    CHECK_NEAR(rstd[0], 1 / sqrt(1.25 + LN_EPS), 1e-15);
    CHECK_NEAR(sum, 0, 1e-15);
    CHECK_NEAR(squares / 4, 1.25 / (1.25 + LN_EPS), 1e-15);
    CHECK_NEAR(rstd[1], 1 / sqrt(LN_EPS), 1e-12);

    tg_layernorm_forward_ref64(out, mean, rstd, x, NULL, b, 2, 4, LN_EPS);
    for (size_t c = 0; c < 4; c++)
        CHECK(out[4 + c] == b[c]);
}

/* ---- gelu */

struct gelu {
    tg_activation kind;
    pair x, out, dout;
};

static double gelu_loss(const void *problem)
{
    const struct gelu *p = problem;

    tg_activation_forward_ref64(p->out.d, p->x.d, p->x.n, p->kind);
    return dot(p->out, p->dout);
}

static void check_gelu(tg_activation kind)
{
    start();
    struct gelu p = {kind, input(401), output(401), input(401)};
    pair dx = gradient(401);

    for (size_t i = 0; i < 401; i++) /* -10 ... 10, without 0, where relu2 has no second derivative */
        put(p.x, i, ((float)i - 199.5f) * 0.05f);
    tg_activation_forward_ref(p.out.f, p.x.f, 401, kind);
    tg_activation_backward_ref(dx.f, p.dout.f, p.x.f, 401, kind);
    gelu_loss(&p);
    tg_activation_backward_ref64(dx.d, p.dout.d, p.x.d, 401, kind);

    /* 1 + tanh loses digits below x = 0, where |x| <= 10 magnifies them */
    AGREE(p.out, 8 * FLOAT_EPS);
    AGREE(dx, 16 * FLOAT_EPS);
    DIFFERENTIATE(gelu_loss, &p, p.x, dx);
}

static void gelu_tanh(void)
{
    check_gelu(TG_GELU_TANH);
}

static void gelu_erf(void)
{
    check_gelu(TG_GELU_ERF);
}

static void silu(void)
{
    check_gelu(TG_SILU);
}

static void relu2(void)
{
    check_gelu(TG_RELU2);
}

/* 0.5 (1 + erf(1/sqrt 2)) is the normal distribution at 1; far out it is 0 or x. */
static void gelu_values(void)
{
    const double x[5] = {1, -1, 0, 40, -40};
    const double erf_form[5] = {0.84134474606854293, -0.15865525393145707, 0, 40, 0};
    const double silu_form[5] = {0.73105857863000490, -0.26894142136999513, 0, 40, 0};
    const double square_form[5] = {1, 0, 0, 1600, 0};
    const double tanh_form[5] = {0.84119199060827670, -0.15880800939172324, 0, 40, 0};
    double out[5];

    tg_activation_forward_ref64(out, x, 5, TG_GELU_ERF);
    for (size_t i = 0; i < 5; i++)
        CHECK_NEAR(out[i], erf_form[i], 1e-15);
    tg_activation_forward_ref64(out, x, 5, TG_GELU_TANH);
    for (size_t i = 0; i < 5; i++)
        CHECK_NEAR(out[i], tanh_form[i], 1e-15);
    tg_activation_forward_ref64(out, x, 5, TG_SILU);
    for (size_t i = 0; i < 5; i++)
        CHECK_NEAR(out[i], silu_form[i], 1e-15);
    tg_activation_forward_ref64(out, x, 5, TG_RELU2);
    for (size_t i = 0; i < 5; i++)
        CHECK(out[i] == square_form[i]);
}

/* ---- softcap */

struct softcap {
    double cap;
    pair x, out, dout;
};

static double softcap_loss(const void *problem)
{
    const struct softcap *p = problem;

    tg_softcap_forward_ref64(p->out.d, p->x.d, p->x.n, p->cap);
    return dot(p->out, p->dout);
}

static void softcap(void)
{
    start();
    struct softcap p = {2.5, input(401), output(401), input(401)};
    pair dx = gradient(401);

    for (size_t i = 0; i < 401; i++) /* -10 ... 10 */
        put(p.x, i, ((float)i - 200) * 0.05f);
    tg_softcap_forward_ref(p.out.f, p.x.f, 401, p.cap);
    tg_softcap_backward_ref(dx.f, p.dout.f, p.out.f, 401, p.cap);
    softcap_loss(&p);
    CHECK_NEAR(p.out.d[200 + 50], 2.5 * tanh(1), 1e-15);
    tg_softcap_backward_ref64(dx.d, p.dout.d, p.out.d, 401, p.cap);
    AGREE(p.out, 8 * FLOAT_EPS);
    AGREE(dx, 16 * FLOAT_EPS);
    DIFFERENTIATE(softcap_loss, &p, p.x, dx);
}

/* ---- softmax */

struct softmax {
    pair x, out, dout;
};

static double softmax_loss(const void *problem)
{
    const struct softmax *p = problem;

    tg_softmax_forward_ref64(p->out.d, p->x.d, 3, 7);
    return dot(p->out, p->dout);
}

static void softmax(void)
{
    start();
    struct softmax p = {input(21), output(21), input(21)};
    pair dx = gradient(21);

    tg_softmax_forward_ref(p.out.f, p.x.f, 3, 7);
    tg_softmax_backward_ref(dx.f, p.dout.f, p.out.f, 3, 7);
    softmax_loss(&p);
    tg_softmax_backward_ref64(dx.d, p.dout.d, p.out.d, 3, 7);
    AGREE(p.out, (7 + 4) * FLOAT_EPS);
    AGREE(dx, (3 * 7 + 8) * FLOAT_EPS);
    DIFFERENTIATE(softmax_loss, &p, p.x, dx);
}

/* Sums to one, does not overflow, does not mind a shift, works in place. */
static void softmax_properties(void)
{
    const double far[3] = {1e4, -1e4, 1e4}, near[3] = {0.1, 0.2, 0.4}, shifted[3] = {800.1, 800.2, 800.4};
    double a[3], b[3];

    tg_softmax_row_ref64(a, far, 3);
    CHECK(a[0] == 0.5 && a[1] == 0 && a[2] == 0.5);
    tg_softmax_row_ref64(a, near, 3);
    CHECK_NEAR(a[0] + a[1] + a[2], 1, 4 * DOUBLE_EPS);
    CHECK_NEAR(log(a[2] / a[0]), 0.3, 1e-15);
    tg_softmax_row_ref64(b, shifted, 3);
    memcpy(a, near, sizeof a);
    tg_softmax_row_ref64(a, a, 3);
    for (size_t i = 0; i < 3; i++)
        CHECK_NEAR(a[i], b[i], 4 * 800 * DOUBLE_EPS); /* the shifted scores are rounded */
}

/* ---- crossentropy */

struct crossentropy {
    int32_t targets[4];
    pair x, losses, dlosses;
};

static double crossentropy_loss(const void *problem)
{
    const struct crossentropy *p = problem;

    tg_crossentropy_forward_ref64(p->losses.d, p->x.d, p->targets, 4, 6);
    return dot(p->losses, p->dlosses);
}

static void crossentropy(void)
{
    start();
    struct crossentropy p = {{5, 0, -1, 3}, input(24), output(4), input(4)};
    pair dx = gradient(24);

    tg_crossentropy_forward_ref(p.losses.f, p.x.f, p.targets, 4, 6);
    tg_crossentropy_backward_ref(dx.f, p.dlosses.f, p.x.f, p.targets, 4, 6);
    crossentropy_loss(&p);
    tg_crossentropy_backward_ref64(dx.d, p.dlosses.d, p.x.d, p.targets, 4, 6);
    AGREE(p.losses, (6 + 8) * FLOAT_EPS);
    AGREE(dx, (6 + 8) * FLOAT_EPS);
    CHECK(p.losses.d[2] == 0);
    for (size_t v = 0; v < 6; v++)
        CHECK(dx.d[2 * 6 + v] == PRIOR);
    DIFFERENTIATE(crossentropy_loss, &p, p.x, dx);
}

/* Equal logits: log V.  A certain one: 0.  One that is 1e4 too small: 1e4. */
static void crossentropy_values(void)
{
    const double logits[3 * 4] = {3, 3, 3, 3, 1e4, 0, 0, 0, 1e4, 0, 0, 0};
    const int32_t targets[3] = {2, 0, 1};
    double losses[3];

    tg_crossentropy_forward_ref64(losses, logits, targets, 3, 4);
    CHECK_NEAR(losses[0], log(4.0), 8 * DOUBLE_EPS);
    CHECK(losses[1] == 0);
    CHECK(losses[2] == 1e4);
}

/* ---- dropout */

struct dropout {
    pair x, keep, out, dout;
};

static double dropout_loss(const void *problem)
{
    const struct dropout *p = problem;

    tg_dropout_forward_ref64(p->out.d, p->x.d, p->keep.d, 9);
    return dot(p->out, p->dout);
}

static void dropout(void)
{
    start();
    struct dropout p = {input(9), mask(9), output(9), input(9)};
    pair dx = gradient(9);

    tg_dropout_forward_ref(p.out.f, p.x.f, p.keep.f, 9);
    tg_dropout_backward_ref(dx.f, p.dout.f, p.keep.f, 9);
    dropout_loss(&p);
    tg_dropout_backward_ref64(dx.d, p.dout.d, p.keep.d, 9);
    AGREE(p.out, FLOAT_EPS);
    AGREE(dx, 3 * FLOAT_EPS);
    DIFFERENTIATE(dropout_loss, &p, p.x, dx);
}

/* ---- attention cores */

enum { B = 2, T = 5, H = 3, D = 2, C = H * D };

/* Error of one score: a product sum of D terms and a division; of a probability: its
 * scores, then a sum of T; of att: its probabilities, then a sum of T.  All values
 * are below sqrt(D); backward makes about twice as many steps. */
#define CORE_TOLERANCE ((2 * C + 4 * T + 12) * FLOAT_EPS * 2)

struct core {
    bool one_head;
    pair q, k, v, keep, scores, probs, att, datt;
};

static double core_loss(const void *problem)
{
    const struct core *p = problem;

    if (p->one_head)
        tg_attention_1h_forward_ref64(p->att.d, p->probs.d, p->scores.d, p->q.d, p->k.d, p->v.d, B, T, C);
    else
        tg_attention_mha_forward_ref64(p->att.d, p->probs.d, p->scores.d, p->q.d, p->k.d, p->v.d, p->keep.d,
                                       B, T, H, D);
    return dot(p->att, p->datt);
}

/* Masked scores and probabilities have their values, and no gradient flows through them. */
static void check_mask(const struct core *p, pair dprobs, pair dscores)
{
    for (size_t s = 0; s < p->scores.n; s++) {
        size_t i = s / T % T, j = s % T;

        if (j <= i)
            continue;
        CHECK(p->scores.f[s] == -1e9f && p->scores.d[s] == -1e9);
        CHECK(p->probs.f[s] == 0 && p->probs.d[s] == 0);
        CHECK(dprobs.f[s] == 0 && dprobs.d[s] == 0 && dscores.f[s] == 0 && dscores.d[s] == 0);
    }
}

static void check_core(bool one_head, bool with_keep)
{
    start();
    size_t square = B * (one_head ? 1 : H) * T * T;
    struct core p = {
        one_head,
        input(B * T * C),
        input(B * T * C),
        input(B * T * C),
        with_keep ? mask(square) : none,
        output(square),
        output(square),
        output(B * T * C),
        input(B * T * C),
    };
    pair dq = gradient(p.q.n), dk = gradient(p.k.n), dv = gradient(p.v.n);
    pair dprobs = output(square), dscores = output(square);

    core_loss(&p);
    if (one_head) {
        tg_attention_1h_forward_ref(p.att.f, p.probs.f, p.scores.f, p.q.f, p.k.f, p.v.f, B, T, C);
        tg_attention_1h_backward_ref(dq.f, dk.f, dv.f, dprobs.f, dscores.f, p.datt.f, p.probs.f, p.q.f, p.k.f,
                                     p.v.f, B, T, C);
        tg_attention_1h_backward_ref64(dq.d, dk.d, dv.d, dprobs.d, dscores.d, p.datt.d, p.probs.d, p.q.d,
                                       p.k.d, p.v.d, B, T, C);
    } else {
        tg_attention_mha_forward_ref(p.att.f, p.probs.f, p.scores.f, p.q.f, p.k.f, p.v.f, p.keep.f, B, T, H,
                                     D);
        tg_attention_mha_backward_ref(dq.f, dk.f, dv.f, dprobs.f, dscores.f, p.datt.f, p.probs.f, p.q.f,
                                      p.k.f, p.v.f, p.keep.f, B, T, H, D);
        tg_attention_mha_backward_ref64(dq.d, dk.d, dv.d, dprobs.d, dscores.d, p.datt.d, p.probs.d, p.q.d,
                                        p.k.d, p.v.d, p.keep.d, B, T, H, D);
    }
    check_mask(&p, dprobs, dscores);
    AGREE(p.scores, CORE_TOLERANCE);
    AGREE(p.probs, CORE_TOLERANCE);
    AGREE(p.att, CORE_TOLERANCE);
    AGREE(dq, 2 * CORE_TOLERANCE);
    AGREE(dk, 2 * CORE_TOLERANCE);
    AGREE(dv, 2 * CORE_TOLERANCE);
    DIFFERENTIATE(core_loss, &p, p.q, dq);
    DIFFERENTIATE(core_loss, &p, p.k, dk);
    DIFFERENTIATE(core_loss, &p, p.v, dv);
}

static void attention_1h(void)
{
    check_core(true, false);
}

static void attention_mha(void)
{
    check_core(false, false);
}

static void attention_mha_dropout(void)
{
    check_core(false, true);
}

/* ---- heads that share keys */

/* to [B,T,heads,D] has for each head what it reads of from [B,T,KV,D]. */
static void copy_heads(pair to, pair from, size_t heads, size_t KV)
{
    for (size_t n = 0; n < B * T; n++)
        for (size_t h = 0; h < heads; h++)
            for (size_t d = 0; d < D; d++)
                put(to, (n * heads + h) * D + d, from.f[(n * KV + h / (heads / KV)) * D + d]);
}

/* As many heads of keys as of queries, whose copies are shared: the same sums, so the same bits. */
static void attention_gqa(void)
{
    enum { HEADS = 6 };
    const tg_attention_rule none_of_it = {0, 0, 0};

    for (size_t KV = 1; KV <= HEADS; KV++) {
        if (HEADS % KV != 0)
            continue;
        start();
        size_t n = B * T * HEADS * D, square = B * HEADS * T * T;
        pair q = input(n), k = input(B * T * KV * D), v = input(B * T * KV * D), all_k = take(n),
             all_v = take(n);
        pair att = output(n), probs = output(square), scores = output(square);
        pair att2 = output(n), probs2 = output(square), scores2 = output(square);

        copy_heads(all_k, k, HEADS, KV);
        copy_heads(all_v, v, HEADS, KV);
        tg_attention_mha_forward_ref(att.f, probs.f, scores.f, q.f, all_k.f, all_v.f, NULL, B, T, HEADS, D);
        tg_attention_mha_forward_ref64(att.d, probs.d, scores.d, q.d, all_k.d, all_v.d, NULL, B, T, HEADS, D);
        tg_attention_gqa_forward_ref(att2.f, probs2.f, scores2.f, q.f, k.f, v.f, &none_of_it, B, T, HEADS, KV,
                                     D);
        tg_attention_gqa_forward_ref64(att2.d, probs2.d, scores2.d, q.d, k.d, v.d, &none_of_it, B, T, HEADS,
                                       KV, D);
        SAME(scores, scores2);
        SAME(probs, probs2);
        SAME(att, att2);
    }
}

/* A scale, a cap and a window: each row by the definition. */
static void attention_gqa_by_a_rule(void)
{
    const tg_attention_rule rule = {0.9, 1.5, 2};

    start();
    pair q = input(B * T * C), k = input(B * T * D), v = input(B * T * D);
    pair att = output(B * T * C), probs = output(B * H * T * T), scores = output(B * H * T * T);

    tg_attention_gqa_forward_ref64(att.d, probs.d, scores.d, q.d, k.d, v.d, &rule, B, T, H, 1, D);
    for (size_t n = 0; n < B * H * T; n++) {
        const size_t b = n / (H * T), h = n / T % H, i = n % T, first = i > 0 ? i - 1 : 0;
        double sum = 0, s[T], want[D] = {0};

        for (size_t j = first; j <= i; j++) {
            double product = 0;

            for (size_t d = 0; d < D; d++)
                product += q.d[((b * T + i) * H + h) * D + d] * k.d[(b * T + j) * D + d];
            s[j] = 1.5 * tanh(0.9 * product / 1.5);
            sum += exp(s[j]);
        }
        for (size_t j = 0; j < T; j++) {
            const bool seen = j >= first && j <= i;

            CHECK(seen ? fabs(scores.d[n * T + j] - s[j]) < 1e-14 : scores.d[n * T + j] == TG_MASKED);
            CHECK(seen ? fabs(probs.d[n * T + j] - exp(s[j]) / sum) < 1e-14 : probs.d[n * T + j] == 0);
            for (size_t d = 0; seen && d < D; d++)
                want[d] += exp(s[j]) / sum * v.d[(b * T + j) * D + d];
        }
        for (size_t d = 0; d < D; d++)
            CHECK_NEAR(att.d[((b * T + i) * H + h) * D + d], want[d], 1e-14);
    }
}

/* ---- the transposed layout */

/* to[b,h,t,d] = from[b,t,h,d] */
static void transpose(pair to, pair from)
{
    for (size_t b = 0; b < B; b++)
        for (size_t t = 0; t < T; t++)
            for (size_t h = 0; h < H; h++)
                for (size_t d = 0; d < D; d++) {
                    size_t bhtd = ((b * H + h) * T + t) * D + d, bthd = ((b * T + t) * H + h) * D + d;

                    to.f[bhtd] = from.f[bthd];
                    to.d[bhtd] = from.d[bthd];
                }
}

/* [B,H,T,D] is B*H sequences with one head of D each: the same sums, so the same bits. */
static void transposed_layout(void)
{
    start();
    size_t n = B * T * C, square = B * H * T * T;
    pair q = input(n), k = input(n), v = input(n), datt = input(n);
    pair att = output(n), probs = output(square), scores = output(square), dprobs = output(square),
         dscores = output(square), dq = gradient(n), dk = gradient(n), dv = gradient(n);
    pair tq = take(n), tk = take(n), tv = take(n), tdatt = take(n);
    pair att2 = output(n), probs2 = output(square), scores2 = output(square), dprobs2 = output(square),
         dscores2 = output(square), dq2 = gradient(n), dk2 = gradient(n), dv2 = gradient(n);
    pair t = take(n);

    tg_attention_mha_forward_ref(att.f, probs.f, scores.f, q.f, k.f, v.f, NULL, B, T, H, D);
    tg_attention_mha_forward_ref64(att.d, probs.d, scores.d, q.d, k.d, v.d, NULL, B, T, H, D);
    tg_attention_mha_backward_ref(dq.f, dk.f, dv.f, dprobs.f, dscores.f, datt.f, probs.f, q.f, k.f, v.f, NULL,
                                  B, T, H, D);
    tg_attention_mha_backward_ref64(dq.d, dk.d, dv.d, dprobs.d, dscores.d, datt.d, probs.d, q.d, k.d, v.d,
                                    NULL, B, T, H, D);
    transpose(tq, q);
    transpose(tk, k);
    transpose(tv, v);
    transpose(tdatt, datt);
    tg_attention_1h_forward_ref(att2.f, probs2.f, scores2.f, tq.f, tk.f, tv.f, B * H, T, D);
    tg_attention_1h_forward_ref64(att2.d, probs2.d, scores2.d, tq.d, tk.d, tv.d, B * H, T, D);
    tg_attention_1h_backward_ref(dq2.f, dk2.f, dv2.f, dprobs2.f, dscores2.f, tdatt.f, probs2.f, tq.f, tk.f,
                                 tv.f, B * H, T, D);
    tg_attention_1h_backward_ref64(dq2.d, dk2.d, dv2.d, dprobs2.d, dscores2.d, tdatt.d, probs2.d, tq.d, tk.d,
                                   tv.d, B * H, T, D);
    SAME(scores, scores2);
    SAME(probs, probs2);
    SAME(dprobs, dprobs2);
    SAME(dscores, dscores2);
    transpose(t, att);
    SAME(t, att2);
    transpose(t, dq);
    SAME(t, dq2);
    transpose(t, dk);
    SAME(t, dk2);
    transpose(t, dv);
    SAME(t, dv2);
}

/* ---- the sublayer under a cross-entropy */

enum { V = 7 };

/* loss = sum over rows of dlosses * crossentropy(self_attention(x) w_lm, targets) */
struct sublayer {
    size_t H; /* 0: the single-head variant */
    bool bias;
    pair x, w_qkv, b_qkv, w_proj, b_proj, keep, w_lm;
    int32_t targets[B * T];
    pair dlosses;
    /* forward */
    tg_attention_buffers_ref f;
    tg_attention_buffers_ref64 f64;
    pair out, logits, losses;
    /* backward */
    tg_attention_buffers_ref d;
    tg_attention_buffers_ref64 d64;
    pair dlogits, dout, dw_lm, dx, dw_qkv, db_qkv, dw_proj, db_proj;
};

static void place_buffers(tg_attention_buffers_ref *f, tg_attention_buffers_ref64 *d, size_t heads)
{
    pair qkv = output(B * T * 3 * C), q = output(B * T * C), k = output(B * T * C), v = output(B * T * C),
         scores = output(B * heads * T * T), probs = output(B * heads * T * T), att = output(B * T * C);

    *f = (tg_attention_buffers_ref){qkv.f, q.f, k.f, v.f, scores.f, probs.f, att.f};
    *d = (tg_attention_buffers_ref64){qkv.d, q.d, k.d, v.d, scores.d, probs.d, att.d};
}

static struct sublayer make_sublayer(size_t heads, bool bias, bool with_keep)
{
    struct sublayer s = {.H = heads, .bias = bias};

    seed = 100;
    s.x = input(B * T * C);
    s.w_qkv = input(C * 3 * C);
    s.b_qkv = bias ? input(3 * C) : none;
    s.w_proj = input(C * C);
    s.b_proj = bias ? input(C) : none;
    s.w_lm = input(C * V);
    s.dlosses = input(B * T);
    s.keep = with_keep ? mask(B * heads * T * T) : none;
    for (size_t n = 0; n < B * T; n++)
        s.targets[n] = (int32_t)(n * 3 % V);
    place_buffers(&s.f, &s.f64, heads ? heads : 1);
    place_buffers(&s.d, &s.d64, heads ? heads : 1);
    s.out = output(B * T * C);
    s.logits = output(B * T * V);
    s.losses = output(B * T);
    s.dlogits = constant(B * T * V, 0);
    s.dout = constant(B * T * C, 0);
    s.dw_lm = gradient(C * V);
    s.dx = gradient(s.x.n);
    s.dw_qkv = gradient(s.w_qkv.n);
    s.db_qkv = bias ? gradient(3 * C) : none;
    s.dw_proj = gradient(s.w_proj.n);
    s.db_proj = bias ? gradient(C) : none;
    return s;
}

static double sublayer_loss(const void *problem)
{
    const struct sublayer *s = problem;

    if (s->H == 0)
        tg_self_attention_1h_forward_ref64(s->out.d, &s->f64, s->x.d, s->w_qkv.d, s->b_qkv.d, s->w_proj.d,
                                           s->b_proj.d, B, T, C);
    else
        tg_self_attention_mha_forward_ref64(s->out.d, &s->f64, s->x.d, s->w_qkv.d, s->b_qkv.d, s->w_proj.d,
                                            s->b_proj.d, s->keep.d, B, T, s->H, C / s->H);
    tg_linear_forward_ref64(s->logits.d, s->out.d, s->w_lm.d, NULL, B * T, C, V);
    tg_crossentropy_forward_ref64(s->losses.d, s->logits.d, s->targets, B * T, V);
    return dot(s->losses, s->dlosses);
}

static void sublayer_backward(const struct sublayer *s)
{
    tg_crossentropy_backward_ref64(s->dlogits.d, s->dlosses.d, s->logits.d, s->targets, B * T, V);
    tg_linear_backward_ref64(s->dout.d, s->dw_lm.d, NULL, s->dlogits.d, s->out.d, s->w_lm.d, B * T, C, V);
    if (s->H == 0)
        tg_self_attention_1h_backward_ref64(s->dx.d, s->dw_qkv.d, s->db_qkv.d, s->dw_proj.d, s->db_proj.d,
                                            &s->d64, s->dout.d, &s->f64, s->x.d, s->w_qkv.d, s->w_proj.d, B,
                                            T, C);
    else
        tg_self_attention_mha_backward_ref64(s->dx.d, s->dw_qkv.d, s->db_qkv.d, s->dw_proj.d, s->db_proj.d,
                                             &s->d64, s->dout.d, &s->f64, s->x.d, s->w_qkv.d, s->w_proj.d,
                                             s->keep.d, B, T, s->H, C / s->H);
}

/* The same pass in float. */
static void sublayer_float(const struct sublayer *s)
{
    if (s->H == 0)
        tg_self_attention_1h_forward_ref(s->out.f, &s->f, s->x.f, s->w_qkv.f, s->b_qkv.f, s->w_proj.f,
                                         s->b_proj.f, B, T, C);
    else
        tg_self_attention_mha_forward_ref(s->out.f, &s->f, s->x.f, s->w_qkv.f, s->b_qkv.f, s->w_proj.f,
                                          s->b_proj.f, s->keep.f, B, T, s->H, C / s->H);
    tg_linear_forward_ref(s->logits.f, s->out.f, s->w_lm.f, NULL, B * T, C, V);
    tg_crossentropy_forward_ref(s->losses.f, s->logits.f, s->targets, B * T, V);
    tg_crossentropy_backward_ref(s->dlogits.f, s->dlosses.f, s->logits.f, s->targets, B * T, V);
    tg_linear_backward_ref(s->dout.f, s->dw_lm.f, NULL, s->dlogits.f, s->out.f, s->w_lm.f, B * T, C, V);
    if (s->H == 0)
        tg_self_attention_1h_backward_ref(s->dx.f, s->dw_qkv.f, s->db_qkv.f, s->dw_proj.f, s->db_proj.f,
                                          &s->d, s->dout.f, &s->f, s->x.f, s->w_qkv.f, s->w_proj.f, B, T, C);
    else
        tg_self_attention_mha_backward_ref(s->dx.f, s->dw_qkv.f, s->db_qkv.f, s->dw_proj.f, s->db_proj.f,
                                           &s->d, s->dout.f, &s->f, s->x.f, s->w_qkv.f, s->w_proj.f,
                                           s->keep.f, B, T, s->H, C / s->H);
}

/* Five products in a row, each of about C terms, between values of up to about C:
 * 5 C roundings, magnified by the weights. */
#define SUBLAYER_TOLERANCE (5 * C * FLOAT_EPS * 4)

static void check_sublayer(size_t heads, bool bias, bool with_keep)
{
    start();
    struct sublayer s = make_sublayer(heads, bias, with_keep);

    sublayer_float(&s);
    sublayer_loss(&s);
    sublayer_backward(&s);
    AGREE(s.out, SUBLAYER_TOLERANCE);
    AGREE(s.losses, SUBLAYER_TOLERANCE);
    AGREE(s.dx, SUBLAYER_TOLERANCE);
    AGREE(s.dw_qkv, SUBLAYER_TOLERANCE);
    AGREE(s.db_qkv, SUBLAYER_TOLERANCE);
    AGREE(s.dw_proj, SUBLAYER_TOLERANCE);
    AGREE(s.db_proj, SUBLAYER_TOLERANCE);
    DIFFERENTIATE(sublayer_loss, &s, s.x, s.dx);
    DIFFERENTIATE(sublayer_loss, &s, s.w_qkv, s.dw_qkv);
    DIFFERENTIATE(sublayer_loss, &s, s.b_qkv, s.db_qkv);
    DIFFERENTIATE(sublayer_loss, &s, s.w_proj, s.dw_proj);
    DIFFERENTIATE(sublayer_loss, &s, s.b_proj, s.db_proj);
    DIFFERENTIATE(sublayer_loss, &s, s.w_lm, s.dw_lm);
}

static void self_attention_1h(void)
{
    check_sublayer(0, true, false);
    check_sublayer(0, false, false);
}

static void self_attention_mha(void)
{
    check_sublayer(H, true, true);
    check_sublayer(H, false, false);
}

static void multi_head_with_one_is_single_head(void)
{
    start();
    struct sublayer a = make_sublayer(0, true, false), b = make_sublayer(1, true, false);

    sublayer_loss(&a);
    sublayer_backward(&a);
    sublayer_float(&a);
    sublayer_loss(&b);
    sublayer_backward(&b);
    sublayer_float(&b);
    SAME(a.x, b.x);
    SAME(a.out, b.out);
    SAME(a.losses, b.losses);
    SAME(a.dx, b.dx);
    SAME(a.dw_qkv, b.dw_qkv);
    SAME(a.db_qkv, b.db_qkv);
    SAME(a.dw_proj, b.dw_proj);
    SAME(a.db_proj, b.db_proj);
    SAME(a.dw_lm, b.dw_lm);
}

/* Heads do change the result: the test above compares two things that can differ. */
static void heads_matter(void)
{
    start();
    struct sublayer a = make_sublayer(0, true, false), b = make_sublayer(H, true, false);

    sublayer_loss(&a);
    sublayer_loss(&b);
    CHECK(fabs(a.out.d[C * T - 1] - b.out.d[C * T - 1]) > 1e-3);
}

/* ---- one [C,3C] projection and three [C,C] ones */

/* Everything between x and the gradients of x and of the projections, with q, k and
 * v from three matrices, in double. */
static void three_projections(const struct sublayer *s, double *dx, double *dw[3], double *db[3])
{
    pair w = take(C * C), q[3], dq[3], scores = output(B * H * T * T), probs = output(B * H * T * T);
    pair dscores = output(B * H * T * T), dprobs = output(B * H * T * T);
    pair att = output(B * T * C), datt = constant(B * T * C, 0);

    for (size_t p = 0; p < 3; p++) {
        q[p] = output(B * T * C);
        dq[p] = constant(B * T * C, 0);
        tg_slice_forward_ref64(w.d, s->w_qkv.d, C, 3 * C, p * C, C);
        tg_linear_forward_ref64(q[p].d, s->x.d, w.d, s->b_qkv.d + p * C, B * T, C, C);
    }
    tg_attention_mha_forward_ref64(att.d, probs.d, scores.d, q[0].d, q[1].d, q[2].d, NULL, B, T, H, D);
    CHECK(memcmp(att.d, s->f64.att, att.n * sizeof *att.d) == 0);

    tg_linear_backward_ref64(datt.d, take(C * C).d, NULL, s->dout.d, att.d, s->w_proj.d, B * T, C, C);
    tg_attention_mha_backward_ref64(dq[0].d, dq[1].d, dq[2].d, dprobs.d, dscores.d, datt.d, probs.d, q[0].d,
                                    q[1].d, q[2].d, NULL, B, T, H, D);
    for (size_t p = 0; p < 3; p++) {
        tg_slice_forward_ref64(w.d, s->w_qkv.d, C, 3 * C, p * C, C);
        tg_linear_backward_ref64(dx, dw[p], db[p], dq[p].d, s->x.d, w.d, B * T, C, C);
    }
}

static void one_projection_is_three(void)
{
    start();
    struct sublayer s = make_sublayer(H, true, false);
    pair dx = gradient(s.x.n), part = take(C * C);
    double *dw[3], *db[3];

    for (size_t p = 0; p < 3; p++) {
        dw[p] = gradient(C * C).d;
        db[p] = gradient(C).d;
    }
    sublayer_loss(&s);
    sublayer_backward(&s);
    three_projections(&s, dx.d, dw, db);
    for (size_t p = 0; p < 3; p++) {
        tg_slice_forward_ref64(part.d, s.dw_qkv.d, C, 3 * C, p * C, C);
        CHECK(memcmp(part.d, dw[p], C * C * sizeof *part.d) == 0);
        CHECK(memcmp(s.db_qkv.d + p * C, db[p], C * sizeof(double)) == 0);
    }
    for (size_t i = 0; i < dx.n; i++) /* 3C terms, added in one sum or in three */
        CHECK_NEAR(dx.d[i], s.dx.d[i], 3 * C * DOUBLE_EPS * 3 * C);
}

int main(void)
{
    RUN(embedding);
    RUN(linear);
    RUN(linear_without_bias);
    RUN(linear_by_hand);
    RUN(linear_transposed);
    RUN(slice);
    RUN(layernorm);
    RUN(layernorm_without_affine);
    RUN(layernorm_normalises);
    RUN(gelu_tanh);
    RUN(gelu_erf);
    RUN(silu);
    RUN(relu2);
    RUN(softcap);
    RUN(gelu_values);
    RUN(softmax);
    RUN(softmax_properties);
    RUN(crossentropy);
    RUN(crossentropy_values);
    RUN(dropout);
    RUN(attention_1h);
    RUN(attention_mha);
    RUN(attention_mha_dropout);
    RUN(attention_gqa);
    RUN(attention_gqa_by_a_rule);
    RUN(transposed_layout);
    RUN(self_attention_1h);
    RUN(self_attention_mha);
    RUN(multi_head_with_one_is_single_head);
    RUN(heads_matter);
    RUN(one_projection_is_three);
    return check_done();
}
