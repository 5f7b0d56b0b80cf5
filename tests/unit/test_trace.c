/* The trace and the derivation of one score: equal to the walk's numbers, bit for bit; its gradient against
 * the reference operations and central differences; the examples. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/tg-attn-dump/example.h"
#include "lib/attn/derivation.h"
#include "lib/attn/trace.h"
#include "lib/nn/ref/ref.h"
#include "tests/unit/check.h"
#include "tests/unit/fused_qkv.h"
#include "tests/unit/small_model.h"

#define TOLERANCE 5.1e-9 /* the examples' values have eight decimals */

static const tg_attn_filter all = {TG_ATTN_ALL, TG_ATTN_ALL, TG_ATTN_ALL, TG_ATTN_ALL};

struct setting {
    tg_qkv_view view;
    tg_arena arena, walk_arena;
    tg_attn_trace t;
    tg_attn_scratch scratch;
};

static void set_up(struct setting *s, const tg_qkv_view *view)
{
    tg_err err = {0};

    *s = (struct setting){.view = *view};
    tg_attn_trace_place(&s->arena, &s->t, view);
    CHECK_OK(tg_arena_alloc(&s->arena, &err), &err);
    check_fill_arena(&s->arena); /* NaN everywhere */
    tg_attn_trace_place(&s->arena, &s->t, view);
    tg_attn_scratch_place(&s->walk_arena, &s->scratch, 0, view->T, view->C / view->H);
    CHECK_OK(tg_arena_alloc(&s->walk_arena, &err), &err);
    tg_attn_scratch_place(&s->walk_arena, &s->scratch, 0, view->T, view->C / view->H);
}

static void tear_down(struct setting *s)
{
    tg_arena_free(&s->arena);
    tg_arena_free(&s->walk_arena);
}

/* ---- forward */

static bool same(const double *a, const double *b, size_t n)
{
    return memcmp(a, b, n * sizeof *a) == 0;
}

/* Every element of the row, traced. */
static bool compare_row(void *context, const tg_attn_row *row)
{
    struct setting *s = context;
    tg_attn_trace *t = &s->t;
    const size_t T = s->view.T, D = s->view.C / s->view.H;

    for (size_t j = 0; j < T; j++) {
        const tg_attn_index at = {row->b, row->h, row->i, j};

        tg_attn_trace_forward(t, &s->view, at);
        CHECK(same(t->scores, row->scores, T));
        CHECK(same(t->probs, row->probs, T));
        CHECK(same(t->att + row->h * D, row->att, D));
        if (j <= row->i) {
            CHECK(t->sum / sqrt((double)D) == t->scores[j]);
            CHECK(t->exps[j] / t->exp_sum == t->probs[j]);
            CHECK(t->scores[j] <= t->max);
            CHECK_NEAR(t->plain_sum, t->exp_sum * exp(t->max), 64 * DBL_EPSILON * t->plain_sum);
        } else {
            CHECK(t->scores[j] == TG_MASKED && t->exps[j] == 0 && t->probs[j] == 0);
        }
    }
    return true;
}

/* Scores of 1600 and 0: exp(1600) is no double, and the softmax does without it. */
static void plain_sum_overflows(void)
{
    static const float q[2] = {0, 40}, k[2] = {40, 0};
    const tg_qkv_view view = {.B = 1,
                              .T = 2,
                              .C = 1,
                              .H = 1,
                              .KV = 1,
                              .D = 1,
                              .ldq = 1,
                              .ldk = 1,
                              .ldv = 1,
                              .q = q,
                              .k = k,
                              .v = k};
    struct setting s;

    set_up(&s, &view);
    tg_attn_trace_forward(&s.t, &view, (tg_attn_index){0, 0, 1, 0});
    CHECK(isinf(s.t.plain_sum));
    CHECK(s.t.exp_sum == 1 && s.t.probs[0] == 1 && s.t.probs[1] == 0);
    tear_down(&s);
}

static void equals_the_walk(void)
{
    enum { B = 2, T = 6, C = 12, STRIDE = 3 * C };
    static float qkv[B * T * STRIDE];

    check_fill(qkv, B * T * STRIDE, 3, 4);
    for (size_t H = 1; H <= 12; H++) {
        const tg_qkv_view view = fused_qkv_view(qkv, B, T, C, H);
        struct setting s;

        if (C % H != 0)
            continue;
        set_up(&s, &view);
        CHECK(tg_attn_walk(&view, 0, &all, &s.scratch, compare_row, &s));
        tear_down(&s);
    }
}

