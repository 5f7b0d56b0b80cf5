/* lib/patch's edges: full runs against tg_patch_run() and plain loops, their linear form against central
 * differences, and what must be equal whatever the model. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/threads.h"
#include "lib/gpt/family.h"
#include "lib/gpt/head.h"
#include "lib/gpt/layers.h"
#include "lib/patch/attribution.h"
#include "lib/patch/edge_attribution.h"
#include "lib/patch/patch.h"
#include "lib/patch/paths.h"
#include "tests/unit/bodies.h"
#include "tests/unit/check.h"
#include "tests/unit/small_model.h"

enum { T = 7, V = 256, EDGES = 2000 };

static const int32_t clean[T] = {3, 200, 41, 97, 97, 8, 120}, corrupt[T] = {3, 77, 41, 180, 97, 9, 11};
static const tg_patch_metric diff = {.kind = TG_PATCH_DIFF, .answer = 65, .wrong = 66, .V = V};

/* Both runs of a model, and what is computed of them. */
struct runs {
    tg_model model;
    tg_patch patch;
    tg_patch_paths paths;
    tg_edge_attribution linear;
    const tg_patch_kept *base, *source;
    tg_patch_graph g;
};

/* Model i: those of bodies.h, then GPT-2. */
static void open_runs(struct runs *r, size_t i)
{
    tg_err err = {0};

    if (i < BODIES)
        body_create(&r->model, i);
    else {
        small_model_create(&r->model, small_config(3, 3, 12, 16), 1);
        small_model_stir(&r->model, 100, 0.5, 0.3);
    }
    CHECK_OK(tg_patch_open(&r->patch, &r->model, T, &err), &err);
    CHECK_OK(tg_patch_paths_open(&r->paths, &r->model, T, true, &err), &err);
    CHECK_OK(tg_edge_attribution_open(&r->linear, &r->model, T, &err), &err);
    tg_patch_keep(&r->patch.kept[TG_PATCH_CLEAN], &r->patch.pass, clean, T);
    tg_patch_keep(&r->patch.kept[TG_PATCH_CORRUPT], &r->patch.pass, corrupt, T);
    r->base = &r->patch.kept[TG_PATCH_CORRUPT];
    r->source = &r->patch.kept[TG_PATCH_CLEAN];
    r->g = r->paths.graph;
}

static void close_runs(struct runs *r)
{
    tg_edge_attribution_close(&r->linear);
    tg_patch_paths_close(&r->paths);
    tg_patch_close(&r->patch);
    tg_model_free(&r->model);
}

static void for_each_model(void (*test)(struct runs *r))
{
    for (size_t i = 0; i <= BODIES; i++) {
        static struct runs r;

        open_runs(&r, i);
        test(&r);
        close_runs(&r);
    }
}

static double metric_of(const tg_patch_kept *run)
{
    return tg_patch_measure(&diff, run->logits);
}

/* Every edge, by receiver. */
static size_t every_edge(tg_patch_edge *edge, const tg_patch_graph *g)
{
    size_t n = 0;

    for (size_t r = 0; r < g->receivers; r++)
        for (size_t s = 0; s < tg_patch_senders_before(g, r); s++) {
            CHECK(n < EDGES);
            edge[n++] = (tg_patch_edge){s, r};
        }
    return n;
}

static double value_of(struct runs *r, const tg_patch_edge *edge, size_t n, const tg_patch_kept *source)
{
    const tg_path_case one = {edge, n};
    const tg_path_plan plan = {&one, 1, &diff, NULL};
    double value = 0;
    tg_err err = {0};

    tg_patch_paths_begin(&r->paths, r->base, source);
    CHECK_OK(tg_patch_paths_run(&r->paths, &plan, &value, &err), &err);
    return value;
}

/* ---- the graph */

static void numbers_of_the_graph(void)
{
    const tg_config gpt2 = {.n_layer = 12, .n_head = 12, .n_embd = 768};
    const tg_patch_graph g = tg_patch_graph_of(&gpt2);
    size_t edges = 0;

    CHECK(g.senders == 157 && g.receivers == 445);
    for (size_t r = 0; r < g.receivers; r++) {
        const tg_patch_receiver of = tg_patch_receiver_of(&g, r);

        CHECK(tg_patch_receiver_number(&g, &of) == r);
        edges += tg_patch_senders_before(&g, r);
    }
    CHECK(edges == 32491);
    for (size_t s = 1; s < g.senders; s++)
        CHECK(tg_patch_sender(&g, tg_patch_sender_layer(&g, s), tg_patch_sender_head(&g, s)) == s);
}

