/* --per-token: a line of tab-separated values, or a JSON object, per token. */
#include "cmd/tg-eval/job.h"

void eval_print_titles(eval_job *job)
{
    job->lines = (token_lines){
        .record = {.tok = job->m.model.tokenizer}, .json = job->o->format == EVAL_JSONL, .top = job->o->top};
    if (!job->o->no_header)
        token_lines_titles(&job->lines);
}

/* Print a token and what was said before it, or NULL.  before: the token before it in the text, or -1. */
static tg_status print_token(eval_job *job, int32_t before, int32_t id, const token_said *said, tg_err *err)
{
    const token_place place = {.t = job->tokens, .from = job->at, .before = before, .id = id};

    job->tokens++;
    job->at += tg_eval_token_bytes(job->m.model.tokenizer, before, id);
    return token_lines_print(&job->lines, &place, said, err);
}

tg_status eval_print_tokens(eval_job *job, const tg_eval_row *rows, size_t n, tg_err *err)
{
    const bool prefixed = job->eval.windows.prefix >= 0; /* by a token that is no part of the text */
    tg_status status = TG_OK;

    if (job->first && !prefixed)
        status = print_token(job, -1, rows[0].input, NULL, err);
    for (size_t i = 0; !status && i < n; i++) {
        const token_said said = {rows[i].score, rows[i].top, rows[i].logits};
        const bool is_read = rows[i].target < -1; /* and not predicted */
        const int32_t id = is_read ? TG_TOKENS_UNPREDICTED(rows[i].target) : rows[i].target;

        status =
            print_token(job, job->first && prefixed ? -1 : rows[i].input, id, is_read ? NULL : &said, err);
        job->first = false;
        if (cli_stdout_failed())
            return tg_fail(err, TG_EIO, "cannot write to standard output"); /* cli_close_stdout() says why */
    }
    return status;
}
