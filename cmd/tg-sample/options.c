/* The options of tg-sample, and which of them go together. */
#include "cmd/cli/model.h"
#include "cmd/tg-sample/options.h"

#include "cmd/tg-sample/steering.h"

#include <stdlib.h>

#define TOP 5 /* unless --top says otherwise */

static const char examples[] = "  $ tg-sample -p 'Once'\n"
                               "  $ tg-sample -p 'Once' -n 100 --temperature 0.5 --seed 7\n"
                               "  $ tg-sample -p 'Once' --count 8 --precision bf16\n"
                               "  $ tg-sample --ids '79 110 99 101' -n 100\n"
                               "  $ head -c 16 text | tg-sample --greedy --stop '.'\n"
                               "  $ tg-sample -p 'Once' -n 20 --logprobs\n"
                               "  $ tg-sample -p 'Once' -n 20 --attention once.npz\n"
                               "  $ echo 'Who are you?' | tg-sample --chat --template plain";

static const char prompt_help[] =
    "the text to continue (default: standard input, text or tokens; else the token that "
    "begins a text, or a newline)";
static const char logprobs_help[] =
    "instead of the text, print each token as it is generated, with the model's "
    "log-probability, rank and entropy, before --temperature, --top-k and --top-p";
static const char attention_help[] =
    "also write the attention of prompt and text, for tg-attn-view; '-' prints, instead "
    "of the text, each token's rows as tg-attn-dump does";
static const char add_help[] =
    "add X times the vector of FILE to the residual stream that reaches layer L, at every "
    "token; tg-attn-dump --mean makes vectors";

bool sample_prints_attention(const sample_options *o)
{
    return o->attention && cli_is_dash(o->attention);
}

bool sample_writes_attention(const sample_options *o)
{
    return o->attention && !cli_is_dash(o->attention);
}

/* Lines instead of text: by which option; NULL: by none. */
static const char *prints_lines(const sample_options *o)
{
    return o->logprobs ? "logprobs" : sample_prints_attention(o) ? "attention -" : NULL;
}

static int check_lines(const sample_options *o)
{
    const char *lines = prints_lines(o);

    if (o->logprobs && sample_prints_attention(o))
        return cli_usage("--%s and --attention - both print lines: give only one, or --attention FILE",
                         o->top_given ? "top" : "logprobs");
    if (!lines && (o->format_given || o->no_header))
        return cli_usage("--%s goes with --logprobs or --attention -",
                         o->format_given ? "format" : "no-header");
    if (lines && (o->zero || o->no_newline || o->no_prompt))
        return cli_usage("--%s does not go with --%s, which prints lines instead of the text",
                         o->zero         ? "null"
                         : o->no_newline ? "no-newline"
                                         : "no-prompt",
                         lines);
    return CLI_OK;
}

/* A dump is of one text, and in the precision that tg-attn-dump has. */
static int check_attention(const sample_options *o)
{
    if (o->attention && o->count > 1)
        return cli_usage("--attention goes with a single text, not with --count");
    if (o->attention && (o->add || o->ablate))
        return cli_usage("--attention does not go with --%s: its numbers are those of the model as it is",
                         o->add ? "add" : "ablate");
    if (o->attention && o->type != TG_WEIGHT_FLOAT32)
        return cli_usage("--attention goes with --precision float32, in which its numbers are computed");
    return CLI_OK;
}

/* Answers are text, one after another, and messages come from standard input. */
static int check_chat(const sample_options *o)
{
    const char *other = o->text.text    ? "prompt"
                        : o->text.ids   ? "ids"
                        : o->count > 1  ? "count"
                        : o->zero       ? "null"
                        : o->stop       ? "stop"
                        : o->no_prompt  ? "no-prompt"
                        : o->no_newline ? "no-newline"
                        : o->logprobs   ? "logprobs"
                        : o->attention  ? "attention"
                                        : NULL;

    if (o->chat && other)
        return cli_usage("--chat and --%s cannot be combined", other);
    if (o->chat && (o->text.bos || o->text.no_bos) && o->template != TG_CHAT_PLAIN)
        return cli_usage("--chat and --%s cannot be combined, except with --template plain",
                         o->text.bos ? "bos" : "no-bos");
    if (o->chat && o->model && cli_is_dash(o->model))
        return cli_usage("standard input cannot be both the model and the messages");
    if (!o->chat && (o->template_given || o->system))
        return cli_usage("--%s goes with --chat", o->system ? "system" : "template");
    return CLI_OK;
}