static void indices_are_checked(void)
{
    const tg_attn_index at = {1, 2, 4, 4};
    tg_err err = {0};

    CHECK_OK(tg_attn_index_check(&at, 2, 3, 5, &err), &err);
    CHECK_EQ(tg_attn_index_check(&at, 1, 3, 5, &err), TG_EUSAGE);
    CHECK_HAS(err.message, "sequence 1 is out of range: the only sequence is 0");
    CHECK_EQ(tg_attn_index_check(&(tg_attn_index){2, 0, 0, 0}, 2, 3, 5, &err), TG_EUSAGE);
    CHECK_HAS(err.message, "sequence 2 is out of range: expected 0 to 1");
    CHECK_EQ(tg_attn_index_check(&at, 2, 2, 5, &err), TG_EUSAGE);
    CHECK_HAS(err.message, "head 2 is out of range: expected 0 to 1");
    CHECK_EQ(tg_attn_index_check(&at, 2, 3, 4, &err), TG_EUSAGE);
    CHECK_HAS(err.message, "query 4 is out of range");
    CHECK_EQ(tg_attn_index_check(&(tg_attn_index){0, 0, 0, 5}, 2, 3, 5, &err), TG_EUSAGE);
    CHECK_HAS(err.message, "key 5 is out of range: expected 0 to 4");
}

/* ---- backward */

enum { T = 5, H = 2, D = 3, C = H * D };

static tg_qkv_view view_of(const float *x)
{
    return fused_qkv_view(x, 1, T, C, H);
}

/* The gradient of att . weights for query i and head h, by the reference. */
static void reference_gradient(const struct setting *s, const double *datt, double *dq, double *dk,
                               double *dprobs, double *dscores)
{
    double dv[T * C] = {0}, full[T * C] = {0}, probs[H * T * T], scores[H * T * T], att[T * C];
    const tg_attn_trace *t = &s->t;

    tg_attention_mha_forward_ref64(att, probs, scores, t->q, t->k, t->v, NULL, 1, T, H, D);
    memcpy(full + t->at.i * C + t->at.h * D, datt, D * sizeof *datt);
    tg_attention_mha_backward_ref64(dq, dk, dv, dprobs, dscores, full, probs, t->q, t->k, t->v, NULL, 1, T, H,
                                    D);
}

static void check_element(struct setting *s, tg_attn_index at, const double *datt, double *dq_sum)
{
    double dq[T * C] = {0}, dk[T * C] = {0}, dprobs[H * T * T], dscores[H * T * T];
    const size_t row = (at.h * T + at.i) * T;

    tg_attn_trace_forward(&s->t, &s->view, at);
    tg_attn_trace_backward(&s->t, datt);
    reference_gradient(s, datt, dq, dk, dprobs, dscores);
    CHECK(same(s->t.dprobs, dprobs + row, T));
    CHECK(same(s->t.dscores, dscores + row, T));
    for (size_t d = 0; d < D; d++) {
        /* no other query has a gradient that key j could add up */
        CHECK(s->t.dk[d] == dk[at.j * C + at.h * D + d]);
        dq_sum[d] += s->t.dq[d];
        if (at.j == T - 1)
            CHECK_NEAR(dq_sum[d], dq[at.i * C + at.h * D + d], 1e-15);
    }
}

static void backward_equals_the_reference(void)
{
    float x[T * 3 * C];
    double datt[D];
    const tg_qkv_view view = view_of(x);
    struct setting s;

    check_fill(x, T * 3 * C, 9, 2);
    check_fill64(datt, D, 10, 1);
    set_up(&s, &view);
    for (size_t h = 0; h < H; h++) {
        for (size_t i = 0; i < T; i++) {
            double dq_sum[D] = {0};

            for (size_t j = 0; j < T; j++)
                check_element(&s, (tg_attn_index){0, h, i, j}, datt, dq_sum);
        }
    }
    tear_down(&s);
}

/* Channel 2 of att of query 3 and head 1, with score j moved: the slope is dscores[j]. */
static double channel(const struct setting *s, size_t j, double by)
{
    double probs[T], scores[T], sum = 0;
    const tg_attn_trace *t = &s->t;

    memcpy(scores, t->scores, sizeof scores);
    scores[j] += by;
    tg_softmax_row_ref64(probs, scores, t->at.i + 1);
    for (size_t m = 0; m <= t->at.i; m++)
        sum += probs[m] * t->v[m * C + t->at.h * D + 2];
    return sum;
}

