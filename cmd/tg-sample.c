/* tg-sample: text from a model, written as it is generated. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cli.h"
#include "cmd/cli_model.h"
#include "lib/gpt/sample.h"

struct options {
    const char *model, *text, *stop;
    bool no_prompt;
    size_t n, threads;
    tg_sample_how how;
};

static int parse(int argc, char **argv, struct options *o)
{
    cli_option options[] = {
        {'m', "model", CLI_TEXT, &o->model, "FILE",
         "the model ('-': standard input); else $TG_MODEL, else model.npz", 0, 0, NULL},
        {'p', "prompt", CLI_TEXT, &o->text, "TEXT",
         "the text to go on from; else standard input, text or tokens; else a new line", 0, 0, NULL},
        {'n', "tokens", CLI_SIZE, &o->n, "N", "how many tokens to generate", 0, 1e12, NULL},
        {'t', "temperature", CLI_NUMBER, &o->how.temperature, "X",
         "below 1 favours the probable, above 1 the improbable; 0 is --greedy", 0, 100, NULL},
        {'k', "top-k", CLI_SIZE, &o->how.top_k, "K", "choose among the K most probable tokens; 0: all", 0,
         1e9, NULL},
        {'P', "top-p", CLI_NUMBER, &o->how.top_p, "X",
         "choose among the most probable tokens whose probabilities add up to X; 1: all", 1e-9, 1, NULL},
        {'g', "greedy", CLI_FLAG, &o->how.greedy, NULL, "always take the most probable token", 0, 0, NULL},
        {'s', "seed", CLI_U64, &o->how.seed, "N", "the same seed gives the same text", 0, 0, NULL},
        {0, "stop", CLI_TEXT, &o->stop, "TEXT", "end before this text, when it is generated", 0, 0, NULL},
        {0, "no-prompt", CLI_FLAG, &o->no_prompt, NULL, "do not print the prompt", 0, 0, NULL},
        {0, "threads", CLI_SIZE, &o->threads, "N",
         "threads, which do not change the text; 0 for one a processor", 0, 1024, NULL},
        {0},
    };
    const cli_tool tool = {
        .name = "tg-sample",
        .usage = "[-m MODEL] [-p TEXT] [OPTION]...",
        .summary = "Generate text with a model and print it as it comes.",
        .examples = "  $ tg-sample -p 'Once'\n"
                    "  $ tg-sample -p 'Once' -n 100 --temperature 0.5 --seed 7\n"
                    "  $ head -c 16 text | tg-sample --greedy --stop '.'",
        .options = options,
    };
    const int n = cli_parse(argc, argv, &tool);

    if (n < 0)
        return CLI_USAGE;
    if (n > 0)
        return cli_usage("unexpected operand '%s': the prompt is given with -p or on standard input",
                         argv[1]);
    if (o->stop && *o->stop == '\0')
        return cli_usage("--stop is empty: it would end the text before it begins");
    return CLI_OK;
}

/* ---- output */

struct output {
    bool terminal;
    unsigned char last;         /* byte written */
    unsigned char character[4]; /* for a terminal: the one that its bytes are coming of */
    size_t n_character;
    const char *stop; /* or NULL */
    size_t stop_length;
    unsigned char *held; /* bytes that may still turn out to begin `stop` */
    size_t n_held;
};

static void show_character(struct output *out)
{
    char shown[4 * sizeof out->character + 1];

    cli_escape(shown, sizeof shown, out->character, out->n_character);
    fputs(shown, stdout);
    out->n_character = 0;
}

/* A terminal gets no control characters, nor bytes that are none of valid UTF-8: they
 * could move its cursor or worse.  So it gets whole characters. */
static void show_byte(struct output *out, unsigned char byte)
{
    const bool continues = (byte & 0xC0) == 0x80;

    if (!continues)
        show_character(out);
    if (byte == '\n' || byte == '\t') {
        putchar(byte);
        return;
    }
    out->character[out->n_character++] = byte;
    if (out->n_character >= cli_character(out->character[0]))
        show_character(out);
}

/* Everything but a terminal gets the bytes as they are. */
static void write_bytes(struct output *out, const unsigned char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        out->last = text[i];
        if (out->terminal)
            show_byte(out, text[i]);
        else
            putchar(text[i]);
    }
}

static void release(struct output *out, size_t n)
{
    write_bytes(out, out->held, n);
    out->n_held -= n;
    memmove(out->held, out->held + n, out->n_held);
}

/* Write what of the text, and what was held back, cannot be part of `stop`; true
 * when `stop` is there in full, and with it the end. */
