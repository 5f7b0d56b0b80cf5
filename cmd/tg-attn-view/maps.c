/* view: the maps to draw, and their numbers. */
#include "cmd/tg-attn-view/view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cli/cli.h"
#include "formats/path.h"
#include "lib/dump/dump_rows.h"
#include "lib/base/size.h"

const char *view_quantity(const view *v)
{
    return v->show == TG_ATTN_PROBS ? "probability" : "score";
}

const char *view_scale_name(const tg_scale *scale)
{
    static const char *const names[] = {[TG_SCALE_AUTO] = "square root",
                                        [TG_SCALE_SQRT] = "square root",
                                        [TG_SCALE_LOG] = "logarithm",
                                        [TG_SCALE_COUNT] = "logarithm"};

    return names[scale->kind];
}

bool view_scale_cuts(const tg_scale *scale)
{
    return scale->kind == TG_SCALE_AUTO && scale->high < 1;
}

void view_input(const char *path, char *out, size_t size)
{
    const char *name = tg_path_name(path);

    cli_escape(out, size, (const unsigned char *)name, strlen(name));
}

void view_name(const char *title, const char *path, char *out, size_t size)
{
    if (title)
        cli_escape(out, size, (const unsigned char *)title, strlen(title));
    else
        view_input(path, out, size);
}

size_t view_same_layer(const view *v, size_t first)
{
    size_t n = 1;

    while (first + n < v->n && v->map[first + n].layer == v->map[first].layer)
        n++;
    return n;
}

size_t view_group(const view *v, size_t first)
{
    return view_same_layer(v, 0) > 1 ? view_same_layer(v, first) : v->n - first;
}

/* ---- choosing */

bool view_list_keeps(const view_list *list, size_t index)
{
    bool found = list->n == 0;

    for (size_t i = 0; i < list->n; i++)
        found = found || list->index[i] == index;
    return found;
}

/* Check that a list's entries are below n. */
static tg_status check_list(const char *what, const view_list *list, size_t n, tg_err *err)
{
    tg_status status = TG_OK;

    for (size_t i = 0; !status && i < list->n; i++)
        status = tg_attn_check_index(what, list->index[i], n, err);
    return status;
}

/* Whether a layer has the arrays that its maps are made of; *needs names them. */
static bool has_enough(const view *v, const tg_dump_layer *layer, const char **needs)
{
    if (v->page) {
        *needs = "q and k, from which the page computes the rest";
        return layer->data[TG_ATTN_Q] && layer->data[TG_ATTN_K];
    }
    *needs = v->show == TG_ATTN_PROBS ? "probs, or scores, or q and k" : "scores, or q and k";
    return tg_dump_has_rows(layer, v->show);
}

static tg_status check_layers(const view *v, const view_list *layers, tg_err *err)
{
    const tg_dump *dump = v->dump;
    const char *needs;

    for (size_t i = 0; i < layers->n; i++) {
        if (!tg_dump_find(dump, layers->index[i]))
            return tg_fail(err, TG_EUSAGE, "layer %zu is not in the dump", layers->index[i]);
    }
    if (dump->n == 0)
        return tg_fail(err, TG_EDATA, "the dump has no layers");
    for (size_t l = 0; l < dump->n; l++) {
        const tg_dump_layer *layer = &dump->layer[l];

        if (view_list_keeps(layers, layer->number) && !has_enough(v, layer, &needs))
            return tg_fail(err, TG_EDATA, "layer %zu lacks %s", layer->number, needs);
    }
    return TG_OK;
}

tg_status view_choose(view *v, const view_list *layers, const view_list *heads, tg_err *err)
{
    const tg_dump *dump = v->dump;
    const size_t H = heads->n > 0 ? heads->n : dump->H; /* at most */
    tg_status status;

    if ((status = check_list("layer", layers, dump->n_layer, err)) ||
        (status = check_list("head", heads, dump->H, err)) || (status = check_layers(v, layers, err)) ||
        (status = tg_attn_check_index("sequence", v->b, dump->B, err)) || (status = view_make_labels(v, err)))
        return status;
    if (!(v->map = calloc(dump->n, H * sizeof *v->map)))
        return tg_fail_memory(err, (unsigned long long)dump->n * H * sizeof *v->map, "the maps");
    for (size_t l = 0; l < dump->n; l++) {
        for (size_t h = 0; view_list_keeps(layers, dump->layer[l].number) && h < dump->H; h++) {
            if (view_list_keeps(heads, h))
                v->map[v->n++] = (view_map){.layer = &dump->layer[l], .head = h};
        }
    }
    return TG_OK;
}

