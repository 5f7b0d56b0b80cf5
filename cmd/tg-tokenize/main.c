/* tg-tokenize: text to tokens and back, in constant memory. */
#include <stdint.h>

#include "cmd/cli/cli.h"
#include "formats/sink.h"
#include "formats/source.h"
#include "lib/base/size.h"
#include "lib/text/tokens.h"

#define PIECE ((size_t)1 << 20) /* bytes of a mapped text that are passed on at a time */

struct options {
    bool decode, count;
    const char *output; /* NULL: standard output */
    char **files;       /* [n_files]; "-" is standard input */
    size_t n_files;
};

static int parse(int argc, char **argv, struct options *o)
{
    static char *standard_input[] = {"-"};
    cli_option options[] = {
        {'d', "decode", CLI_FLAG, &o->decode, NULL, "turn token archives back into text", 0, 0, NULL},
        {'c', "count", CLI_FLAG, &o->count, NULL,
         "print how many tokens there are, as one number for all FILEs; each may be text (counted as if "
         "it were tokenized) or a token archive, told apart by its first four bytes",
         0, 0, NULL},
        {'o', "output", CLI_TEXT, &o->output, "FILE", "write to FILE, not to standard output", 0, 0, NULL},
        {0},
    };
    const cli_tool tool = {
        .name = "tg-tokenize",
        .usage = "[-d | -c] [-o FILE] [FILE]...",
        .summary = "Turn text into a token archive (.npz), one token a byte. Without FILE, or where "
                   "it is -, read standard input.",
        .examples = "  $ tg-tokenize < text | tg-train\n"
                    "  $ tg-tokenize -o tokens.npz text\n"
                    "  $ tg-tokenize -d tokens.npz | head\n"
                    "  $ tg-tokenize -c text",
        .options = options,
    };
    const int n = cli_parse(argc, argv, &tool);

    if (n < 0)
        return CLI_USAGE;
    if (o->decode && o->count)
        return cli_usage("--decode and --count exclude each other");
    if (o->count && o->output)
        return cli_usage("--count prints to standard output: --output does not go with it");
    o->files = n > 0 ? argv + 1 : standard_input;
    o->n_files = n > 0 ? (size_t)n : 1;
    return CLI_OK;
}

/* ---- what the three jobs share */

struct job {
    const struct options *o;
    cli_output out;      /* where an archive, or decoded text, goes */
    tg_tokens_writer *w; /* NULL until the first byte of text is there */
    uint64_t count;
};

/* What to do with a FILE, whose source it may take over; an error comes back with the
 * name of what it is about, the input or the output, in front. */
typedef tg_status (*visitor)(struct job *job, tg_source *source, const char *name, tg_err *err);

static tg_status visit_file(struct job *job, const char *path, visitor visit, tg_err *err)
{
    tg_source source;
    tg_status status;
    int fd;

    if ((status = cli_open_input(&fd, path, err)))
        return status;
    if (tg_source_open(&source, fd, err)) {
        status = tg_err_in(err, cli_input_name(path));
    } else {
        status = visit(job, &source, cli_input_name(path), err);
        tg_source_close(&source);
    }
    cli_close_input(fd);
    return status;
}

static tg_status visit_files(struct job *job, visitor visit, tg_err *err)
{
    tg_status status = TG_OK;

    for (size_t i = 0; !status && i < job->o->n_files; i++)
        status = visit_file(job, job->o->files[i], visit, err);
    return status;
}

/* ---- text to tokens */

/* The next n bytes of source.  Tokens are written from the first byte on, so that empty
 * text leaves nothing. */
static tg_status encode_piece(struct job *job, const tg_source *source, size_t n, tg_err *err)
{
    const tg_tokenizer tok = tg_tokenizer_bytes();
    tg_status (*const append)(tg_tokens_writer *, const unsigned char *, size_t, tg_err *) =
        source->map ? tg_tokens_write_zero_copy : tg_tokens_write;

    if ((!job->w && tg_tokens_create(&job->w, job->out.fd, &tok, err)) ||
        append(job->w, source->next, n, err))
        return tg_err_in(err, job->out.name);
    return TG_OK;
}

