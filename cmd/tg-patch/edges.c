/* --path: a line for each edge from a sender to a receiver, and its effect. */
#include <stdlib.h>
#include <string.h>

#include "cmd/tg-patch/job.h"
#include "cmd/tg-patch/names.h"
#include "lib/patch/edge_attribution.h"
#include "lib/patch/edge_write.h"
#include "lib/patch/paths.h"

struct edges {
    patch_job *job;
    tg_patch_graph g;
    tg_patch_edge *edge; /* [n] by receiver */
    size_t n;
    tg_path_case *cases; /* [n] an edge each */
    patch_effects effects;
    tg_patch_paths paths;            /* open without --attribution; */
    tg_edge_attribution attribution; /* with it */
};

/* ---- which edges */

/* Write the edges between the marked parts, unless `to` is NULL; returns how many there are. */
static size_t list(tg_patch_edge *to, const tg_patch_graph *g, const bool *senders, const bool *receivers)
{
    tg_patch_edge e = tg_patch_first_edge();
    size_t n = 0;

    for (size_t i = 0; i < g->edges; i++, e = tg_patch_next_edge(g, e))
        if (senders[e.sender] && receivers[e.receiver]) {
            if (to)
                to[n] = e;
            n++;
        }
    return n;
}

static tg_status choose(struct edges *e, bool *senders, bool *receivers, tg_err *err)
{
    const char *path = e->job->o->path, *colon = strchr(path, ':');

    if (patch_mark_senders(senders, &e->g, path, colon, err) ||
        patch_mark_receivers(receivers, &e->g, colon + 1, path + strlen(path), err))
        return tg_err_in(err, "--path");
    e->n = list(NULL, &e->g, senders, receivers);
    if (e->n == 0)
        return tg_fail(err, TG_EUSAGE,
                       "--path %s names no edge: a receiver reads only from senders before it", path);
    e->edge = calloc(e->n, sizeof *e->edge);
    e->cases = calloc(e->n, sizeof *e->cases);
    if (!e->edge || !e->cases)
        return tg_fail_memory(err, e->n * (sizeof *e->edge + sizeof *e->cases), "the edges");
    (void)list(e->edge, &e->g, senders, receivers);
    for (size_t i = 0; i < e->n; i++)
        e->cases[i] = (tg_path_case){&e->edge[i], 1};
    return patch_effects_make(&e->effects, e->job, e->n, err);
}

static tg_status make(struct edges *e, tg_err *err)
{
    bool *senders = calloc(e->g.senders, sizeof *senders),
         *receivers = calloc(e->g.receivers, sizeof *receivers);
    const tg_status status =
        senders && receivers ? choose(e, senders, receivers, err)
                             : tg_fail_memory(err, e->g.senders + e->g.receivers, "the parts of the model");

    free(senders);
    free(receivers);
    return status;
}

static void drop(struct edges *e)
{
    free(e->edge);
    free(e->cases);
    patch_effects_free(&e->effects);
    tg_patch_paths_close(&e->paths);
    tg_edge_attribution_close(&e->attribution);
}

/* ---- pairs */

static tg_status find_values(void *context, patch_effects *effects, const patch_sides *sides,
                             const tg_watch *watch, tg_err *err)
{
    struct edges *e = context;
    const tg_path_plan plan = {e->cases, e->n, &sides->metric, watch};

    if (!e->job->o->attributes) {
        tg_patch_paths_begin(&e->paths, sides->base, sides->source);
        return tg_patch_paths_run(&e->paths, &plan, effects->values, err);
    }
    tg_edge_attribution_run(&e->attribution, sides->base, sides->source, &sides->metric, e->job->o->steps,
                            watch);
    for (size_t i = 0; i < e->n; i++)
        effects->values[i] = tg_edge_attribution_of(&e->attribution, &e->edge[i]);
    return patch_effects_estimated(effects, sides, err);
}

/* ---- output */

enum { FROM, TO, CLEAN, CORRUPT, METRIC, EFFECT, COLUMNS };

static const table lines = {.n = COLUMNS,
                            .column = {[FROM] = {"sender", "sender", TABLE_STRING, 8, 0, 0},
                                       [TO] = {"receiver", "receiver", TABLE_STRING, 8, 0, 0},
                                       [CLEAN] = {"clean", "clean", TABLE_DOUBLE, 11, 0, 6},
                                       [CORRUPT] = {"corrupt", "corrupt", TABLE_DOUBLE, 11, 0, 6},
                                       [METRIC] = {"metric", "metric", TABLE_DOUBLE, 11, 0, 6},
                                       [EFFECT] = {"effect", "effect", TABLE_DOUBLE, 10, 0, 5}}};

static void print_edge(const struct edges *e, const table *t, size_t i)
{
    const double pairs = (double)e->job->pairs;
    const int width = t->format == TABLE_TEXT ? 8 : 0;
    char name[2][TG_PATCH_PART_SIZE], padded[2][TG_PATCH_EDGE_SIZE];
    const table_cell cells[COLUMNS] = {[FROM] = {.text = padded[0]},
                                       [TO] = {.text = padded[1]},
                                       [CLEAN] = {.real = e->effects.clean / pairs},
                                       [CORRUPT] = {.real = e->effects.corrupt / pairs},
                                       [METRIC] = {.real = e->effects.sum[i] / pairs},
                                       [EFFECT] = {.real = patch_effect(&e->effects, i)}};

    tg_patch_sender_name(name[0], &e->g, e->edge[i].sender);
    tg_patch_receiver_name(name[1], &e->g, e->edge[i].receiver);
    for (size_t k = 0; k < 2; k++)
        snprintf(padded[k], sizeof padded[k], "%*s", width, name[k]);
    table_print_line(t, cells);
}

static void print(const struct edges *e)
{
    const patch_options *o = e->job->o;
    table t = lines;

    t.format = o->format;
    if (t.format == TABLE_TEXT)
        t.hidden = 1u << CLEAN | 1u << CORRUPT;
    cli_progress_end();
    if (t.format == TABLE_TEXT && !o->no_header)
        patch_effects_header(&e->effects);
    if (!o->no_header)
        table_print_titles(&t);
    for (size_t i = 0; i < e->n; i++)
        print_edge(e, &t, i);
}

/* ---- an archive */

static tg_status put_archive(void *context, int fd, tg_err *err)
{
    struct edges *e = context;
    const tg_edge_grid grid = {.graph = &e->g,
                               .edge = e->edge,
                               .n = e->n,
                               .value = e->effects.values,
                               .effect = e->effects.sum,
                               .settings = patch_effects_finish(&e->effects)};

    return tg_edges_write(fd, &grid, err);
}

/* ---- all of it */

static tg_status run(struct edges *e, tg_err *err)
{
    const size_t T = e->job->patch.capacity;
    const tg_model *model = &e->job->m.model;
    tg_status status;

    if ((status = patch_check_output(e->job, err)) || (status = make(e, err)) ||
        (status = e->job->o->attributes ? tg_edge_attribution_open(&e->attribution, model, T, err)
                                        : tg_patch_paths_open(&e->paths, model, T, false, err)) ||
        (status = patch_effects_of_pairs(&e->effects, find_values, e, err)))
        return status;
    if (e->job->o->output)
        return cli_archive_write(e->job->o->output, CLI_OUT_PATCH, put_archive, e, err);
    print(e);
    return TG_OK;
}

tg_status patch_edges(patch_job *job, tg_err *err)
{
    struct edges e = {.job = job, .g = tg_patch_graph_of(&job->m.model.config)};
    const tg_status status = run(&e, err);

    drop(&e);
    return status;
}