static void backward_equals_central_differences(void)
{
    const double datt[D] = {0, 0, 1}, step = 1e-5;
    float x[T * 3 * C];
    const tg_qkv_view view = view_of(x);
    struct setting s;

    check_fill(x, T * 3 * C, 11, 2);
    set_up(&s, &view);
    for (size_t j = 0; j < T; j++) {
        tg_attn_trace_forward(&s.t, &view, (tg_attn_index){0, 1, 3, j});
        tg_attn_trace_backward(&s.t, datt);
        if (j > 3) /* the last key: masked */
            CHECK(s.t.dscores[j] == 0 && s.t.dq[0] == 0 && s.t.dk[0] == 0);
        else
            CHECK_NEAR(s.t.dscores[j], (channel(&s, j, step) - channel(&s, j, -step)) / (2 * step), 1e-8);
    }
    tear_down(&s);
}

/* ---- derivations */

/* Given arrays: the offsets, and the gradient of one channel of the weighted sum. */
static void derivation_of_arrays(void)
{
    const tg_derive_what what = {.at = {0, 1, 3, 2}, .channel = 1, .backward = true};
    const double datt[D] = {0, 1, 0};
    float x[T * 3 * C];
    const tg_qkv_view view = view_of(x);
    tg_attn_layers layers;
    tg_derivation d;
    struct setting s;
    tg_err err = {0};

    check_fill(x, T * 3 * C, 13, 2);
    set_up(&s, &view);
    tg_attn_trace_forward(&s.t, &view, what.at);
    tg_attn_trace_backward(&s.t, datt);
    tg_attn_layers_given(&layers, &view);
    CHECK_OK(tg_derive(&d, &layers, &what, &err), &err);
    CHECK_EQ(d.q_base, (3 * H + 1) * D);
    CHECK_EQ(d.k_base, (2 * H + 1) * D);
    CHECK_EQ(d.offset, (1 * T + 3) * T + 2);
    CHECK(!d.masked && !d.output.w);
    CHECK(same(d.t.scores, s.t.scores, T) && same(d.datt, datt, D));
    CHECK(same(d.t.dscores, s.t.dscores, T) && same(d.t.dq, s.t.dq, D) && same(d.t.dk, s.t.dk, D));
    tg_derivation_free(&d);
    tear_down(&s);
}

/* A model: the projection of all heads and of one; the gradient of its loss. */
static void derivation_of_a_model(void)
{
    const int32_t ids[T] = {84, 111, 32, 98, 101};
    const tg_derive_what what = {
        .layer = 1, .at = {0, 1, 4, 2}, .channel = 2, .out_channel = 4, .backward = true, .target = 33};
    tg_attn_layers layers;
    tg_derivation d;
    tg_model m;
    tg_err err = {0};
    const float *w;
    double sum = 0, of_head = 0;

    small_model_create(&m, small_config(2, H, C, 16), 5);
    small_model_stir(&m, 70, 0.7, 0);
    CHECK_OK(tg_attn_layers_model(&layers, &m, ids, T, &err), &err);
    CHECK_OK(tg_derive(&d, &layers, &what, &err), &err);
    CHECK_EQ(d.layer.number, 1);
    w = tg_attn_layer_proj(&d.layer).w;
    for (size_t c = 0; c < C; c++) {
        const double term = d.t.att[c] * (double)w[c * C + 4];

        sum += term;
        of_head += c >= D ? term : 0;
    }
    CHECK(d.output.sum == sum && d.output.of_head == of_head);
    CHECK(d.output.out == sum + (double)tg_attn_layer_proj(&d.layer).b[4]);
    CHECK(d.g.loss > 0 && isfinite(d.g.loss));
    CHECK(same(d.datt, d.g.datt + 4 * C + D, D) && d.datt[0] != 0);
    tg_derivation_free(&d);
    tg_attn_layers_close(&layers);
    tg_model_free(&m);
}

static void refuse(tg_derive_what what, const tg_model *m, const char *why)
{
    const int32_t ids[T] = {84, 111, 32, 98, 101};
    tg_attn_layers layers;
    tg_derivation d;
    tg_err err = {0};

    CHECK_OK(tg_attn_layers_model(&layers, m, ids, T, &err), &err);
    CHECK_EQ(tg_derive(&d, &layers, &what, &err), TG_EUSAGE);
    CHECK_HAS(err.message, why);
    CHECK_EQ(layers.next, 0); /* nothing ran */
    tg_attn_layers_close(&layers);
}

