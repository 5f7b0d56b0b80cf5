/* lib/patch against whole passes of one sequence, and what must be equal whatever the model. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/threads.h"
#include "lib/gpt/family.h"
#include "lib/gpt/head.h"
#include "lib/patch/attribution.h"
#include "lib/patch/patch.h"
#include "tests/unit/bodies.h"
#include "tests/unit/check.h"
#include "tests/unit/small_model.h"

enum { T = 7, V = 256, EDITS = 4000 };

static const int32_t clean[T] = {3, 200, 41, 97, 97, 8, 120}, corrupt[T] = {3, 77, 41, 180, 97, 9, 11};
static const tg_patch_metric diff = {.kind = TG_PATCH_DIFF, .answer = 65, .wrong = 66, .V = V};

/* Model i: those of bodies.h, then GPT-2. */
static void create(tg_model *m, size_t i)
{
    if (i < BODIES) {
        body_create(m, i);
        return;
    }
    small_model_create(m, small_config(2, 3, 12, 16), 1);
    small_model_stir(m, 100, 0.5, 0.3);
}

static void open_both(tg_patch *p, const tg_model *m)
{
    tg_err err = {0};

    CHECK_OK(tg_patch_open(p, m, T, &err), &err);
    tg_patch_keep(&p->kept[TG_PATCH_CLEAN], &p->pass, clean, T);
    tg_patch_keep(&p->kept[TG_PATCH_CORRUPT], &p->pass, corrupt, T);
    CHECK_OK(tg_patch_keep_pattern(&p->kept[TG_PATCH_CLEAN], &p->kept[TG_PATCH_CORRUPT], &p->pass.acts, &err),
             &err);
}

static void for_each_model(void (*test)(tg_patch *p))
{
    for (size_t i = 0; i <= BODIES; i++) {
        tg_model m;
        tg_patch p;

        create(&m, i);
        open_both(&p, &m);
        test(&p);
        tg_patch_close(&p);
        tg_model_free(&m);
    }
}

static tg_patch_plan plan_of(const tg_patch *p, const tg_patch_case *cases, size_t n,
                             const tg_patch_kept *source)
{
    return (tg_patch_plan){cases, n, &p->kept[TG_PATCH_CORRUPT], source, &diff, NULL};
}

static double value_of(tg_patch *p, const tg_patch_edit *edit, size_t n)
{
    const tg_patch_case one = {edit, n};
    const tg_patch_plan plan = plan_of(p, &one, 1, &p->kept[TG_PATCH_CLEAN]);
    double value;
    tg_err err = {0};

    CHECK_OK(tg_patch_run(p, &plan, &value, &err), &err);
    return value;
}

static double clean_value(const tg_patch *p)
{
    return tg_patch_measure(&diff, p->kept[TG_PATCH_CLEAN].logits);
}

static double corrupt_value(const tg_patch *p)
{
    return tg_patch_measure(&diff, p->kept[TG_PATCH_CORRUPT].logits);
}

/* ---- whole passes */

/* Every site, layer and head, or all of them, at some positions, or all. */
static size_t every_edit(tg_patch_edit *edit, const tg_patch *p)
{
    static const size_t positions[] = {0, 3, T - 1, TG_PATCH_ALL};
    size_t n = 0;

    for (tg_patch_site s = 0; s < TG_PATCH_SITES; s++)
        for (size_t l = 0; l < p->pass.acts.L; l++)
            for (size_t h = 0; h <= tg_patch_heads(&p->pass.acts, s); h++)
                for (size_t i = 0; i < 4; i++, n++) {
                    CHECK(n < EDITS);
                    edit[n] = (tg_patch_edit){s, l, h < tg_patch_heads(&p->pass.acts, s) ? h : TG_PATCH_ALL,
                                              positions[i]};
                }
    return n;
}

/* Replace what an edit names, if the run is there. */
static void edit_pass(tg_acts *a, const tg_patch_edit *e, const tg_patch_kept *source)
{
    const tg_matrix m = tg_acts_row(a, e->layer, tg_patch_row(a, e->site));
    const size_t D = e->head == TG_PATCH_ALL ? m.cols : m.cols / tg_patch_heads(a, e->site);

    for (size_t t = 0; t < T; t++)
        for (size_t d = 0; d < D && (e->position == t || e->position == TG_PATCH_ALL); d++) {
            const size_t at = (e->head == TG_PATCH_ALL ? 0 : e->head * D) + d;

            tg_floats(m)[t * m.ld + at] = source ? tg_patch_kept_at(source, e->site, e->layer, t)[at] : 0;
        }
}

