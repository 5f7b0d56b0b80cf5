/* --per-token: a line of tab-separated values per token. */
#include <inttypes.h>
#include <stdlib.h>

#include "cmd/tg-eval/job.h"
#include "lib/base/size.h"
#include "lib/view/label.h"

#define SHOWN_PER_BYTE 4 /* "\x00" */

void eval_print_titles(const eval_job *job)
{
    printf("t\tid\tfrom\tto\ttext\tlogprob\trank\tentropy");
    for (size_t k = 1; k <= job->o->top; k++)
        printf("\tid_%zu\ttext_%zu\tlogprob_%zu", k, k, k);
    putchar('\n');
}

/* Print a token's text, however long it is. */
static tg_status print_text(eval_job *job, int32_t id, tg_err *err)
{
    size_t n;
    const unsigned char *text = tg_tokenizer_token(job->m.model.tokenizer, id, &n);
    const size_t size = SHOWN_PER_BYTE * n + 1;

    if (size > job->shown_size) {
        char *more = realloc(job->shown_token, size);

        if (!more)
            return tg_fail_memory(err, size, "a token's text");
        job->shown_token = more;
        job->shown_size = size;
    }
    (void)tg_label_show_token(job->shown_token, job->shown_size, text, n);
    cli_put_field(job->shown_token);
    return TG_OK;
}

/* The first columns: which token it is. */
static tg_status print_token(eval_job *job, int32_t id, tg_err *err)
{
    const size_t bytes = tg_eval_token_bytes(job->m.model.tokenizer, id);

    printf("%" PRIu64 "\t%ld\t%" PRIu64 "\t%" PRIu64 "\t", job->tokens, (long)id, job->at, job->at + bytes);
    job->tokens++;
    job->at += bytes;
    return print_text(job, id, err);
}

/* A token with nothing before it. */
static tg_status print_first(eval_job *job, int32_t id, tg_err *err)
{
    const tg_status status = print_token(job, id, err);

    if (status)
        return status;
    printf("\t\t\t");
    for (size_t k = 0; k < job->o->top; k++)
        printf("\t\t\t");
    putchar('\n');
    return TG_OK;
}

static tg_status print_row(eval_job *job, const tg_eval_row *row, tg_err *err)
{
    tg_status status = print_token(job, row->target, err);

    if (status)
        return status;
    printf("\t%.9g\t%zu\t%.9g", row->score.log_prob, row->score.rank, row->score.entropy);
    for (size_t k = 0; k < job->o->top && !status; k++) {
        printf("\t%ld\t", (long)row->top[k]);
        if (!(status = print_text(job, row->top[k], err)))
            printf("\t%.9g", tg_score_log_prob(&row->score, row->logits[row->top[k]]));
    }
    putchar('\n');
    return status;
}

tg_status eval_take_tokens(void *context, const tg_eval_row *rows, size_t n, tg_err *err)
{
    eval_job *job = context;
    tg_status status = TG_OK;

    if (job->first && !job->o->eot)
        status = print_first(job, rows[0].input, err);
    job->first = false;
    for (size_t i = 0; !status && i < n; i++) {
        status = print_row(job, &rows[i], err);
        if (cli_stdout_failed())
            return tg_fail(err, TG_EIO, "cannot write to standard output"); /* cli_close_stdout() says why */
    }
    eval_show_progress(job);
    return status;
}
