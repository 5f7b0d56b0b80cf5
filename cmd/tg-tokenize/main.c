/* tg-tokenize: text to tokens and back, in constant memory. */
#include <stdint.h>
#include <string.h>

#include "cmd/cli/cli.h"
#include "formats/archive.h"
#include "formats/sink.h"
#include "formats/source.h"
#include "lib/base/size.h"
#include "lib/text/encoder.h"
#include "lib/text/ids.h"
#include "lib/text/tokens_read.h"
#include "lib/text/tokens_write.h"

#define PIECE ((size_t)1 << 20)   /* bytes of mapped text per piece */
#define IDS ((size_t)1 << 12)     /* ids per call of the encoder */
#define DECODED ((size_t)1 << 16) /* bytes of decoded text per write */

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
         "print the total number of tokens in all FILEs; each may be text, counted as if it were tokenized, "
         "or a token archive, recognized by its first four bytes",
         0, 0, NULL},
        {'o', "output", CLI_TEXT, &o->output, "FILE", "write to FILE instead of standard output", 0, 0, NULL},
        {0},
    };
    const cli_tool tool = {
        .name = "tg-tokenize",
        .usage = "[-d | -c] [-o FILE] [FILE]...",
        .summary = "Turn text into a token archive (.npz), one token per byte. With no FILE, or "
                   "when FILE is -, read standard input.",
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
        return cli_usage("--decode and --count cannot be combined");
    if (o->count && o->output)
        return cli_usage("--count prints to standard output: it cannot be combined with --output");
    o->files = n > 0 ? argv + 1 : standard_input;
    o->n_files = n > 0 ? (size_t)n : 1;
    return CLI_OK;
}

/* ---- what the three jobs share */

struct job {
    const struct options *o;
    cli_output out;          /* for the archive or the decoded text */
    const tg_tokenizer *tok; /* for text; an archive has its own */
    tg_encoder *encoder;
    tg_tokens_writer *w; /* NULL until the first byte of text has arrived */
    uint64_t count;
};

/* What to do with a FILE; it may take over the source.  Its errors name the file at fault, input or
 * output. */
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

/* Encode a piece of text and write its ids; `text` NULL: the end of all text. */
static tg_status encode_text(struct job *job, tg_text *text, const char *name, tg_err *err)
{
    int32_t ids[IDS];
    size_t n;

    do {
        if (text ? tg_encoder_encode(job->encoder, text, ids, IDS, &n, err)
                 : tg_encoder_finish(job->encoder, ids, IDS, &n, err))
            return tg_err_in(err, name);
        if (tg_tokens_write(job->w, ids, n, err))
            return tg_err_in(err, job->out.name);
    } while (n == IDS);
    return TG_OK;
}

/* Write text whose bytes are the ids. */
static tg_status write_bytes(struct job *job, const tg_text *text, bool mapped, tg_err *err)
{
    const tg_status status = mapped ? tg_tokens_write_packed_zero_copy(job->w, text->next, text->n, err)
                                    : tg_tokens_write_packed(job->w, text->next, text->n, err);

    return status ? tg_err_in(err, job->out.name) : TG_OK;
}

/* Encode the next n bytes of source.  The first byte of text starts the archive, so empty text writes
 * nothing. */
static tg_status encode_piece(struct job *job, const tg_source *source, size_t n, const char *name,
                              tg_err *err)
{
    tg_text text = {source->next, n};

    if (!job->w && tg_tokens_create(&job->w, job->out.fd, job->tok, err))
        return tg_err_in(err, job->out.name);
    if (tg_tokenizer_ids_are_bytes(job->tok))
        return write_bytes(job, &text, source->map != NULL, err);
    return encode_text(job, &text, name, err);
}

static tg_status encode_file(struct job *job, tg_source *source, const char *name, tg_err *err)
{
    tg_status status = TG_OK;
    size_t n = 1;

    while (!status && n > 0) {
        if (tg_source_peek(source, 1, err)) /* process slowly arriving text without delay */
            return tg_err_in(err, name);
        n = tg_size_min(source->ready, PIECE);
        if (n > 0)
            status = encode_piece(job, source, n, name, err);
        tg_source_skip(source, n);
    }
    return status;
}

/* Encode all files as one text. */
static tg_status encode(struct job *job, tg_err *err)
{
    const struct options *o = job->o;
    const char *name = o->n_files == 1 ? cli_input_name(o->files[0]) : "all files";
    tg_status status;

    if ((status = visit_files(job, encode_file, err)))
        return status;
    if (!job->w)
        return tg_fail(err, TG_EDATA, "%s: the text is empty, expected at least one byte", name);
    if ((status = encode_text(job, NULL, name, err)))
        return status;
    return tg_tokens_finish(job->w, err) ? tg_err_in(err, job->out.name) : TG_OK;
}

