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
    printf("rank 1      %.2f %% of the tokens were the most probable one\n",
           100 * per_token(s, (double)s->right));
    printf("entropy     %.6f nats, the mean of the predictions\n", per_token(s, s->entropy));
}

static void print_tsv(const eval_job *job)
{
    const tg_eval_sums *s = &job->eval.sums;
    const tg_eval_plan *plan = &job->eval.plan;

    if (!job->o->no_header)
        printf("tokens\tscored\tbytes\twindows\tcontext\tstride\tloss\tperplexity\tbits_per_byte\trank_"
               "1\tentropy\n");
    printf("%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%zu\t%zu\t", s->tokens, s->scored, s->bytes,
           s->windows, plan->context, plan->stride);
    printf("%.9g\t%.9g\t", tg_eval_loss(s), tg_eval_perplexity(s));
    if (s->bytes > 0)
        printf("%.9g", tg_eval_bits_per_byte(s));
    printf("\t%.9g\t%.9g\n", per_token(s, (double)s->right), per_token(s, s->entropy));
}

static void print_real(const char *name, double x)
{
    printf(",\"%s\":", name);
    cli_put_json_number(x);
}

/* The columns of the values, as members. */
static void print_json(const eval_job *job)
{
    const tg_eval_sums *s = &job->eval.sums;
    const tg_eval_plan *plan = &job->eval.plan;

    printf("{\"tokens\":%" PRIu64 ",\"scored\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"windows\":%" PRIu64,
           s->tokens, s->scored, s->bytes, s->windows);
    printf(",\"context\":%zu,\"stride\":%zu", plan->context, plan->stride);
    print_real("loss", tg_eval_loss(s));
    print_real("perplexity", tg_eval_perplexity(s));
    print_real("bits_per_byte", s->bytes > 0 ? tg_eval_bits_per_byte(s) : nan(""));
    print_real("rank_1", per_token(s, (double)s->right));
    print_real("entropy", per_token(s, s->entropy));
    puts("}");
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
    } else if (job->o->format == EVAL_TSV) {
        print_tsv(job);
    } else if (job->o->format == EVAL_JSONL) {
        print_json(job);
    } else {
        print_lines(job);
    }
    (void)cli_stdout_failed(); /* keeps why: an MPI library may take stdout's buffer away */
}
