/* tg-sample: text from a model, written as it is generated. */
#include "cmd/cli/cli.h"
#include "cmd/cli/text.h"
#include "cmd/tg-sample/output.h"
#include "lib/base/size.h"
#include "lib/gpt/sample.h"

struct options {
    const char *model, *stop;
    cli_text text;
    bool no_prompt, no_newline, zero;
    size_t n, count, type, threads;
    tg_sampling sampling;
};

static int parse(int argc, char **argv, struct options *o)
{
    cli_option options[] = {
        CLI_MODEL_OPTION('m', "model", &o->model, "FILE",
                         "the model; '-' is standard input (default: $TG_MODEL, else model.npz)"),
        CLI_TEXT_OPTION('p', "prompt", &o->text.text, "TEXT",
                        "the text to continue (default: standard input, text or tokens; else the token that "
                        "begins a text, or a newline)"),
        CLI_TEXT_OPTION(0, "ids", &o->text.ids, "IDS", CLI_IDS_HELP),
        CLI_BOS_OPTIONS(&o->text),
        CLI_SIZE_OPTION('n', "tokens", &o->n, "N", 0, 1e12, "number of tokens to generate"),
        CLI_NUMBER_OPTION('t', "temperature", &o->sampling.temperature, "X", 0, 100,
                          "below 1 favours probable tokens, above 1 improbable ones; 0 is --greedy"),
        CLI_SIZE_OPTION('k', "top-k", &o->sampling.top_k, "K", 0, 1e9,
                        "choose among the K most probable tokens; 0 for all"),
        CLI_NUMBER_OPTION('P', "top-p", &o->sampling.top_p, "X", 1e-9, 1,
                          "choose among the most probable tokens whose probabilities add up to X; 1 for all"),
        CLI_FLAG_OPTION('g', "greedy", &o->sampling.greedy, "always take the most probable token"),
        CLI_U64_OPTION('s', "seed", &o->sampling.seed, "N", "the same seed gives the same text"),
        CLI_SIZE_OPTION('c', "count", &o->count, "N", 1, 65536,
                        "generate N texts together, separated by lines of three dashes"),
        CLI_FLAG_OPTION('0', "null", &o->zero, "end each text with a NUL byte instead"),
        CLI_TEXT_OPTION(0, "stop", &o->stop, "TEXT", "end as soon as TEXT is generated, and do not print it"),
        CLI_FLAG_OPTION(0, "no-prompt", &o->no_prompt, "do not print the prompt"),
        CLI_FLAG_OPTION(0, "no-newline", &o->no_newline,
                        "do not end a single text with a newline, except on a terminal"),
        CLI_CHOICE_OPTION(0, "precision", &o->type, TG_WEIGHT_TYPES,
                          "round the weights to this type; bf16 is faster, int8 still more"),
        CLI_THREADS(&o->threads, "the text"),
        {0},
    };
    const cli_tool tool = {
        .name = "tg-sample",
        .usage = "[-m MODEL] [-p TEXT] [OPTION]...",
        .summary = "Generate text with a model, and print it as it is generated.",
        .examples = "  $ tg-sample -p 'Once'\n"
                    "  $ tg-sample -p 'Once' -n 100 --temperature 0.5 --seed 7\n"
                    "  $ tg-sample -p 'Once' --count 8 --precision bf16\n"
                    "  $ tg-sample --ids '79 110 99 101' -n 100\n"
                    "  $ head -c 16 text | tg-sample --greedy --stop '.'",
        .options = options,
    };
    const int n = cli_parse(argc, argv, &tool);

    if (n < 0)
        return CLI_USAGE;
    if (n > 0)
        return cli_usage("unexpected operand '%s': give the prompt with -p or on standard input", argv[1]);
    if (o->stop && *o->stop == '\0')
        return cli_usage("--stop must not be empty: it would end the text before it begins");
    if (o->no_newline && (o->count > 1 || o->zero))
        return cli_usage("--no-newline goes with a single text, not with --%s",
                         o->zero ? "null" : "count, whose texts are divided by lines");
    return cli_text_check(&o->text);
}

/* ---- generating */

/* Put the prompt at the beginning of every text, without a token that has been put before it. */
static tg_status add_prompt(sample_output *out, const tg_tokens_prompt *prompt, tg_err *err)
{
    tg_status status = TG_OK;

    for (size_t t = prompt->begun; !status && t < prompt->n; t++)
        status = sample_output_add(out, SAMPLE_PROMPT, prompt->ids[t], err);
    return status ? status : sample_output_flush(out, err);
}

