/* tg-bpe: learns a byte-level BPE vocabulary from text. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cmd/cli/cli.h"
#include "cmd/cli/model.h"
#include "cmd/tg-bpe/trace.h"
#include "formats/source.h"
#include "lib/base/size.h"
#include "lib/bpe/bpe.h"
#include "lib/learn/learn.h"
#include "lib/learn/vocab_learner.h"
#include "lib/vocab/vocab_file.h"

#define PIECE ((size_t)1 << 20) /* bytes of text between two looks at the clock */
#define END_OF_TEXT "<|endoftext|>"

struct options {
    tg_vocab_learner_settings settings; /* watch: --trace */
    size_t rows, threads;
    tg_split split;
    tg_vocab_format to;
    cli_texts special;
    bool to_given, format_given, rows_given, no_header;
    trace_format format;
    const char *output; /* NULL: standard output */
    cli_files files;
};

/* The special tokens: by default that for the end of a text; none if '' alone is given. */
static void complete_special(struct options *o)
{
    if (o->special.n == 0)
        o->special = (cli_texts){{END_OF_TEXT}, 1};
    else if (o->special.n == 1 && *o->special.text[0] == '\0')
        o->special.n = 0;
    o->settings.special = o->special.text;
    o->settings.n_special = o->special.n;
}

/* A file's ending may choose the format. */
static void choose_format(struct options *o)
{
    const char *ending = o->output ? cli_ending(o->output) : NULL;

    if (ending && !o->to_given && strcmp(ending, "json") == 0)
        o->to = TG_VOCAB_TOKENIZER_JSON;
    if (ending && !o->to_given && strcmp(ending, "tiktoken") == 0)
        o->to = TG_VOCAB_TIKTOKEN;
}

static int check(const struct options *o)
{
    if ((o->format_given || o->rows_given || o->no_header) && !o->settings.watch)
        return cli_usage("--%s goes with --trace", o->format_given ? "format"
                                                   : o->rows_given ? "rows"
                                                                   : "no-header");
    if (o->settings.watch && o->output && cli_is_dash(o->output))
        return cli_usage("--trace prints to standard output: give -o a FILE for the vocabulary");
    return CLI_OK;
}

static int parse(int argc, char **argv, struct options *o)
{
    cli_option options[] = {
        CLI_SIZE_OPTION('n', "vocab-size", &o->settings.n, "N", 256, TG_BPE_TOKENS_MAX,
                        "number of ids, bytes and special tokens included"),
        CLI_OUTPUT_OPTION('o', "output", &o->output, "FILE", "write to FILE instead of standard output"),
        CLI_FORCE(0),
        CLI_ENUM_OPTION(0, "to", &o->to, TG_VOCAB_FORMATS,
                        "write this format, unless FILE ends in .json or .tiktoken", .given = &o->to_given),
        CLI_ENUM_OPTION(0, "split", &o->split, TG_SPLIT_NAMES,
                        "how text is split into pieces; no token crosses from one into the next"),
        CLI_TEXTS_OPTION(0, "special", &o->special, "TEXT",
                         "a special token, instead of " END_OF_TEXT
                         "; may be given several times; '' for none"),
        CLI_SIZE_OPTION(0, "min-count", &o->settings.min_count, "N", 1, 1e15,
                        "merge no pair that occurs fewer than N times"),
        CLI_FLAG_OPTION(0, "trace", &o->settings.watch,
                        "print every step; the vocabulary is written only if -o names a FILE"),
        CLI_ENUM_OPTION(
            'f', "format", &o->format, TRACE_FORMATS,
            "with --trace: all counts, or a table with one line per step, or a JSON object for each",
            .given = &o->format_given),
        CLI_FLAG_OPTION(0, "no-header", &o->no_header, "with --trace: leave out the table's line of titles"),
        CLI_SIZE_OPTION(0, "rows", &o->rows, "N", 0, 1e6,
                        "with --trace: print at most N pairs and N pieces at a time",
                        .given = &o->rows_given),
        CLI_THREADS(&o->threads, "the vocabulary"),
        {0},
    };
    const cli_tool tool = {
        .name = "tg-bpe",
        .usage = "[-n N] [-o FILE] [OPTION]... [FILE]...",
        .summary = "Learn a byte-level BPE vocabulary from text: a tokenizer (.npz) for tg-tokenize -t. With "
                   "no FILE, or when FILE is -, read standard input. All FILEs together are one text.",
        .examples = "  $ tg-bpe -n 1024 < text > bpe.npz\n"
                    "  $ tg-bpe -n 1024 --to tokenizer.json -o tokenizer.json text\n"
                    "  $ head -n 5 text | tg-bpe -n 270 --trace | less",
        .options = options,
        .files = true,
    };
    const int n = cli_parse(argc, argv, &tool);

    if (n < 0)
        return CLI_USAGE;
    o->files = cli_files_of(argv, n);
    complete_special(o);
    choose_format(o);
    return check(o);
}

