/*
 * Derivations of scores in other families than GPT-2: equal to the walk's numbers, bit for bit, with shared
 * heads, windows, scales and caps; how q and k came to be; and gradients back through norms and rotation,
 * against central differences of the same in double precision.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/attn/derivation.h"
#include "lib/nn/ref/ref.h"
#include "tests/unit/bodies.h"
#include "tests/unit/check.h"

enum { T = 6, L = 2, D_MAX = 8 };

static const int32_t ids[T] = {84, 111, 32, 98, 101, 111};

/* ---- forward */

static bool same(const double *a, const double *b, size_t n)
{
    return memcmp(a, b, n * sizeof *a) == 0;
}

static void check_element(const tg_attn_trace *t, const tg_attn_row *row, size_t j)
{
    const size_t D = row->view->D;

    CHECK(same(t->scores, row->scores, T) && same(t->probs, row->probs, T));
    CHECK(same(t->att + row->h * D, row->att, D));
    if (tg_attn_row_sees(row, j))
        CHECK(t->unmasked == t->scores[j] && t->exps[j] / t->exp_sum == t->probs[j] &&
              t->scores[j] <= t->max);
    else
        CHECK(t->scores[j] == TG_MASKED && t->exps[j] == 0 && t->probs[j] == 0);
    if (row->view->rule.cap > 0)
        CHECK(t->unmasked != t->scaled);
    else
        CHECK(t->unmasked == t->scaled);
}

/* A row, every element of which is traced. */
static bool check_row(void *context, const tg_attn_row *row)
{
    tg_attn_trace *t = context;

    for (size_t j = 0; j < T; j++) {
        tg_attn_trace_forward(t, row->view, (tg_attn_index){row->b, row->h, row->i, j});
        check_element(t, row, j);
    }
    return true;
}

struct scratch {
    tg_qkv_view shape;
    tg_attn_trace t;
    tg_attn_scratch walk;
};

static void place(tg_arena *arena, void *context)
{
    struct scratch *s = context;

    tg_attn_trace_place(arena, &s->t, &s->shape);
    tg_attn_scratch_place(arena, &s->walk, 1, T, s->shape.D);
}

static void equals_the_walk(const tg_model *m)
{
    struct scratch s;
    tg_attn_layers layers;
    tg_attn_layer layer;
    tg_arena arena;
    tg_err err = {0};

    CHECK_OK(tg_attn_layers_model(&layers, m, ids, T, &err), &err);
    s.shape = tg_attn_layers_shape(&layers);
    CHECK_OK(tg_arena_build(&arena, place, &s, &err), &err);
    while (tg_attn_layers_next(&layers, &layer))
        CHECK(tg_attn_walk(&layer.view, layer.number, &TG_ATTN_KEEP_ALL, &s.walk, check_row, &s.t));
    tg_arena_free(&arena);
    tg_attn_layers_close(&layers);
}

/* ---- one vector: what attention reads of x, the projected or the normed channels of one head */

/* The mean square of the other heads' projected channels, if the norm is over all. */
static double others(const tg_attn_vector *v, const tg_attn_steps *s)
{
    const float *row = s->projected + v->at.t * v->at.heads * v->D;
    double sum = 0;

    for (size_t c = 0; c < v->at.heads * v->D; c++)
        if (v->width > v->D && c / v->D != v->at.head)
            sum += (double)row[c] * (double)row[c];
    return sum;
}

static void norm(double *y, const double *x, const tg_attn_vector *v, const tg_attn_steps *s)
{
    double squares = others(v, s);

    for (size_t d = 0; d < v->D; d++)
        squares += x[d] * x[d];
    for (size_t d = 0; d < v->D; d++)
        y[d] = v->is_normed ? x[d] / sqrt(squares / (double)v->width + s->norm.epsilon) * v->gain[d] : x[d];
}

static void turn(double *y, const double *x, const tg_attn_vector *v)
{
    const size_t n = v->pairs;

    memcpy(y, x, v->D * sizeof *y);
    for (size_t m = 0; m < n; m++) {
        y[m] = x[m] * cos(v->angle[m]) - x[m + n] * sin(v->angle[m]);
        y[m + n] = x[m + n] * cos(v->angle[m]) + x[m] * sin(v->angle[m]);
    }
}

static void check_numbers(const double *got, const double *want, size_t n, double tolerance)
{
    for (size_t i = 0; i < n; i++)
        CHECK_NEAR(got[i], want[i], tolerance);
}

static void check_vector(const tg_attn_vector *v, const tg_attn_steps *s, const double *made)
{
    double y[D_MAX], z[D_MAX];

    norm(y, v->projected, v, s);
    check_numbers(v->normed, y, v->D, 1e-6);
    for (size_t d = 0; v->is_normed && d < v->D; d++) /* the kernel's two roundings */
        CHECK((float)v->normed[d] == (float)v->projected[d] * (float)v->rstd * (float)v->gain[d]);
    turn(z, v->normed, v);
    check_numbers(v->made, z, v->D, 1e-6);
    CHECK(same(v->made, made, v->D));
}

