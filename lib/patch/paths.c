#include "lib/patch/paths.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/finite.h"
#include "lib/base/size.h"
#include "lib/gpt/family.h"
#include "lib/gpt/layers.h"

#define PATH_ROWS 1024 /* tokens of a pass, unless one prompt has more */

/* ---- memory */

static void place_paths(tg_arena *arena, void *context)
{
    tg_patch_paths *p = context;
    const tg_config *c = &p->model->config;
    const tg_pass_size size = {.B = p->sequences, .T = p->capacity};

    tg_patch_writes_place(arena, &p->writes, c, p->capacity);
    if (p->alone)
        tg_patch_writes_place(arena, &p->own, c, p->capacity);
    p->bias = tg_arena_take_rows(arena, 2 * c->n_layer, c->n_embd, sizeof *p->bias);
    tg_pass_place(arena, &p->pass, p->model, &size);
    tg_pass_place(arena, &p->reading, p->model, &size);
    p->last = tg_arena_take_rows(arena, p->sequences, c->n_embd, sizeof *p->last);
    p->value = tg_arena_take(arena, p->sequences, sizeof *p->value);
}

tg_status tg_patch_paths_open(tg_patch_paths *p, const tg_model *model, size_t T, bool alone, tg_err *err)
{
    *p = (tg_patch_paths){.model = model,
                          .graph = tg_patch_graph_of(&model->config),
                          .capacity = T,
                          .alone = alone,
                          .sequences = tg_size_max(PATH_ROWS / T, 1)};
    return tg_arena_build(&p->arena, place_paths, p, err);
}

void tg_patch_paths_close(tg_patch_paths *p)
{
    tg_arena_free(&p->arena);
}

/* ---- both runs */

/* Norms after sublayers are of families without biases. */
static void set_biases(tg_patch_paths *p)
{
    const size_t C = p->pass.acts.C;

    for (size_t i = 0; i < 2 * p->graph.L; i++) {
        const tg_sublayer_kind kind = i % 2 == 0 ? TG_SUBLAYER_ATTENTION : TG_SUBLAYER_MLP;
        const float *b = tg_sublayer_of(&p->pass.acts, kind, i / 2).map.b;

        for (size_t c = 0; c < C; c++)
            p->bias[i * C + c] = (i > 0 ? p->bias[(i - 1) * C + c] : 0) + (b ? b[c] : 0);
    }
}

void tg_patch_paths_begin(tg_patch_paths *p, const tg_patch_kept *base, const tg_patch_kept *source)
{
    tg_pass_begin_rows(&p->pass);
    tg_pass_begin_rows(&p->reading);
    p->base = base;
    p->source = source;
    tg_patch_writes_set(&p->writes, &p->pass.acts, source, base);
    if (!source)
        set_biases(p);
}

/* ---- a pass */

/* A case in a pass: its edges that have not been read yet. */
struct sequence {
    size_t number; /* of the case */
    const tg_patch_edge *edge, *end;
};

struct batch {
    tg_patch_paths *p;
    const tg_path_plan *plan;
    struct sequence *sequence; /* [n] by rising layer of their first receiver */
    size_t n, active;          /* those that have joined are 0 .. active - 1 */
    const tg_patch_writes *writes;
};

/* The layer of a sequence's next receiver. */
static size_t next_layer(const struct batch *b, const struct sequence *s)
{
    return tg_patch_receiver_of(&b->p->graph, s->edge->receiver).layer;
}

static size_t tokens(const struct batch *b)
{
    return b->p->base->T;
}

/* A sequence's rows [T,C] of the residual stream, which follow one another. */
static float *stream(const tg_pass *pass, size_t layer, size_t row, size_t sequence)
{
    const tg_acts *a = &pass->acts;

    return tg_floats(tg_acts_row(a, layer, row)) + sequence * a->T * a->C;
}

