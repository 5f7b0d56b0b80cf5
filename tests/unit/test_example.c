/*
 * The examples of rotation and of shared keys, by hand.  Probabilities are given to eight decimals, hence
 * TOLERANCE: half a unit of the last one; all other numbers are exact.
 */
#include <math.h>
#include <string.h>

#include "cmd/tg-attn-dump/example.h"
#include "lib/attn/derivation.h"
#include "lib/base/choice.h"
#include "lib/nn/ref/ref.h"
#include "lib/nn/rotary.h"
#include "tests/unit/check.h"

#define TOLERANCE 5.1e-9
#define PI 3.14159265358979323846

static const worked_example *named(const char *name)
{
    size_t number = 0;

    CHECK(tg_choice_find(&number, EXAMPLES, name));
    return example_get(number);
}

static void derive(tg_derivation *d, const worked_example *e, tg_attn_index at, size_t channel)
{
    tg_attn_layers layers;
    tg_err err = {0};

    tg_attn_layers_given(&layers, &e->view);
    layers.given_q = e->q_steps;
    layers.given_k = e->k_steps;
    CHECK_OK(tg_derive(d, &layers, &(tg_derive_what){.at = at, .channel = channel, .backward = true}, &err),
             &err);
    tg_attn_layers_close(&layers);
}

static void equal_all(const double *got, const double *want, size_t n)
{
    for (size_t i = 0; i < n; i++)
        CHECK_NEAR(got[i], want[i], 0);
}

static void near_all(const double *got, const double *want, size_t n)
{
    for (size_t i = 0; i < n; i++)
        CHECK_NEAR(got[i], want[i], TOLERANCE);
}

/* ---- rope: T = 3, D = 4, pairs (0,2) and (1,3) */

/* The table is that of the frequencies, where cos(pi/2) and the like are 0. */
static void rope_angles(void)
{
    const tg_attn_steps *s = &named("rope")->q_steps;
    float numbers[3 * 4];
    const tg_matrix table = tg_matrix_of(numbers, TG_TYPE_FLOAT, 4);

    CHECK(s->frequency[0] == PI && s->frequency[1] == PI / 2);
    for (size_t m = 0; m < 2; m++)
        tg_rotary_fill(table, m, s->frequency[m], 0, 3);
    for (size_t n = 0; n < 12; n++)
        CHECK_NEAR((double)numbers[n], (double)tg_floats(s->angles)[n], 1e-15);
}

static void check_rotated(const float *want, const tg_attn_steps *s)
{
    float from[12], got[12];
    const tg_rotary rotary = {s->angles, 3, 4, NULL};

    memcpy(from, s->projected, sizeof from);
    tg_rotary_forward(tg_matrix_of(got, TG_TYPE_FLOAT, 4), tg_matrix_of(from, TG_TYPE_FLOAT, 4), &rotary, 3);
    for (size_t n = 0; n < 12; n++)
        CHECK(got[n] == want[n]);
}

/* q and k are what the model's own operation makes of q.proj and k.proj. */
static void rope_is_the_rotation(void)
{
    const worked_example *e = named("rope");

    check_rotated(e->view.q, &e->q_steps);
    check_rotated(e->view.k, &e->k_steps);
}

/* Pair 0 of q is (1,1), of k (1,0); pair 1 is (2,-1) and (1,0).  Turned by half a turn and a quarter for each
 * position that query and key are apart, they give
 *     distance 0:   1 + 2 =  3     /2 =  1.5
 *     distance 1:  -1 + 1 =  0           0
 *     distance 2:   1 - 2 = -1          -0.5
 * and nothing else than the distance matters. */
static void rope_scores(void)
{
    const double by_distance[3] = {1.5, 0, -0.5};
    const worked_example *e = named("rope");
    tg_derivation d;

    for (size_t i = 0; i < 3; i++)
        for (size_t j = 0; j <= i; j++) {
            derive(&d, e, (tg_attn_index){0, 0, i, j}, 0);
            CHECK_NEAR(d.t.scores[j], by_distance[i - j], 0);
            tg_derivation_free(&d);
        }
}