/* ---- tokens to text */

/* Decoded text waiting to be written. */
struct text {
    size_t n;
    unsigned char bytes[DECODED];
};

/* Append a token's text; if it does not fit, write the waiting text first. */
static tg_status append(struct text *text, int fd, const unsigned char *token, size_t n, tg_err *err)
{
    if (n > DECODED - text->n) {
        if (tg_write_all(fd, text->bytes, text->n, err))
            return err->code;
        text->n = 0;
    }
    if (n > DECODED)
        return tg_write_all(fd, token, n, err);
    memcpy(text->bytes + text->n, token, n);
    text->n += n;
    return TG_OK;
}

static tg_status decode_ids(int fd, const tg_tokenizer *tok, const unsigned char *ids, size_t n, tg_err *err)
{
    const size_t width = tg_ids_width(tg_tokenizer_vocab_size(tok));
    struct text text;
    tg_status status = TG_OK;

    text.n = 0;
    for (size_t t = 0; !status && t < n; t++) {
        size_t length;
        const int32_t id = (int32_t)tg_ids_load(ids + t * width, width);
        const unsigned char *token = tg_tokenizer_token(tok, id, &length);

        status = append(&text, fd, token, length, err);
    }
    return status ? status : tg_write_all(fd, text.bytes, text.n, err);
}

static tg_status decode_chunk(struct job *job, const tg_tokenizer *tok, const void *ids, size_t n,
                              tg_err *err)
{
    const tg_status status = tg_tokenizer_ids_are_bytes(tok) ? tg_write_all(job->out.fd, ids, n, err)
                                                             : decode_ids(job->out.fd, tok, ids, n, err);

    return status ? tg_err_in(err, job->out.name) : TG_OK;
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
        else if (n > 0)
            status = decode_chunk(job, tg_tokens_tokenizer(r), ids, n, err);
    }
    tg_tokens_close(r);
    return status;
}

static tg_status decode(struct job *job, tg_err *err)
{
    return visit_files(job, decode_file, err);
}

/* ---- counting */

static tg_status count_tokens(struct job *job, tg_source *source, tg_err *err)
{
    tg_tokens_reader *r;
    const void *ids;
    size_t n = 1;
    tg_status status = tg_tokens_open_source(&r, source, err);

    while (!status && n > 0 && !(status = tg_tokens_next(r, &ids, &n, err)))
        job->count += n;
    tg_tokens_close(r);
    return status;
}

/* Count the ids of a piece of text; `text` NULL: the end of the text. */
static tg_status count_ids(struct job *job, tg_text *text, tg_err *err)
{
    int32_t ids[IDS];
    size_t n;
    tg_status status;

    do {
        status = text ? tg_encoder_encode(job->encoder, text, ids, IDS, &n, err)
                      : tg_encoder_finish(job->encoder, ids, IDS, &n, err);
        job->count += n;
    } while (!status && n == IDS);
    return status;
}

static tg_status count_text(struct job *job, tg_source *source, tg_err *err)
{
    const bool bytes = tg_tokenizer_ids_are_bytes(job->tok);
    tg_status status;

    while (!(status = tg_source_peek(source, 1, err)) && source->ready > 0) {
        tg_text text = {source->next, source->ready};

        if (bytes)
            job->count += text.n;
        else if ((status = count_ids(job, &text, err)))
            return status;
        tg_source_skip(source, source->ready);
    }
    return status ? status : count_ids(job, NULL, err);
}

static tg_status count_file(struct job *job, tg_source *source, const char *name, tg_err *err)
{
    bool archive;
    tg_status status = tg_archive_sniff(source, &archive, err);

    if (!status)
        status = archive ? count_tokens(job, source, err) : count_text(job, source, err);
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

/* Decoded text may go to a terminal; an archive may not. */
static tg_status convert(struct job *job, tg_err *err)
{
    const struct options *o = job->o;
    tg_status status;

    if ((status = cli_output_begin(&job->out, o->output, !o->decode, err)) ||
        (status = o->decode ? decode(job, err) : encode(job, err)))
        goto done;
    status = cli_output_commit(&job->out, err);

done:
    cli_output_abort(&job->out);
    return status;
}

static tg_status run(const struct options *o, tg_err *err)
{
    struct job job = {.o = o};
    tg_status status;

    if (!(status = tg_tokenizer_create(&job.tok, NULL, err)) &&
        !(status = tg_encoder_create(&job.encoder, job.tok, err)))
        status = o->count ? count(&job, err) : convert(&job, err);
    tg_tokens_abandon(job.w);
    tg_encoder_free(job.encoder);
    tg_tokenizer_free(job.tok);
    return status;
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
