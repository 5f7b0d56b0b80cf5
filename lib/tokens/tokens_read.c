#include "lib/tokens/tokens_read.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/archive.h"
#include "lib/base/grow.h"
#include "lib/text/ids.h"
#include "lib/tg/tokens.h"
#include "lib/tokens/chunk.h"
#include "lib/tokens/tokenizer_read.h"

struct tg_tokens_reader {
    tg_archive_reader *archive;
    const tg_tokenizer *tok;  /* of the first archive; NULL until its first chunk or its end */
    tg_tokenizer_draft draft; /* of the current archive */
    size_t vocab_size, width; /* of tok: ids, bytes of one */
    bool in_archive;          /* kind and version have been read, */
    bool header_done;         /* and the tokenizer */
    bool goes_on;             /* this archive's text does, in another one */
    tg_chat_note chat;        /* of this archive */
    size_t chunks;            /* seen in this archive */
    unsigned char *stored;    /* a chunk as stored in the file, unless that is mapped */
    unsigned char *ids;       /* the same in `width` bytes per id, if the file's width differs */
    unsigned char *masks;     /* its mask, likewise */
    size_t stored_size, ids_size, masks_size;
    const unsigned char *mask; /* of the chunk that has been read, or is the next; NULL: it has none */
    size_t mask_count;
    bool mask_waits; /* for its chunk */
};

/* Read kind, which is array `a`, and version. */
static tg_status enter_archive(tg_tokens_reader *r, const tg_array *a, tg_err *err)
{
    tg_archive_event event;
    tg_array second;
    tg_status status;

    if ((status = tg_archive_expect_kind(r->archive, a, "tokens", err)) ||
        (status = tg_archive_next(r->archive, &second, &event, err)))
        return status;
    if (event != TG_ARCHIVE_ARRAY)
        return tg_fail(err, TG_EDATA, "archive ends after \"kind\": \"version\" is missing");
    if ((status = tg_archive_expect_version(r->archive, &second, TG_TOKENS_VERSION, err)))
        return status;
    r->in_archive = true;
    r->header_done = false;
    r->goes_on = false;
    r->chat = 0;
    r->chunks = 0;
    return TG_OK;
}

/* After all of tokenizer/...: check that it is complete, and the same as in earlier archives. */
static tg_status finish_header(tg_tokens_reader *r, tg_err *err)
{
    const tg_tokenizer *tok;
    tg_status status;

    if (r->header_done)
        return TG_OK;
    if ((status = tg_tokenizer_complete(&tok, &r->draft, err)))
        return status;
    r->header_done = true;
    if (r->tok) {
        status = tg_tokenizer_same(r->tok, tok, err);
        tg_tokenizer_free(tok);
        return status;
    }
    r->tok = tok;
    r->vocab_size = tg_tokenizer_vocab_size(tok);
    r->width = tg_ids_width(r->vocab_size);
    return TG_OK;
}

tg_status tg_tokens_open_source(tg_tokens_reader **out, tg_source *source, tg_err *err)
{
    tg_tokens_reader *r = calloc(1, sizeof *r);
    tg_archive_event event;
    tg_array a;
    tg_status status;

    *out = NULL;
    if (!r) {
        tg_source_close(source);
        return tg_fail_memory(err, sizeof *r, "a token reader");
    }
    if ((status = tg_archive_open_source(&r->archive, source, err)) ||
        (status = tg_archive_next(r->archive, &a, &event, err)))
        goto done;
    /* unreached: an archive begins with an array */
    if (event != TG_ARCHIVE_ARRAY)
        status = tg_fail(err, TG_EDATA, "archive is empty: \"kind\" is missing");
    else
        status = enter_archive(r, &a, err);

done:
    if (status)
        tg_tokens_close(r);
    else
        *out = r;
    return status;
}

const tg_tokenizer *tg_tokens_tokenizer(const tg_tokens_reader *r)
{
    return r->tok;
}

tg_chat_note tg_tokens_chat(const tg_tokens_reader *r)
{
    return r->chat;
}

