#include "lib/text/tokens.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/size.h"

/* Chunks in one archive: its limit on names, less room for those that are not chunks.
 * A longer text goes on in another archive behind the first. */
#define CHUNKS_MAX (TG_NAMES_MAX - 64)

#define CHUNK_NAME_SIZE 32

size_t tg_tokens_width(size_t vocab_size)
{
    if (vocab_size <= (size_t)1 << 8)
        return 1;
    return vocab_size <= (size_t)1 << 16 ? 2 : 4;
}

static void chunk_name(char name[CHUNK_NAME_SIZE], size_t number)
{
    snprintf(name, CHUNK_NAME_SIZE, "tokens/%08zu", number);
}

/* ---- writing */

struct tg_tokens_writer {
    int fd;
    tg_tokenizer tok;
    tg_archive_writer *archive;
    size_t chunks;       /* written to this archive */
    size_t n;            /* ids in the chunk under way */
    unsigned char ids[]; /* [TG_TOKENS_CHUNK]: the one kind of tokenizer has one byte an id */
};

/* A new archive on fd, up to its first chunk. */
static tg_status begin_archive(tg_tokens_writer *w, tg_err *err)
{
    tg_status status = tg_archive_create(&w->archive, w->fd, 0, err);

    w->chunks = 0;
    if (status || (status = tg_archive_put_text(w->archive, "kind", "tokens", err)) ||
        (status = tg_archive_put_i64(w->archive, "version", TG_TOKENS_VERSION, err)))
        return status;
    return tg_tokenizer_put(&w->tok, w->archive, err);
}

static tg_status end_archive(tg_tokens_writer *w, tg_err *err)
{
    tg_status status = tg_archive_finish(w->archive, err);

    tg_archive_abandon(w->archive);
    w->archive = NULL;
    return status;
}

tg_status tg_tokens_create(tg_tokens_writer **out, int fd, const tg_tokenizer *tok, tg_err *err)
{
    const size_t bytes = sizeof(tg_tokens_writer) + TG_TOKENS_CHUNK;
    tg_tokens_writer *w;
    tg_status status = tg_tokenizer_check(tok, err);

    *out = NULL;
    if (status)
        return status;
    w = malloc(bytes);
    if (!w)
        return tg_fail_memory(err, bytes, "a chunk of tokens");
    *w = (tg_tokens_writer){.fd = fd, .tok = *tok};
    status = begin_archive(w, err);
    if (status)
        tg_tokens_abandon(w);
    else
        *out = w;
    return status;
}

static tg_status put_chunk(tg_tokens_writer *w, const unsigned char *ids, size_t n, tg_err *err)
{
    char name[CHUNK_NAME_SIZE];
    tg_status status;

    if (w->chunks == CHUNKS_MAX && ((status = end_archive(w, err)) || (status = begin_archive(w, err))))
        return status;
    chunk_name(name, w->chunks++);
    return tg_archive_put(w->archive, name, TG_U8, 1, &n, ids, err);
}

tg_status tg_tokens_write(tg_tokens_writer *w, const unsigned char *text, size_t n, tg_err *err)
{
    while (n > 0) {
        size_t take = tg_size_min(n, TG_TOKENS_CHUNK - w->n);
        const unsigned char *full = NULL;
        tg_status status;

        /* Bytes are their own ids, so a whole chunk is written from where it lies. */
        if (take == TG_TOKENS_CHUNK) {
            full = text;
        } else {
            memcpy(w->ids + w->n, text, take);
            w->n += take;
            if (w->n == TG_TOKENS_CHUNK)
                full = w->ids;
        }
        if (full) {
            w->n = 0;
            if ((status = put_chunk(w, full, TG_TOKENS_CHUNK, err)))
                return status;
        }
        text += take;
        n -= take;
    }
    return TG_OK;
}

tg_status tg_tokens_finish(tg_tokens_writer *w, tg_err *err)
{
    tg_status status;

    if (w->n > 0 && (status = put_chunk(w, w->ids, w->n, err)))
        return status;
    w->n = 0;
    return end_archive(w, err);
}