struct job {
    const struct options *o;
    const tg_vocab_learner_settings *settings; /* in o */
    cli_output out;
    tg_learn *learn;
    tg_vocab_learner *vocab;
    const tg_tokenizer *tok;
    trace trace;
    tg_learn_totals totals;
    size_t memory;       /* the maximum */
    double start, shown; /* by cli_now() */
};

/* ---- counting */

static void show_counting(struct job *job)
{
    const double seconds = cli_now() - job->start;
    const uint64_t bytes = tg_learn_total(job->learn).bytes;
    char line[80];

    if (!cli_progress_wanted(job->start, &job->shown))
        return;
    snprintf(line, sizeof line, "counted %s of text, %s/s", cli_bytes(bytes),
             cli_bytes((uint64_t)((double)bytes / seconds)));
    cli_progress(line);
}

static tg_status count_source(struct job *job, tg_source *source, tg_err *err)
{
    tg_status status;
    size_t n = 1;

    for (; !(status = tg_source_peek(source, 1, err)) && n > 0; show_counting(job)) {
        n = tg_size_min(source->ready, PIECE);
        if ((status = tg_learn_count(job->learn, source->next, n, false, err)))
            return status;
        tg_source_skip(source, n);
    }
    return status;
}

static tg_status count_file(struct job *job, const char *path, tg_err *err)
{
    tg_source source;
    tg_status status;
    int fd;

    if ((status = cli_open_input(&fd, path, err)))
        return status;
    if (!(status = tg_source_open_unmapped(&source, fd, err))) {
        status = count_source(job, &source, err);
        tg_source_close(&source);
    }
    cli_close_input(fd);
    return status ? tg_err_in(err, cli_input_name(path)) : TG_OK;
}

static tg_status count(struct job *job, tg_err *err)
{
    const cli_files *files = &job->o->files;
    const char *name = cli_files_name(files);
    tg_status status = tg_learn_create(&job->learn, job->o->split, err);

    for (size_t i = 0; !status && i < files->n; i++)
        status = count_file(job, files->path[i], err);
    if (status)
        return status;
    if (tg_learn_count(job->learn, NULL, 0, true, err) || tg_learn_gather(job->learn, err))
        return tg_err_in(err, name);
    job->totals = tg_learn_total(job->learn);
    if (job->totals.bytes == 0)
        return tg_fail(err, TG_EDATA, "%s: the text is empty, expected at least one byte", name);
    return TG_OK;
}

/* ---- merging */

static void show_merging(struct job *job, const tg_vocab_pair *best)
{
    const size_t n = tg_vocab_learner_size(job->vocab);
    char line[80];

    if (!cli_progress_wanted(job->start, &job->shown))
        return;
    snprintf(line, sizeof line, "%s of %s ids  pair %s times", cli_count(n), cli_count(job->settings->n),
             cli_count(best->count));
    cli_progress(line);
}

static tg_status merge(struct job *job, tg_err *err)
{
    const bool traced = job->settings->watch;
    tg_vocab_pair best;
    tg_status status = TG_OK;

    while (!status && tg_vocab_learner_best(job->vocab, &best)) {
        if (traced)
            trace_before(&job->trace, job->vocab, &best);
        else
            show_merging(job, &best);
        status = tg_vocab_learner_merge(job->vocab, err);
        if (traced && !status)
            trace_after(&job->trace, job->vocab);
        if (traced && cli_stdout_failed())
            break; /* cli_close_stdout() reports it */
    }
    return status;
}

/* At the start the places of the pairs take the most memory, at the end the number of pairs. */
static void note_memory(struct job *job)
{
    job->memory = tg_size_max(job->memory, job->totals.memory + tg_vocab_learner_memory(job->vocab));
}

