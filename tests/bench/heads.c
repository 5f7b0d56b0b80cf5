#include "tests/bench/heads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/rng.h"
#include "lib/circuit/compose.h"
#include "lib/circuit/heads.h"
#include "lib/gpt/presets.h"
#include "lib/patch/attribution.h"
#include "lib/patch/edge_attribution.h"
#include "lib/patch/patch.h"
#include "lib/text/bare_ids.h"

static void check(tg_status status, const tg_err *err)
{
    if (status) {
        fprintf(stderr, "bench: %s\n", err->message);
        exit(status == TG_ENOMEM ? 3 : 1);
    }
}

static void *must(void *p)
{
    tg_err err;

    if (!p)
        check(tg_fail(&err, TG_ENOMEM, "out of memory"), &err);
    return p;
}

/* ids [n], the same every time */
static void random_ids(int32_t *ids, size_t n, size_t V, uint64_t seed)
{
    const tg_rng rng = {.seed = seed, .purpose = TG_RNG_SAMPLE};

    for (size_t i = 0; i < n; i++)
        ids[i] = (int32_t)(tg_rng_u64(&rng, i) % V);
}

static void make_gpt2(tg_model *m)
{
    const tg_tokenizer *tok;
    tg_config config = tg_config_preset(0);
    tg_err err;

    for (size_t i = 0; tg_config_preset_name(i); i++)
        if (strcmp(tg_config_preset_name(i), "gpt2") == 0)
            config = tg_config_preset(i);
    tg_config_derive(&config);
    check(tg_bare_ids_create(&tok, config.vocab_size, &err), &err);
    check(tg_model_create(m, &config, tok, 1, &err), &err);
    tg_tokenizer_free(tok);
}

/* ---- patches */

struct patching {
    tg_model model;
    tg_patch patch;
    tg_patch_attribution attribution;
    tg_edge_attribution edges;
    size_t T, n;
    int32_t *clean, *corrupt;
    tg_patch_edit *edit; /* [n] */
    tg_patch_case *cases;
    double *values;
    tg_patch_metric metric;
};

static void list_cases(struct patching *p)
{
    const tg_config *c = &p->model.config;
    size_t n = 0;

    p->n = c->n_layer * c->n_head * p->T;
    p->edit = must(calloc(p->n, sizeof *p->edit));
    p->cases = must(calloc(p->n, sizeof *p->cases));
    p->values = must(calloc(p->n, sizeof *p->values));
    for (size_t l = 0; l < c->n_layer; l++)
        for (size_t h = 0; h < c->n_head; h++)
            for (size_t t = 0; t < p->T; t++, n++) {
                p->edit[n] = (tg_patch_edit){TG_PATCH_Z, l, h, t};
                p->cases[n] = (tg_patch_case){&p->edit[n], 1};
            }
}

struct patching *patching_open(size_t T)
{
    struct patching *p = must(calloc(1, sizeof *p));
    tg_err err;

    make_gpt2(&p->model);
    p->T = T;
    p->clean = must(calloc(T, sizeof *p->clean));
    p->corrupt = must(calloc(T, sizeof *p->corrupt));
    random_ids(p->clean, T, p->model.config.vocab_size, 1);
    random_ids(p->corrupt, T, p->model.config.vocab_size, 2);
    list_cases(p);
    p->metric = (tg_patch_metric){.kind = TG_PATCH_DIFF, .answer = 1, .wrong = 2};
    p->metric.V = p->model.config.vocab_size;
    check(tg_patch_open(&p->patch, &p->model, T, &err), &err);
    check(tg_patch_attribution_open(&p->attribution, &p->model, T, &err), &err);
    check(tg_edge_attribution_open(&p->edges, &p->model, T, &err), &err);
    return p;
}

/* Both runs; returns their operations. */
static double keep(struct patching *p)
{
    const tg_config *c = &p->model.config;
    const double C = (double)c->n_embd,
                 blocks = (double)c->n_layer * (4 * C * C + 2 * C * (double)c->n_inner);

    tg_patch_keep(&p->patch.kept[TG_PATCH_CLEAN], &p->patch.pass, p->clean, p->T);
    tg_patch_keep(&p->patch.kept[TG_PATCH_CORRUPT], &p->patch.pass, p->corrupt, p->T);
    return 2 * (2 * (double)p->T * blocks + 2 * C * (double)c->vocab_size);
}

/* After the patch, its row goes to the layer's end; then all later rows through other layers.  In the last
 * layer these matter as keys and values, and the last row by all. */
static double operations_of_case(const tg_config *c, size_t layer, size_t rows)
{
    const double C = (double)c->n_embd, after = C * C + 2 * C * (double)c->n_inner, all = 3 * C * C + after;
    const double head = C * (double)c->vocab_size, n = (double)rows;

    if (layer == c->n_layer - 1)
        return rows == 1 ? 2 * (after + head) : 0;
    return 2 * (after + (double)(c->n_layer - 2 - layer) * n * all + n * 2 * C * C + C * C + after + head);
}

