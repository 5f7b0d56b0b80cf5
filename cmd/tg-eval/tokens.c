/* --per-token: a line of tab-separated values, or a JSON object, per token. */
#include <inttypes.h>

#include "cmd/tg-eval/job.h"
#include "lib/base/grow.h"
#include "lib/view/label.h"

#define SHOWN_PER_BYTE 4 /* "\x00" */

/* The columns: those of a token, then for --top those of each of K tokens. */
enum { T, ID, FROM, TO, TEXT, LOGPROB, RANK, ENTROPY, COLUMNS };
static const char *const titles[COLUMNS] = {"t", "id", "from", "to", "text", "logprob", "rank", "entropy"};
static const char *const of_top[] = {"id", "text", "logprob"};
#define TOP_COLUMNS (sizeof of_top / sizeof of_top[0])

static bool is_json(const eval_job *job)
{
    return job->o->format == EVAL_JSONL;
}

void eval_print_titles(const eval_job *job)
{
    if (is_json(job) || job->o->no_header)
        return;
    for (size_t c = 0; c < COLUMNS; c++)
        printf("%s%s", c > 0 ? "\t" : "", titles[c]);
    for (size_t k = 1; k <= job->o->top; k++)
        for (size_t c = 0; c < TOP_COLUMNS; c++)
            printf("\t%s_%zu", of_top[c], k);
    putchar('\n');
}

/* Begin column c: of the token, with k = 0, or of the k-th of --top. */
static void begin_column(const eval_job *job, size_t c, size_t k)
{
    const bool first = c == 0 && k == 0;

    if (!is_json(job))
        fputs(first ? "" : "\t", stdout);
    else if (k == 0)
        printf("%s\"%s\":", first ? "{" : ",", titles[c]);
    else
        printf(",\"%s_%zu\":", of_top[c], k);
}

static void end_row(const eval_job *job)
{
    puts(is_json(job) ? "}" : "");
}

static void print_count(const eval_job *job, size_t c, size_t k, uint64_t n)
{
    begin_column(job, c, k);
    printf("%" PRIu64, n);
}

static void print_real(const eval_job *job, size_t c, size_t k, double x)
{
    begin_column(job, c, k);
    if (is_json(job))
        cli_put_json_number(x);
    else
        printf("%.9g", x);
}

static void print_unknown(const eval_job *job, size_t c, size_t k)
{
    begin_column(job, c, k);
    fputs(is_json(job) ? "null" : "", stdout);
}

/* Print a token's text, however long it is. */
static tg_status print_text(eval_job *job, size_t c, size_t k, int32_t id, tg_err *err)
{
    size_t n;
    const unsigned char *text = tg_tokenizer_token(job->m.model.tokenizer, id, &n);
    const tg_status status =
        tg_grow(&job->shown_token, &job->shown_size, SHOWN_PER_BYTE * n + 1, 1, "a token's text", err);

    if (status)
        return status;
    (void)tg_label_show_token(job->shown_token, job->shown_size, text, n);
    begin_column(job, c, k);
    if (is_json(job))
        cli_put_json(job->shown_token);
    else
        cli_put_field(job->shown_token);
    return TG_OK;
}

/* The first columns: which token it is.  before: the one before it in the text, or -1. */
static tg_status print_token(eval_job *job, int32_t before, int32_t id, tg_err *err)
{
    const size_t bytes = tg_eval_token_bytes(job->m.model.tokenizer, before, id);

    print_count(job, T, 0, job->tokens);
    print_count(job, ID, 0, (uint64_t)id);
    print_count(job, FROM, 0, job->at);
    print_count(job, TO, 0, job->at + bytes);
    job->tokens++;
    job->at += bytes;
    return print_text(job, TEXT, 0, id, err);
}

/* A token with nothing before it. */
static tg_status print_first(eval_job *job, int32_t id, tg_err *err)
{
    const tg_status status = print_token(job, -1, id, err);

    if (status)
        return status;
    for (size_t c = LOGPROB; c < COLUMNS; c++)
        print_unknown(job, c, 0);
    for (size_t k = 1; k <= job->o->top; k++)
        for (size_t c = 0; c < TOP_COLUMNS; c++)
            print_unknown(job, c, k);
    end_row(job);
    return TG_OK;
}

static tg_status print_row(eval_job *job, int32_t before, const tg_eval_row *row, tg_err *err)
{
    tg_status status = print_token(job, before, row->target, err);

    if (status)
        return status;
    print_real(job, LOGPROB, 0, row->score.log_prob);
    print_count(job, RANK, 0, row->score.rank);
    print_real(job, ENTROPY, 0, row->score.entropy);
    for (size_t k = 1; k <= job->o->top && !status; k++) {
        const int32_t id = row->top[k - 1];

        print_count(job, 0, k, (uint64_t)id);
        if (!(status = print_text(job, 1, k, id, err)))
            print_real(job, 2, k, tg_score_log_prob(&row->score, row->logits[id]));
    }
    end_row(job);
    return status;
}

tg_status eval_print_tokens(eval_job *job, const tg_eval_row *rows, size_t n, tg_err *err)
{
    const bool prefixed = job->eval.plan.prefix >= 0; /* by a token that is no part of the text */
    tg_status status = TG_OK;

    if (job->first && !prefixed)
        status = print_first(job, rows[0].input, err);
    for (size_t i = 0; !status && i < n; i++) {
        status = print_row(job, job->first && prefixed ? -1 : rows[i].input, &rows[i], err);
        job->first = false;
        if (cli_stdout_failed())
            return tg_fail(err, TG_EIO, "cannot write to standard output"); /* cli_close_stdout() says why */
    }
    return status;
}
