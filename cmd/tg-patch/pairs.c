/* The pairs of prompts of tg-patch. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/tg-patch/job.h"

/* ---- answers */

/* An answer's text continues the prompt, and is one token. */
static tg_status find_answer(int32_t *id, const char *what, const char *text, const tg_model *model,
                             tg_err *err)
{
    *id = -1;
    return text ? cli_text_token(id, model, what, text, err) : TG_OK;
}

static tg_status set_id(int32_t *id, const char *what, size_t given, const tg_model *model, tg_err *err)
{
    const size_t V = tg_tokenizer_vocab_size(model->tokenizer);

    if (given == SIZE_MAX)
        return TG_OK;
    if (given >= V)
        return tg_fail(err, TG_EUSAGE, "the %s is id %zu: the model's vocabulary has ids 0 to %zu", what,
                       given, V - 1);
    *id = (int32_t)given;
    return TG_OK;
}

static tg_status set_answers(patch_pair *pair, const char *answer, const char *wrong, const tg_model *model,
                             tg_err *err)
{
    const tg_status status = find_answer(&pair->answer, "the answer", answer, model, err);

    return status ? status : find_answer(&pair->wrong, "the wrong answer", wrong, model, err);
}

/* ---- prompts */

static tg_status check_pair(const patch_job *job, const patch_pair *pair, tg_err *err)
{
    const size_t n = pair->clean.n, n_ctx = job->m.model.config.n_ctx;
    const tg_patch_metric_kind metric = job->o->metric;

    if (n != pair->corrupt.n)
        return tg_fail(err, TG_EDATA,
                       "the clean prompt has %zu token%s and the corrupt one %zu: expected the same number",
                       n, cli_plural(n), pair->corrupt.n);
    if (n == 0)
        return tg_fail(err, TG_EDATA, "the prompts are empty: expected a token or more");
    if (n > n_ctx)
        return tg_fail(err, TG_EUSAGE, "the prompts have %zu tokens, more than the model's context of %zu", n,
                       n_ctx);
    if (metric != TG_PATCH_KL && pair->answer < 0)
        return tg_fail(err, TG_EDATA, "there is no answer, which --metric kl alone does not need");
    if (metric == TG_PATCH_DIFF && pair->wrong < 0)
        return tg_fail(err, TG_EDATA, "there is no wrong answer, which --metric diff needs");
    if (metric == TG_PATCH_DIFF && pair->wrong == pair->answer)
        return tg_fail(err, TG_EDATA, "the answer and the wrong answer are the same token");
    return TG_OK;
}

static tg_status read_given(patch_job *job, tg_err *err)
{
    const patch_options *o = job->o;
    const tg_model *model = &job->m.model;
    patch_pair *pair = job->pair;
    tg_status status;

    job->pairs = 1;
    if ((status = cli_text_prompt(&o->clean, &pair->clean, &job->m, err)))
        return status;
    if (cli_text_option(cli_text_given(&o->corrupt) ? &o->corrupt : &o->clean, &pair->corrupt, model, err))
        return tg_err_in(err, "the corrupt prompt");
    if ((status = set_answers(pair, o->answer, o->wrong, model, err)) ||
        (status = set_id(&pair->answer, "answer", o->answer_id, model, err)) ||
        (status = set_id(&pair->wrong, "wrong answer", o->wrong_id, model, err)))
        return status;
    return check_pair(job, pair, err);
}

/* ---- a file of them */

enum { FIELDS = 4 };

/* Divide a line at its tabs; the fields that it lacks are NULL.  Returns how many it has. */
static size_t divide(char *line, const char *field[FIELDS])
{
    size_t n = 0;

    line[strcspn(line, "\r\n")] = '\0';
    for (char *at = line; at; n++) {
        char *tab = strchr(at, '\t');

        if (tab)
            *tab++ = '\0';
        if (n < FIELDS)
            field[n] = at;
        at = tab;
    }
    return n;
}