static tg_status encode_file(struct job *job, tg_source *source, const char *name, tg_err *err)
{
    tg_status status = TG_OK;
    size_t n = 1;

    while (!status && n > 0) {
        if (tg_source_peek(source, 1, err)) /* what arrives slowly is passed on at once */
            return tg_err_in(err, name);
        n = tg_size_min(source->ready, PIECE);
        if (n > 0)
            status = encode_piece(job, source, n, err);
        tg_source_skip(source, n);
    }
    return status;
}

static tg_status encode(struct job *job, tg_err *err)
{
    tg_status status = visit_files(job, encode_file, err);

    if (status)
        return status;
    if (!job->w)
        return tg_fail(err, TG_EDATA, "%s: empty text: no tokens",
                       job->o->n_files == 1 ? cli_input_name(job->o->files[0]) : "all files");
    return tg_tokens_finish(job->w, err) ? tg_err_in(err, job->out.name) : TG_OK;
}

/* ---- tokens to text */

static tg_status decode_chunk(struct job *job, const void *ids, size_t n, tg_err *err)
{
    /* The one kind of tokenizer: an id is a byte of text. */
    return tg_write_all(job->out.fd, ids, n, err) ? tg_err_in(err, job->out.name) : TG_OK;
}

static tg_status decode_file(struct job *job, tg_source *source, const char *name, tg_err *err)
{
    tg_tokens_reader *r;
    const void *ids;
    tg_status status = TG_OK;
    size_t n = 1;

    if (tg_tokens_open_source(&r, source, err))
        return tg_err_in(err, name);
    while (!status && n > 0) {
        if (tg_tokens_next(r, &ids, &n, err))
            status = tg_err_in(err, name);
        else
            status = decode_chunk(job, ids, n, err);
    }
    tg_tokens_close(r);
    return status;
}

static tg_status decode(struct job *job, tg_err *err)
{
    return visit_files(job, decode_file, err);
}

/* ---- counting */

static tg_status count_tokens(uint64_t *count, tg_source *source, tg_err *err)
{
    tg_tokens_reader *r;
    const void *ids;
    size_t n = 1;
    tg_status status = tg_tokens_open_source(&r, source, err);

    while (!status && n > 0 && !(status = tg_tokens_next(r, &ids, &n, err)))
        *count += n;
    tg_tokens_close(r);
    return status;
}

static tg_status count_text(uint64_t *count, tg_source *source, tg_err *err)
{
    tg_status status;

    while (!(status = tg_source_peek(source, 1, err)) && source->ready > 0) {
        *count += source->ready; /* the one kind of tokenizer: a byte is a token */
        tg_source_skip(source, source->ready);
    }
    return status;
}

static tg_status count_file(struct job *job, tg_source *source, const char *name, tg_err *err)
{
    bool archive;
    tg_status status = tg_archive_sniff(source, &archive, err);

    if (!status)
        status = archive ? count_tokens(&job->count, source, err) : count_text(&job->count, source, err);
    return status ? tg_err_in(err, name) : TG_OK;
}

static tg_status count(struct job *job, tg_err *err)
{
    tg_status status = visit_files(job, count_file, err);

    if (!status)
        printf("%llu\n", (unsigned long long)job->count);
    return status;
}

/* ---- the tool */

/* Decoded text may go to a terminal, an archive may not. */
static tg_status convert(struct job *job, tg_err *err)
{
    const struct options *o = job->o;
    tg_status status;

    if ((status = cli_output_begin(&job->out, o->output, !o->decode, err)) ||
        (status = o->decode ? decode(job, err) : encode(job, err)))
        goto done;
    status = cli_output_commit(&job->out, err);

done:
    tg_tokens_abandon(job->w);
    cli_output_abort(&job->out);
    return status;
}

static tg_status run(const struct options *o, tg_err *err)
{
    struct job job = {.o = o};

    return o->count ? count(&job, err) : convert(&job, err);
}

int main(int argc, char **argv)
{
    struct options o = {0};
    tg_err err = {0};

    cli_init("tg-tokenize");
    if (parse(argc, argv, &o))
        return CLI_USAGE;
    if (run(&o, &err))
        return cli_report(&err);
    return cli_close_stdout();
}