static int check(const sample_options *o)
{
    if (check_chat(o))
        return CLI_USAGE;
    if (o->stop && *o->stop == '\0')
        return cli_usage("--stop must not be empty: it would end the text before it begins");
    if (o->no_newline && (o->count > 1 || o->zero))
        return cli_usage("--no-newline goes with a single text, not with --%s",
                         o->zero ? "null" : "count, whose texts are divided by lines");
    if (check_lines(o) || check_attention(o) || steering_check(o))
        return CLI_USAGE;
    return cli_text_check(&o->text);
}

static int read_words(int argc, char **argv, cli_option *options)
{
    const cli_tool tool = {
        .name = "tg-sample",
        .usage = "[-m MODEL] [-p TEXT] [OPTION]...",
        .summary = "Generate text with a model, and print it as it is generated.",
        .examples = examples,
        .options = options,
    };
    const int n = cli_parse(argc, argv, &tool);

    if (n < 0)
        return CLI_USAGE;
    if (n > 0)
        return cli_usage("unexpected operand '%s': give the prompt with -p or on standard input", argv[1]);
    return CLI_OK;
}

int sample_parse(int argc, char **argv, sample_options *o)
{
    cli_option options[] = {
        CLI_MODEL_OPTION('m', "model", &o->model, "FILE",
                         "the model; '-' is standard input (default: $TG_MODEL, else model.npz)"),
        CLI_ADAPTER_OPTION,
        CLI_TEXT_OPTION('p', "prompt", &o->text.text, "TEXT", prompt_help),
        CLI_TEXT_OPTION(0, "ids", &o->text.ids, "IDS", CLI_IDS_HELP),
        CLI_BOS_OPTIONS(&o->text),
        CLI_SIZE_OPTION('n', "tokens", &o->n, "N", 0, 1e12, "number of tokens to generate",
                        .given = &o->n_given),
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
        CLI_FLAG_OPTION(0, "chat", &o->chat,
                        "answer each line of standard input, which is a message; Ctrl-C ends an answer"),
        CLI_TEMPLATE_OPTION(&o->template, &o->template_given),
        CLI_TEXT_OPTION(0, "system", &o->system, "TEXT",
                        "with --chat: the system message, before all others"),
        CLI_FLAG_OPTION(0, "no-prompt", &o->no_prompt, "do not print the prompt"),
        CLI_FLAG_OPTION(0, "no-newline", &o->no_newline,
                        "do not end a single text with a newline, except on a terminal"),
        CLI_FLAG_OPTION(0, "logprobs", &o->logprobs, logprobs_help),
        CLI_SIZE_OPTION(0, "top", &o->top, "K", 0, 1e9,
                        "with these, the K most probable tokens in its place; implies --logprobs",
                        .given = &o->top_given),
        CLI_OUTPUT_OPTION(0, "attention", &o->attention, "FILE", attention_help),
        CLI_FORCE(0),
        CLI_TEXT_OPTION('a', "add", &o->add, "L:FILE[*X],...", add_help),
        CLI_TEXT_OPTION(0, "ablate", &o->ablate, "L.H,...", "generate without what these heads give"),
        CLI_ENUM_OPTION('f', "format", &o->format, SAMPLE_FORMATS,
                        "of the lines of --logprobs and --attention -: tab-separated values, or JSON objects",
                        .given = &o->format_given),
        CLI_FLAG_OPTION(0, "no-header", &o->no_header, "leave out the line of titles before these lines"),
        CLI_CHOICE_OPTION(0, "precision", &o->type, TG_WEIGHT_TYPES,
                          "round the weights to this type; bf16 is faster, int8 still more"),
        CLI_THREADS(&o->threads, "the text"),
        {0},
    };

    *o = (sample_options){.n = 256,
                          .count = 1,
                          .template = TG_CHAT_TEMPLATES,
                          .top = TOP,
                          .sampling = {.temperature = 0.8, .top_p = 1.0}};
    if (read_words(argc, argv, options))
        return CLI_USAGE;
    o->logprobs = o->logprobs || o->top_given;
    return check(o);
}