/* Row 2: exp(-2), exp(-1.5), 1, whose sum is 1.35846544. */
static void rope_row(void)
{
    const double angle_q[2] = {2 * PI, PI}, cos_q[2] = {1, -1}, sin_q[2] = {0, 0};
    const double angle_k[2] = {PI, PI / 2}, cos_k[2] = {-1, 0}, sin_k[2] = {0, 1};
    const double q_proj[4] = {1, 2, 1, -1}, q[4] = {1, -2, 1, 1}; /* pair 1: (2,-1) -> (-2,1) */
    const double k_proj[4] = {1, 1, 0, 0}, k[4] = {-1, 0, 0, 1};  /* (1,0) -> (-1,0), and (1,0) -> (0,1) */
    const double probs[3] = {0.09962365, 0.16425163, 0.73612472};
    tg_derivation d;

    derive(&d, named("rope"), (tg_attn_index){0, 0, 2, 1}, 0);
    CHECK(d.q.pairs == 2 && d.k.pairs == 2 && !d.q.is_normed && !d.k.is_normed);
    equal_all(d.q.angle, angle_q, 2);
    equal_all(d.q.cosines, cos_q, 2);
    equal_all(d.q.sines, sin_q, 2);
    equal_all(d.k.angle, angle_k, 2);
    equal_all(d.k.cosines, cos_k, 2);
    equal_all(d.k.sines, sin_k, 2);
    equal_all(d.q.projected, q_proj, 4);
    equal_all(d.q.made, q, 4);
    equal_all(d.k.projected, k_proj, 4);
    equal_all(d.k.made, k, 4);
    near_all(d.t.probs, probs, 3);
    tg_derivation_free(&d);
}

/* The loss is channel 0 of the weighted sum, which only key 0 has: dprobs = 1, 0, 0.  So dscores of key 1 is
 * -p0 p1, and g = -p0 p1 / 2 is what multiplies k and q.  Turned back: (a,b) -> (b,-a) by a quarter turn. */
static void rope_gradient(void)
{
    const double g = -0.00818167;
    const double dq[4] = {-g, 0, 0, g}, dq_proj[4] = {-g, 0, 0, -g};
    const double dk[4] = {g, -2 * g, g, g}, dk_proj[4] = {-g, g, -g, 2 * g};
    tg_derivation d;

    derive(&d, named("rope"), (tg_attn_index){0, 0, 2, 1}, 0);
    for (size_t c = 0; c < 4; c++) {
        CHECK_NEAR(d.t.dq[c], dq[c], 2 * TOLERANCE); /* twice g has twice its error */
        CHECK_NEAR(d.t.dk[c], dk[c], 2 * TOLERANCE);
        CHECK_NEAR(d.q.dprojected[c], dq_proj[c], 2 * TOLERANCE);
        CHECK_NEAR(d.k.dprojected[c], dk_proj[c], 2 * TOLERANCE);
    }
    tg_derivation_free(&d);
}

/* ---- gqa: T = 3, H = 4, KV = 2, D = 2 */

/* Query 2 at ((0*3 + 2)*4 + h)*2, key 1 at ((0*3 + 1)*2 + h/2)*2, the score at (h*3 + 2)*3 + 1. */
static void gqa_offsets(void)
{
    const size_t q_base[4] = {16, 18, 20, 22}, k_base[4] = {4, 4, 6, 6}, offset[4] = {7, 16, 25, 34};
    tg_derivation d;

    for (size_t h = 0; h < 4; h++) {
        derive(&d, named("gqa"), (tg_attn_index){0, h, 2, 1}, 0);
        CHECK_EQ(d.q_base, q_base[h]);
        CHECK_EQ(d.k_base, k_base[h]);
        CHECK_EQ(d.offset, offset[h]);
        tg_derivation_free(&d);
    }
}

/* Query 2 is (1,0) in heads 0 and 2, (1,-1) in heads 1 and 3.  Keys 0 to 2 are (1,0), (0,1), (1,1) in head 0
 * of the keys, and (0,1), (1,0), (1,1) in head 1.  The sums: 1 0 1; 1 -1 0; 0 1 1; -1 1 0. */
static void gqa_rows(void)
{
    const double sums[4][3] = {{1, 0, 1}, {1, -1, 0}, {0, 1, 1}, {-1, 1, 0}};
    const double probs[4][3] = {{0.40111209, 0.19777581, 0.40111209},
                                {0.57597535, 0.14002925, 0.28399541},
                                {0.19777581, 0.40111209, 0.40111209},
                                {0.14002925, 0.57597535, 0.28399541}};
    /* values (1,0), (0,1), (1,1), and ten times (1,0), (0,1), (1/2,1/2) */
    const double att[4][2] = {{0.80222419, 0.59888791},
                              {0.85997075, 0.42402465},
                              {3.98331861, 6.01668139},
                              {2.82026950, 7.17973050}};
    tg_derivation d;

    for (size_t h = 0; h < 4; h++) {
        derive(&d, named("gqa"), (tg_attn_index){0, h, 2, 0}, 0);
        for (size_t j = 0; j < 3; j++)
            CHECK_NEAR(d.t.scores[j], sums[h][j] / sqrt(2), 1e-15);
        near_all(d.t.probs, probs[h], 3);
        near_all(d.t.att + h * 2, att[h], 2);
        tg_derivation_free(&d);
    }
}

int main(void)
{
    RUN(rope_angles);
    RUN(rope_is_the_rotation);
    RUN(rope_scores);
    RUN(rope_row);
    RUN(rope_gradient);
    RUN(gqa_offsets);
    RUN(gqa_rows);
    return check_done();
}