double patching_run(void *patching)
{
    struct patching *p = patching;
    const tg_patch_plan plan = {
        p->cases, p->n, &p->patch.kept[TG_PATCH_CORRUPT], &p->patch.kept[TG_PATCH_CLEAN], &p->metric, NULL};
    double operations = keep(p);
    tg_err err;

    check(tg_patch_run(&p->patch, &plan, p->values, &err), &err);
    for (size_t i = 0; i < p->n; i++)
        operations += operations_of_case(&p->model.config, p->edit[i].layer, p->T - p->edit[i].position);
    return operations;
}

double patching_estimate(void *patching)
{
    struct patching *p = patching;
    const double operations = keep(p);

    tg_patch_attribution_run(&p->attribution, &p->patch.kept[TG_PATCH_CORRUPT],
                             &p->patch.kept[TG_PATCH_CLEAN], &p->metric, 0, NULL);
    for (size_t i = 0; i < p->n; i++)
        p->values[i] = tg_patch_attribution_of(&p->attribution, &p->edit[i]);
    return 2 * operations; /* forward and backward, of one run */
}

/* Besides that run, each head's queries, keys and values go back to the stream alone, and each edge is a
 * product of two of its rows for each token. */
double patching_edges(void *patching)
{
    struct patching *p = patching;
    const tg_config *c = &p->model.config;
    const double C = (double)c->n_embd, T = (double)p->T, operations = keep(p);
    double edges = 0;

    tg_edge_attribution_run(&p->edges, &p->patch.kept[TG_PATCH_CORRUPT], &p->patch.kept[TG_PATCH_CLEAN],
                            &p->metric, 0, NULL);
    for (size_t r = 0; r < p->edges.graph.receivers; r++)
        edges += (double)tg_patch_senders_before(&p->edges.graph, r);
    return 2 * operations + 2 * T * ((double)c->n_layer * 3 * C * C + edges * C);
}

/* ---- weights alone */

struct weighing {
    tg_model model;
    tg_compose compose;
    tg_factors factors;
    tg_vocab_grams vocab;
    tg_heads_scratch scratch;
    tg_head_numbers *numbers;
    tg_arena arena;
};

static void place_compose(tg_arena *arena, void *context)
{
    struct weighing *w = context;

    tg_compose_place(arena, &w->compose, &w->model.config);
}

static void place_table(tg_arena *arena, void *context)
{
    struct weighing *w = context;
    const tg_config *c = &w->model.config;

    tg_factors_place(arena, &w->factors, c);
    tg_vocab_grams_place(arena, &w->vocab, c);
    tg_heads_scratch_place(arena, &w->scratch, &w->model);
    w->numbers = tg_arena_take(arena, c->n_head, sizeof *w->numbers);
}

static struct weighing *open_with(void (*place)(tg_arena *, void *))
{
    struct weighing *w = must(calloc(1, sizeof *w));
    tg_err err;

    make_gpt2(&w->model);
    check(tg_arena_build(&w->arena, place, w, &err), &err);
    return w;
}

struct weighing *compose_open(void)
{
    return open_with(place_compose);
}

struct weighing *table_open(void)
{
    return open_with(place_table);
}

double compose_run(void *weighing)
{
    struct weighing *w = weighing;
    const tg_config *c = &w->model.config;
    const double C = (double)c->n_embd, D = (double)tg_config_head_dim(c), L = (double)c->n_layer;
    const double N = L * (double)c->n_head, pairs = N * N * (1 - 1 / L) / 2;
    const double grams = 4 * N * C * D * D, matrices = 4 * N * (2 * C * D * D + C * C * D);

    (void)tg_compose_run(&w->compose, &w->model, NULL);
    return grams + matrices + TG_COMPOSITIONS * pairs * C * C;
}

double table_run(void *weighing)
{
    struct weighing *w = weighing;
    const tg_config *c = &w->model.config;
    const double C = (double)c->n_embd, D = (double)tg_config_head_dim(c), T = (double)w->scratch.T;
    const double N = (double)(c->n_layer * c->n_head);
    const double products = 2 * (2 * C * C * D + 2 * C * D * D) + 4 * C * D * D;
    const double positions = 4 * T * C * D + T * T * D;

    (void)tg_vocab_grams_set(&w->vocab, &w->model, NULL);
    for (size_t l = 0; l < c->n_layer; l++) {
        tg_factors_set(&w->factors, &w->model, l);
        tg_heads_of_layer(w->numbers, &w->factors, &w->vocab, &w->model, &w->scratch);
    }
    return (double)c->vocab_size * C * C + N * (products + positions); /* the head is the embedding */
}
