/*
 * The examples of the walkthrough, by index and by number.  The expected values were
 * computed independently in double precision and are given to eight decimals, hence
 * TOLERANCE: half a unit of the last one, plus the reference's own rounding.
 */
#include <math.h>
#include <stdlib.h>

#include "lib/nn/ref/ref.h"
#include "lib/nn/tensor.h"
#include "tests/unit/check.h"

#define TOLERANCE 5.1e-9

static void near_all(const double *got, const double *want, size_t n)
{
    for (size_t i = 0; i < n; i++)
        CHECK_NEAR(got[i], want[i], TOLERANCE);
}

/* ---- offsets */

/* Each formula of the table, at an index whose coordinates all differ, against the
 * general row-major rule. */
static void offset_formulas(void)
{
    const size_t B = 3, T = 5, H = 4, D = 6, C = 24;
    const size_t b = 2, t = 3, i = 4, j = 1, h = 3, d = 5, c = h * D + d;

    CHECK_EQ(tg_tensor_offset((size_t[]){B, T, C}, 3, (size_t[]){b, t, c}), (b * T + t) * C + c);
    CHECK_EQ(tg_tensor_offset((size_t[]){B, T, T}, 3, (size_t[]){b, i, j}), (b * T + i) * T + j);
    CHECK_EQ(tg_tensor_offset((size_t[]){B, H, T, T}, 4, (size_t[]){b, h, i, j}),
             ((b * H + h) * T + i) * T + j);
    CHECK_EQ(tg_tensor_offset((size_t[]){B, T, H, D}, 4, (size_t[]){b, t, h, d}),
             ((b * T + t) * H + h) * D + d);
    CHECK_EQ(tg_tensor_offset((size_t[]){B, H, T, D}, 4, (size_t[]){b, h, t, d}),
             ((b * H + h) * T + t) * D + d);

    /* [B,T,H,D] is a view of [B,T,C]: the same element, the same place */
    CHECK_EQ(tg_tensor_offset((size_t[]){B, T, H, D}, 4, (size_t[]){b, t, h, d}),
             tg_tensor_offset((size_t[]){B, T, C}, 3, (size_t[]){b, t, c}));
}

/* One head: bases of query and key row in [1,T,C], place of the score in [1,T,T]. */
static void check_offsets(size_t T, size_t H, size_t D, size_t h, size_t i, size_t j, size_t q_base,
                          size_t k_base, size_t score)
{
    const size_t rows[] = {1, T, H, D}, square[] = {1, H, T, T};

    CHECK_EQ(tg_tensor_offset(rows, 4, (size_t[]){0, i, h, 0}), q_base);
    CHECK_EQ(tg_tensor_offset(rows, 4, (size_t[]){0, j, h, 0}), k_base);
    CHECK_EQ(tg_tensor_offset(square, 4, (size_t[]){0, h, i, j}), score);
}

static void offset_examples(void)
{
    check_offsets(3, 1, 4, 0, 2, 1, 8, 4, 7);
    check_offsets(3, 2, 2, 1, 2, 1, 10, 6, 16);
    check_offsets(3, 1, 2, 0, 1, 0, 2, 0, 3);
    check_offsets(3, 1, 2, 0, 1, 2, 2, 4, 5);
}

/* The reference uses these offsets: the score is the product of the elements there. */
static void scores_lie_at_their_offsets(void)
{
    double q[12], k[12], v[12], att[12], scores[2 * 3 * 3], probs[2 * 3 * 3];

    check_fill64(q, 12, 1, 1);
    check_fill64(k, 12, 2, 1);
    check_fill64(v, 12, 3, 1);

    tg_attention_1h_forward_ref64(att, probs, scores, q, k, v, 1, 3, 4);
    CHECK_NEAR(scores[7], (q[8] * k[4] + q[9] * k[5] + q[10] * k[6] + q[11] * k[7]) / 2.0, 1e-15);

    tg_attention_mha_forward_ref64(att, probs, scores, q, k, v, NULL, 1, 3, 2, 2);
    CHECK_NEAR(scores[16], (q[10] * k[6] + q[11] * k[7]) / sqrt(2.0), 1e-15);

    tg_attention_1h_forward_ref64(att, probs, scores, q, k, v, 1, 3, 2);
    CHECK_NEAR(scores[3], (q[2] * k[0] + q[3] * k[1]) / sqrt(2.0), 1e-15);
    CHECK(scores[5] == -1e9);
    CHECK(probs[5] == 0);
}

