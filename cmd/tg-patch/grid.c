/* A line for each patch of a site, and its effect. */
#include <stdlib.h>
#include <string.h>

#include "cmd/lines/labels.h"
#include "cmd/tg-patch/job.h"
#include "lib/base/choice.h"
#include "lib/attn/attn.h"
#include "lib/base/size.h"
#include "lib/patch/attribution.h"

struct grid {
    patch_job *job;
    size_t L, H, T;      /* H = 0: heads do not divide the site; T of the first pair */
    tg_patch_edit *edit; /* [n] */
    tg_patch_case *cases;
    size_t n;
    patch_effects effects;
    tg_patch_attribution attribution;
    token_labels labels;
};

/* ---- which patches */

static bool by_head(const patch_options *o)
{
    return o->each == PATCH_EACH_HEAD || o->each == PATCH_EACH_BOTH;
}

static bool by_position(const patch_options *o)
{
    return o->each == PATCH_EACH_POSITION || o->each == PATCH_EACH_BOTH;
}

static tg_status check(const struct grid *g, tg_err *err)
{
    const patch_options *o = g->job->o;
    tg_status status;

    if (by_position(o) && !g->job->same_length)
        return tg_fail(err, TG_EDATA, "%s: --each %s needs prompts of as many tokens in all pairs",
                       cli_input_name(o->pairs), o->each == PATCH_EACH_BOTH ? "both" : "position");
    if ((status = tg_attn_check_index("layer", o->layer, g->L, err)) ||
        (status = tg_attn_check_index("head", o->head, tg_size_max(g->H, 1), err)))
        return status;
    return tg_attn_check_index("position", o->position, g->T, err);
}

/* Write the edits that the options keep, unless `edit` is NULL; returns how many there are. */
static size_t list(const struct grid *g, tg_patch_edit *edit)
{
    const patch_options *o = g->job->o;
    const size_t heads = by_head(o) ? g->H : 1, positions = by_position(o) ? g->T : 1;
    size_t n = 0;

    for (size_t l = 0; l < g->L; l++)
        for (size_t h = 0; h < heads; h++)
            for (size_t t = 0; t < positions; t++) {
                const tg_patch_edit e = {o->site, l, by_head(o) ? h : o->head,
                                         by_position(o) ? t : TG_PATCH_ALL};

                if (!tg_attn_keeps(o->layer, l) || (by_head(o) && !tg_attn_keeps(o->head, h)) ||
                    (by_position(o) && !tg_attn_keeps(o->position, t)))
                    continue;
                if (edit)
                    edit[n] = e;
                n++;
            }
    return n;
}

static tg_status make(struct grid *g, tg_err *err)
{
    g->n = list(g, NULL);
    g->edit = calloc(g->n, sizeof *g->edit);
    g->cases = calloc(g->n, sizeof *g->cases);
    if (!g->edit || !g->cases)
        return tg_fail_memory(err, g->n * (sizeof *g->edit + sizeof *g->cases), "the patches");
    (void)list(g, g->edit);
    for (size_t i = 0; i < g->n; i++)
        g->cases[i] = (tg_patch_case){&g->edit[i], 1};
    return patch_effects_make(&g->effects, g->job, g->n, err);
}

static void drop(struct grid *g)
{
    free(g->edit);
    free(g->cases);
    patch_effects_free(&g->effects);
    labels_free(&g->labels);
    tg_patch_attribution_close(&g->attribution);
}

/* ---- pairs */

/* The metric after each patch, by a pass; or estimated. */
static tg_status find_values(void *context, patch_effects *e, const patch_sides *sides, const tg_watch *watch,
                             tg_err *err)
{
    struct grid *g = context;
    const patch_options *o = g->job->o;
    const tg_patch_plan plan = {g->cases, g->n, sides->base, sides->source, &sides->metric, watch};
    tg_status status;

    if (o->site == TG_PATCH_PATTERN &&
        (status = tg_patch_keep_pattern(sides->source, sides->base, &g->job->patch.pass.acts, err)))
        return status;
    if (!o->attributes)
        return tg_patch_run(&g->job->patch, &plan, e->values, err);
    tg_patch_attribution_run(&g->attribution, sides->base, sides->source, &sides->metric, o->steps, watch);
    for (size_t i = 0; i < g->n; i++)
        e->values[i] = tg_patch_attribution_of(&g->attribution, &g->edit[i]);
    return patch_effects_estimated(e, sides, err);
}

/* ---- output */

enum { SITE, LAYER, HEAD, POSITION, CLEAN, CORRUPT, METRIC, EFFECT, TOKEN, COLUMNS };
#define BIT(column) (1u << (column))

