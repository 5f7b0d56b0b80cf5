/* tg-sample: text from a model, written as it is generated. */
#include <stdlib.h>

#include "cmd/tg-sample/attention.h"
#include "cmd/tg-sample/chat.h"
#include "cmd/tg-sample/logprobs.h"
#include "cmd/tg-sample/options.h"
#include "cmd/tg-sample/output.h"
#include "cmd/tg-sample/steering.h"
#include "lib/base/size.h"

/* What is generated, and what becomes of it. */
typedef struct sampler {
    const sample_options *o;
    const cli_model *m;
    size_t n; /* tokens to generate */
    tg_generator g;
    sample_output out;
    sample_logprobs lines;
    sample_attention attention;
    sample_steering steering;
} sampler;

/* ---- generating */

/* Put the prompt at the beginning of every text, without a token that has been put before it. */
static tg_status add_prompt(sample_output *out, const tg_tokens_prompt *prompt, tg_err *err)
{
    tg_status status = TG_OK;

    for (size_t t = prompt->begun; !status && t < prompt->n; t++)
        status = sample_output_add(out, SAMPLE_PROMPT, prompt->ids[t], err);
    return status ? status : sample_output_flush(out, err);
}

/* Print a line for the latest token of each text that is not done. */
static tg_status print_logprobs(sampler *s, tg_err *err)
{
    tg_status status = TG_OK;

    for (size_t i = 0; !status && i < s->g.S; i++)
        if (!s->out.text[i].done)
            status = logprobs_print(&s->lines, &s->g, i, err);
    logprobs_next(&s->lines);
    return status;
}

/* Print the latest token of each text, or lines about it. */
static tg_status add_tokens(sampler *s, tg_err *err)
{
    tg_status status = s->o->logprobs ? print_logprobs(s, err) : TG_OK;

    for (size_t i = 0; !status && i < s->g.S; i++)
        status = sample_output_add(&s->out, i, s->g.ids[i], err);
    if (status || (status = attention_add(&s->attention, s->g.ids[0], err)) ||
        (status = sample_output_flush(&s->out, err)))
        return status;
    return s->out.silent ? sample_output_flush_lines(err) : TG_OK;
}

/* A token is not chosen by weights that are not finite. */
static tg_status generate(sampler *s, tg_err *err)
{
    tg_status status = cli_model_check(s->m, err);

    for (size_t i = 0; !status && i < s->n && !sample_output_all_done(&s->out) && !cli_stop_signal(); i++) {
        if ((status = tg_generator_choose(&s->g, &s->o->sampling, err)) || (status = add_tokens(s, err)))
            return status;
        if (i + 1 < s->n)
            tg_generator_extend(&s->g);
        status = cli_model_check(s->m, err);
    }
    return status;
}

/* ---- the beginning */

/* What the model begins with if the prompt is empty: a newline, as if a line had just ended. */
static tg_status find_newline(tg_tokens_prompt *start, const tg_model *model, tg_err *err)
{
    static const unsigned char newline[] = "\n";
    tg_status status;

    if (!tg_tokenizer_has_text(model->tokenizer))
        return tg_fail(err, TG_EUSAGE, "the model has no tokenizer: give token ids to continue, with --ids");
    status = tg_tokens_prompt_text(start, model->tokenizer, newline, 1, err);
    if (status == TG_EDATA)
        return tg_fail(err, TG_EUSAGE, "the model's tokenizer has no newline to begin after: give a prompt");
    return status;
}

static tg_status open_generator(sampler *s, size_t n, tg_err *err)
{
    const tg_status status = tg_generator_open(&s->g, &s->m->model, (tg_weight_type)s->o->type, s->o->count,
                                               tg_size_max(1, n) + s->n, err);

    return status == TG_EDATA ? tg_err_in(err, cli_input_name(s->m->path)) : status;
}

/* Run the model on the n >= 1 tokens that it begins with. */
static void begin(sampler *s, const int32_t *ids, size_t n)
{
    size_t seen;

    sample_output_follow(&s->out, ids[n - 1]);
    seen = tg_generator_begin(&s->g, ids, n);
    if (seen < n)
        cli_say("the prompt has %zu tokens, which exceeds the context of %zu: the model sees the last "
                "%zu, so that there is room for the new text; " CLI_LONGER_CONTEXT,
                n, s->m->model.config.n_ctx, seen);
}

/* Ctrl-C ends a text whose attention is asked for in a file, which is then written. */
static void catch_stop(const sample_options *o)
{
    if (sample_writes_attention(o))
        cli_catch_stop("finishing this token, then writing the attention; again to stop now", "");
}

/* Generate after a prompt; `start` is what the model begins with. */
static tg_status sample_after(sampler *s, const tg_tokens_prompt *p, const tg_tokens_prompt *start,
                              tg_err *err)
{
    const sample_options *o = s->o;
    const sample_ending ending = o->zero ? SAMPLE_NUL : o->no_newline ? SAMPLE_OPEN : SAMPLE_LINE;
    tg_status status;

    if ((status = attention_tokens(&s->n, o, &s->m->model, start->n, err)) ||
        (status = sample_output_begin(&s->out, s->m->model.tokenizer, o->count, o->stop, ending, err)))
        return status;
    s->out.silent = o->logprobs || sample_prints_attention(o);
    if ((status = attention_begin(&s->attention, o, s->m, start->ids, start->n, start->n + s->n, err)) ||
        (status = open_generator(s, p->n, err)) ||
        (status = steering_begin(&s->steering, &s->g.infer, o, s->m, err)) ||
        (o->logprobs && (status = logprobs_begin(&s->lines, o, &s->m->model, p, err))) ||
        (!o->no_prompt && (status = add_prompt(&s->out, p, err))))
        return status;
    catch_stop(o);
    begin(s, start->ids, start->n);
    if ((status = generate(s, err)))
        return status;
    if (!cli_stop_signal())
        sample_output_end(&s->out);
    return attention_end(&s->attention, err);
}

static tg_status sample(const cli_model *m, const tg_tokens_prompt *p, const sample_options *o, tg_err *err)
{
    sampler s = {.o = o, .m = m};
    tg_tokens_prompt newline = {0};
    tg_status status = p->n > 0 ? TG_OK : find_newline(&newline, &m->model, err);

    if (!status)
        status = sample_after(&s, p, p->n > 0 ? p : &newline, err);
    tg_tokens_prompt_free(&newline);
    attention_free(&s.attention);
    steering_free(&s.steering);
    logprobs_free(&s.lines);
    sample_output_free(&s.out);
    tg_generator_close(&s.g);
    return status;
}

static tg_status run(const sample_options *o, tg_err *err)
{
    cli_model m;
    tg_tokens_prompt prompt;
    tg_status status;

    if ((status = cli_begin_compute(o->threads, err)) ||
        (status =
             cli_model_open(&m, o->model, tg_generator_packs((tg_weight_type)o->type, o->count), "", err)))
        return status;
    if (o->chat) {
        status = sample_chat(&m, o, err);
    } else {
        if (!(status = cli_text_prompt(&o->text, &prompt, &m, err)))
            status = sample(&m, &prompt, o, err);
        tg_tokens_prompt_free(&prompt);
    }
    cli_model_close(&m);
    return status;
}

int main(int argc, char **argv)
{
    sample_options o;
    tg_err err = {0};

    cli_init("tg-sample");
    if (sample_parse(argc, argv, &o))
        return CLI_USAGE;
    if (cli_confine(&err) || run(&o, &err))
        return cli_report(&err);
    if (cli_stop_signal())
        cli_raise(cli_stop_signal());
    return cli_close_stdout();
}
