/* Token archives and decimal ids: to text, lines or numbers. */
#include "cmd/tg-tokenize/job.h"
#include "lib/base/size.h"
#include "lib/text/ids.h"
#include "lib/tokens/tokens_read.h"

#define IDS ((size_t)1 << 12) /* ids at a time */

/* ---- archives */

/* The next ids, at most n, which all have the same place in the mask, if there is one. */
static size_t alike(tokenize_job *job, const unsigned char *mask, size_t n)
{
    size_t i = 1;

    job->has_mask = mask != NULL;
    if (!mask)
        return n;
    job->mask = mask[0];
    while (i < n && mask[i] == mask[0])
        i++;
    return i;
}

static tg_status take_packed(tokenize_job *job, const tg_tokenizer *tok, const unsigned char *packed,
                             const unsigned char *mask, size_t n, tg_err *err)
{
    const size_t width = tg_ids_width(tg_tokenizer_vocab_size(tok));
    int32_t ids[IDS];
    tg_status status = TG_OK;

    if (tg_tokenizer_ids_are_bytes(tok) && job->o->work == WORK_DECODE)
        return write_bytes(job, packed, n, err);
    job->from_archive = true;
    for (size_t t = 0, take; !status && t < n; t += take) {
        take = alike(job, mask ? mask + t : NULL, tg_size_min(n - t, IDS));
        tg_ids_unpack(ids, packed + t * width, width, take);
        status = job->take(job, tok, ids, take, err);
    }
    job->from_archive = false;
    return status ? status : flush_output(job, err);
}

/* If a tokenizer was named, it must be the archive's. */
static tg_status check_tokenizer(const tokenize_job *job, const tg_tokenizer *tok, tg_err *err)
{
    if (!tok || (!job->o->tokenizer && !job->o->model))
        return TG_OK;
    return tg_tokenizer_same(job->tok, tok, err);
}

tg_status read_archive(tokenize_job *job, tg_source *source, const char *name, tg_err *err)
{
    tg_tokens_reader *r;
    const void *ids;
    tg_status status = TG_OK;
    size_t n = 1;

    job->decoder = (tg_decoder){0};
    if (tg_tokens_open_source(&r, source, err))
        return tg_err_in(err, name);
    while (!status && n > 0) {
        if (tg_tokens_next(r, &ids, &n, err) || check_tokenizer(job, tg_tokens_tokenizer(r), err))
            status = tg_err_in(err, name);
        else if (n > 0)
            status = take_packed(job, tg_tokens_tokenizer(r), ids, tg_tokens_mask(r), n, err);
        show_progress(job, 0);
    }
    tg_tokens_close(r);
    return status;
}

/* ---- decimal ids, with white space between them */

/* The id that is being read, and those already read. */
struct decimals {
    size_t vocab_size;
    uint64_t id; /* saturates above all ids */
    size_t digits;
    uint64_t line; /* from 1 */
    int32_t ids[IDS];
    size_t n;
};

static tg_status give(tokenize_job *job, struct decimals *d, tg_err *err)
{
    const size_t n = d->n;

    d->n = 0;
    return n > 0 ? job->take(job, job->tok, d->ids, n, err) : TG_OK;
}

/* Finish the current id, if one has begun. */
static tg_status end_id(tokenize_job *job, struct decimals *d, const char *name, tg_err *err)
{
    if (d->digits == 0)
        return TG_OK;
    if (d->id >= d->vocab_size) {
        (void)tg_fail(err, TG_EDATA, "line %llu: id %llu%s: the vocabulary has %zu ids",
                      (unsigned long long)d->line, (unsigned long long)d->id,
                      d->id > TG_VOCAB_MAX ? " or more" : "", d->vocab_size);
        return tg_err_in(err, name);
    }
    d->ids[d->n++] = (int32_t)d->id;
    d->id = d->digits = 0;
    return d->n == IDS ? give(job, d, err) : TG_OK;
}

static bool is_space(unsigned char byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

static tg_status take_character(tokenize_job *job, struct decimals *d, unsigned char byte, const char *name,
                                tg_err *err)
{
    tg_status status = TG_OK;

    if (byte >= '0' && byte <= '9') {
        if (d->id <= TG_VOCAB_MAX)
            d->id = 10 * d->id + (uint64_t)(byte - '0');
        d->digits++;
    } else if (is_space(byte)) {
        status = end_id(job, d, name, err);
        d->line += byte == '\n';
    } else {
        char shown[16];

        cli_escape(shown, sizeof shown, &byte, 1);
        (void)tg_fail(err, TG_EDATA, "line %llu: '%s' is not a digit: expected decimal ids",
                      (unsigned long long)d->line, shown);
        status = tg_err_in(err, name);
    }
    return status;
}

static tg_status read_decimals(tokenize_job *job, tg_source *source, const char *name, tg_err *err)
{
    struct decimals d = {.vocab_size = tg_tokenizer_vocab_size(job->tok), .line = 1};
    tg_status status = TG_OK;
    size_t n = 1;

    job->decoder = (tg_decoder){0};
    while (n > 0) {
        if (tg_source_peek(source, 1, err))
            return tg_err_in(err, name);
        n = tg_size_min(source->ready, TG_SOURCE_PEEK);
        for (size_t i = 0; i < n && !status; i++)
            status = take_character(job, &d, source->next[i], name, err);
        if (status || (status = give(job, &d, err)) || (status = flush_output(job, err)))
            return status;
        tg_source_skip(source, n);
    }
    if ((status = end_id(job, &d, name, err)) || (status = give(job, &d, err)))
        return status;
    return flush_output(job, err);
}

tg_status decode_files(tokenize_job *job, tg_err *err)
{
    return visit_files(job, job->o->work == WORK_UNLIST ? read_decimals : read_archive, err);
}