void view_free(view *v)
{
    for (size_t m = 0; m < v->n; m++)
        tg_grid_free(&v->map[m].grid);
    free(v->map);
    free(v->measures);
    free(v->label);
}

/* ---- filling */

/* Probabilities: to 1, or to what `maxima` [n] say, the rows' maxima.  Scores: as far below 0 as above. */
static void set_range(view *v, float *maxima, size_t n)
{
    double low = HUGE_VAL, high = -HUGE_VAL;

    if (v->show == TG_ATTN_PROBS) {
        v->scale.low = 0;
        v->scale.high = v->scale.kind == TG_SCALE_AUTO ? tg_scale_top(maxima, n) : 1;
        return;
    }
    for (size_t m = 0; m < v->n; m++)
        tg_grid_range(&v->map[m].grid, &low, &high);
    v->scale.high = fmax(fabs(low), fabs(high));
    v->scale.low = -v->scale.high;
}

static float maximum(const float *x, size_t n)
{
    float most = x[0];

    for (size_t i = 1; i < n; i++)
        most = x[i] > most ? x[i] : most;
    return most;
}

/* The share of the work that is done with map m's row i: row i has i + 1 scores. */
static double fraction_done(const view *v, size_t m, size_t i)
{
    const double rows = (double)i / (double)v->dump->T;

    return ((double)m + rows * rows) / (double)v->n;
}

#define LONG_WORK 1e10 /* multiply-adds: about 10 s */
#define MAP_WORK 2e4   /* fixed, for a map's title and scale */
#define SCORE_WORK 10  /* for a score's softmax and its cell, as multiply-adds */

/* Multiply-adds, about. */
static double work_to_do(const view *v)
{
    const double T = (double)v->dump->T;
    double work = 0;

    for (size_t m = 0; m < v->n; m++) {
        const tg_dump_layer *layer = v->map[m].layer;
        const bool stored = layer->data[v->show] || layer->data[TG_ATTN_SCORES];

        work += MAP_WORK + T * T / 2 * (SCORE_WORK + (stored ? 0 : (double)v->dump->D));
    }
    return work;
}

/* Where no progress can be shown, say before long work that it is long. */
static void announce(const view *v)
{
    const char *T = cli_count(v->dump->T);

    if (cli_redraws() || work_to_do(v) < LONG_WORK)
        return;
    cli_note("%s map%s of %s x %s scores: this takes a while%s", cli_count(v->n), cli_plural(v->n), T, T,
             v->n > 1 ? "; -l and -a choose fewer" : "");
}

tg_status view_fill(view *v, size_t n, tg_err *err)
{
    cli_job job;
    const tg_watch *watch = cli_job_begin(&job, "rows");
    const tg_dump *dump = v->dump;
    float *row = calloc(dump->T, sizeof *row), *maxima = calloc(v->n, dump->T * sizeof *maxima);
    double *scratch = calloc(tg_dump_row_scratch(dump), sizeof *scratch);
    tg_status status = TG_OK;

    if (!row || !maxima || !scratch)
        status = tg_fail_memory(err, (unsigned long long)dump->T * (v->n + 3) * sizeof *maxima, "the rows");
    else
        announce(v);
    for (size_t m = 0; !status && m < v->n; m++) {
        view_map *map = &v->map[m];

        status = tg_grid_make(&map->grid, dump->T, n, err);
        for (size_t i = 0; !status && i < dump->T; i++) {
            tg_dump_row(row, dump, map->layer, v->show, v->b, map->head, i, scratch);
            tg_grid_add(&map->grid, i, row);
            maxima[m * dump->T + i] = maximum(row, i + 1);
            (void)tg_watch_report(watch, fraction_done(v, m, i + 1));
        }
    }
    cli_progress_end();
    if (!status)
        set_range(v, maxima, v->n * dump->T);
    free(row);
    free(maxima);
    free(scratch);
    return status;
}