const unsigned char *tg_tokens_mask(const tg_tokens_reader *r)
{
    return r->mask;
}

/* Check that an array has the name that the next chunk, or its mask, has. */
static tg_status check_name(const tg_tokens_reader *r, const tg_array *a, bool is_mask, tg_err *err)
{
    char name[TG_CHUNK_NAME_SIZE];

    if (is_mask)
        snprintf(name, sizeof name, TG_CHUNK_MASK, r->chunks);
    else
        snprintf(name, sizeof name, TG_CHUNK_NAME, r->chunks);
    if (strcmp(a->name, name) == 0)
        return TG_OK;
    return tg_fail(err, TG_EDATA, "%s is out of place: expected %s", a->name, name);
}

/* Check a chunk's header before its data is read. */
static tg_status check_chunk(const tg_tokens_reader *r, const tg_array *a, tg_err *err)
{
    const tg_status status = check_name(r, a, false, err);

    if (status)
        return status;
    if (r->mask_waits && r->mask_count != a->count)
        return tg_fail(err, TG_EDATA, "%s has %zu ids, and its mask %zu", a->name, a->count, r->mask_count);
    if (a->dtype.kind != 'u' || a->dtype.size > 4)
        return tg_fail(err, TG_EDATA, "%s has type %c%zu, expected u1, u2 or u4", a->name, a->dtype.kind,
                       a->dtype.size);
    if (a->ndim != 1)
        return tg_fail(err, TG_EDATA, "%s has %zu dimensions, expected 1", a->name, a->ndim);
    if (a->count > TG_TOKENS_CHUNK_MAX)
        return tg_fail(err, TG_EDATA, "%s has %zu ids, expected at most %zu", a->name, a->count,
                       TG_TOKENS_CHUNK_MAX);
    return TG_OK;
}

static tg_status check_mask(const tg_tokens_reader *r, const tg_array *a, tg_err *err)
{
    const tg_status status = check_name(r, a, true, err);

    if (status)
        return status;
    if (a->dtype.kind != 'u' || a->dtype.size != 1 || a->ndim != 1)
        return tg_fail(err, TG_EDATA, "%s has type %c%zu and %zu dimensions, expected u1 and 1", a->name,
                       a->dtype.kind, a->dtype.size, a->ndim);
    if (a->count > TG_TOKENS_CHUNK_MAX)
        return tg_fail(err, TG_EDATA, "%s has %zu tokens, expected at most %zu", a->name, a->count,
                       TG_TOKENS_CHUNK_MAX);
    return TG_OK;
}

/* The mask of the next chunk. */
static tg_status take_mask(tg_tokens_reader *r, const tg_array *a, tg_err *err)
{
    const unsigned char *stored = a->data;
    tg_status status = check_mask(r, a, err);

    if (status)
        return status;
    if (!stored) {
        if ((status = tg_grow(&r->masks, &r->masks_size, a->bytes, 1, "a mask", err)) ||
            (status = tg_archive_read(r->archive, r->masks, a->bytes, err)))
            return status;
        stored = r->masks;
    }
    for (size_t i = 0; i < a->count; i++)
        if (stored[i] >= TG_MASKS)
            return tg_fail(err, TG_EDATA, "%s[%zu] is %u, expected 0, 1 or 2", a->name, i, stored[i]);
    r->mask = stored;
    r->mask_count = a->count;
    r->mask_waits = true;
    return TG_OK;
}

static tg_status check_ids(const tg_tokens_reader *r, const tg_array *a, const unsigned char *stored,
                           tg_err *err)
{
    const size_t width = a->dtype.size, good = tg_ids_check_packed(stored, width, a->count, r->vocab_size);

    if (good == a->count)
        return TG_OK;
    return tg_fail(err, TG_EDATA, "%s[%zu] is %lu: the vocabulary has %zu ids", a->name, good,
                   (unsigned long)tg_ids_load(stored + good * width, width), r->vocab_size);
}

