#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/text/tokens.h"
#include "lib/text/tokens_parts.h"

struct tg_tokens_reader {
    tg_archive_reader *archive;
    tg_tokenizer tok;      /* of the first archive; kind[0] is 0 until its first chunk or end */
    tg_tokenizer this_tok; /* of the archive under way */
    bool in_archive;       /* its kind and version are behind us */
    bool header_done;        /* so is its tokenizer */
    size_t chunks;         /* seen in it */
    unsigned char *stored; /* a chunk as it stands in the file, when that is not mapped */
    unsigned char *ids;    /* the same in the vocabulary's width, when that differs */
    size_t stored_size, ids_size;
};

static void store_id(unsigned char *p, size_t width, uint32_t id)
{
    for (size_t i = 0; i < width; i++)
        p[i] = (unsigned char)(id >> 8 * i);
}

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
        return tg_fail(err, TG_EDATA, "the archive ends behind kind: version is missing");
    if ((status = tg_archive_expect_version(r->archive, &second, TG_TOKENS_VERSION, err)))
        return status;
    r->this_tok = (tg_tokenizer){0};
    r->in_archive = true;
    r->header_done = false;
    r->chunks = 0;
    return TG_OK;
}

/* All of tokenizer/... has been there: is it complete, and the same as before? */
static tg_status finish_header(tg_tokens_reader *r, tg_err *err)
{
    tg_status status;

    if (r->header_done)
        return TG_OK;
    if ((status = tg_tokenizer_check(&r->this_tok, err)))
        return status;
    if (r->tok.kind[0] == '\0')
        r->tok = r->this_tok;
    r->header_done = true;
    return tg_tokens_check_same(&r->tok, &r->this_tok, err);
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
    if (event != TG_ARCHIVE_ARRAY)
        status = tg_fail(err, TG_EDATA, "the archive is empty: kind is missing");
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
    return &r->tok;
}

/* What a chunk's header says, before any of its data is looked at. */
static tg_status check_chunk(const tg_tokens_reader *r, const tg_array *a, tg_err *err)
{
    char name[TG_TOKENS_NAME_SIZE];

    tg_tokens_chunk_name(name, r->chunks);
    if (strcmp(a->name, name) != 0)
        return tg_fail(err, TG_EDATA, "%s is out of place: expected %s", a->name, name);
    if (a->dtype.kind != 'u' || a->dtype.size > 4)
        return tg_fail(err, TG_EDATA, "%s has type %c%zu: ids are u1, u2 or u4", a->name, a->dtype.kind,
                       a->dtype.size);
    if (a->ndim != 1)
        return tg_fail(err, TG_EDATA, "%s has %zu dimensions, not 1", a->name, a->ndim);
    if (a->count > TG_TOKENS_CHUNK_MAX)
        return tg_fail(err, TG_EDATA, "%s has %zu ids: a chunk has at most %zu", a->name, a->count,
                       TG_TOKENS_CHUNK_MAX);
    return TG_OK;
}

/* At least `size` bytes in *buffer; what was there may be lost. */
static tg_status make_room(unsigned char **buffer, size_t *have, size_t size, tg_err *err)
{
    if (size <= *have)
        return TG_OK;
    free(*buffer);
    *have = 0;
    *buffer = malloc(size);
    if (!*buffer)
        return tg_fail_memory(err, size, "a chunk of tokens");
    *have = size;
    return TG_OK;
}

/* Check stored ids, and convert them to the vocabulary's width when theirs is another. */
static tg_status check_ids(tg_tokens_reader *r, const tg_array *a, const unsigned char *stored, tg_err *err)
{
    const size_t width = tg_tokens_width(r->tok.vocab_size);
    bool convert = a->dtype.size != width;
    tg_status status;

    if (convert && (status = make_room(&r->ids, &r->ids_size, a->count * width, err)))
        return status;
    for (size_t i = 0; i < a->count; i++) {
        uint32_t id = tg_tokens_load_id(stored + i * a->dtype.size, a->dtype.size);

        if (id >= r->tok.vocab_size)
            return tg_fail(err, TG_EDATA, "%s[%zu] is %lu: the vocabulary has %zu ids", a->name, i,
                           (unsigned long)id, r->tok.vocab_size);
        if (convert)
            store_id(r->ids + i * width, width, id);
    }
    return TG_OK;
}

static tg_status take_chunk(tg_tokens_reader *r, const tg_array *a, const void **ids, tg_err *err)
{
    const size_t width = tg_tokens_width(r->tok.vocab_size);
    const unsigned char *stored = a->data;
    tg_status status = check_chunk(r, a, err);

    if (status)
        return status;
    r->chunks++;
    if (!stored) {
        if ((status = make_room(&r->stored, &r->stored_size, a->bytes, err)) ||
            (status = tg_archive_read(r->archive, r->stored, a->bytes, err)))
            return status;
        stored = r->stored;
    }
    /* One byte cannot exceed a vocabulary of 256: nothing to check. */
    if ((a->dtype.size > 1 || r->tok.vocab_size < 256) && (status = check_ids(r, a, stored, err)))
        return status;
    *ids = a->dtype.size == width ? stored : r->ids;
    return TG_OK;
}

/* An array behind version: *n becomes the ids in it, 0 when it is no chunk. */
static tg_status take_array(tg_tokens_reader *r, const tg_array *a, const void **ids, size_t *n, tg_err *err)
{
    bool taken = false;
    tg_status status;

    if (strncmp(a->name, "tokens/", 7) == 0) {
        if ((status = finish_header(r, err)) || (status = take_chunk(r, a, ids, err)))
            return status;
        *n = a->count;
        return TG_OK;
    }
    if (!r->header_done && ((status = tg_tokenizer_take(&r->this_tok, r->archive, a, &taken, err)) || taken))
        return status;
    return tg_fail(err, TG_EDATA, "%s does not belong %s", a->name,
                   r->header_done ? "behind tokens" : "in a token archive");
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
        if (event == TG_ARCHIVE_EOF)
            return TG_OK;
        if (event == TG_ARCHIVE_END) {
            status = finish_header(r, err);
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
    free(r->stored);
    free(r->ids);
    free(r);
}
