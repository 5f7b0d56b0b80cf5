/* The result of tg-eval, and its progress. */
#include <inttypes.h>
#include <math.h>

#include "cmd/tg-eval/job.h"

void eval_show_progress(eval_job *job)
{
    const tg_eval_sums *s = &job->eval.sums;
    char line[256];

    if (!cli_progress_wanted(job->begun, &job->shown))
        return;
    snprintf(line, sizeof line, "%s tokens, loss %.4f, %s", cli_count(s->scored), tg_eval_loss(s),
             cli_duration(job->shown - job->begun));
    cli_progress(line);
}

static double per_token(const tg_eval_sums *s, double sum)
{
    return sum / (double)s->scored;
}

static void print_lines(const eval_job *job)
{
    const tg_eval_sums *s = &job->eval.sums;
    const tg_eval_plan *plan = &job->eval.plan;
    const double loss = tg_eval_loss(s);

    if (job->is_probe)
        printf("text        none was given: this is the model's probe\n");
    printf("tokens      %s of %s scored\n", cli_count(s->scored), cli_count(s->tokens));
    printf("windows     %s of at most %s tokens, stride %s\n", cli_count(s->windows),
           cli_count(plan->context), cli_count(plan->stride));
    printf("loss        %.6f nats per token, %.6f bits\n", loss, loss / log(2));
    printf("perplexity  %.6g\n", tg_eval_perplexity(s));
    if (s->bytes > 0)
        printf("bits/byte   %.6f over %s bytes, %.3f per token\n", tg_eval_bits_per_byte(s),
               cli_count(s->bytes), per_token(s, (double)s->bytes));
    printf("top 1       %.2f %% of the tokens were the most probable one\n",
           100 * per_token(s, (double)s->right));
    printf("entropy     %.6f nats, the mean of the predictions\n", per_token(s, s->entropy));
}

/* Tab-separated values with a line of titles, or a JSON object. */
static void print_columns(const eval_job *job)
{
    static const char *const titles[] = {"tokens",        "scored", "bytes",  "windows",
                                         "context",       "stride", "loss",   "perplexity",
                                         "bits_per_byte", "top_1",  "entropy"};
    const tg_eval_sums *s = &job->eval.sums;
    const uint64_t counts[] = {
        s->tokens, s->scored, s->bytes, s->windows, job->eval.plan.context, job->eval.plan.stride};
    const double reals[] = {tg_eval_loss(s), tg_eval_perplexity(s), tg_eval_bits_per_byte(s),
                            per_token(s, (double)s->right), per_token(s, s->entropy)};
    enum { COUNTS = sizeof counts / sizeof *counts, COLUMNS = sizeof titles / sizeof *titles };
    const bool json = job->o->format == EVAL_JSONL;

    for (size_t i = 0; i < COLUMNS && !json && !job->o->no_header; i++)
        printf("%s%c", titles[i], i + 1 < COLUMNS ? '\t' : '\n');
    for (size_t i = 0; i < COLUMNS; i++) {
        if (json)
            printf("%c\"%s\":", i > 0 ? ',' : '{', titles[i]);
        else if (i > 0)
            putchar('\t');
        if (i < COUNTS)
            printf("%" PRIu64, counts[i]);
        else if (json)
            cli_put_json_number(reals[i - COUNTS]);
        else if (!isnan(reals[i - COUNTS])) /* there are no bytes */
            printf("%.9g", reals[i - COUNTS]);
    }
    puts(json ? "}" : "");
}

static void say_result(const eval_job *job)
{
    const tg_eval_sums *s = &job->eval.sums;
    char bits[48] = "";

    if (s->bytes > 0)
        snprintf(bits, sizeof bits, ", %.4f bits per byte", tg_eval_bits_per_byte(s));
    cli_note("%s token%s scored: loss %.4f, perplexity %.6g%s", cli_count(s->scored), cli_plural(s->scored),
             tg_eval_loss(s), tg_eval_perplexity(s), bits);
}

void eval_print_result(const eval_job *job)
{
    cli_progress_end();
    if (job->is_probe && (job->o->logits || job->o->format != EVAL_TEXT))
        cli_note("no text was given: this is the model's probe");
    if (job->o->per_token || job->o->logits) {
        if (job->eval.sums.scored > 0)
            say_result(job);
    } else if (job->o->format == EVAL_TEXT) {
        print_lines(job);
    } else {
        print_columns(job);
    }
    (void)cli_stdout_failed(); /* keeps why: an MPI library may take stdout's buffer away */
}