/* ---- the baseline's row, T=3, C=4, i=2 */

static void baseline_row(void)
{
    const double q[12] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0};
    const double k[12] = {1, 0, 0, 0, 0, 1, 0, 0, 1, 1, 0, 0};
    const double v[12] = {1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 3, 0};
    const double want_scores[3] = {0.5, 0, 0.5};
    const double want_probs[3] = {0.38365173, 0.23269654, 0.38365173};
    const double want_att[4] = {0.38365173, 0.46539308, 1.15095519, 0};
    double att[12], scores[9], probs[9];

    tg_attention_1h_forward_ref64(att, probs, scores, q, k, v, 1, 3, 4);
    near_all(scores + 6, want_scores, 3);
    near_all(probs + 6, want_probs, 3);
    near_all(att + 8, want_att, 4);
}

/* ---- one head of two, D=2, h=1, i=2 */

/* Head 0 holds other numbers: it must not be looked at. */
static void one_head_of_two(void)
{
    const double q[12] = {9, 9, 0, 0, 9, 9, 0, 0, 9, 9, 1, -1};
    const double k[12] = {7, 7, 1, 0, 7, 7, 0, 1, 7, 7, 1, 1};
    const double v[12] = {8, 8, 10, 0, 8, 8, 0, 10, 8, 8, 5, 5};
    const double want_scores[3] = {0.70710678, -0.70710678, 0};
    const double want_probs[3] = {0.57597535, 0.14002925, 0.28399541};
    const double want_att[2] = {7.17973050, 2.82026950};
    double att[12], scores[2 * 9], probs[2 * 9];

    tg_attention_mha_forward_ref64(att, probs, scores, q, k, v, NULL, 1, 3, 2, 2);
    near_all(scores + ((0 * 2 + 1) * 3 + 2) * 3, want_scores, 3);
    near_all(probs + ((0 * 2 + 1) * 3 + 2) * 3, want_probs, 3);
    near_all(att + ((0 * 3 + 2) * 2 + 1) * 2, want_att, 2);
}

/* ---- the causal table, T=4 */

static void causal_table(void)
{
    const double table[4][4] = {{0.2}, {0.5, 0.2}, {0.3, 0.4, 0.2}, {0.1, 0.3, 0.4, 0.2}};
    const double want[4][4] = {{1},
                               {0.57444252, 0.42555748},
                               {0.33222499, 0.36716540, 0.30060961},
                               {0.21383822, 0.26118259, 0.28865141, 0.23632778}};

    for (size_t i = 0; i < 4; i++) {
        /* with D = 1, q = 1 and k_j = the score, the reference makes this very row */
        double one = 1, scores[4], probs[4];

        tg_attention_scores_row_ref64(scores, &one, table[i], 1, 4, 1, i);
        tg_softmax_row_ref64(probs, scores, 4);
        near_all(probs, want[i], i + 1);
        for (size_t j = 0; j < 4; j++) {
            CHECK(j > i ? scores[j] == -1e9 : scores[j] == table[i][j]);
            if (j > i)
                CHECK(probs[j] == 0);
        }
    }
}

/* ---- the shape guide, B=2, T=4, C=512, H=8 */

enum { B = 2, T = 4, C = 512, H = 8, D = C / H };

static float *random_floats(size_t n, uint64_t seed, double scale)
{
    float *x = malloc(n * sizeof *x);

    if (!x)
        abort();
    check_fill(x, n, seed, scale);
    return x;
}

static float *nans(size_t n)
{
    float *x = random_floats(n, 0, 1);

    for (size_t i = 0; i < n; i++)
        x[i] = NAN;
    return x;
}

static void shape_guide_views(void)
{
    tg_tensor att = {.ndim = 3, .shape = {B, T, C}}, heads;
    tg_err err = {0};
    char text[TG_TENSOR_TEXT_MAX];

    CHECK_OK(tg_tensor_reshape(&heads, &att, (size_t[]){B, T, H, D}, 4, &err), &err);
    CHECK_HAS(tg_tensor_text(text, heads.shape, heads.ndim), "[2,4,8,64]");
    CHECK_OK(tg_tensor_reshape(&att, &heads, (size_t[]){B, T, C}, 3, &err), &err);
    CHECK_HAS(tg_tensor_text(text, att.shape, att.ndim), "[2,4,512]");
}