static void join(struct batch *b, size_t layer)
{
    tg_acts *a = &b->p->pass.acts;

    for (; b->active < b->n && next_layer(b, &b->sequence[b->active]) == layer; b->active++)
        for (size_t t = 0; t < tokens(b); t++)
            memcpy(stream(&b->p->pass, layer, TG_ACT_X, b->active) + t * a->C,
                   tg_patch_kept_at(b->p->base, TG_PATCH_X, layer, t), a->C * sizeof(float));
    a->B = b->active;
}

/* ---- what a receiver reads */

/* The sum of the biases that have been added before a receiver reads, or NULL. */
static const float *biases_before(const struct batch *b, size_t receiver)
{
    const tg_patch_receiver r = tg_patch_receiver_of(&b->p->graph, receiver);
    const size_t sublayers = 2 * r.layer + (r.site == TG_PATCH_MLP && !b->p->graph.parallel);

    return sublayers > 0 ? b->p->bias + (sublayers - 1) * b->p->pass.acts.C : NULL;
}

/* x = what is written by the senders that have no edge of the case; without a source, writes are negative. */
static void sum_others(const struct batch *b, const struct sequence *s, float *x, size_t first)
{
    const size_t C = b->p->pass.acts.C, n = (tokens(b) - first) * C;
    const size_t receiver = s->edge->receiver, senders = tg_patch_senders_before(&b->p->graph, receiver);
    const float *bias = biases_before(b, receiver);
    const tg_patch_edge *edge = s->edge;

    for (size_t i = 0; i < n; i++)
        x[i] = bias ? bias[i % C] : 0;
    for (size_t sender = 0; sender < senders; sender++) {
        const float *written = tg_patch_write_at(b->writes, sender, first);

        if (edge < s->end && edge->receiver == receiver && edge->sender == sender) {
            edge++;
            continue;
        }
        for (size_t i = 0; i < n; i++)
            x[i] -= written[i];
    }
}

static void add_edges(const struct batch *b, const struct sequence *s, float *x, size_t first)
{
    const size_t n = (tokens(b) - first) * b->p->pass.acts.C;

    for (const tg_patch_edge *e = s->edge; e < s->end && e->receiver == s->edge->receiver; e++) {
        const float *written = tg_patch_write_at(b->writes, e->sender, first);

        for (size_t i = 0; i < n; i++)
            x[i] += written[i];
    }
}

/* x [T,C], or the last row alone, becomes what the sequence's next receiver reads. */
static void read_edges(const struct batch *b, struct sequence *s, float *x, size_t first)
{
    const size_t receiver = s->edge->receiver;

    if (b->p->source)
        add_edges(b, s, x, first);
    else
        sum_others(b, s, x, first);
    while (s->edge < s->end && s->edge->receiver == receiver)
        s->edge++;
}

/* Receivers that read together, a sequence of p->reading each. */
struct readers {
    struct batch *b;
    size_t layer, from, to; /* from x, or what the MLP reads, to what they have computed */
    size_t row;             /* that they read */
    size_t n;
    struct reader {
        size_t sequence;
        tg_patch_receiver receiver;
    } * reader; /* [sequences] */
};

/* Copy what a receiver has computed from what it has read to its case's rows. */
static void take(const struct readers *r, size_t i)
{
    const tg_patch_receiver *of = &r->reader[i].receiver;
    const tg_acts *a = &r->b->p->pass.acts;
    const tg_matrix to = tg_acts_row(a, r->layer, tg_patch_row(a, of->site));
    const tg_matrix from = tg_acts_row(&r->b->p->reading.acts, r->layer, tg_patch_row(a, of->site));
    const size_t n = to.cols / tg_size_max(tg_patch_heads(a, of->site), 1), first = of->head * n;

    for (size_t t = 0; t < a->T; t++)
        memcpy(tg_floats(to) + (r->reader[i].sequence * a->T + t) * to.ld + first,
               tg_floats(from) + (i * a->T + t) * from.ld + first, n * sizeof(float));
}

