#include <stdlib.h>
#include <string.h>

#include "lib/base/size.h"
#include "lib/text/tokens.h"
#include "lib/text/tokens_parts.h"

/* Chunks in one archive: its limit on names, less room for those that are not chunks.
 * A longer text goes on in another archive behind the first. */
#define CHUNKS_MAX (TG_NAMES_MAX - 64)

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

static tg_status put_chunk(tg_tokens_writer *w, const unsigned char *ids, size_t n, bool zero_copy, tg_err *err)
{
    char name[TG_TOKENS_NAME_SIZE];
    tg_status status;

    if (w->chunks == CHUNKS_MAX && ((status = end_archive(w, err)) || (status = begin_archive(w, err))))
        return status;
    tg_tokens_chunk_name(name, w->chunks++);
    return (zero_copy ? tg_archive_put_zero_copy : tg_archive_put)(w->archive, name, TG_U8, 1, &n, ids, err);
}

static tg_status append(tg_tokens_writer *w, const unsigned char *text, size_t n, bool zero_copy, tg_err *err)
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
            if ((status = put_chunk(w, full, TG_TOKENS_CHUNK, zero_copy && full == text, err)))
                return status;
        }
        text += take;
        n -= take;
    }
    return TG_OK;
}

tg_status tg_tokens_write(tg_tokens_writer *w, const unsigned char *text, size_t n, tg_err *err)
{
    return append(w, text, n, false, err);
}

tg_status tg_tokens_write_zero_copy(tg_tokens_writer *w, const unsigned char *text, size_t n, tg_err *err)
{
    return append(w, text, n, true, err);
}

tg_status tg_tokens_finish(tg_tokens_writer *w, tg_err *err)
{
    tg_status status;

    if (w->n > 0 && (status = put_chunk(w, w->ids, w->n, false, err)))
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
