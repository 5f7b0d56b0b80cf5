/* What the model would predict after each layer. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cli/token_text.h"
#include "cmd/lines/record.h"
#include "cmd/tg-lens/job.h"
#include "lib/base/size.h"
#include "lib/lens/lens_write.h"
#include "lib/view/label.h"

#define TOP 3 /* tokens of a line, unless --top says how many */

struct predictions {
    lens_job *job;
    record record;
    int32_t *targets; /* [T] */
    int32_t spaced;   /* --target's with a space before it; -1: not one token, or no more to be looked for */
    size_t top;
    bool titled; /* or no titles are wanted */
    tg_lens lens;
};

static double probability(const tg_lens_row *row, float logit)
{
    return exp(tg_score_log_prob(&row->score, logit));
}

/* ---- lines for the eye */

static void print_header(const struct predictions *p)
{
    const lens_job *job = p->job;
    const tg_config *c = &job->m.model.config;

    printf("# %zu token%s%s through %zu layer%s\n", job->prompt.n, cli_plural(job->prompt.n),
           job->is_probe ? " of the model's probe" : "", c->n_layer, cli_plural(c->n_layer));
    printf("# layer    blocks that have run: the model's own last norm and output head after them\n"
           "# kl       divergence from what the last layer predicts, in nats\n"
           "# entropy  of the prediction, in nats\n"
           "# rank     of %s, from 0\n",
           job->o->target || job->o->target_id != NOT_GIVEN ? "the target" : "the text's next token");
    printf("#   t layer      kl entropy   rank    prob      logit  token                most probable\n");
}

static void print_quoted(const struct predictions *p, int32_t id, size_t width)
{
    char text[LABEL_SIZE];

    (void)label_quote(text, sizeof text, LABEL_COLUMNS, p->job->m.model.tokenizer, id);
    printf("%s", text);
    for (size_t n = tg_label_width(text); n < width; n++)
        putchar(' ');
}

#define NUMBER 32 /* bytes of a number, with NUL */

/* A number in a column, with as many of the decimals as fit. */
static const char *fit(char out[NUMBER], double x, int width, int decimals)
{
    while (snprintf(out, NUMBER, "%*.*f", width, decimals, x) > width && decimals > 0)
        decimals--;
    if (strlen(out) > (size_t)width)
        snprintf(out, NUMBER, "%*.0e", width, x);
    return out;
}

static void print_line(const struct predictions *p, const tg_lens_row *row)
{
    char kl[NUMBER], logit[NUMBER];

    printf("%5zu %5zu %s %7.4f ", row->position, row->layer, fit(kl, row->kl, 7, 4), row->score.entropy);
    if (row->target < 0) {
        printf("%6s %7s %10s  %-20s", "-", "-", "-", "-");
    } else {
        printf("%6zu %7.5f %s  ", row->score.rank, probability(row, row->logit),
               fit(logit, (double)row->logit, 10, 5));
        print_quoted(p, row->target, 20);
    }
    for (size_t k = 0; k < p->top; k++) {
        putchar(' ');
        print_quoted(p, row->top[k], 0);
        printf(" %.3f", probability(row, row->top_logits[k]));
    }
    putchar('\n');
}

/* ---- values */

static tg_status put_target(struct predictions *p, const tg_lens_row *row, tg_err *err)
{
    static const char *const names[] = {"target_id", "target", "rank", "prob", "logit"};
    record *r = &p->record;

    if (row->target < 0) {
        for (size_t c = 0; c < sizeof names / sizeof *names; c++)
            record_missing(r, names[c], 0);
        return TG_OK;
    }
    record_size(r, names[0], 0, (uint64_t)row->target);
    if (record_token(r, names[1], 0, row->target, err))
        return err->code;
    record_size(r, names[2], 0, row->score.rank);
    record_real(r, names[3], 0, probability(row, row->logit));
    record_real(r, names[4], 0, (double)row->logit);
    return TG_OK;
}

static tg_status put_row(struct predictions *p, const tg_lens_row *row, tg_err *err)
{
    record *r = &p->record;
    const int32_t id = p->job->prompt.ids[row->position];
    tg_status status;

    record_size(r, "t", 0, row->position);
    record_size(r, "id", 0, (uint64_t)id);
    if ((status = record_token(r, "text", 0, id, err)))
        return status;
    record_size(r, "layer", 0, row->layer);
    record_real(r, "kl", 0, row->kl);
    record_real(r, "entropy", 0, row->score.entropy);
    status = put_target(p, row, err);
    for (size_t k = 1; k <= p->top && !status; k++) {
        record_size(r, "id", k, (uint64_t)row->top[k - 1]);
        if ((status = record_token(r, "text", k, row->top[k - 1], err)))
            break;
        record_real(r, "prob", k, probability(row, row->top_logits[k - 1]));
        record_real(r, "logit", k, (double)row->top_logits[k - 1]);
    }
    record_end(r);
    return status;
}

