/* A line for each patch of a site, and its effect. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cli/token_text.h"
#include "cmd/lines/labels.h"
#include "cmd/tg-patch/job.h"
#include "lib/base/choice.h"
#include "lib/attn/attn.h"
#include "lib/base/finite.h"
#include "lib/base/size.h"
#include "lib/patch/attribution.h"
#include "lib/patch/patch_write.h"

struct grid {
    patch_job *job;
    size_t L, H, T;      /* H = 0: heads do not divide the site; T of the first pair */
    tg_patch_edit *edit; /* [n] */
    tg_patch_case *cases;
    double *sum, *values; /* [n] of all pairs; of one */
    size_t n;
    double clean, corrupt; /* sums of the metric */
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
    g->sum = calloc(g->n, sizeof *g->sum);
    g->values = calloc(g->n, sizeof *g->values);
    if (!g->edit || !g->cases || !g->sum || !g->values)
        return tg_fail_memory(err, g->n * (sizeof *g->edit + sizeof *g->cases + 2 * sizeof *g->sum),
                              "the patches");
    (void)list(g, g->edit);
    for (size_t i = 0; i < g->n; i++)
        g->cases[i] = (tg_patch_case){&g->edit[i], 1};
    return TG_OK;
}

static void drop(struct grid *g)
{
    free(g->edit);
    free(g->cases);
    free(g->sum);
    free(g->values);
    labels_free(&g->labels);
    tg_patch_attribution_close(&g->attribution);
}

/* ---- pairs */

/* The metric after each patch, by a pass; or estimated. */
static tg_status find_values(struct grid *g, const tg_patch_plan *plan, tg_err *err)
{
    if (!g->job->o->attributes)
        return tg_patch_run(&g->job->patch, plan, g->values, err);
    tg_patch_attribution_run(&g->attribution, plan->base, plan->source, plan->metric, 0);
    for (size_t i = 0; i < g->n; i++)
        g->values[i] = tg_patch_measure(plan->metric, plan->base->logits) +
                       tg_patch_attribution_of(&g->attribution, &g->edit[i]);
    if (tg_model_check_lent(&g->job->m.model, err))
        return err->code;
    return tg_find_not_finite64(g->values, g->n) == g->n
               ? TG_OK
               : tg_fail(err, TG_EDATA, "the gradient is not finite");
}

static tg_status add_pair(struct grid *g, const patch_pair *pair, const tg_watch *watch, tg_err *err)
{
    tg_patch *p = &g->job->patch;
    const bool noise = g->job->o->noise;
    const tg_patch_metric metric = patch_keep_pair(g->job, pair);
    tg_patch_kept *base = &p->kept[noise ? TG_PATCH_CLEAN : TG_PATCH_CORRUPT];
    tg_patch_kept *source = &p->kept[noise ? TG_PATCH_CORRUPT : TG_PATCH_CLEAN];
    const tg_patch_plan plan = {g->cases, g->n, base, source, &metric, watch};
    tg_status status;

    if (g->job->o->site == TG_PATCH_PATTERN &&
        (status = tg_patch_keep_pattern(source, base, &p->pass.acts, err)))
        return status;
    if ((status = find_values(g, &plan, err)))
        return status;
    g->clean += tg_patch_measure(&metric, p->kept[TG_PATCH_CLEAN].logits);
    g->corrupt += tg_patch_measure(&metric, p->kept[TG_PATCH_CORRUPT].logits);
    for (size_t i = 0; i < g->n; i++)
        g->sum[i] += g->values[i];
    return TG_OK;
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

/* Never -0; and 0 where a line has five decimals of nothing, which the sign of a rounding error would
 * precede. */
static double effect_of(const struct grid *g, size_t i)
{
    const patch_options *o = g->job->o;
    const double effect = (g->sum[i] - g->corrupt) / (g->clean - g->corrupt);

    return fabs(effect) <= (o->format == TABLE_TEXT && !o->output ? 5e-6 : 0) ? 0 : effect;
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
        [CLEAN] = {.real = g->clean / pairs},
        [CORRUPT] = {.real = g->corrupt / pairs},
        [METRIC] = {.real = g->sum[i] / pairs},
        [EFFECT] = {.real = effect_of(g, i)},
    };

    snprintf(padded, sizeof padded, "%*s", t->format == TABLE_TEXT ? 9 : 0, site);
    table_print_line(t, cells);
}