/* ---- full runs */

static void all_and_nothing_of(struct runs *r)
{
    static tg_patch_edge edge[EDGES];
    const size_t n = every_edge(edge, &r->g);

    CHECK(fabs(metric_of(r->source) - metric_of(r->base)) > 0.01);
    CHECK(value_of(r, NULL, 0, r->source) == metric_of(r->base));
    CHECK_NEAR(value_of(r, edge, n, r->source), metric_of(r->source), 1e-4);
    CHECK_NEAR(value_of(r, edge, n, r->base), metric_of(r->base), 1e-4);
}

/* All edges to a receiver: it reads the source run's stream, and computes what it has computed there. */
static void whole_receivers_of(struct runs *r)
{
    static tg_patch_edge edge[EDGES];

    for (size_t number = 0; number + 1 < r->g.receivers; number++) {
        const tg_patch_receiver of = tg_patch_receiver_of(&r->g, number);
        const size_t head = of.site == TG_PATCH_MLP ? TG_PATCH_ALL : of.head;
        const tg_patch_edit edit = {of.site, of.layer, head, TG_PATCH_ALL};
        const tg_patch_case one = {&edit, 1};
        const tg_patch_plan plan = {&one, 1, r->base, r->source, &diff, NULL};
        const size_t n = tg_patch_senders_before(&r->g, number);
        double want = 0;
        tg_err err = {0};

        for (size_t s = 0; s < n; s++)
            edge[s] = (tg_patch_edge){s, number};
        CHECK_OK(tg_patch_run(&r->patch, &plan, &want, &err), &err);
        CHECK_NEAR(value_of(r, edge, n, r->source), want, 1e-4);
    }
}

/* All edges to the output: it reads the source run's stream. */
static void whole_output_of(struct runs *r)
{
    static tg_patch_edge edge[EDGES];

    for (size_t s = 0; s < r->g.senders; s++)
        edge[s] = (tg_patch_edge){s, r->g.receivers - 1};
    CHECK_NEAR(value_of(r, edge, r->g.senders, r->source), metric_of(r->source), 1e-4);
}

/* Without a source a receiver reads the sum of what the others write: nothing but biases, if there are none;
 * and otherwise what it would read if the senders wrote zeros. */
static void nothing_instead_of(struct runs *r)
{
    static tg_patch_edge edge[EDGES];
    const size_t n = every_edge(edge, &r->g), to_output = n - r->g.senders;
    tg_patch_kept *zeros = &r->patch.kept[TG_PATCH_MEAN];
    size_t some = 0;

    CHECK(value_of(r, edge, n, NULL) == value_of(r, edge + to_output, r->g.senders, NULL));
    tg_patch_add_to_mean(zeros, r->base, 0, r->g.L);
    for (tg_patch_site s = 0; s < TG_PATCH_SITES; s++)
        for (size_t l = 0; l < r->g.L && s != TG_PATCH_PATTERN; l++)
            memset(tg_patch_kept_at(zeros, s, l, 0), 0, T * zeros->cols[s] * sizeof(float));
    for (size_t i = 0; i < n; i++)
        if (i % 3 == 0)
            edge[some++] = edge[i];
    CHECK_NEAR(value_of(r, edge, some, NULL), value_of(r, edge, some, zeros), 1e-4);
    CHECK(fabs(value_of(r, edge, some, NULL) - metric_of(r->base)) > 1e-3);
}

/* All edges of a sender: its output is the source run's.  Skipped where a norm follows the sublayer: there
 * tg_patch_run() replaces the norm's input, not its output. */
static void whole_senders_of(struct runs *r)
{
    static tg_patch_edge edge[EDGES];

    for (size_t s = 0; s < r->g.senders && !tg_model_weight(&r->model, TG_OUT_NORM_W, 0); s++) {
        const bool is_x = s == TG_PATCH_EMBEDDING;
        const size_t head = is_x ? TG_PATCH_ALL : tg_patch_sender_head(&r->g, s);
        const size_t layer = is_x ? 0 : tg_patch_sender_layer(&r->g, s);
        const tg_patch_site site = is_x ? TG_PATCH_X : head == r->g.H ? TG_PATCH_MLP : TG_PATCH_Z;
        const tg_patch_edit edit = {site, layer, head == r->g.H ? TG_PATCH_ALL : head, TG_PATCH_ALL};
        const tg_patch_case one = {&edit, 1};
        const tg_patch_plan plan = {&one, 1, r->base, r->source, &diff, NULL};
        double want = 0;
        size_t n = 0;
        tg_err err = {0};

        for (size_t number = 0; number < r->g.receivers; number++)
            if (s < tg_patch_senders_before(&r->g, number))
                edge[n++] = (tg_patch_edge){s, number};
        CHECK_OK(tg_patch_run(&r->patch, &plan, &want, &err), &err);
        CHECK_NEAR(value_of(r, edge, n, r->source), want, 1e-4);
    }
}

