#include "lib/patch/edge_attribution.h"

#include <string.h>

#include "lib/base/size.h"
#include "lib/base/threads.h"
#include "lib/gpt/family.h"
#include "lib/gpt/layers.h"

/* ---- memory */

enum { READS = 3 };
static const tg_patch_site reads[READS] = {TG_PATCH_Q, TG_PATCH_K, TG_PATCH_V};

static void place_edges(tg_arena *arena, void *context)
{
    tg_edge_attribution *a = context;
    const tg_config *c = &a->model->config;
    const size_t wide = tg_size_max(tg_dim_size(TG_DIM_Q, c), tg_dim_size(TG_DIM_KV, c));

    tg_patch_writes_place(arena, &a->writes, c, a->capacity);
    tg_patch_backward_place(arena, &a->run, a->model, a->capacity);
    a->change = tg_arena_take_rows(arena, a->graph.receivers, a->graph.senders, sizeof *a->change);
    a->before = tg_arena_take_rows(arena, a->capacity, c->n_embd, sizeof *a->before);
    a->sum = tg_arena_take_rows(arena, a->capacity, c->n_embd, sizeof *a->sum);
    a->dhead = tg_arena_take_rows(arena, a->capacity, READS * wide, sizeof *a->dhead);
}

tg_status tg_edge_attribution_open(tg_edge_attribution *a, const tg_model *model, size_t T, tg_err *err)
{
    *a = (tg_edge_attribution){.model = model, .graph = tg_patch_graph_of(&model->config), .capacity = T};
    return tg_arena_build(&a->arena, place_edges, a, err);
}

void tg_edge_attribution_close(tg_edge_attribution *a)
{
    tg_arena_free(&a->arena);
}

/* ---- the edges of a receiver */

static size_t elements(const tg_edge_attribution *a)
{
    return a->T * a->run.acts.C;
}

/* The stream's gradient [T,C]; its rows follow one another. */
static double *stream(const tg_edge_attribution *a)
{
    return tg_doubles(tg_acts_gradient(&a->run.acts, TG_ACT_X));
}

struct receiver {
    tg_edge_attribution *a;
    size_t number;
    const double *gradient; /* [T,C] of what it reads */
};

static void add_edges(void *context, size_t begin, size_t end)
{
    const struct receiver *r = context;
    double *change = r->a->change + r->number * r->a->graph.senders;

    for (size_t s = begin; s < end; s++) {
        const float *written = tg_patch_write_at(&r->a->writes, s, 0);
        double sum = 0;

        for (size_t i = 0; i < elements(r->a); i++)
            sum += (double)written[i] * r->gradient[i];
        change[s] += r->a->weight * sum;
    }
}

static void attribute(tg_edge_attribution *a, const tg_patch_receiver *of, const double *gradient)
{
    struct receiver r = {a, tg_patch_receiver_number(&a->graph, of), gradient};

    tg_threads_run(tg_patch_senders_before(&a->graph, r.number), tg_threads_grain(elements(a), 1), add_edges,
                   &r);
}

/* ---- the receivers of a layer, from its end to its beginning */

/* What the MLP reads has the gradient by which the stream's grows from the layer's end to attention's. */
static void take_mlp(tg_edge_attribution *a, size_t layer)
{
    tg_acts *acts = &a->run.acts;
    double *dx = stream(a);
    const size_t n = elements(a);

    memcpy(a->before, dx, n * sizeof *dx);
    (void)tg_layers_backward(acts, tg_place(acts, layer, acts->family->att), tg_place(acts, layer + 1, 0),
                             NULL);
    memcpy(a->sum, dx, n * sizeof *dx);
    for (size_t i = 0; i < n; i++)
        a->before[i] = dx[i] - a->before[i];
    attribute(a, &(tg_patch_receiver){TG_PATCH_MLP, layer, 0}, a->before);
}

/* The gradient of q, k or v, for all heads. */
static tg_matrix gradient_of(const tg_edge_attribution *a, tg_patch_site site)
{
    return tg_acts_gradient(&a->run.acts, tg_patch_row(&a->run.acts, site));
}

/* Save the gradients of q, k and v in a->dhead. */
static void keep_heads(tg_edge_attribution *a)
{
    double *to = a->dhead;

    for (size_t i = 0; i < READS; i++) {
        const tg_matrix m = gradient_of(a, reads[i]);

        for (size_t t = 0; t < a->T; t++, to += m.cols)
            memcpy(to, tg_doubles(m) + t * m.ld, m.cols * sizeof *to);
    }
}

/* Set them to those of one head of one of them, and all others to 0. */
static void set_head(tg_edge_attribution *a, tg_patch_site site, size_t head)
{
    const double *from = a->dhead;

    for (size_t i = 0; i < READS; i++) {
        const tg_matrix m = gradient_of(a, reads[i]);
        const size_t D = m.cols / tg_patch_heads(&a->run.acts, reads[i]);

        for (size_t t = 0; t < a->T; t++, from += m.cols) {
            double *row = tg_doubles(m) + t * m.ld;

            memset(row, 0, m.cols * sizeof *row);
            if (reads[i] == site)
                memcpy(row + head * D, from + head * D, D * sizeof *row);
        }
    }
}

/* From a head's q, k or v alone to the stream. */
static void take_head(tg_edge_attribution *a, const tg_patch_receiver *r)
{
    tg_acts *acts = &a->run.acts;
    double *dx = stream(a);

    set_head(a, r->site, r->head);
    memset(dx, 0, elements(a) * sizeof *dx);
    (void)tg_layers_backward(acts, tg_place(acts, r->layer, 0), tg_place(acts, r->layer, acts->family->att),
                             NULL);
    attribute(a, r, dx);
    for (size_t i = 0; i < elements(a); i++)
        a->sum[i] += dx[i];
}

static void take_layer(tg_edge_attribution *a, size_t layer)
{
    take_mlp(a, layer);
    keep_heads(a);
    for (size_t i = 0; i < READS; i++)
        for (size_t h = 0; h < tg_patch_heads(&a->run.acts, reads[i]); h++)
            take_head(a, &(tg_patch_receiver){reads[i], layer, h});
    memcpy(stream(a), a->sum, elements(a) * sizeof *a->sum);
}

void tg_edge_attribution_run(tg_edge_attribution *a, const tg_patch_kept *base, const tg_patch_kept *source,
                             const tg_patch_metric *metric, size_t steps, const tg_watch *watch)
{
    const size_t runs = tg_patch_backward_runs(steps), L = a->graph.L;

    a->T = base->T;
    a->weight = 1 / (double)runs;
    memset(a->change, 0, a->graph.receivers * a->graph.senders * sizeof *a->change);
    tg_patch_writes_set(&a->writes, &a->run.acts, source, base);
    for (size_t i = 0; i < runs; i++) {
        tg_patch_backward_begin(&a->run, base, source, tg_patch_backward_fraction(steps, i), metric);
        attribute(a, &(tg_patch_receiver){TG_PATCH_X, L, 0}, stream(a));
        for (size_t l = L; l-- > 0;) {
            take_layer(a, l);
            (void)tg_watch_report(watch, (double)(i * L + L - l) / (double)(runs * L));
        }
    }
}