static void derivations_are_checked(void)
{
    tg_model m;

    small_model_create(&m, small_config(2, H, C, 16), 5);
    refuse((tg_derive_what){.layer = 2}, &m, "layer 2 is out of range: expected 0 to 1");
    refuse((tg_derive_what){.layer = TG_ATTN_ALL}, &m, "is out of range: expected 0 to 1");
    refuse((tg_derive_what){.at = {0, 0, 0, T}}, &m, "key 5 is out of range: expected 0 to 4");
    refuse((tg_derive_what){.channel = D}, &m, "the head's channel 3 is out of range: expected 0 to 2");
    refuse((tg_derive_what){.out_channel = C}, &m, "the output's channel 6 is out of range: expected 0 to 5");
    refuse((tg_derive_what){.backward = true, .target = 256}, &m,
           "target 256 is out of range: expected 0 to 255");
    refuse((tg_derive_what){.backward = true, .target = 5000000000}, &m,
           "target 5000000000 is out of range: expected 0 to 255");
    tg_model_free(&m);
}

/* ---- the examples */

static void check_row(size_t example, tg_attn_index at, const double *scores, const double *probs)
{
    struct setting s;

    set_up(&s, &example_get(example)->view);
    tg_attn_trace_forward(&s.t, &s.view, at);
    for (size_t j = 0; j <= at.i; j++) {
        CHECK(s.t.scores[j] == scores[j]);
        CHECK_NEAR(s.t.probs[j], probs[j], TOLERANCE);
    }
    tear_down(&s);
}

static void example_mask(void)
{
    const double scores[4][4] = {{0.2}, {0.5, 0.2}, {0.3, 0.4, 0.2}, {0.1, 0.3, 0.4, 0.2}};
    const double probs[4][4] = {{1},
                                {0.57444252, 0.42555748},
                                {0.33222499, 0.36716540, 0.30060961},
                                {0.21383822, 0.26118259, 0.28865141, 0.23632778}};

    for (size_t i = 0; i < 4; i++)
        check_row(3, (tg_attn_index){0, 0, i, 0}, scores[i], probs[i]);
}

static void example_indexing(void)
{
    const worked_example *e = example_get(2);
    struct setting s;

    CHECK_EQ(tg_attn_base(&e->view, 0, 1, 0), 2);
    CHECK_EQ(tg_attn_offset(&e->view, 0, 0, 1, 0), 3);
    CHECK_EQ(tg_attn_offset(&e->view, 0, 0, 1, 2), 5);
    set_up(&s, &e->view);
    tg_attn_trace_forward(&s.t, &s.view, (tg_attn_index){0, 0, 1, 0});
    CHECK_NEAR(s.t.sum, 2 * 0 + 3 * 0.125, 0);
    for (size_t n = 0; n < 6; n++)
        CHECK(s.t.q[n] == (double)n && s.t.k[n] == (double)n / 8 && s.t.v[n] == (double)n);
    tear_down(&s);
}

static void example_shapes(void)
{
    const worked_example *e = example_get(4);
    const size_t count = 2 * 4 * 512;
    tg_qkv_view view = e->view;
    float *numbers = calloc(3 * count, sizeof *numbers);

    CHECK_EQ(example_floats(example_get(0)), 0);
    CHECK_EQ(example_floats(e), 3 * count);
    example_fill(&view, numbers);
    CHECK(view.q[0] == -50.0F / 64 && view.k[0] == -51.0F / 64 && view.v[0] == -53.0F / 64);
    CHECK(view.q[4095] == (37 * 4095 % 101 - 50) / 64.0F);
    CHECK(view.k[4095] == (53 * 4095 % 103 - 51) / 64.0F);
    CHECK(view.v[4095] == (29 * 4095 % 107 - 53) / 64.0F);
    CHECK_EQ(view.k - view.q, count);
    CHECK_EQ(view.v - view.k, count);
    free(numbers);
}

int main(void)
{
    RUN(equals_the_walk);
    RUN(plain_sum_overflows);
    RUN(indices_are_checked);
    RUN(backward_equals_the_reference);
    RUN(backward_equals_central_differences);
    RUN(derivation_of_arrays);
    RUN(derivation_of_a_model);
    RUN(derivations_are_checked);
    RUN(example_mask);
    RUN(example_indexing);
    RUN(example_shapes);
    return check_done();
}