static void read_all(struct readers *r)
{
    tg_pass *reading = &r->b->p->reading;

    if (r->n == 0)
        return;
    reading->acts.B = r->n;
    (void)tg_pass_layers(reading, r->from, r->to, NULL);
    for (size_t i = 0; i < r->n; i++)
        take(r, i);
    r->n = 0;
}

static void add_reader(struct readers *r, size_t sequence)
{
    struct batch *b = r->b;
    struct sequence *s = &b->sequence[sequence];
    float *x = stream(&b->p->reading, r->layer, r->row, r->n);

    memcpy(x, stream(&b->p->pass, r->layer, r->row, sequence), tokens(b) * b->p->pass.acts.C * sizeof *x);
    r->reader[r->n++] = (struct reader){sequence, tg_patch_receiver_of(&b->p->graph, s->edge->receiver)};
    read_edges(b, s, x, 0);
    if (r->n == b->p->sequences)
        read_all(r);
}

/* All sequences' receivers of this layer that are an MLP, or that are not. */
static void read_layer(struct readers *r, bool mlp)
{
    struct batch *b = r->b;

    for (size_t i = 0; i < b->active; i++)
        for (struct sequence *s = &b->sequence[i]; s->edge < s->end;) {
            const tg_patch_receiver of = tg_patch_receiver_of(&b->p->graph, s->edge->receiver);

            if (of.layer != r->layer || (of.site == TG_PATCH_MLP) != mlp)
                break;
            add_reader(r, i);
        }
    read_all(r);
}

/* ---- a layer */

static void run(struct batch *b, size_t from, size_t to)
{
    if (b->active > 0)
        (void)tg_pass_layers(&b->p->pass, from, to, NULL);
}

/* Of a case that runs alone: what the senders of a sublayer write in the source run, less what they write in
 * the case's. */
static void take_writes(const struct batch *b, tg_sublayer_kind kind, size_t layer)
{
    const tg_acts *a = &b->p->pass.acts;
    const tg_matrix inputs = tg_acts_row(a, layer, tg_patch_row(a, tg_patch_inputs_site(kind)));

    if (b->writes == &b->p->own && b->active > 0)
        tg_patch_writes_set_sublayer(&b->p->own, a, kind, layer,
                                     tg_patch_kept_inputs(b->p->source, kind, layer), inputs, tokens(b));
}

static void run_layer(struct batch *b, size_t layer, struct reader *reader)
{
    const tg_family *f = b->p->pass.acts.family;
    const tg_acts *a = &b->p->pass.acts;
    const size_t att = tg_place(a, layer, f->att), mlp = tg_place(a, layer, f->mlp);
    const size_t units = tg_place(a, layer, f->units + 1), first = tg_place(a, layer, 0);
    struct readers heads = {b, layer, first, att, TG_ACT_X, 0, reader};
    struct readers of_mlp = {b, layer, mlp, units, f->mlp_in, 0, reader};

    join(b, layer);
    run(b, first, att);
    read_layer(&heads, false);
    run(b, att, att + 1);
    take_writes(b, TG_SUBLAYER_ATTENTION, layer);
    run(b, att + 1, units);
    read_layer(&of_mlp, true);
    take_writes(b, TG_SUBLAYER_MLP, layer);
    run(b, units, tg_place(a, layer + 1, 0));
}

/* ---- the end */

/* What the output reads, the last token's row: of cases that join here the base run's. */
static void read_output(struct batch *b)
{
    const tg_acts *a = &b->p->pass.acts;

    for (size_t i = 0; i < b->n; i++) {
        const float *x = i < b->active ? tg_floats(a->x) + ((i + 1) * a->T - 1) * a->C : b->p->base->last;
        float *last = b->p->last + i * a->C;

        memcpy(last, x, a->C * sizeof *last);
        if (b->sequence[i].edge < b->sequence[i].end)
            read_edges(b, &b->sequence[i], last, tokens(b) - 1);
    }
}