static tg_status take_chunk(tg_tokens_reader *r, const tg_array *a, const void **ids, tg_err *err)
{
    const unsigned char *stored = a->data;
    tg_status status = check_chunk(r, a, err);

    if (status)
        return status;
    r->chunks++;
    if (!r->mask_waits)
        r->mask = NULL;
    r->mask_waits = false;
    if (!stored) {
        if ((status = tg_grow(&r->stored, &r->stored_size, a->bytes, 1, "a chunk of tokens", err)) ||
            (status = tg_archive_read(r->archive, r->stored, a->bytes, err)))
            return status;
        stored = r->stored;
    }
    if ((status = check_ids(r, a, stored, err)))
        return status;
    *ids = stored;
    if (a->dtype.size == r->width)
        return TG_OK;
    if ((status = tg_grow(&r->ids, &r->ids_size, a->count * r->width, 1, "a chunk of tokens", err)))
        return status;
    tg_ids_convert(r->ids, r->width, stored, a->dtype.size, a->count);
    *ids = r->ids;
    return TG_OK;
}

/* The text continues in the next archive: the value is 1. */
static tg_status take_goes_on(tg_tokens_reader *r, const tg_array *a, tg_err *err)
{
    size_t value;
    tg_status status = tg_archive_get_size(r->archive, a, &value, err);

    if (!status && value != 1)
        status = tg_fail(err, TG_EDATA, "%s is %zu, expected 1", a->name, value);
    r->goes_on = !status;
    return status;
}

/* Read an array after "version".  *n = the number of its ids, 0 when it is not a chunk. */
static tg_status take_array(tg_tokens_reader *r, const tg_array *a, const void **ids, size_t *n, tg_err *err)
{
    bool taken = false;
    tg_status status;

    if (r->chunks > 0 && !r->goes_on && strcmp(a->name, TG_TOKENS_GOES_ON) == 0)
        return take_goes_on(r, a, err);
    if (!r->goes_on && !r->mask_waits && strncmp(a->name, "mask/", 5) == 0)
        return (status = finish_header(r, err)) ? status : take_mask(r, a, err);
    if (!r->goes_on && strncmp(a->name, "tokens/", 7) == 0) {
        if ((status = finish_header(r, err)) || (status = take_chunk(r, a, ids, err)))
            return status;
        *n = a->count;
        return TG_OK;
    }
    if (!r->header_done && ((status = tg_chat_note_take(&r->chat, r->archive, a, &taken, err)) || taken))
        return status;
    if (!r->header_done && ((status = tg_tokenizer_take(&r->draft, r->archive, a, &taken, err)) || taken))
        return status;
    return tg_fail(err, TG_EDATA, "%s does not belong %s", a->name,
                   r->header_done ? "after tokens" : "in a token archive");
}

tg_status tg_tokens_next(tg_tokens_reader *r, const void **ids, size_t *n, tg_err *err)
{
    tg_archive_event event;
    tg_array a;
    tg_status status;

    *ids = NULL;
    *n = 0;
    while (*n == 0) {
        if ((status = tg_archive_next(r->archive, &a, &event, err)))
            return status;
        if (event == TG_ARCHIVE_EOF && r->goes_on)
            return tg_fail(err, TG_EDATA, "truncated: the next archive of this stream is missing");
        if (event == TG_ARCHIVE_EOF)
            return TG_OK;
        if (event == TG_ARCHIVE_END) {
            status =
                r->mask_waits ? tg_fail(err, TG_EDATA, "the last mask has no tokens") : finish_header(r, err);
            r->in_archive = false;
        } else if (r->in_archive) {
            status = take_array(r, &a, ids, n, err);
        } else {
            status = enter_archive(r, &a, err);
        }
        if (status)
            return status;
    }
    return TG_OK;
}

void tg_tokens_close(tg_tokens_reader *r)
{
    if (!r)
        return;
    tg_archive_close(r->archive);
    tg_tokenizer_free(r->tok);
    tg_tokenizer_draft_free(&r->draft);
    free(r->stored);
    free(r->ids);
    free(r->masks);
    free(r);
}