static void print_header(const struct grid *g, const char *metric)
{
    const double pairs = (double)g->job->pairs;

    printf("# %s of the last prediction: clean %.6f, corrupt %.6f", metric, g->clean / pairs,
           g->corrupt / pairs);
    printf(g->job->pairs > 1 ? ", means of %zu pairs\n" : "\n", g->job->pairs);
    printf("# metric   %s, of the %s run with a part of the %s one\n",
           g->job->o->attributes ? "estimated to first order" : "after the patch",
           g->job->o->noise ? "clean" : "corrupt", g->job->o->noise ? "corrupt" : "clean");
    printf("# effect   (metric - corrupt) / (clean - corrupt)\n");
}

static tg_status print_lines(struct grid *g, tg_err *err)
{
    const patch_options *o = g->job->o;
    const tg_tokens_prompt *prompt = &g->job->pair[0].clean;
    const tg_tokenizer *tok = g->job->m.model.tokenizer;
    char metric[TG_CHOICE_SIZE], site[TG_CHOICE_SIZE];
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
        print_header(g, tg_choice_name(metric, TG_PATCH_METRIC_NAMES, o->metric));
    if (!o->no_header)
        table_print_titles(&t);
    for (size_t i = 0; i < g->n; i++)
        print_patch(g, &t, tg_choice_name(site, TG_PATCH_SITE_NAMES, o->site), i);
    return TG_OK;
}

/* ---- an archive */

static tg_status put_archive(void *context, int fd, tg_err *err)
{
    const struct grid *g = context;
    const patch_job *job = g->job;
    const tg_patch_grid grid = {.edit = g->edit,
                                .n = g->n,
                                .value = g->values,
                                .effect = g->sum,
                                .metric = job->o->metric,
                                .estimated = job->o->attributes,
                                .noise = job->o->noise,
                                .pairs = job->pairs,
                                .n_layer = g->L,
                                .clean = g->clean / (double)job->pairs,
                                .corrupt = g->corrupt / (double)job->pairs,
                                .tok = job->m.model.tokenizer,
                                .text_of = cli_token_text_of,
                                .clean_ids = job->same_length ? job->pair[0].clean.ids : NULL,
                                .corrupt_ids = job->pair[0].corrupt.ids,
                                .T = g->T};

    return tg_patch_write(fd, &grid, err);
}

/* The means of the values, and the effects where the sums were. */
static tg_status write_archive(struct grid *g, tg_err *err)
{
    for (size_t i = 0; i < g->n; i++) {
        g->values[i] = g->sum[i] / (double)g->job->pairs;
        g->sum[i] = effect_of(g, i);
    }
    return cli_archive_write(g->job->o->output, CLI_OUT_PATCH, put_archive, g, err);
}

static tg_status check_output(const patch_job *job, tg_err *err)
{
    const patch_options *o = job->o;
    const tg_status status = cli_archive_check(o->output, job->m.path, CLI_OUT_PATCH, err);

    return status || !o->pairs ? status : cli_check_output_differs(o->output, o->pairs, err);
}

/* ---- all of it */

static tg_status run(struct grid *g, tg_err *err)
{
    tg_status status;

    if ((g->job->o->output && (status = check_output(g->job, err))) || (status = check(g, err)) ||
        (status = make(g, err)))
        return status;
    if (g->job->o->attributes &&
        (status = tg_patch_attribution_open(&g->attribution, &g->job->m.model, g->job->patch.capacity, err)))
        return status;
    for (size_t i = 0; i < g->job->pairs; i++)
        if ((status = add_pair(g, &g->job->pair[i], cli_job_begin(&g->job->progress, "patching"), err)))
            return status;
    if (!(g->clean < g->corrupt || g->clean > g->corrupt))
        return tg_fail(err, TG_EDATA,
                       "the clean and the corrupt prompt have the same metric: effects have no scale");
    return g->job->o->output ? write_archive(g, err) : print_lines(g, err);
}

tg_status patch_sites(patch_job *job, tg_err *err)
{
    const tg_acts *a = &job->patch.pass.acts;
    struct grid g = {.job = job, .L = a->L, .H = tg_patch_heads(a, job->o->site), .T = job->pair[0].clean.n};
    const tg_status status = run(&g, err);

    drop(&g);
    return status;
}