/* The metric of a pass over the corrupt prompt, with one edit. */
static double whole_pass(tg_pass *pass, const tg_patch_edit *e, const tg_patch_kept *source)
{
    tg_acts *a = &pass->acts;
    const tg_family *f = a->family;
    const size_t rows[TG_PATCH_SITES] = {[TG_PATCH_X] = 0,
                                         [TG_PATCH_Q] = f->att,
                                         [TG_PATCH_K] = f->att,
                                         [TG_PATCH_V] = f->att,
                                         [TG_PATCH_PATTERN] = f->att + 1,
                                         [TG_PATCH_Z] = f->att + 1,
                                         [TG_PATCH_ATT] = f->att + 1,
                                         [TG_PATCH_MLP] = f->units + 1};
    const size_t place = tg_place(a, e->layer, rows[e->site]);

    a->B = 1;
    a->T = T;
    tg_pass_begin(pass, corrupt);
    (void)tg_pass_layers(pass, 0, place, NULL);
    edit_pass(a, e, source);
    (void)tg_pass_layers(pass, place, tg_layers_end(a), NULL);
    return tg_patch_measure(&diff, tg_pass_logits(pass, tg_matrix_from(a->x, T - 1), 1));
}

static void check_against_passes(tg_patch *p, const tg_patch_kept *source)
{
    static tg_patch_edit edit[EDITS];
    static tg_patch_case cases[EDITS];
    static double values[EDITS];
    const size_t n = every_edit(edit, p);
    const tg_patch_plan plan = plan_of(p, cases, n, source);
    size_t moved = 0;
    tg_err err = {0};

    for (size_t i = 0; i < n; i++)
        cases[i] = (tg_patch_case){&edit[i], 1};
    CHECK_OK(tg_patch_run(p, &plan, values, &err), &err);
    for (size_t i = 0; i < n; i++) {
        const double want = whole_pass(&p->pass, &edit[i], source);

        CHECK_NEAR(values[i], want, 1e-5 * fmax(1, fabs(want)));
        moved += fabs(want - corrupt_value(p)) > 1e-3;
    }
    CHECK(moved > n / 4); /* not of the last layer's earlier positions */
}

static void from_clean(tg_patch *p)
{
    check_against_passes(p, &p->kept[TG_PATCH_CLEAN]);
}

static void zeros(tg_patch *p)
{
    check_against_passes(p, NULL);
}

static void edits_are_those_of_whole_passes(void)
{
    for_each_model(from_clean);
    for_each_model(zeros);
}

/* ---- identities */

static void identities_of(tg_patch *p)
{
    const size_t last = p->pass.acts.L - 1;
    tg_patch_edit all[1];
    double z, att;

    CHECK(fabs(clean_value(p) - corrupt_value(p)) > 0.01);
    CHECK_NEAR(value_of(p, NULL, 0), corrupt_value(p), 1e-5);
    /* a pass of nothing but the end of the run */
    all[0] = (tg_patch_edit){TG_PATCH_ATT, last, TG_PATCH_ALL, 0};
    CHECK_NEAR(value_of(p, all, 1), corrupt_value(p), 1e-6);
    all[0].position = T - 1;
    CHECK_NEAR(value_of(p, all, 1), whole_pass(&p->pass, all, &p->kept[TG_PATCH_CLEAN]), 1e-5);
    all[0] = (tg_patch_edit){TG_PATCH_X, 0, TG_PATCH_ALL, TG_PATCH_ALL};
    CHECK_NEAR(value_of(p, all, 1), clean_value(p), 1e-5);
    all[0] = (tg_patch_edit){TG_PATCH_X, last, TG_PATCH_ALL, TG_PATCH_ALL};
    CHECK_NEAR(value_of(p, all, 1), clean_value(p), 1e-5);

    /* q and k of all heads make the pattern; the values are the corrupt run's */
    for (size_t l = 0; l <= last; l++) {
        const tg_patch_edit qk[] = {{TG_PATCH_Q, l, TG_PATCH_ALL, TG_PATCH_ALL},
                                    {TG_PATCH_K, l, TG_PATCH_ALL, TG_PATCH_ALL}};
        const tg_patch_edit pattern = {TG_PATCH_PATTERN, l, TG_PATCH_ALL, TG_PATCH_ALL};

        CHECK_NEAR(value_of(p, qk, 2), value_of(p, &pattern, 1), 1e-5);
    }
    /* q, k and v of all heads make att, and all heads' z are att */
    for (size_t l = 0; l <= last; l++) {
        const tg_patch_edit qkv[] = {{TG_PATCH_Q, l, TG_PATCH_ALL, TG_PATCH_ALL},
                                     {TG_PATCH_K, l, TG_PATCH_ALL, TG_PATCH_ALL},
                                     {TG_PATCH_V, l, TG_PATCH_ALL, TG_PATCH_ALL}};

        all[0] = (tg_patch_edit){TG_PATCH_ATT, l, TG_PATCH_ALL, TG_PATCH_ALL};
        att = value_of(p, all, 1);
        all[0].site = TG_PATCH_Z;
        z = value_of(p, all, 1);
        CHECK(z == att);
        CHECK_NEAR(value_of(p, qkv, 3), att, 1e-5);
    }
}