/* Print the latest token of each text. */
static tg_status add_tokens(sample_output *out, const tg_generator *g, tg_err *err)
{
    tg_status status = TG_OK;

    for (size_t s = 0; !status && s < g->S; s++)
        status = sample_output_add(out, s, g->ids[s], err);
    return status ? status : sample_output_flush(out, err);
}

/* A token is not chosen by weights that are not finite. */
static tg_status generate(tg_generator *g, sample_output *out, const cli_model *m, const struct options *o,
                          tg_err *err)
{
    tg_status status = cli_model_check(m, err);

    for (size_t i = 0; !status && i < o->n && !sample_output_all_done(out); i++)
        if (!(status = tg_generator_next(g, i + 1 < o->n, &o->sampling, err)) &&
            !(status = add_tokens(out, g, err)))
            status = cli_model_check(m, err);
    return status;
}

/* Run the model on a prompt that is not empty; returns how many of its tokens it sees. */
static size_t begin_after(tg_generator *g, sample_output *out, const tg_tokens_prompt *p)
{
    sample_output_follow(out, p->ids[p->n - 1]);
    return tg_generator_begin(g, p->ids, p->n);
}

/* Run the model on the prompt.  If that is empty, run it on a newline, as if a line had just ended. */
static tg_status begin(tg_generator *g, sample_output *out, const tg_model *model, const tg_tokens_prompt *p,
                       tg_err *err)
{
    static const unsigned char newline[] = "\n";
    tg_tokens_prompt start = {0};
    tg_status status;
    size_t seen;

    if (p->n > 0) {
        seen = begin_after(g, out, p);
        if (seen < p->n)
            cli_say("the prompt has %zu tokens, which exceeds the context of %zu: the model sees the last "
                    "%zu, so that there is room for the new text; " CLI_LONGER_CONTEXT,
                    p->n, model->config.n_ctx, seen);
        return TG_OK;
    }
    if (!tg_tokenizer_has_text(model->tokenizer))
        return tg_fail(err, TG_EUSAGE, "the model has no tokenizer: give token ids to continue, with --ids");
    status = tg_tokens_prompt_text(&start, model->tokenizer, newline, 1, err);
    if (status == TG_EDATA)
        return tg_fail(err, TG_EUSAGE, "the model's tokenizer has no newline to begin after: give a prompt");
    if (!status)
        (void)begin_after(g, out, &start);
    tg_tokens_prompt_free(&start);
    return status;
}

static tg_status open_generator(tg_generator *g, const cli_model *m, const tg_tokens_prompt *p,
                                const struct options *o, tg_err *err)
{
    const size_t tokens = tg_size_max(1, p->n) + o->n;
    tg_status status = tg_generator_open(g, &m->model, (tg_weight_type)o->type, o->count, tokens, err);

    return status == TG_EDATA ? tg_err_in(err, cli_input_name(m->path)) : status;
}

static tg_status sample(const cli_model *m, const tg_tokens_prompt *p, const struct options *o, tg_err *err)
{
    tg_generator g = {0};
    sample_output out;
    const sample_ending ending = o->zero ? SAMPLE_NUL : o->no_newline ? SAMPLE_OPEN : SAMPLE_LINE;
    tg_status status;

    if ((status = sample_output_begin(&out, m->model.tokenizer, o->count, o->stop, ending, err)) ||
        (status = open_generator(&g, m, p, o, err)) ||
        (!o->no_prompt && (status = add_prompt(&out, p, err))) ||
        (status = begin(&g, &out, &m->model, p, err)) || (status = generate(&g, &out, m, o, err)))
        goto done;
    sample_output_end(&out);

done:
    sample_output_free(&out);
    tg_generator_close(&g);
    return status;
}

static tg_status run(const struct options *o, tg_err *err)
{
    cli_model m;
    tg_tokens_prompt prompt;
    tg_status status;

    if ((status = cli_begin_compute(o->threads, err)) ||
        (status =
             cli_model_open(&m, o->model, tg_generator_packs((tg_weight_type)o->type, o->count), "", err)))
        return status;
    if (!(status = cli_text_prompt(&o->text, &prompt, &m, err)))
        status = sample(&m, &prompt, o, err);
    tg_tokens_prompt_free(&prompt);
    cli_model_close(&m);
    return status;
}

int main(int argc, char **argv)
{
    struct options o = {.n = 256, .count = 1, .sampling = {.temperature = 0.8, .top_p = 1.0}};
    tg_err err = {0};

    cli_init("tg-sample");
    if (parse(argc, argv, &o))
        return CLI_USAGE;
    if (cli_confine(&err) || run(&o, &err))
        return cli_report(&err);
    return cli_close_stdout();
}