static void sets_of_edges(void)
{
    for_each_model(all_and_nothing_of);
    for_each_model(whole_receivers_of);
    for_each_model(whole_senders_of);
    for_each_model(whole_output_of);
    for_each_model(nothing_instead_of);
}

/* Cases that share passes have the values that each has alone, with any number of threads. */
static void shared_passes_of(struct runs *r)
{
    static tg_patch_edge edge[EDGES];
    static tg_path_case cases[EDGES];
    static double values[EDGES], again[EDGES];
    const size_t n = every_edge(edge, &r->g), before = tg_threads();
    const tg_path_plan plan = {cases, n, &diff, NULL};
    size_t moved = 0;
    tg_err err = {0};

    for (size_t i = 0; i < n; i++)
        cases[i] = (tg_path_case){&edge[i], 1};
    tg_patch_paths_begin(&r->paths, r->base, r->source);
    tg_threads_set(1);
    CHECK_OK(tg_patch_paths_run(&r->paths, &plan, values, &err), &err);
    tg_threads_set(3);
    CHECK_OK(tg_patch_paths_run(&r->paths, &plan, again, &err), &err);
    tg_threads_set(before);
    CHECK(memcmp(values, again, n * sizeof *values) == 0);
    for (size_t i = 0; i < n; i += 7) {
        CHECK_NEAR(values[i], value_of(r, &edge[i], 1, r->source), 1e-5);
        moved += fabs(values[i] - metric_of(r->base)) > 1e-3;
    }
    CHECK(moved > n / 28);
}

static void shared_passes(void)
{
    for_each_model(shared_passes_of);
}

/* ---- the linear form */

/* The metric, in double precision, where receivers read step * (the edge's write) more.  The edge's receiver
 * alone is run again from what it reads. */
static double stepped(struct runs *r, tg_patch_backward *run, tg_patch_backward *reading,
                      const tg_patch_edge *edge, double step)
{
    tg_acts *a = &run->acts, *b = &reading->acts;
    const tg_family *f = a->family;
    const tg_patch_receiver of = tg_patch_receiver_of(&r->g, edge->receiver);
    const bool mlp = of.site == TG_PATCH_MLP, output = of.site == TG_PATCH_X;
    const size_t from = tg_place(a, of.layer, mlp ? f->mlp : 0);
    const size_t to = tg_place(a, of.layer, mlp ? f->units + 1 : f->att);
    const size_t row = mlp ? f->mlp_in : TG_ACT_X;
    double logits[V], *x;

    a->T = b->T = T;
    for (size_t i = 0; i < T * a->C; i++)
        tg_doubles(tg_acts_row(a, 0, TG_ACT_X))[i] = (double)tg_patch_kept_at(r->base, TG_PATCH_X, 0, 0)[i];
    (void)tg_layers_forward(a, 0, output ? tg_layers_end(a) : to, NULL);
    x = tg_doubles(output ? a->x : tg_acts_row(b, of.layer, row));
    if (!output)
        memcpy(x, tg_doubles(tg_acts_row(a, of.layer, row)), T * a->C * sizeof *x);
    for (size_t i = 0; i < T * a->C; i++)
        x[i] += step * (double)tg_patch_write_at(&r->linear.writes, edge->sender, 0)[i];
    if (!output) {
        const tg_matrix into = tg_acts_row(a, of.layer, tg_patch_row(a, of.site));
        const tg_matrix out = tg_acts_row(b, of.layer, tg_patch_row(a, of.site));
        const size_t D = mlp ? into.cols : into.cols / tg_patch_heads(a, of.site);

        (void)tg_layers_forward(b, from, to, NULL);
        for (size_t t = 0; t < T; t++)
            memcpy(tg_doubles(into) + t * into.ld + of.head * D, tg_doubles(out) + t * out.ld + of.head * D,
                   D * sizeof(double));
        (void)tg_layers_forward(a, to, tg_layers_end(a), NULL);
    }
    tg_head_forward(a, tg_matrix_of(logits, TG_TYPE_DOUBLE, V), tg_matrix_from(a->x, T - 1), 1);
    return logits[diff.answer] - logits[diff.wrong];
}