/* All that is added to the stream, and what it is added to. */
static void parts_make_the_whole_of(tg_patch *p)
{
    tg_patch_edit edit[1 + 2 * 8];
    size_t n = 0;

    edit[n++] = (tg_patch_edit){TG_PATCH_X, 0, TG_PATCH_ALL, T - 1};
    for (size_t l = 0; l < p->pass.acts.L; l++) {
        edit[n++] = (tg_patch_edit){TG_PATCH_MLP, l, TG_PATCH_ALL, T - 1};
        edit[n++] = (tg_patch_edit){TG_PATCH_ATT, l, TG_PATCH_ALL, T - 1};
    }
    CHECK_NEAR(value_of(p, edit, n), clean_value(p), 1e-5);
    CHECK(fabs(value_of(p, edit, n - 1) - clean_value(p)) > 1e-4);
}

static void identities(void)
{
    for_each_model(identities_of);
    for_each_model(parts_make_the_whole_of);
}

/* ---- threads; sequences that do not fit one pass */

static void at_any_thread_count(void)
{
    enum { CASES = 700 };
    static tg_patch_edit edit[CASES];
    static tg_patch_case cases[CASES];
    static double one[CASES], three[CASES];
    const size_t before = tg_threads();
    tg_model m;
    tg_patch p;
    tg_err err = {0};

    create(&m, BODIES);
    open_both(&p, &m);
    for (size_t i = 0; i < CASES; i++) {
        edit[i] = (tg_patch_edit){TG_PATCH_Z, i % 2, i % 3, i % T};
        cases[i] = (tg_patch_case){&edit[i], 1};
    }
    const tg_patch_plan plan = plan_of(&p, cases, CASES, &p.kept[TG_PATCH_CLEAN]);

    tg_threads_set(1);
    CHECK_OK(tg_patch_run(&p, &plan, one, &err), &err);
    tg_threads_set(3);
    CHECK_OK(tg_patch_run(&p, &plan, three, &err), &err);
    tg_threads_set(before);
    CHECK(memcmp(one, three, sizeof one) == 0);
    for (size_t i = 0; i + 6 * T < CASES; i++)
        CHECK_NEAR(one[i], one[i + 6 * T], 1e-5);
    tg_patch_close(&p);
    tg_model_free(&m);
}

/* ---- means */

static void means(void)
{
    tg_model m;
    tg_patch p;

    create(&m, 0);
    open_both(&p, &m);
    tg_patch_add_to_mean(&p.kept[TG_PATCH_MEAN], &p.kept[TG_PATCH_CLEAN], 0, 2);
    tg_patch_add_to_mean(&p.kept[TG_PATCH_MEAN], &p.kept[TG_PATCH_CORRUPT], 1, 2);
    tg_patch_add_to_mean(&p.kept[TG_PATCH_MEAN], &p.kept[TG_PATCH_CORRUPT], 2, 2);
    for (tg_patch_site s = 0; s < TG_PATCH_SITES; s++)
        for (size_t i = 0; i < 4 && s != TG_PATCH_PATTERN; i++)
            CHECK_NEAR((double)tg_patch_kept_at(&p.kept[TG_PATCH_MEAN], s, 1, T - 1)[i],
                       ((double)tg_patch_kept_at(&p.kept[TG_PATCH_CLEAN], s, 1, T - 1)[i] +
                        2 * (double)tg_patch_kept_at(&p.kept[TG_PATCH_CORRUPT], s, 1, T - 1)[i]) /
                           3,
                       1e-6);
    tg_patch_close(&p);
    tg_model_free(&m);
}

/* ---- attribution, against central differences in double precision */

/* Add step * (source - base) to what an edit names. */
static void step_along(tg_acts *a, const tg_patch *p, const tg_patch_edit *e, double step)
{
    const tg_patch_kept *base = &p->kept[TG_PATCH_CORRUPT], *source = &p->kept[TG_PATCH_CLEAN];
    const tg_matrix m = tg_acts_row(a, e->layer, tg_patch_row(a, e->site));
    const size_t D = e->head == TG_PATCH_ALL ? m.cols : m.cols / tg_patch_heads(a, e->site);
    const size_t first = e->head == TG_PATCH_ALL ? 0 : e->head * D;
    const tg_patch_site of_base = e->site == TG_PATCH_PATTERN ? TG_PATCH_Z : e->site;

    for (size_t t = 0; t < T; t++)
        for (size_t i = first; i < first + D && (e->position == t || e->position == TG_PATCH_ALL); i++)
            tg_doubles(m)[t * m.ld + i] += step * ((double)tg_patch_kept_at(source, e->site, e->layer, t)[i] -
                                                   (double)tg_patch_kept_at(base, of_base, e->layer, t)[i]);
}