static void measure(const struct batch *b, double *values)
{
    b->p->pass.acts.B = b->n;
    tg_patch_measure_rows(b->p->value, b->plan->metric, &b->p->pass, b->p->last, b->n);
    for (size_t i = 0; i < b->n; i++)
        values[b->sequence[i].number] = b->p->value[i];
}

static void run_batch(struct batch *b, struct reader *reader, double *values)
{
    tg_patch_paths *p = b->p;

    p->pass.acts.T = p->reading.acts.T = tokens(b);
    for (size_t l = next_layer(b, &b->sequence[0]); l < p->graph.L; l++)
        run_layer(b, l, reader);
    read_output(b);
    measure(b, values);
}

/* ---- all cases */

/* Whether all senders write before the first receiver reads: then they write what they write in the base
 * run. */
static bool is_plain(const tg_patch_graph *g, const tg_path_case *c)
{
    const size_t before = tg_patch_senders_before(g, c->edge[0].receiver);
    bool plain = true;

    for (size_t i = 0; i < c->n; i++)
        plain = plain && c->edge[i].sender < before;
    return plain;
}

/* By the first receiver. */
static int compare(const void *a, const void *b)
{
    const struct sequence *s = a, *t = b;

    if (s->edge->receiver != t->edge->receiver)
        return s->edge->receiver < t->edge->receiver ? -1 : 1;
    return s->number < t->number ? -1 : 1;
}

/* The cases that have edges, first those that run alone, and how many these are: *alone; returns how many
 * there are. */
static size_t list(struct sequence *to, const tg_path_plan *plan, const tg_patch_graph *g, size_t *alone)
{
    size_t n = 0;

    *alone = 0;
    for (size_t plain = 0; plain < 2; plain++) {
        for (size_t i = 0; i < plan->n; i++) {
            const tg_path_case *c = &plan->cases[i];

            if (c->n > 0 && is_plain(g, c) == (plain == 1))
                to[n++] = (struct sequence){i, c->edge, c->edge + c->n};
        }
        if (plain == 0)
            *alone = n;
    }
    qsort(to + *alone, n - *alone, sizeof *to, compare);
    return n;
}

static void run_all(tg_patch_paths *p, const tg_path_plan *plan, struct sequence *sequence,
                    struct reader *reader, double *values)
{
    size_t alone, n = list(sequence, plan, &p->graph, &alone), count;

    for (size_t i = 0; i < n; i += count) {
        const bool is_alone = i < alone;

        assert(!is_alone || p->alone);
        struct batch b = {p, plan, sequence + i, 0, 0, is_alone ? &p->own : &p->writes};

        b.n = count = is_alone ? 1 : tg_size_min(p->sequences, n - i);
        if (is_alone)
            memcpy(p->own.row, p->writes.row, p->graph.senders * p->capacity * p->own.C * sizeof *p->own.row);
        run_batch(&b, reader, values);
        (void)tg_watch_report(plan->watch, (double)(i + count) / (double)n);
    }
}

tg_status tg_patch_paths_run(tg_patch_paths *p, const tg_path_plan *plan, double *values, tg_err *err)
{
    const double base = tg_patch_measure(plan->metric, p->base->logits);
    struct sequence *sequence = calloc(plan->n + 1, sizeof *sequence);
    struct reader *reader = calloc(p->sequences, sizeof *reader);
    tg_status status = TG_OK;

    for (size_t i = 0; i < plan->n; i++)
        values[i] = base;
    if (sequence && reader) {
        run_all(p, plan, sequence, reader, values);
    } else
        status = tg_fail_memory(err, plan->n * sizeof *sequence, "the paths");
    free(sequence);
    free(reader);
    if (status || (status = tg_model_check_lent(p->model, err)))
        return status;
    return tg_find_not_finite64(values, plan->n) == plan->n
               ? TG_OK
               : tg_fail(err, TG_EDATA, "the metric is not finite");
}