void tg_tokens_abandon(tg_tokens_writer *w)
{
    if (!w)
        return;
    tg_archive_abandon(w->archive);
    free(w);
}

/* ---- reading piece by piece */

struct tg_tokens_reader {
    tg_archive_reader *archive;
    tg_tokenizer tok;      /* of the first archive; kind[0] is 0 until its first chunk or end */
    tg_tokenizer this_tok; /* of the archive under way */
    bool in_archive;       /* its kind and version are behind us */
    bool head_done;        /* so is its tokenizer */
    size_t chunks;         /* seen in it */
    unsigned char *stored; /* a chunk as it stands in the file, when that is not mapped */
    unsigned char *ids;    /* the same in the vocabulary's width, when that differs */
    size_t stored_size, ids_size;
};

static uint32_t load_id(const unsigned char *p, size_t width)
{
    if (width == 1)
        return p[0];
    if (width == 2)
        return p[0] | (uint32_t)p[1] << 8;
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static void store_id(unsigned char *p, size_t width, uint32_t id)
{
    for (size_t i = 0; i < width; i++)
        p[i] = (unsigned char)(id >> 8 * i);
}

/* The first array must be kind = "tokens". */
static tg_status take_kind(tg_tokens_reader *r, const tg_array *a, tg_err *err)
{
    char kind[32];
    tg_status status;

    if (strcmp(a->name, "kind") != 0)
        return tg_fail(err, TG_EDATA, "this archive is not ours: its first array is %s, not kind", a->name);
    if ((status = tg_archive_get_text(r->archive, a, kind, sizeof kind, err)))
        return status;
    if (strcmp(kind, "tokens") != 0)
        return tg_fail(err, TG_EDATA, "this is a %s archive, not tokens", kind);
    return TG_OK;
}

static tg_status take_version(tg_tokens_reader *r, const tg_array *a, tg_err *err)
{
    size_t version;
    tg_status status;

    if (strcmp(a->name, "version") != 0)
        return tg_fail(err, TG_EDATA, "the second array is %s, not version", a->name);
    if ((status = tg_archive_get_size(r->archive, a, &version, err)))
        return status;
    if (version != TG_TOKENS_VERSION)
        return tg_fail(err, TG_EDATA, "the tokens have version %zu, this program reads version %d", version,
                       TG_TOKENS_VERSION);
    return TG_OK;
}

/* Read kind, which is array `a`, and version. */
static tg_status enter_archive(tg_tokens_reader *r, const tg_array *a, tg_err *err)
{
    tg_archive_event event;
    tg_array second;
    tg_status status;

    if ((status = take_kind(r, a, err)) || (status = tg_archive_next(r->archive, &second, &event, err)))
        return status;
    if (event != TG_ARCHIVE_ARRAY)
        return tg_fail(err, TG_EDATA, "the archive ends behind kind: version is missing");
    if ((status = take_version(r, &second, err)))
        return status;
    r->this_tok = (tg_tokenizer){0};
    r->in_archive = true;
    r->head_done = false;
    r->chunks = 0;
    return TG_OK;
}

static tg_status check_same(const tg_tokenizer *first, const tg_tokenizer *other, tg_err *err)
{
    if (tg_tokenizer_equal(first, other))
        return TG_OK;
    return tg_fail(err, TG_EDATA,
                   "these tokens are of tokenizer %s with %zu ids, those before of %s with %zu", other->kind,
                   other->vocab_size, first->kind, first->vocab_size);
}

/* All of tokenizer/... has been there: is it complete, and the same as before? */
static tg_status finish_head(tg_tokens_reader *r, tg_err *err)
{
    tg_status status;

    if (r->head_done)
        return TG_OK;
    if ((status = tg_tokenizer_check(&r->this_tok, err)))
        return status;
    if (r->tok.kind[0] == '\0')
        r->tok = r->this_tok;
    r->head_done = true;
    return check_same(&r->tok, &r->this_tok, err);
}

tg_status tg_tokens_open(tg_tokens_reader **out, int fd, tg_err *err)
{
    tg_source source;
    tg_status status = tg_source_open(&source, fd, err);

    *out = NULL;
    return status ? status : tg_tokens_open_source(out, &source, err);
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
    char name[CHUNK_NAME_SIZE];

    chunk_name(name, r->chunks);
    if (strcmp(a->name, name) != 0)
        return tg_fail(err, TG_EDATA, "%s is out of place: expected %s", a->name, name);
    if (a->dtype.kind != 'u' || a->dtype.size > 4)
        return tg_fail(err, TG_EDATA, "%s has type %c%zu: ids are u1, u2 or u4", a->name, a->dtype.kind,
                       a->dtype.size);
    if (a->ndim != 1)
        return tg_fail(err, TG_EDATA, "%s has %zu dimensions, not 1", a->name, a->ndim);
    if (a->count > TG_TOKENS_CHUNK)
        return tg_fail(err, TG_EDATA, "%s has %zu ids: a chunk has at most %zu", a->name, a->count,
                       TG_TOKENS_CHUNK);
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
        uint32_t id = load_id(stored + i * a->dtype.size, a->dtype.size);

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
        if ((status = finish_head(r, err)) || (status = take_chunk(r, a, ids, err)))
            return status;
        *n = a->count;
        return TG_OK;
    }
    if (!r->head_done && ((status = tg_tokenizer_take(&r->this_tok, r->archive, a, &taken, err)) || taken))
        return status;
    return tg_fail(err, TG_EDATA, "%s does not belong %s", a->name,
                   r->head_done ? "behind tokens" : "in a token archive");
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
            status = finish_head(r, err);
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

/* ---- reading whole */

/* Append one chunk.  The room doubles, so that it follows what has arrived. */
static tg_status append(tg_tokens *t, size_t *room, const void *ids, size_t n, tg_err *err)
{
    const size_t used = t->count * t->width;
    size_t end, size;
    unsigned char *data;

    if (!tg_size_mul(&end, n, t->width) || !tg_size_add(&end, end, used))
        return tg_fail(err, TG_ENOMEM, "out of memory: the tokens exceed the address space");
    if (end > *room) {
        size = *room <= SIZE_MAX / 2 ? tg_size_max(end, 2 * *room) : end;
        data = realloc(t->data, size);
        if (!data)
            return tg_fail_memory(err, size, "tokens");
        t->data = data;
        *room = size;
    }
    memcpy(t->data + used, ids, end - used);
    t->count += n;
    return TG_OK;
}

/* The reader's tokenizer becomes *t's, or must be the same. */
static tg_status adopt_tokenizer(tg_tokens *t, const tg_tokens_reader *r, tg_err *err)
{
    const tg_tokenizer *tok = tg_tokens_tokenizer(r);

    if (t->tokenizer.kind[0] != '\0')
        return check_same(&t->tokenizer, tok, err);
    t->tokenizer = *tok;
    t->width = tg_tokens_width(tok->vocab_size);
    return TG_OK;
}

tg_status tg_tokens_load(tg_tokens *t, int fd, tg_err *err)
{
    tg_source source;
    tg_status status = tg_source_open(&source, fd, err);

    return status ? status : tg_tokens_load_source(t, &source, err);
}

tg_status tg_tokens_load_source(tg_tokens *t, tg_source *source, tg_err *err)
{
    size_t room = t->count * t->width;
    tg_tokens_reader *r;
    const void *ids;
    size_t n;
    tg_status status = tg_tokens_open_source(&r, source, err);

    if (status)
        return status;
    while (!(status = tg_tokens_next(r, &ids, &n, err)) && !(status = adopt_tokenizer(t, r, err)) && n > 0)
        if ((status = append(t, &room, ids, n, err)))
            break;
    tg_tokens_close(r);
    return status;
}

void tg_tokens_free(tg_tokens *t)
{
    free(t->data);
    *t = (tg_tokens){0};
}

void tg_tokens_get(const tg_tokens *t, int32_t *ids, size_t at, size_t n)
{
    const unsigned char *p = t->data + at * t->width;

    assert(at <= t->count && n <= t->count - at);
    for (size_t i = 0; i < n; i++)
        ids[i] = (int32_t)load_id(p + i * t->width, t->width);
}