static bool write_until_stop(struct output *out, const unsigned char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        out->held[out->n_held++] = text[i];
        while (memcmp(out->held, out->stop, out->n_held) != 0)
            release(out, 1);
        if (out->n_held == out->stop_length)
            return true;
    }
    return false;
}

static void end_output(struct output *out)
{
    if (out->held)
        release(out, out->n_held < out->stop_length ? out->n_held : 0);
    show_character(out);
    if (out->terminal && out->last != '\n')
        putchar('\n');
    free(out->held);
}

static tg_status flush(tg_err *err)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return TG_OK;
    (void)tg_fail_sys(err, "cannot write");
    return tg_err_in(err, "standard output");
}

static tg_status begin_output(struct output *out, const char *stop, tg_err *err)
{
    *out = (struct output){.terminal = isatty(STDOUT_FILENO), .last = '\n', .stop = stop};
    if (!stop)
        return TG_OK;
    out->stop_length = strlen(stop);
    out->held = malloc(out->stop_length);
    return out->held ? TG_OK : tg_fail_memory(err, out->stop_length, "the text that is held back");
}

/* ---- generating */

static tg_status print_prompt(struct output *out, const tg_model *model, const tg_prompt *p, tg_err *err)
{
    unsigned char text[TG_TOKEN_BYTES_MAX];

    for (size_t t = 0; t < p->n && !ferror(stdout); t++)
        write_bytes(out, text, tg_tokenizer_decode(&model->tokenizer, text, p->ids[t]));
    return flush(err);
}

static tg_status generate(tg_generator *g, struct output *out, const struct options *o, tg_err *err)
{
    const tg_tokenizer *tok = &g->infer.model->tokenizer;
    unsigned char text[TG_TOKEN_BYTES_MAX];
    int32_t id;
    size_t n;
    tg_status status = TG_OK;

    for (size_t i = 0; !status && i < o->n; i++) {
        if ((status = tg_generator_next(g, &id, i + 1 < o->n, &o->how, err)))
            return status;
        n = tg_tokenizer_decode(tok, text, id);
        if (!o->stop)
            write_bytes(out, text, n);
        else if (write_until_stop(out, text, n))
            break;
        status = flush(err);
    }
    return status;
}

static tg_status begin(tg_generator *g, const tg_model *model, const tg_prompt *p, tg_err *err)
{
    static const unsigned char newline[] = "\n";
    tg_prompt start = {0};
    tg_status status;
    size_t seen;

    if (p->n > 0) {
        seen = tg_generator_begin(g, p->ids, p->n);
        if (seen < p->n)
            cli_say("the prompt has %zu tokens, the context %zu: the model sees the last %zu", p->n,
                    model->config.n_ctx, seen);
        return TG_OK;
    }
    status = tg_prompt_text(&start, model, newline, 1, err);
    if (!status)
        tg_generator_begin(g, start.ids, start.n);
    tg_prompt_free(&start);
    return status;
}

static tg_status sample(const tg_model *model, const tg_prompt *p, const struct options *o, tg_err *err)
{
    tg_arena arena = {0};
    tg_generator g = {0};
    struct output out;
    tg_status status;

    if ((status = begin_output(&out, o->stop, err)))
        return status;
    tg_generator_place(&arena, &g, model);
    if ((status = tg_arena_alloc(&arena, err)))
        goto done;
    tg_generator_place(&arena, &g, model);
    if ((!o->no_prompt && (status = print_prompt(&out, model, p, err))) ||
        (status = begin(&g, model, p, err)))
        goto done;
    status = generate(&g, &out, o, err);

done:
    end_output(&out);
    tg_arena_free(&arena);
    return status;
}

static tg_status run(const struct options *o, tg_err *err)
{
    cli_model m;
    tg_prompt prompt;
    tg_status status;

    if ((status = cli_begin_compute(o->threads, err)) ||
        ((status = cli_model_open(&m, o->model, "make a model with tg-tokenize < text | tg-train", err))))
        return status;
    if (!(status = cli_model_prompt(&m, &prompt, o->text, err)))
        status = sample(&m.model, &prompt, o, err);
    tg_prompt_free(&prompt);
    cli_model_close(&m);
    return status;
}

int main(int argc, char **argv)
{
    struct options o = {.n = 256, .how = {.temperature = 0.8, .top_p = 1.0}};
    tg_err err = {0};

    cli_init("tg-sample");
    cli_init_threads(argv);
    if (parse(argc, argv, &o))
        return CLI_USAGE;
    if (run(&o, &err))
        return cli_report(&err);
    return cli_close_stdout();
}
