/* --attribute: a logit, or the difference of two, as a sum of parts. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cli/token_text.h"
#include "cmd/tg-lens/job.h"
#include "lib/base/size.h"
#include "lib/gpt/bind.h"
#include "lib/lens/lens_write.h"

enum { PART, LAYER, HEAD, KEY, UNIT, VALUE, TOKEN, COLUMNS };
#define BIT(column) (1u << (column))

/* Where a part is; NOT_GIVEN: it has no such number. */
struct at {
    size_t layer, head, key, unit;
};
#define NOWHERE ((struct at){NOT_GIVEN, NOT_GIVEN, NOT_GIVEN, NOT_GIVEN})

/* A line, for --top. */
struct part {
    const char *name;
    struct at at;
    double value;
    size_t order;
};

struct parts {
    lens_job *job;
    tg_attribution a;
    tg_attribute_plan plan;
    token_labels labels, values; /* of the text, as lines and as values show them */
    size_t *units;               /* [neurons] of a layer */
    struct part *part; /* [n] all of them, where the largest are wanted; before that they are counted */
    size_t n;
    table table;
};

/* ---- a token, or two */

/* Whether a text is one token of the model's.  TG_ENOMEM. */
static tg_status find_token(bool *found, int32_t *id, const lens_job *job, const char *text, tg_err *err)
{
    const tg_status status =
        *text != '\0' ? cli_text_token(id, &job->m.model, "--attribute", text, err) : TG_EUSAGE;

    *found = !status;
    return status == TG_ENOMEM ? status : TG_OK;
}

/* Whether a text is two tokens, of which the second begins after the hyphen at `at`.  TG_ENOMEM. */
static tg_status find_pair(bool *found, int32_t id[2], const lens_job *job, char *text, char *at, tg_err *err)
{
    tg_status status;

    *at = '\0';
    if (!(status = find_token(found, &id[0], job, text, err)) && *found)
        status = find_token(found, &id[1], job, at + 1, err);
    *at = '-';
    return status;
}

/* Find the one place at which the hyphen between two tokens can be.  TG_EUSAGE: there is none, or several. */
static tg_status find_two(tg_attribute_plan *plan, const lens_job *job, char *text, tg_err *err)
{
    size_t pairs = 0;
    int32_t id[2];
    bool found;

    for (char *at = strchr(text, '-'); at; at = strchr(at + 1, '-')) {
        if (find_pair(&found, id, job, text, at, err))
            return err->code;
        if (!found)
            continue;
        plan->token = id[0];
        plan->minus = id[1];
        pairs++;
    }
    if (pairs == 1)
        return TG_OK;
    return tg_fail(err, TG_EUSAGE,
                   "--attribute must be a token, or two with a hyphen between them: '%s' is %s", text,
                   pairs == 0 ? "neither" : "two in several ways: give --attribute-ids");
}

static tg_status find_texts(tg_attribute_plan *plan, const lens_job *job, tg_err *err)
{
    const char *text = job->o->attribute;
    char *copy;
    bool found;
    tg_status status = find_token(&found, &plan->token, job, text, err);

    if (status || found)
        return status;
    if (!strchr(text, '-') || !tg_tokenizer_has_text(job->m.model.tokenizer))
        return cli_text_token(&plan->token, &job->m.model, "--attribute", text, err);
    if (!(copy = strdup(text)))
        return tg_fail_memory(err, strlen(text) + 1, "--attribute");
    status = find_two(plan, job, copy, err);
    free(copy);
    return status;
}

static tg_status find_ids(tg_attribute_plan *plan, const lens_job *job, tg_err *err)
{
    const char *at = job->o->attribute_ids;
    size_t id[2] = {0, NOT_GIVEN};
    tg_status status;

    if (!cli_take_size(&at, &id[0]) || (*at == '-' && (at++, !cli_take_size(&at, &id[1]))) || *at != '\0')
        return tg_fail(err, TG_EUSAGE, "--attribute-ids must be an id, or two as ID-ID, got '%s'",
                       job->o->attribute_ids);
    if ((status = lens_check_id(&plan->token, job, "--attribute-ids", id[0], err)) || id[1] == NOT_GIVEN)
        return status;
    return lens_check_id(&plan->minus, job, "--attribute-ids", id[1], err);
}

/* ---- lines */

static void set_table(struct parts *p)
{
    static const table_column of_parts[COLUMNS] = {
        [PART] = {"part", "part     ", TABLE_STRING, 10, 0, 0},
        [LAYER] = {"layer", "layer", TABLE_SIZE, 5, 0, 0},
        [HEAD] = {"head", "head", TABLE_SIZE, 4, 0, 0},
        [KEY] = {"key", "key", TABLE_SIZE, 4, 0, 0},
        [UNIT] = {"unit", "unit", TABLE_SIZE, 5, 0, 0},
        [VALUE] = {"value", "value", TABLE_DOUBLE, 12, 0, 6},
        [TOKEN] = {"token", "token", TABLE_STRING, 0, 0, 0},
    };
    const lens_options *o = p->job->o;

    p->table = (table){.format = o->format, .n = COLUMNS};
    memcpy(p->table.column, of_parts, sizeof of_parts);
    if (o->format == TABLE_TEXT)
        p->table.hidden = (o->keys ? 0 : BIT(KEY) | BIT(TOKEN)) | (o->neurons > 0 ? 0 : BIT(UNIT));
}