/* ---- the loss as far as it depends on one score: the weighted sum times its gradient */

static double of_score(const tg_derivation *d, double score)
{
    const tg_attn_trace *t = &d->t;
    const size_t D = t->view.D, KV = t->view.KV * D, g = tg_attn_kv_head(&t->view, t->at.h) * D;
    double sum = 0, loss = 0;

    for (size_t j = t->first; j <= t->at.i; j++) {
        const double e = exp((j == t->at.j ? score : t->scores[j]) - t->max);

        sum += e;
        for (size_t c = 0; c < D; c++)
            loss += e * d->datt[c] * t->v[j * KV + g + c];
    }
    return loss / sum;
}

static double of_vectors(const tg_derivation *d, const double *q, const double *k)
{
    const tg_attention_rule *rule = &d->t.view.rule;
    double s = 0;

    for (size_t c = 0; c < d->t.view.D; c++)
        s += q[c] * k[c];
    s *= rule->scale > 0 ? rule->scale : 1 / sqrt((double)d->t.view.D);
    return of_score(d, rule->cap > 0 ? rule->cap * tanh(s / rule->cap) : s);
}

/* Which of a vector's steps is moved. */
enum step { PROJECTED, NORMED, MADE };

static double of_moved(const tg_derivation *d, bool key, enum step step, size_t channel, double by)
{
    const tg_attn_vector *v = key ? &d->k : &d->q;
    const double *at = step == PROJECTED ? v->projected : step == NORMED ? v->normed : v->made;
    double x[D_MAX], y[D_MAX];

    memcpy(x, at, v->D * sizeof *x);
    x[channel] += by;
    if (step == PROJECTED) {
        norm(y, x, v, key ? &d->layer.k_steps : &d->layer.q_steps);
        memcpy(x, y, sizeof x);
    }
    if (step <= NORMED) {
        turn(y, x, v);
        memcpy(x, y, sizeof x);
    }
    return of_vectors(d, key ? d->q.made : x, key ? x : d->k.made);
}

/* Central differences of all steps; the float32 numbers in the forward half are off by 1e-7. */
static void check_slopes(const tg_derivation *d, double *largest)
{
    const double h = 1e-4;

    for (size_t n = 0; n < 6 * d->q.D; n++) {
        const bool key = n % 2;
        const enum step step = (enum step)(n / 2 % 3);
        const size_t c = n / 6;
        const tg_attn_vector *v = key ? &d->k : &d->q;
        const double *got = step == PROJECTED ? v->dprojected
                            : step == NORMED  ? v->dnormed
                            : key             ? d->t.dk
                                              : d->t.dq;
        const double slope = (of_moved(d, key, step, c, h) - of_moved(d, key, step, c, -h)) / (2 * h);

        CHECK_NEAR(got[c], slope, 2e-6);
        *largest = fmax(*largest, fabs(slope));
    }
}

static void check_nothing(const tg_derivation *d)
{
    for (size_t c = 0; c < d->q.D; c++)
        CHECK(d->t.dq[c] == 0 && d->t.dk[c] == 0 && d->q.dprojected[c] == 0 && d->k.dprojected[c] == 0);
}

static void check_at(const tg_model *m, size_t layer, tg_attn_index at, double *largest)
{
    const tg_derive_what what = {.layer = layer, .at = at, .backward = true, .target = 120};
    tg_attn_layers layers;
    tg_derivation d;
    tg_err err = {0};
    size_t D, g;

    CHECK_OK(tg_attn_layers_model(&layers, m, ids, T, &err), &err);
    CHECK_OK(tg_derive(&d, &layers, &what, &err), &err);
    D = d.t.view.D;
    g = tg_attn_kv_head(&d.t.view, at.h);
    check_vector(&d.q, &d.layer.q_steps, d.t.q + (at.i * d.t.view.H + at.h) * D);
    check_vector(&d.k, &d.layer.k_steps, d.t.k + (at.j * d.t.view.KV + g) * D);
    if (d.masked)
        check_nothing(&d);
    else
        check_slopes(&d, largest);
    tg_derivation_free(&d);
    tg_attn_layers_close(&layers);
}

/* Some queries and keys: with those after the query, and before the window. */
static void gradients(const tg_model *m)
{
    const size_t H = m->config.n_head;
    double largest = 0;

    for (size_t n = 0; n < L * 2 * 4 * T; n++)
        check_at(m, n % L, (tg_attn_index){0, n / L % 2 * (H - 1), n / L / 2 % 4 + 2, n / L / 8}, &largest);
    CHECK(largest > 1e-3);
}

static size_t body;

static void traces(void)
{
    tg_model m;

    body_create(&m, body);
    equals_the_walk(&m);
    gradients(&m);
    tg_model_free(&m);
}

int main(void)
{
    for (body = 0; body < BODIES; body++) {
        printf("# %s\n", body_name(body));
        RUN(traces);
    }
    return check_done();
}