/* scale * q.k of one pair, the terms in the reference's order. */
static float scaled_product(const float *q, const float *k, size_t n, float scale)
{
    float sum = 0;

    for (size_t c = 0; c < n; c++)
        sum += q[c] * k[c];
    return sum * scale;
}

/* 1/8 for a head of 64: exact, since a power of two; 1/sqrt(512) for one head. */
static void shape_guide_scales(void)
{
    float *q = random_floats(B * T * C, 1, 1), *k = random_floats(B * T * C, 2, 1);
    float scores[T];
    const size_t b = 1, i = 3, j = 2, h = 5;
    const float *q_bi = q + (b * T + i) * C, *k_b = k + b * T * C;
    float want;

    tg_attention_scores_row_ref(scores, q_bi + h * D, k_b + h * D, C, T, D, i);
    CHECK(scores[j] == scaled_product(q_bi + h * D, k_b + j * C + h * D, D, 0.125f));

    tg_attention_scores_row_ref(scores, q_bi, k_b, C, T, C, i);
    want = scaled_product(q_bi, k_b + j * C, C, 0.04419417f);
    CHECK_NEAR((double)scores[j], (double)want, 2e-7 * fabs((double)want));

    free(k);
    free(q);
}

/* Approach A, one [C,3C] matrix and slices, and approach B, three [C,C] matrices,
 * are the same sums in the same order. */
static void shape_guide_approaches(void)
{
    float *x = random_floats(B * T * C, 1, 1), *w = random_floats(C * 3 * C, 2, 0.05);
    float *bias = random_floats(3 * C, 3, 1), *third = random_floats(C * C, 4, 1);
    float *qkv = random_floats(B * T * 3 * C, 5, 1);
    float *a = random_floats(B * T * C, 6, 1), *b = random_floats(B * T * C, 7, 1);

    tg_linear_forward_ref(qkv, x, w, bias, B * T, C, 3 * C);
    for (size_t part = 0; part < 3; part++) {
        size_t differ = 0;

        tg_slice_forward_ref(a, qkv, B * T, 3 * C, part * C, C);
        tg_slice_forward_ref(third, w, C, 3 * C, part * C, C);
        tg_linear_forward_ref(b, x, third, bias + part * C, B * T, C, C);
        for (size_t n = 0; n < B * T * C; n++)
            differ += a[n] != b[n];
        CHECK_EQ(differ, 0);
    }
    free(b);
    free(a);
    free(qkv);
    free(third);
    free(bias);
    free(w);
    free(x);
}

/* The whole sublayer at these shapes; rows of probabilities that are a distribution
 * over the past, in [2,8,4,4]. */
static void shape_guide_sublayer(void)
{
    float *x = random_floats(B * T * C, 1, 1), *out = nans(B * T * C);
    float *w_qkv = random_floats(C * 3 * C, 3, 0.05), *w_proj = random_floats(C * C, 4, 0.05);
    tg_attention_buffers_ref f = {
        .qkv = nans(B * T * 3 * C),
        .q = nans(B * T * C),
        .k = nans(B * T * C),
        .v = nans(B * T * C),
        .scores = nans(B * H * T * T),
        .probs = nans(B * H * T * T),
        .att = nans(B * T * C),
    };

    tg_self_attention_mha_forward_ref(out, &f, x, w_qkv, NULL, w_proj, NULL, NULL, B, T, H, D);
    for (size_t row = 0; row < B * H * T; row++) {
        float sum = 0;

        for (size_t j = 0; j < T; j++) {
            sum += f.probs[row * T + j];
            CHECK((j > row % T) == (f.probs[row * T + j] == 0));
        }
        CHECK_NEAR((double)sum, 1.0, 4 * 0x1p-24);
    }
    for (size_t n = 0; n < B * T * C; n++)
        CHECK(isfinite(out[n]));

    float *all[] = {x, out, w_qkv, w_proj, f.qkv, f.q, f.k, f.v, f.scores, f.probs, f.att};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

int main(void)
{
    RUN(offset_formulas);
    RUN(offset_examples);
    RUN(scores_lie_at_their_offsets);
    RUN(baseline_row);
    RUN(one_head_of_two);
    RUN(causal_table);
    RUN(shape_guide_views);
    RUN(shape_guide_scales);
    RUN(shape_guide_approaches);
    RUN(shape_guide_sublayer);
    return check_done();
}