static tg_status read_line(patch_job *job, patch_pair *pair, char *line, tg_err *err)
{
    const char *field[FIELDS] = {0};
    const size_t n = divide(line, field);
    cli_text clean = job->o->clean, corrupt = job->o->clean;
    tg_status status;

    if (n < 2 || n > FIELDS)
        return tg_fail(err, TG_EDATA,
                       "a line has %zu field%s: expected prompt, corrupt prompt, answer and wrong answer", n,
                       cli_plural(n));
    clean.text = field[0];
    corrupt.text = field[1];
    if ((status = cli_text_option(&clean, &pair->clean, &job->m.model, err)) ||
        (status = cli_text_option(&corrupt, &pair->corrupt, &job->m.model, err)))
        return status;
    if ((status = set_answers(pair, field[2], field[3], &job->m.model, err)))
        return status == TG_EUSAGE ? (err->code = TG_EDATA) : status;
    return check_pair(job, pair, err);
}

static tg_status add_pair(void *context, char *line, size_t n, size_t number, tg_err *err)
{
    patch_job *job = context;
    patch_pair *more;
    char where[32];

    if (strspn(line, " \t\r") == n)
        return TG_OK;
    if (!(more = realloc(job->pair, (job->pairs + 1) * sizeof *more)))
        return tg_fail_memory(err, (job->pairs + 1) * sizeof *more, "the pairs");
    job->pair = more;
    more[job->pairs] = (patch_pair){.answer = -1, .wrong = -1};
    snprintf(where, sizeof where, "line %zu", number);
    return read_line(job, &more[job->pairs++], line, err) ? tg_err_in(err, where) : TG_OK;
}

static tg_status read_file(patch_job *job, tg_err *err)
{
    const char *path = job->o->pairs;
    const tg_status status = cli_each_line(path, add_pair, job, err);

    if (status || job->pairs > 0)
        return status;
    (void)tg_fail(err, TG_EDATA, "there are no pairs: expected a line for each");
    return tg_err_in(err, cli_input_name(path));
}

tg_status patch_read_pairs(patch_job *job, tg_err *err)
{
    tg_status status;

    if (!(job->pair = calloc(1, sizeof *job->pair)))
        return tg_fail_memory(err, sizeof *job->pair, "the pairs");
    if ((status = job->o->pairs ? read_file(job, err) : read_given(job, err)))
        return status;
    job->same_length = true;
    for (size_t i = 1; i < job->pairs; i++)
        job->same_length &= job->pair[i].clean.n == job->pair[0].clean.n;
    return TG_OK;
}

void patch_free_pairs(patch_job *job)
{
    for (size_t i = 0; i < job->pairs; i++) {
        tg_tokens_prompt_free(&job->pair[i].clean);
        tg_tokens_prompt_free(&job->pair[i].corrupt);
    }
    free(job->pair);
}

/* The texts of answers may lack a space. */
static void note_spaces(patch_job *job, const patch_pair *pair, const float *logits)
{
    const patch_options *o = job->o;
    const struct {
        int32_t id;
        bool is_text;
    } answers[] = {{pair->answer, o->answer_id == SIZE_MAX}, {pair->wrong, o->wrong_id == SIZE_MAX}};
    bool noted = job->noted_space;

    for (size_t i = 0; i < 2 && !job->noted_space; i++)
        if (answers[i].id >= 0 && answers[i].is_text)
            noted |= cli_text_check_space(&job->m.model, answers[i].id, logits, "after the clean prompt");
    job->noted_space = noted;
}

tg_patch_metric patch_keep_pair(patch_job *job, const patch_pair *pair)
{
    tg_patch *p = &job->patch;
    tg_patch_metric m = {.kind = job->o->metric,
                         .answer = pair->answer,
                         .wrong = pair->wrong,
                         .reference = p->kept[TG_PATCH_CLEAN].logits,
                         .V = job->m.model.config.vocab_size};

    tg_patch_keep(&p->kept[TG_PATCH_CLEAN], &p->pass, pair->clean.ids, pair->clean.n);
    tg_patch_keep(&p->kept[TG_PATCH_CORRUPT], &p->pass, pair->corrupt.ids, pair->corrupt.n);
    note_spaces(job, pair, m.reference);
    if (m.kind == TG_PATCH_KL)
        m.of_reference = tg_score_row(m.reference, m.V, m.V, -1);
    return m;
}
