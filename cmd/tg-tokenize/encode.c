/* Text to ids: as one text, or by documents. */
#include <string.h>

#include "cmd/tg-tokenize/job.h"
#include "formats/archive.h"
#include "formats/crc.h"
#include "formats/format.h"
#include "lib/text/encoder.h"

/* ---- one text */

static tg_status take(void *context, const int32_t *ids, size_t n, tg_err *err)
{
    tokenize_job *job = context;
    const tg_status status = job->take(job, job->tok, ids, n, err);

    job->take_failed = status != TG_OK;
    return status;
}

/* Errors of the output name it; add the input's name to the others. */
static tg_status named(const tokenize_job *job, tg_status status, const char *name, tg_err *err)
{
    return status && !job->take_failed ? tg_err_in(err, name) : status;
}

static tg_status put_text(tokenize_job *job, const unsigned char *text, size_t n, const char *name,
                          tg_err *err)
{
    if (n == 0)
        return TG_OK;
    job->bytes += n;
    if (job->o->work == WORK_OFFSETS)
        job->text_crc = tg_crc32(job->text_crc, text, n);
    if (!job->encoder && tg_parallel_create(&job->encoder, job->tok, job->o->special, take, job, err))
        return tg_err_in(err, name);
    return named(job, tg_parallel_encode(job->encoder, text, n, err), name, err);
}

static tg_status end_text(tokenize_job *job, const char *name, tg_err *err)
{
    return job->encoder ? named(job, tg_parallel_finish(job->encoder, err), name, err) : TG_OK;
}

/* ---- documents of a file, which arrives in parts, cut anywhere */

struct documents {
    const char *separator; /* a line that ends a document; NULL: none */
    bool null;             /* a NUL byte does */
    size_t length;         /* of the separator */
    size_t matched;        /* bytes of it that begin the current line; they are held back */
    bool in_line;          /* the line is not the separator */
    bool has_text;         /* the current document */
};

/* The bytes before the NUL that ends the document, which is taken too, or all. */
static bool next_byte(tg_text *text, size_t *n)
{
    const unsigned char *end = memchr(text->next, '\0', text->n);

    *n = end ? (size_t)(end - text->next) : text->n;
    tg_text_take(text, *n + (end != NULL));
    return end != NULL;
}

/* Match the beginning of a line.  Returns whether the line is the separator; otherwise it is not, or
 * the text has ended. */
static bool match(struct documents *d, tg_text *text)
{
    while (text->n > 0 && d->matched < d->length && *text->next == (unsigned char)d->separator[d->matched]) {
        d->matched++;
        tg_text_take(text, 1);
    }
    if (text->n == 0)
        return false;
    d->in_line = d->matched < d->length || *text->next != '\n';
    if (d->in_line)
        return false;
    tg_text_take(text, 1);
    d->matched = 0;
    return true;
}

/* Take the text up to the next line that may be the separator; returns its bytes. */
static size_t take_lines(struct documents *d, tg_text *text)
{
    const unsigned char first = (unsigned char)(d->length > 0 ? d->separator[0] : '\n');
    const unsigned char *begin = text->next, *at = begin, *const end = begin + text->n;

    while (d->in_line && at < end && (at = memchr(at, '\n', (size_t)(end - at)))) {
        at++;
        if (at == end || *at == first)
            d->in_line = false;
    }
    if (!at)
        at = end;
    tg_text_take(text, (size_t)(at - begin));
    return (size_t)(at - begin);
}

static bool next_line(struct documents *d, tg_text *text, const unsigned char **part, size_t *n)
{
    *n = 0;
    if (!d->in_line && match(d, text))
        return true;
    if (!d->in_line)
        return false;
    if (d->matched > 0) { /* what was held back is text */
        *part = (const unsigned char *)d->separator;
        *n = d->matched;
        d->matched = 0;
        return false;
    }
    *n = take_lines(d, text);
    return false;
}

/* The next part of the document: *n bytes, which may be 0; `text` is advanced past what was consumed.
 * Returns whether the document ends after this part.  Call it until text->n is 0. */
static bool next_part(struct documents *d, tg_text *text, const unsigned char **part, size_t *n)
{
    *part = text->next;
    if (d->separator)
        return next_line(d, text, part, n);
    if (d->null)
        return next_byte(text, n);
    *n = text->n;
    tg_text_take(text, *n);
    return false;
}

/* Add a token between texts, unless it is -1. */
static tg_status add_token(tokenize_job *job, int32_t id, tg_err *err)
{
    tg_status status;

    if (id < 0)
        return TG_OK;
    job->added = true;
    status = job->take(job, job->tok, &id, 1, err);
    job->added = false;
    job->decoder = (tg_decoder){0};
    return status;
}

/* Part of a document, which begins with its first byte. */
static tg_status put_part(tokenize_job *job, struct documents *d, const unsigned char *part, size_t n,
                          const char *name, tg_err *err)
{
    tg_status status = TG_OK;

    if (n > 0 && !d->has_text)
        status = add_token(job, job->bos, err);
    d->has_text = d->has_text || n > 0;
    return status ? status : put_text(job, part, n, name, err);
}