static table table_of(const struct grid *g)
{
    static const table_column all[COLUMNS] = {
        [SITE] = {"site", "site", TABLE_STRING, 9, 0, 0},
        [LAYER] = {"layer", "layer", TABLE_SIZE, 5, 0, 0},
        [HEAD] = {"head", "head", TABLE_SIZE, 4, 0, 0},
        [POSITION] = {"t", "t", TABLE_SIZE, 5, 0, 0},
        [TOKEN] = {"token", "token", TABLE_STRING, 0, 0, 0},
        [CLEAN] = {"clean", "clean", TABLE_DOUBLE, 11, 0, 6},
        [CORRUPT] = {"corrupt", "corrupt", TABLE_DOUBLE, 11, 0, 6},
        [METRIC] = {"metric", "metric", TABLE_DOUBLE, 11, 0, 6},
        [EFFECT] = {"effect", "effect", TABLE_DOUBLE, 10, 0, 5},
    };
    const patch_options *o = g->job->o;
    table t = {.format = o->format, .n = COLUMNS};

    memcpy(t.column, all, sizeof all);
    if (o->format == TABLE_TEXT)
        t.hidden = BIT(CLEAN) | BIT(CORRUPT) | (g->H > 0 ? 0 : BIT(HEAD)) |
                   (by_position(o) ? 0 : BIT(POSITION)) | (g->labels.text ? 0 : BIT(TOKEN));
    return t;
}

static void print_patch(const struct grid *g, const table *t, const char *site, size_t i)
{
    const tg_patch_edit *e = &g->edit[i];
    const double pairs = (double)g->job->pairs;
    char padded[16];
    const bool has_token = g->labels.text && e->position != TG_PATCH_ALL;
    const table_cell cells[COLUMNS] = {
        [SITE] = {.text = padded},
        [LAYER] = {.size = e->layer},
        [HEAD] = {.kind = e->head == TG_PATCH_ALL ? CELL_MISSING : CELL_VALUE, .size = e->head},
        [POSITION] = {.kind = e->position == TG_PATCH_ALL ? CELL_MISSING : CELL_VALUE, .size = e->position},
        [TOKEN] = {.kind = has_token ? CELL_WORD : CELL_MISSING,
                   .text = has_token ? label_of(&g->labels, e->position) : NULL},
        [CLEAN] = {.real = g->effects.clean / pairs},
        [CORRUPT] = {.real = g->effects.corrupt / pairs},
        [METRIC] = {.real = g->effects.sum[i] / pairs},
        [EFFECT] = {.real = patch_effect(&g->effects, i)},
    };

    snprintf(padded, sizeof padded, "%*s", t->format == TABLE_TEXT ? 9 : 0, site);
    table_print_line(t, cells);
}

static tg_status print_lines(struct grid *g, tg_err *err)
{
    const patch_options *o = g->job->o;
    const tg_tokens_prompt *prompt = &g->job->pair[0].clean;
    const tg_tokenizer *tok = g->job->m.model.tokenizer;
    char site[TG_CHOICE_SIZE];
    table t;
    tg_status status = TG_OK;

    if (g->job->pairs == 1 && by_position(o))
        status = o->format == TABLE_TEXT
                     ? labels_make(&g->labels, tok, prompt->ids, prompt->n, err)
                     : labels_make_values(&g->labels, o->format, tok, prompt->ids, prompt->n, err);
    if (status)
        return status;
    cli_progress_end();
    t = table_of(g);
    if (o->format == TABLE_TEXT && !o->no_header)
        patch_effects_header(&g->effects);
    if (!o->no_header)
        table_print_titles(&t);
    for (size_t i = 0; i < g->n; i++)
        print_patch(g, &t, tg_choice_name(site, TG_PATCH_SITE_NAMES, o->site), i);
    return TG_OK;
}

/* ---- an archive */

static tg_status put_archive(void *context, int fd, tg_err *err)
{
    struct grid *g = context;
    const patch_job *job = g->job;
    const tg_patch_grid grid = {.edit = g->edit,
                                .n = g->n,
                                .value = g->effects.values,
                                .effect = g->effects.sum,
                                .settings = patch_effects_finish(&g->effects),
                                .n_layer = g->L,
                                .clean_ids = job->same_length ? job->pair[0].clean.ids : NULL,
                                .corrupt_ids = job->pair[0].corrupt.ids,
                                .T = g->T};

    return tg_patch_write(fd, &grid, err);
}

/* ---- all of it */

static tg_status run(struct grid *g, tg_err *err)
{
    tg_status status;

    if ((status = patch_check_output(g->job, err)) || (status = check(g, err)) || (status = make(g, err)))
        return status;
    if (g->job->o->attributes &&
        (status = tg_patch_attribution_open(&g->attribution, &g->job->m.model, g->job->patch.capacity, err)))
        return status;
    if ((status = patch_effects_of_pairs(&g->effects, find_values, g, err)))
        return status;
    if (!g->job->o->output)
        return print_lines(g, err);
    return cli_archive_write(g->job->o->output, CLI_OUT_PATCH, put_archive, g, err);
}

tg_status patch_sites(patch_job *job, tg_err *err)
{
    const tg_acts *a = &job->patch.pass.acts;
    struct grid g = {.job = job, .L = a->L, .H = tg_patch_heads(a, job->o->site), .T = job->pair[0].clean.n};
    const tg_status status = run(&g, err);

    drop(&g);
    return status;
}