static table_cell number(size_t n)
{
    return (table_cell){.kind = n == NOT_GIVEN ? CELL_MISSING : CELL_VALUE, .size = n};
}

static void print_part(const struct parts *p, const char *part, struct at at, double value)
{
    const bool text = p->table.format == TABLE_TEXT, of_key = at.key != NOT_GIVEN;
    table t = p->table;
    char padded[16], small[32];
    const bool rounds_off = text && fabs(value) < 1e-3 && value != 0; /* to a column's decimals */
    const table_cell cells[COLUMNS] = {
        [PART] = {.text = padded},
        [LAYER] = number(at.layer),
        [HEAD] = number(at.head),
        [KEY] = number(at.key),
        [UNIT] = number(at.unit),
        [VALUE] = rounds_off ? (table_cell){.kind = CELL_WORD, .text = small} : (table_cell){.real = value},
        [TOKEN] = {.kind = of_key ? CELL_WORD : CELL_MISSING,
                   .text = of_key ? label_of(text ? &p->labels : &p->values, at.key) : NULL},
    };

    snprintf(small, sizeof small, "%.2e", value);
    snprintf(padded, sizeof padded, text ? "%-10s" : "%s", part);
    if (text && !of_key)
        t.hidden |= BIT(TOKEN);
    table_print_line(&t, cells);
}

/* Print a part; or count it or keep it, if the largest are wanted. */
static void put_part(struct parts *p, const char *name, struct at at, double value)
{
    if (p->job->o->top == NOT_GIVEN) {
        print_part(p, name, at, value);
        return;
    }
    if (p->part)
        p->part[p->n] = (struct part){name, at, value, p->n};
    p->n++;
}

static void put_heads(struct parts *p, size_t layer)
{
    const tg_attribution *a = &p->a;
    struct at at = NOWHERE;

    at.layer = layer;
    for (size_t h = 0; h < a->H; h++) {
        at.head = h;
        put_part(p, "head", at, a->head[layer * a->H + h]);
        for (size_t j = 0; j <= a->plan.position && p->job->o->keys; j++) {
            at.key = j;
            put_part(p, "key", at, a->key[(layer * a->H + h) * a->T + j]);
        }
        at.key = NOT_GIVEN;
    }
}

static void put_mlp(struct parts *p, size_t layer)
{
    const tg_attribution *a = &p->a;
    const size_t n = p->job->o->neurons;
    struct at at = NOWHERE;

    at.layer = layer;
    put_part(p, "mlp", at, a->mlp[layer]);
    tg_attribution_top_units(p->units, n, a, layer);
    for (size_t i = 0; i < n; i++) {
        at.unit = p->units[i];
        put_part(p, "unit", at, a->unit[layer * a->inner + at.unit]);
    }
}

static bool has(const struct parts *p, tg_param_kind kind)
{
    const tg_params *params = &p->job->m.model.table;

    return tg_params_index(params, kind, 0) < params->n;
}

static void put_parts(struct parts *p)
{
    const tg_attribution *a = &p->a;

    put_part(p, "embedding", NOWHERE, a->embedding);
    if (has(p, TG_WPE))
        put_part(p, "position", NOWHERE, a->wpe);
    for (size_t l = 0; l < a->L; l++) {
        const struct at at = {l, NOT_GIVEN, NOT_GIVEN, NOT_GIVEN};

        put_heads(p, l);
        if (has(p, TG_ATT_PROJ_B))
            put_part(p, "att_bias", at, a->bias[TG_SUBLAYER_ATTENTION][l]);
        put_mlp(p, l);
        if (has(p, TG_FC_PROJ_B))
            put_part(p, "mlp_bias", at, a->bias[TG_SUBLAYER_MLP][l]);
    }
    if (has(p, TG_LNF_B))
        put_part(p, "norm_bias", NOWHERE, a->shift);
    if (has(p, TG_HEAD_B))
        put_part(p, "head_bias", NOWHERE, a->head_bias);
}

static int larger_first(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    const double more = fabs(y->value) - fabs(x->value);

    return more != 0 ? (more > 0) - (more < 0) : (x->order > y->order) - (x->order < y->order);
}

/* For --top: all parts, the largest first. */
static tg_status sort_parts(struct parts *p, tg_err *err)
{
    if (p->job->o->top == NOT_GIVEN)
        return TG_OK;
    put_parts(p);
    if (!(p->part = calloc(p->n + 1, sizeof *p->part)))
        return tg_fail_memory(err, (p->n + 1) * sizeof *p->part, "the parts");
    p->n = 0;
    put_parts(p);
    qsort(p->part, p->n, sizeof *p->part, larger_first);
    return TG_OK;
}

