#include "lib/tokens/tokens_write.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/archive.h"
#include "lib/base/size.h"
#include "lib/text/ids.h"
#include "lib/tg/tokens.h"
#include "lib/tokens/chunk.h"

/* Max chunks in one archive: the limit on names, less those of the header.  A longer text
 * continues in another archive. */
#define CHUNKS_MAX (TG_NAMES_MAX - 64)

struct tg_tokens_writer {
    int fd;
    const tg_tokenizer *tok;
    tg_archive_writer *archive;
    tg_chat_note chat;
    size_t width;        /* bytes of an id */
    size_t full;         /* ids in a full chunk */
    size_t chunks;       /* written to this archive */
    uint64_t written;    /* ids, in all archives' full chunks */
    size_t n;            /* ids gathered for the next chunk */
    unsigned char *mask; /* [full] theirs; NULL: the archive has none; owned */
    unsigned char ids[]; /* [TG_TOKENS_CHUNK] these, packed */
};

/* Begin an archive on fd and write all that precedes its chunks. */
static tg_status begin_archive(tg_tokens_writer *w, tg_err *err)
{
    tg_status status = tg_archive_create(&w->archive, w->fd, err);

    w->chunks = 0;
    if (status || (status = tg_archive_put_text(w->archive, "kind", "tokens", err)) ||
        /* unreached: there is room in the buffer */
        (status = tg_archive_put_i64(w->archive, "version", TG_TOKENS_VERSION, err)) ||
        (status = tg_tokenizer_put(w->tok, w->archive, err)))
        return status;
    return tg_chat_note_put(w->chat, w->archive, err);
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
    const size_t width = tg_ids_width(tg_tokenizer_vocab_size(tok));
    tg_tokens_writer *w = malloc(bytes);
    tg_status status;

    *out = NULL;
    if (!w)
        return tg_fail_memory(err, bytes, "a chunk of tokens");
    *w = (tg_tokens_writer){
        .fd = fd, .tok = tg_tokenizer_ref(tok), .width = width, .full = TG_TOKENS_CHUNK / width};
    status = begin_archive(w, err);
    if (status)
        tg_tokens_abandon(w);
    else
        *out = w;
    return status;
}

/* A mask is also an array. */
static size_t chunks_max(const tg_tokens_writer *w)
{
    return w->mask ? CHUNKS_MAX / 2 : CHUNKS_MAX;
}

static tg_status put_chunk(tg_tokens_writer *w, const void *ids, size_t n, tg_err *err)
{
    char name[TG_CHUNK_NAME_SIZE];
    tg_status status;

    /* unreached: a mark that fails: only if the buffer is full just then */
    if (w->chunks == chunks_max(w) && ((status = tg_archive_put_i64(w->archive, TG_TOKENS_GOES_ON, 1, err)) ||
                                       (status = end_archive(w, err)) || (status = begin_archive(w, err))))
        return status;
    if (w->mask) {
        snprintf(name, sizeof name, TG_CHUNK_MASK, w->chunks);
        if ((status = tg_archive_put(w->archive, name, (tg_dtype){'u', 1}, 1, &n, w->mask, err)))
            return status;
    }
    snprintf(name, sizeof name, TG_CHUNK_NAME, w->chunks++);
    w->written += n;
    return tg_archive_put(w->archive, name, (tg_dtype){'u', w->width}, 1, &n, ids, err);
}

/* Write the gathered ids if they fill a chunk. */
static tg_status put_if_full(tg_tokens_writer *w, tg_err *err)
{
    if (w->n < w->full)
        return TG_OK;
    w->n = 0;
    return put_chunk(w, w->ids, w->full, err);
}

tg_status tg_tokens_begin_mask(tg_tokens_writer *w, tg_err *err)
{
    w->mask = malloc(w->full);
    return w->mask ? TG_OK : tg_fail_memory(err, w->full, "a mask");
}

tg_status tg_tokens_note_chat(tg_tokens_writer *w, tg_chat_note chat, tg_err *err)
{
    w->chat = chat;
    return tg_chat_note_put(w->chat, w->archive, err);
}

tg_status tg_tokens_write(tg_tokens_writer *w, const int32_t *ids, size_t n, tg_err *err)
{
    return tg_tokens_write_masked(w, ids, n, TG_MASK_PREDICTED, err);
}

tg_status tg_tokens_write_masked(tg_tokens_writer *w, const int32_t *ids, size_t n, int mask, tg_err *err)
{
    const size_t vocab_size = tg_tokenizer_vocab_size(w->tok);
    tg_status status = TG_OK;

    while (!status && n > 0) {
        const size_t take = tg_size_min(n, w->full - w->n), good = tg_ids_check(ids, take, vocab_size);

        if (good < take)
            return tg_fail(err, TG_EUSAGE, "token %llu is %ld: the vocabulary has %zu ids",
                           (unsigned long long)(w->written + w->n + good), (long)ids[good], vocab_size);
        tg_ids_pack(w->ids + w->n * w->width, w->width, ids, take);
        if (w->mask)
            memset(w->mask + w->n, mask, take);
        w->n += take;
        ids += take;
        n -= take;
        status = put_if_full(w, err);
    }
    return status;
}

tg_status tg_tokens_write_packed(tg_tokens_writer *w, const void *ids, size_t n, tg_err *err)
{
    const unsigned char *next = ids;
    tg_status status = TG_OK;

    assert(!w->mask);
    while (!status && n > 0) {
        const size_t take = tg_size_min(n, w->full - w->n);

        if (take == w->full) { /* a whole chunk needs no copy */
            status = put_chunk(w, next, take, err);
        } else {
            memcpy(w->ids + w->n * w->width, next, take * w->width);
            w->n += take;
            status = put_if_full(w, err);
        }
        next += take * w->width;
        n -= take;
    }
    return status;
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
    tg_tokenizer_free(w->tok);
    free(w->mask);
    free(w);
}