/* A document that has text ends with the token.  The next one is another text. */
static tg_status end_document(tokenize_job *job, bool has_text, const char *name, tg_err *err)
{
    const tg_status status = end_text(job, name, err);

    return status || !has_text ? status : add_token(job, job->eot, err);
}

static tg_status put_documents(tokenize_job *job, struct documents *d, tg_text text, const char *name,
                               tg_err *err)
{
    const uint64_t end = job->read;
    tg_status status = TG_OK;

    while (!status && text.n > 0) {
        const unsigned char *part;
        size_t n;
        const bool ends = next_part(d, &text, &part, &n);

        status = put_part(job, d, part, n, name, err);
        if (status || !ends)
            continue;
        status = end_document(job, d->has_text, name, err);
        d->has_text = false;
        job->at = end - text.n;
    }
    return status;
}

/* At the end of the file, what was held back is text unless it is the separator. */
static tg_status end_documents(tokenize_job *job, struct documents *d, const char *name, tg_err *err)
{
    const size_t n = d->matched < d->length ? d->matched : 0;
    tg_status status;

    if ((status = put_part(job, d, (const unsigned char *)d->separator, n, name, err)) ||
        (status = end_document(job, d->has_text, name, err)))
        return status;
    job->at = job->read;
    return TG_OK;
}

/* ---- files */

/* A file of another kind than text is more likely a mistake than a text; it is encoded all the same. */
static tg_status warn_if_no_text(tg_source *source, const char *name, tg_err *err)
{
    tg_format format;

    if (tg_source_peek(source, 1, err)) /* not more: text may arrive slowly */
        return tg_err_in(err, name);
    format = tg_format_recognize(source->next, source->ready);
    if (format != TG_FORMAT_TEXT && format != TG_FORMAT_UNKNOWN)
        cli_say("%s: this is %s; its bytes are tokenized as if they were text%s", name,
                tg_format_text(format),
                format == TG_FORMAT_ZIP ? " (-d turns token archives back into text)" : "");
    return TG_OK;
}

static tg_status encode_file(tokenize_job *job, tg_source *source, const char *name, tg_err *err)
{
    const char *separator = job->o->separator;
    const bool documents = job->o->bos || job->o->eot;
    struct documents d = {
        .separator = separator, .null = job->o->null, .length = separator ? strlen(separator) : 0};
    tg_status status = warn_if_no_text(source, name, err);
    size_t n = 1;

    while (!status && n > 0) {
        const unsigned char *text;

        if (read_part(job, source, &text, &n, err))
            return tg_err_in(err, name);
        job->read += n;
        status = documents ? put_documents(job, &d, (tg_text){text, n}, name, err)
                           : put_text(job, text, n, name, err);
        if (n > 0 && !status)
            status = flush_output(job, err);
        read_part_end(job, source, n);
    }
    return !status && documents ? end_documents(job, &d, name, err) : status;
}

/* Text whose bytes are its ids: without an encoder. */
static tg_status write_file(tokenize_job *job, tg_source *source, const char *name, tg_err *err)
{
    tg_status status = warn_if_no_text(source, name, err);
    size_t n = 1;

    while (!status && n > 0) {
        if (tg_source_peek(source, 1, err)) /* process slowly arriving text without delay */
            return tg_err_in(err, name);
        n = source->ready;
        if (n > 0)
            status = write_bytes(job, source->next, n, err);
        tg_source_skip(source, n);
        show_progress(job, n);
    }
    return status;
}

tg_status encode_files(tokenize_job *job, tg_err *err)
{
    const char *name = cli_files_name(&job->o->files);
    tg_status status;

    status = visit_files(job, tg_tokenizer_ids_are_bytes(job->tok) ? write_file : encode_file, err);
    if (status || (status = end_text(job, name, err)))
        return status;
    if (!job->w)
        return tg_fail(err, TG_EDATA, "%s: the text is empty, expected at least one byte", name);
    return TG_OK;
}

/* ---- files that may be archives */

/* Counting text whose bytes are its ids needs no encoder. */
static tg_status count_bytes(tokenize_job *job, tg_source *source, tg_err *err)
{
    tg_status status;

    while (!(status = tg_source_peek(source, 1, err)) && source->ready > 0) {
        job->tokens += source->ready;
        job->bytes += source->ready;
        show_progress(job, source->ready);
        tg_source_skip(source, source->ready);
    }
    return status;
}

/* With -t char, every FILE has been read as text. */
static tg_status list_file(tokenize_job *job, tg_source *source, const char *name, tg_err *err)
{
    bool archive = false;
    tg_status status;

    if (!job->o->characters && tg_archive_sniff(source, &archive, err))
        return tg_err_in(err, name);
    if (!archive && job->o->work == WORK_COUNT && tg_tokenizer_ids_are_bytes(job->tok))
        return count_bytes(job, source, err) ? tg_err_in(err, name) : TG_OK;
    if (!archive)
        return encode_file(job, source, name, err);
    if ((status = end_text(job, name, err)) || (status = read_archive(job, source, name, err)))
        return status;
    job->decoder = (tg_decoder){0}; /* text after it is another text */
    return TG_OK;
}

tg_status list_files(tokenize_job *job, tg_err *err)
{
    const tg_status status = visit_files(job, list_file, err);

    return status ? status : end_text(job, cli_files_name(&job->o->files), err);
}