static tg_status learn(struct job *job, tg_err *err)
{
    const tg_vocab_learner_settings *s = job->settings;
    tg_bpe_vocab vocab;
    tg_status status;

    if ((status = tg_vocab_learner_create(&job->vocab, job->learn, s, err)))
        return status;
    note_memory(job);
    if (s->watch)
        trace_start(&job->trace, job->vocab, &job->totals);
    status = merge(job, err);
    note_memory(job);
    if (status)
        return status;
    tg_vocab_learner_vocab(job->vocab, &vocab);
    if (s->watch)
        trace_end(&job->trace, job->vocab, vocab.n == s->n, s->min_count);
    return tg_bpe_create(&job->tok, &vocab, err);
}

/* ---- the tool */

/* Say why there are fewer ids than requested. */
static void explain(const struct job *job, size_t n)
{
    const tg_vocab_learner_settings *s = job->settings;
    const size_t passed_over = tg_vocab_learner_passed_over(job->vocab);
    char more[96] = "";

    if (passed_over > 0)
        snprintf(more, sizeof more, ", except %s whose token%s would be longer than %s bytes",
                 cli_count(passed_over), cli_plural(passed_over), cli_count(TG_BPE_TOKEN_MAX));
    cli_say("only %s of %s ids: no further pair occurs at least %s time%s%s", cli_count(n), cli_count(s->n),
            cli_count(s->min_count), cli_plural(s->min_count), more);
}

static void conclude(const struct job *job)
{
    const tg_vocab_learner_settings *s = job->settings;
    const tg_learn_totals *t = &job->totals;
    const size_t n = tg_tokenizer_vocab_size(job->tok), merges = n - s->n_special - 256;

    cli_progress_end();
    if (n < s->n)
        explain(job, n);
    cli_note("%s ids: 256 bytes, %s merge%s, %zu special token%s; learned from %s of text, %s distinct "
             "piece%s, in %s of memory and %s",
             cli_count(n), cli_count(merges), cli_plural(merges), s->n_special, cli_plural(s->n_special),
             cli_bytes(t->bytes), cli_count(t->distinct), cli_plural(t->distinct), cli_bytes(job->memory),
             cli_duration(cli_now() - job->start));
}

/* Whether to write a vocabulary: with --trace alone there is none to write. */
static bool writes(const struct options *o)
{
    return !o->settings.watch || o->output;
}

static tg_status convert(struct job *job, tg_err *err)
{
    const struct options *o = job->o;
    tg_status status;

    if ((status = count(job, err)) || (status = learn(job, err)))
        return status;
    conclude(job);
    if (!writes(o))
        return TG_OK;
    if (tg_vocab_file_write(job->out.fd, job->tok, o->to, err))
        return tg_err_in(err, job->out.name);
    return cli_output_commit(&job->out, err);
}

static tg_status run(const struct options *o, tg_err *err)
{
    const double now = cli_now();
    struct job job = {.o = o, .settings = &o->settings, .start = now, .shown = now};
    tg_status status = TG_OK;

    for (size_t i = 0; !status && i < o->files.n; i++)
        status = cli_check_output_differs(o->output, o->files.path[i], err);
    if (status || (status = tg_vocab_learner_check(&o->settings, err)) ||
        (status = cli_begin_text(o->threads, err)) ||
        (writes(o) && (status = cli_output_begin(&job.out, o->output, cli_vocab_content(o->to), err))) ||
        (o->settings.watch && (status = trace_begin(&job.trace, o->format, !o->no_header, o->rows, err))))
        goto done;
    status = convert(&job, err);

done:
    cli_progress_end();
    cli_output_abort(&job.out);
    trace_free(&job.trace);
    tg_tokenizer_free(job.tok);
    tg_vocab_learner_free(job.vocab);
    tg_learn_free(job.learn);
    return status;
}

int main(int argc, char **argv)
{
    struct options o = {.settings = {.n = 4096, .min_count = TG_VOCAB_MIN_COUNT},
                        .rows = 20,
                        .split = TG_SPLIT_GPT2,
                        .to = TG_VOCAB_NPZ};
    tg_err err = {0};

    cli_init("tg-bpe");
    if (parse(argc, argv, &o))
        return CLI_USAGE;
    if (cli_confine(&err) || run(&o, &err))
        return cli_report(&err);
    return cli_close_stdout();
}