static double stepped(tg_acts *a, const tg_patch *p, const tg_patch_edit *e, double step)
{
    const size_t place = tg_patch_place(a, e->layer, tg_patch_stop_of(e->site));
    double logits[V];

    for (size_t i = 0; i < T * a->C; i++)
        tg_doubles(tg_acts_row(a, 0, TG_ACT_X))[i] =
            (double)tg_patch_kept_at(&p->kept[TG_PATCH_CORRUPT], TG_PATCH_X, 0, 0)[i];
    (void)tg_layers_forward(a, 0, place, NULL);
    step_along(a, p, e, step);
    (void)tg_layers_forward(a, place, tg_layers_end(a), NULL);
    tg_head_forward(a, tg_matrix_of(logits, TG_TYPE_DOUBLE, V), tg_matrix_from(a->x, T - 1), 1);
    return logits[diff.answer] - logits[diff.wrong];
}

static void attribution_of(tg_patch *p)
{
    static tg_patch_edit edit[EDITS];
    const double h = 1e-5;
    const size_t n = every_edit(edit, p);
    size_t moved = 0;
    tg_patch_attribution a, plain; /* the second one for its memory */
    tg_err err = {0};

    CHECK_OK(tg_patch_attribution_open(&a, p->model, T, &err), &err);
    CHECK_OK(tg_patch_attribution_open(&plain, p->model, T, &err), &err);
    tg_patch_attribution_run(&a, &p->kept[TG_PATCH_CORRUPT], &p->kept[TG_PATCH_CLEAN], &diff, 0, NULL);
    for (size_t i = 0; i < n; i++) {
        const double up = stepped(&plain.run.acts, p, &edit[i], h),
                     down = stepped(&plain.run.acts, p, &edit[i], -h);
        const double want = (up - down) / (2 * h);

        CHECK_NEAR(tg_patch_attribution_of(&a, &edit[i]), want, 1e-6 * fmax(1, fabs(want)));
        moved += fabs(want) > 1e-3;
    }
    CHECK(moved > n / 4);
    tg_patch_attribution_close(&plain);
    tg_patch_attribution_close(&a);
}

static void attributions_are_derivatives(void)
{
    for_each_model(attribution_of);
}

/* ---- metrics */

static void metrics_and_their_gradients(void)
{
    enum { N = 5 };
    static const float logits[N] = {0.5f, -1, 2, 0.25f, 0}, reference[N] = {1, 0, 0.5f, -2, 0.75f};
    double p[N], r[N], z = 0, zr = 0, kl = 0;

    for (size_t v = 0; v < N; v++) {
        z += p[v] = exp((double)logits[v]);
        zr += r[v] = exp((double)reference[v]);
    }
    for (size_t v = 0; v < N; v++)
        kl += r[v] / zr * log(r[v] / zr / (p[v] / z));
    const double want[] = {1.5, p[2] / z, -log(p[2] / z), kl};

    for (tg_patch_metric_kind k = 0; k <= TG_PATCH_KL; k++) {
        const tg_patch_metric m = {k, 2, 0, reference, tg_score_row(reference, N, N, -1), N};
        double at[N], d[N];

        CHECK_NEAR(tg_patch_measure(&m, logits), want[k], 1e-12);
        for (size_t v = 0; v < N; v++)
            at[v] = (double)logits[v];
        tg_patch_measure_backward(d, &m, at);
        for (size_t v = 0; v < N; v++) { /* float32 steps of powers of 2 are exact */
            const float h = 1.0f / 1024;
            float up[N], down[N];

            memcpy(up, logits, sizeof up);
            memcpy(down, logits, sizeof down);
            up[v] += h;
            down[v] -= h;
            CHECK_NEAR(d[v], (tg_patch_measure(&m, up) - tg_patch_measure(&m, down)) / (2 * (double)h), 1e-6);
        }
    }
}

int main(void)
{
    RUN(edits_are_those_of_whole_passes);
    RUN(identities);
    RUN(at_any_thread_count);
    RUN(means);
    RUN(attributions_are_derivatives);
    RUN(metrics_and_their_gradients);
    return check_done();
}