/* ---- all rows */

/* The titles are the names of the values of any row. */
static tg_status put_titles(struct predictions *p, const tg_lens_row *row, tg_err *err)
{
    p->titled = true;
    if (p->job->o->no_header || p->job->o->format == TABLE_JSONL)
        return TG_OK;
    p->record.what = RECORD_TITLES;
    return put_row(p, row, err);
}

/* --target may lack a space: at the position that is asked for, or the last one. */
static void note_space(struct predictions *p, const tg_lens_row *row)
{
    const lens_job *job = p->job;
    char where[32];

    if (p->spaced < 0 ||
        row->position != (job->o->position != NOT_GIVEN ? job->o->position : job->prompt.n - 1))
        return;
    snprintf(where, sizeof where, "after token %zu", row->position);
    (void)cli_text_note_space(&job->m.model, row->target, row->p_last[row->target], p->spaced,
                              row->p_last[p->spaced], where);
    p->spaced = -1;
}

static tg_status take(void *context, const tg_lens_row *row, tg_err *err)
{
    struct predictions *p = context;
    const table_format format = p->job->o->format;
    tg_status status = TG_OK;

    note_space(p, row);
    if (cli_stdout_failed())
        return tg_fail(err, TG_EIO, "cannot write to standard output"); /* cli_close_stdout() says why */
    if (format == TABLE_TEXT) {
        print_line(p, row);
        return TG_OK;
    }
    if (!p->titled)
        status = put_titles(p, row, err);
    p->record.what = format == TABLE_JSONL ? RECORD_JSON : RECORD_TSV;
    return status ? status : put_row(p, row, err);
}

static tg_status put_archive(void *context, int fd, tg_err *err)
{
    struct predictions *p = context;
    const lens_job *job = p->job;

    return tg_lens_write(fd, &p->lens, job->prompt.ids, cli_token_text_of, err);
}

/* ---- the plan */

/* What is looked for after each token: the next one, or the same everywhere. */
static tg_status find_targets(struct predictions *p, tg_err *err)
{
    const lens_job *job = p->job;
    const size_t T = job->prompt.n;
    int32_t id = -1;
    tg_status status = TG_OK;

    if (job->o->target)
        status = cli_text_token(&id, &job->m.model, "--target", job->o->target, err);
    else if (job->o->target_id != NOT_GIVEN)
        status = lens_check_id(&id, job, "--target-id", job->o->target_id, err);
    p->spaced = !status && job->o->target ? cli_text_spaced(&job->m.model, id) : -1;
    if (!status && !(p->targets = malloc(T * sizeof *p->targets)))
        status = tg_fail_memory(err, T * sizeof *p->targets, "the targets");
    for (size_t t = 0; t < T && !status; t++)
        p->targets[t] = id >= 0 ? id : t + 1 < T ? job->prompt.ids[t + 1] : -1;
    return status;
}

static tg_status find_top(struct predictions *p, tg_err *err)
{
    const lens_options *o = p->job->o;
    const size_t ids = tg_tokenizer_vocab_size(p->job->m.model.tokenizer);

    if (o->top != NOT_GIVEN && o->top > ids)
        return tg_fail(err, TG_EUSAGE, "--top %zu exceeds the model's %zu ids", o->top, ids);
    p->top = o->top != NOT_GIVEN ? o->top : tg_size_min(TOP, ids);
    return TG_OK;
}

static tg_status show(struct predictions *p, tg_err *err)
{
    lens_job *job = p->job;
    tg_status status;

    if (job->o->output)
        return lens_write(job, put_archive, p, err);
    if (job->o->format == TABLE_TEXT && !job->o->no_header)
        print_header(p);
    status = tg_lens_run(&p->lens, job->prompt.ids, take, p, err);
    record_free(&p->record);
    return status;
}

tg_status lens_predictions(lens_job *job, tg_err *err)
{
    struct predictions p = {.job = job, .record = {.tok = job->m.model.tokenizer}};
    tg_lens_plan plan = {.layer = job->o->layer, .position = job->o->position};
    tg_status status;

    if ((status = find_top(&p, err)) || (status = find_targets(&p, err)))
        return status;
    plan.targets = p.targets;
    plan.top = p.top;
    plan.watch = cli_job_begin(&job->progress, "predictions");
    if (!(status = tg_lens_open(&p.lens, &job->m.model, job->prompt.n, &plan, err))) {
        status = show(&p, err);
        tg_lens_close(&p.lens);
    }
    free(p.targets);
    return status;
}