static void print_parts(struct parts *p)
{
    const tg_attribution *a = &p->a;

    if (!p->part)
        put_parts(p);
    for (size_t i = 0; i < tg_size_min(p->n, p->job->o->top); i++)
        print_part(p, p->part[i].name, p->part[i].at, p->part[i].value);
    print_part(p, "sum", NOWHERE, a->sum);
    print_part(p, "residue", NOWHERE, tg_attribution_residue(a));
    print_part(p, "logit", NOWHERE, a->logit);
}

/* " be" (id 307) */
static void print_token(const struct parts *p, int32_t id)
{
    char text[LABEL_SIZE];

    (void)label_quote(text, sizeof text, LABEL_COLUMNS, p->job->m.model.tokenizer, id);
    printf("%s (id %ld)", text, (long)id);
}

static void print_header(const struct parts *p)
{
    const tg_attribution *a = &p->a;
    const double cap = p->job->m.model.config.final_logit_softcapping;

    printf("# the logit of ");
    print_token(p, a->plan.token);
    if (a->plan.minus >= 0) {
        printf(" less that of ");
        print_token(p, a->plan.minus);
    }
    printf(" after token %zu, %s: %.6f\n", a->plan.position, labels_quoted(&p->labels, a->plan.position),
           a->capped);
    if (cap > 0)
        printf("# before the cap of %g on each logit: %.6f, of which these are the parts\n", cap, a->logit);
    printf("# each part of the stream is multiplied by the last norm's scale in this run, %.6g\n", a->scale);
    if (p->job->o->keys)
        printf("# the keys' lines add up to their head's\n");
    if (p->job->o->neurons > 0)
        printf("# the units' lines are parts of their mlp's\n");
    if (p->part)
        printf("# the %zu largest of %zu parts, by their absolute values\n",
               tg_size_min(p->n, p->job->o->top), p->n);
}

static void print_lines(struct parts *p)
{
    if (!p->job->o->no_header) {
        if (p->table.format == TABLE_TEXT)
            print_header(p);
        table_print_titles(&p->table);
    }
    print_parts(p);
}

/* ---- the run */

static tg_status put_archive(void *context, int fd, tg_err *err)
{
    struct parts *p = context;

    return tg_attribution_write(fd, &p->a, p->job->prompt.ids, cli_token_text_of, err);
}

static tg_status make_labels(struct parts *p, tg_err *err)
{
    const lens_job *job = p->job;
    const tg_tokenizer *tok = job->m.model.tokenizer;
    tg_status status = labels_make(&p->labels, tok, job->prompt.ids, job->prompt.n, err);

    if (!status && job->o->format != TABLE_TEXT)
        status = labels_make_values(&p->values, job->o->format, tok, job->prompt.ids, job->prompt.n, err);
    if (!status && !(p->units = calloc(job->o->neurons + 1, sizeof *p->units)))
        status = tg_fail_memory(err, (job->o->neurons + 1) * sizeof *p->units, "the units");
    return status;
}

static tg_status find_plan(struct parts *p, tg_err *err)
{
    lens_job *job = p->job;
    const lens_options *o = job->o;

    p->plan = (tg_attribute_plan){
        .position = o->position != NOT_GIVEN ? o->position : job->prompt.n - 1,
        .minus = -1,
        .units = o->neurons,
        .watch = cli_job_begin(&job->progress, "attribution"),
    };
    return o->attribute ? find_texts(&p->plan, job, err) : find_ids(&p->plan, job, err);
}

/* The texts of --attribute may lack a space. */
static void note_spaces(const struct parts *p)
{
    const tg_model *model = &p->job->m.model;
    char where[32];

    snprintf(where, sizeof where, "after token %zu", p->plan.position);
    (void)cli_text_check_space(model, p->plan.token, p->a.logits, where);
    if (p->plan.minus >= 0)
        (void)cli_text_check_space(model, p->plan.minus, p->a.logits, where);
}

static tg_status show(struct parts *p, tg_err *err)
{
    tg_status status = tg_attribution_run(&p->a, p->job->prompt.ids, err);

    if (status)
        return status;
    if (p->job->o->attribute)
        note_spaces(p);
    if (p->job->o->output)
        return lens_write(p->job, put_archive, p, err);
    if ((status = make_labels(p, err)) || (status = sort_parts(p, err)))
        return status;
    cli_progress_end();
    set_table(p);
    print_lines(p);
    return TG_OK;
}

tg_status lens_attribution(lens_job *job, tg_err *err)
{
    struct parts p = {.job = job};
    tg_status status;

    if ((status = find_plan(&p, err)) ||
        (status = tg_attribution_open(&p.a, &job->m.model, job->prompt.n, &p.plan, err)))
        return status;
    status = show(&p, err);
    tg_attribution_close(&p.a);
    labels_free(&p.labels);
    labels_free(&p.values);
    free(p.units);
    free(p.part);
    return status;
}
