/* Text to ids: as one text, or by documents. */
#include "cmd/tg-tokenize/documents.h"
#include "cmd/tg-tokenize/job.h"
#include "formats/archive.h"
#include "formats/crc.h"
#include "formats/format.h"

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

/* ---- documents */

/* A document that has text ends with the token. */
static tg_status end_document(tokenize_job *job, bool has_text, const char *name, tg_err *err)
{
    tg_status status = end_text(job, name, err);

    if (!status && has_text && job->eot >= 0) {
        job->added = true;
        status = job->take(job, job->tok, &job->eot, 1, err);
        job->added = false;
    }
    return status;
}

/* Encode a file's documents. */
struct reading {
    documents documents;
    bool has_text; /* the current document */
};

static tg_status put_documents(tokenize_job *job, struct reading *r, tg_text text, const char *name,
                               tg_err *err)
{
    const uint64_t end = job->read;
    tg_status status = TG_OK;

    while (!status && text.n > 0) {
        const unsigned char *part;
        size_t n;
        const bool ends = documents_next(&r->documents, &text, &part, &n);

        r->has_text = r->has_text || n > 0;
        status = put_text(job, part, n, name, err);
        if (status || !ends)
            continue;
        status = end_document(job, r->has_text, name, err);
        r->has_text = false;
        job->at = end - text.n;
    }
    return status;
}

static tg_status end_documents(tokenize_job *job, struct reading *r, const char *name, tg_err *err)
{
    const unsigned char *part;
    size_t n;
    tg_status status;

    documents_end(&r->documents, &part, &n);
    if ((status = put_text(job, part, n, name, err)) ||
        (status = end_document(job, r->has_text || n > 0, name, err)))
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
    struct reading r = {.has_text = false};
    tg_status status = warn_if_no_text(source, name, err);
    size_t n = 1;

    documents_begin(&r.documents, job->o->separator, job->o->null);
    while (!status && n > 0) {
        const unsigned char *text;

        if (read_part(job, source, &text, &n, err))
            return tg_err_in(err, name);
        job->read += n;
        status = job->o->eot ? put_documents(job, &r, (tg_text){text, n}, name, err)
                             : put_text(job, text, n, name, err);
        if (n > 0 && !status)
            status = flush_output(job, err);
        read_part_end(job, source, n);
    }
    return !status && job->o->eot ? end_documents(job, &r, name, err) : status;
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

static tg_status list_text(tokenize_job *job, tg_source *source, const char *name, tg_err *err)
{
    if (job->o->work == WORK_COUNT && tg_tokenizer_ids_are_bytes(job->tok))
        return count_bytes(job, source, err) ? tg_err_in(err, name) : TG_OK;
    return encode_file(job, source, name, err);
}

/* With -t char, every FILE has been read as text. */
static tg_status list_file(tokenize_job *job, tg_source *source, const char *name, tg_err *err)
{
    bool archive = false;
    tg_status status;

    if (!job->o->characters && tg_archive_sniff(source, &archive, err))
        return tg_err_in(err, name);
    if (!archive)
        return list_text(job, source, name, err);
    if ((status = end_text(job, name, err)))
        return status;
    return read_archive(job, source, name, err);
}

tg_status list_files(tokenize_job *job, tg_err *err)
{
    const tg_status status = visit_files(job, list_file, err);

    return status ? status : end_text(job, cli_files_name(&job->o->files), err);
}