static void linear_form_of(struct runs *r)
{
    static tg_patch_edge edge[EDGES];
    const size_t n = every_edge(edge, &r->g);
    const double h = 1e-5;
    tg_edge_attribution one, two; /* for their memory */
    size_t moved = 0;
    tg_err err = {0};

    CHECK_OK(tg_edge_attribution_open(&one, &r->model, T, &err), &err);
    CHECK_OK(tg_edge_attribution_open(&two, &r->model, T, &err), &err);
    tg_edge_attribution_run(&r->linear, r->base, r->source, &diff, 0, NULL);
    for (size_t i = 0; i < n; i++) {
        const double up = stepped(r, &one.run, &two.run, &edge[i], h);
        const double down = stepped(r, &one.run, &two.run, &edge[i], -h);
        const double want = (up - down) / (2 * h);

        CHECK_NEAR(tg_edge_attribution_of(&r->linear, &edge[i]), want, 1e-6 * fmax(1, fabs(want)));
        moved += fabs(want) > 1e-3;
    }
    CHECK(moved > n / 4);
    tg_edge_attribution_close(&two);
    tg_edge_attribution_close(&one);
}

/* A sender's edges add up to what replacing its output would change; through a norm after the sublayer the
 * derivative is not the difference. */
static void edges_add_up_of(struct runs *r)
{
    tg_patch_attribution whole;
    tg_err err = {0};

    CHECK_OK(tg_patch_attribution_open(&whole, &r->model, T, &err), &err);
    for (size_t steps = 0; steps < 4; steps += 3) {
        tg_patch_attribution_run(&whole, r->base, r->source, &diff, steps, NULL);
        tg_edge_attribution_run(&r->linear, r->base, r->source, &diff, steps, NULL);
        for (size_t s = 0; s < r->g.senders; s++) {
            const size_t head = s == TG_PATCH_EMBEDDING ? 0 : tg_patch_sender_head(&r->g, s);
            tg_patch_edit edit = {TG_PATCH_X, 0, TG_PATCH_ALL, TG_PATCH_ALL};
            double sum = 0, want;

            if (s != TG_PATCH_EMBEDDING)
                edit = (tg_patch_edit){head == r->g.H ? TG_PATCH_MLP : TG_PATCH_Z,
                                       tg_patch_sender_layer(&r->g, s), head == r->g.H ? TG_PATCH_ALL : head,
                                       TG_PATCH_ALL};
            for (size_t number = 0; number < r->g.receivers; number++)
                sum += tg_edge_attribution_of(&r->linear, &(tg_patch_edge){s, number});
            want = tg_patch_attribution_of(&whole, &edit);
            if (s == TG_PATCH_EMBEDDING || !tg_model_weight(&r->model, TG_OUT_NORM_W, 0))
                CHECK_NEAR(sum, want, 1e-5 * fmax(1, fabs(want)));
        }
    }
    tg_patch_attribution_close(&whole);
}

/* With enough steps, what replacing block 0's x changes is the difference of the runs. */
static void integrated_gradients_of(struct runs *r)
{
    const tg_patch_edit x = {TG_PATCH_X, 0, TG_PATCH_ALL, TG_PATCH_ALL};
    const double want = metric_of(r->source) - metric_of(r->base);
    tg_patch_attribution a;
    tg_err err = {0};

    CHECK_OK(tg_patch_attribution_open(&a, &r->model, T, &err), &err);
    tg_patch_attribution_run(&a, r->base, r->source, &diff, 400, NULL);
    CHECK_NEAR(tg_patch_attribution_of(&a, &x), want, 2e-3 * fmax(1, fabs(want)));
    tg_patch_attribution_close(&a);
}

static void linear_forms(void)
{
    for_each_model(linear_form_of);
    for_each_model(edges_add_up_of);
    for_each_model(integrated_gradients_of);
}

int main(void)
{
    RUN(numbers_of_the_graph);
    RUN(sets_of_edges);
    RUN(shared_passes);
    RUN(linear_forms);
    return check_done();
}
