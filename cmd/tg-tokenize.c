/* tg-tokenize: text to tokens and back, in constant memory. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmd/cli.h"
#include "lib/text/tokens.h"

#define PIECE ((size_t)1 << 20) /* bytes read at a time */

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

/* Up to PIECE bytes into buf; *n = 0 at the end.  Returns what one read gives, so
 * that what arrives slowly is passed on at once. */
static tg_status read_piece(int fd, unsigned char *buf, size_t *n, tg_err *err)
{
    ssize_t got;

    do
        got = read(fd, buf, PIECE);
    while (got < 0 && errno == EINTR);
    *n = got > 0 ? (size_t)got : 0;
    return got < 0 ? tg_fail_sys(err, "cannot read") : TG_OK;
}

static tg_status write_all(int fd, const unsigned char *data, size_t n, tg_err *err)
{
    while (n > 0) {
        ssize_t put = write(fd, data, n);

        if (put < 0 && errno != EINTR)
            return tg_fail_sys(err, "cannot write");
        if (put > 0) {
            data += put;
            n -= (size_t)put;
        }
    }
    return TG_OK;
}

struct job {
    const struct options *o;
    unsigned char *buf;  /* [PIECE] */
    cli_output out;      /* where an archive, or decoded text, goes */
    tg_tokens_writer *w; /* NULL until the first byte of text is there */
    uint64_t count;
};

/* What to do with a FILE; an error comes back with the name of what it is about,
 * the input or the output, in front. */
typedef tg_status (*visitor)(struct job *job, int fd, const char *name, tg_err *err);

static tg_status visit_files(struct job *job, visitor visit, tg_err *err)
{
    for (size_t i = 0; i < job->o->n_files; i++) {
        const char *name = cli_input_name(job->o->files[i]);
        tg_status status;
        int fd;

        if (cli_open_input(&fd, job->o->files[i], err))
            return tg_err_in(err, name);
        status = visit(job, fd, name, err);
        cli_close_input(fd);
        if (status)
            return status;
    }
    return TG_OK;
}

static tg_status out_failed(const struct job *job, tg_err *err)
{
    const bool file = job->o->output && job->out.save;

    return tg_err_in(err, file ? job->o->output : "standard output");
}

/* ---- text to tokens */

/* Tokens are written from the first byte on, so that empty text leaves nothing. */
static tg_status encode_piece(struct job *job, size_t n, tg_err *err)
{
    const tg_tokenizer tok = tg_tokenizer_bytes();

    if ((!job->w && tg_tokens_create(&job->w, job->out.fd, &tok, err)) ||
        tg_tokens_write(job->w, job->buf, n, err))
        return out_failed(job, err);
    return TG_OK;
}

static tg_status encode_file(struct job *job, int fd, const char *name, tg_err *err)
{
    tg_status status;
    size_t n;

    do {
        if (read_piece(fd, job->buf, &n, err))
            return tg_err_in(err, name);
        status = n > 0 ? encode_piece(job, n, err) : TG_OK;
    } while (!status && n > 0);
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
    return tg_tokens_finish(job->w, err) ? out_failed(job, err) : TG_OK;
}

/* ---- tokens to text */

static tg_status decode_chunk(struct job *job, const void *ids, size_t n, tg_err *err)
{
    /* The one kind of tokenizer: an id is a byte of text. */
    return write_all(job->out.fd, ids, n, err) ? out_failed(job, err) : TG_OK;
}

static tg_status decode_file(struct job *job, int fd, const char *name, tg_err *err)
{
    tg_tokens_reader *r;
    const void *ids;
    tg_status status = TG_OK;
    size_t n = 1;

    if (tg_tokens_open(&r, fd, err))
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

static tg_status count_file(struct job *job, int fd, const char *name, tg_err *err)
{
    tg_source source;
    bool archive;
    tg_status status = tg_source_open(&source, fd, err);

    if (status)
        return tg_err_in(err, name);
    if (!(status = tg_archive_sniff(&source, &archive, err)))
        status = archive ? count_tokens(&job->count, &source, err) : count_text(&job->count, &source, err);
    tg_source_close(&source);
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

/* Where the result goes.  Decoded text may go to a terminal, an archive may not. */
static tg_status begin_output(struct job *job, tg_err *err)
{
    const struct options *o = job->o;
    const bool to_stdout = !o->output || (o->output[0] == '-' && o->output[1] == '\0');

    if (to_stdout && (o->decode || o->count)) {
        job->out.fd = STDOUT_FILENO;
        return TG_OK;
    }
    if (cli_output_begin(&job->out, o->output, err))
        return tg_err_in(err, to_stdout ? "standard output" : o->output);
    return TG_OK;
}

static tg_status run(const struct options *o, tg_err *err)
{
    struct job job = {.o = o, .buf = malloc(PIECE)};
    tg_status status;

    if (!job.buf)
        return tg_fail_memory(err, PIECE, "reading");
    if ((status = begin_output(&job, err)) || (status = (o->count    ? count
                                                         : o->decode ? decode
                                                                     : encode)(&job, err)))
        goto done;
    if (cli_output_commit(&job.out, err))
        status = tg_err_in(err, o->output);

done:
    tg_tokens_abandon(job.w);
    cli_output_abort(&job.out);
    free(job.buf);
    return status;
}

int main(int argc, char **argv)
{
    struct options o = {0};
    tg_err err = {0};

    cli_init("tg-tokenize");
    if (parse(argc, argv, &o))
        return CLI_USAGE;
    if (run(&o, &err) != TG_OK)
        return cli_report(&err);
    return cli_close_stdout();
}
