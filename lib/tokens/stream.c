#include "lib/tokens/stream.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/grow.h"
#include "lib/base/object.h"
#include "lib/base/size.h"
#include "lib/text/decoder.h"
#include "lib/text/ids.h"

/* ---- a stream */

void tg_tokens_stream_open_ids(tg_tokens_stream *s, const tg_tokenizer *tok, const int32_t *ids, size_t n)
{
    *s = (tg_tokens_stream){.tok = tok, .given = ids, .ready = n};
}

void tg_tokens_stream_open_document(tg_tokens_stream *s, const tg_tokenizer *tok, const int32_t *ids,
                                    const unsigned char *mask, size_t n)
{
    *s = (tg_tokens_stream){.tok = tok, .given = ids, .mask = mask, .ready = n};
}

tg_status tg_tokens_stream_open(tg_tokens_stream *s, const tg_tokenizer *tok, int fd, tg_err *err)
{
    bool archive;
    tg_status status;

    *s = (tg_tokens_stream){.tok = tok, .room = UINT64_MAX};
    if ((status = tg_source_open_unmapped(&s->source, fd, err)))
        return status;
    if (!(status = tg_archive_sniff(&s->source, &archive, err)))
        status = archive ? tg_tokens_open_source(&s->archives, &s->source, err)
                         : tg_encoder_create(&s->encoder, tok, err);
    if (status)
        tg_tokens_stream_close(s);
    return status;
}

/* Take n from the room that the stream has left. */
static tg_status take_room(tg_tokens_stream *s, size_t n, const char *what, tg_err *err)
{
    if (n > s->room)
        return tg_fail(err, TG_EDATA, "more than %zu %s", TG_TOKENS_PROMPT_MAX, what);
    s->room -= n;
    return TG_OK;
}

/* Read more text; at its end there is none. */
static tg_status read_text(tg_tokens_stream *s, tg_err *err)
{
    tg_status status;

    if (!s->source.buffer) /* all is in memory, or has been read */
        return TG_OK;
    if ((status = tg_source_peek(&s->source, 1, err)))
        return status;
    s->text = (tg_text){s->source.next, s->source.ready};
    tg_source_skip(&s->source, s->text.n);
    if (s->text.n == 0)
        tg_source_close(&s->source);
    return take_room(s, s->text.n, "bytes of text", err);
}

/* Encode text until there are ids; *n = 0 at its end. */
static tg_status encode(tg_tokens_stream *s, int32_t *ids, size_t max, size_t *n, tg_err *err)
{
    tg_status status;

    for (*n = 0; *n == 0;) {
        if (s->text.n == 0 && (status = read_text(s, err)))
            return status;
        if (s->text.n == 0)
            return tg_encoder_finish(s->encoder, ids, max, n, err);
        if ((status = tg_encoder_encode(s->encoder, &s->text, ids, max, n, err)))
            return status;
    }
    return TG_OK;
}

/* Read the next chunk; ready = 0 when the archives have ended. */
static tg_status read_chunk(tg_tokens_stream *s, tg_err *err)
{
    const void *ids;
    tg_status status;

    if ((status = tg_tokens_next(s->archives, &ids, &s->ready, err)) ||
        (status = tg_tokenizer_same(s->tok, tg_tokens_tokenizer(s->archives), err))) {
        s->ready = 0;
        return status;
    }
    s->chunk = ids;
    s->mask = tg_tokens_mask(s->archives);
    return take_room(s, s->ready, "tokens", err);
}

/* How many of the next n ids are of one document, whose mask is copied; 0: the document has ended.  A chunk
 * without a mask continues only others without one. */
static size_t of_document(tg_tokens_stream *s, unsigned char *mask, size_t n)
{
    size_t i = s->in_document ? 0 : 1;

    if (!s->mask && s->in_document && s->is_masked)
        n = 0;
    while (s->mask && i < n && s->mask[i] != TG_MASK_FIRST)
        i++;
    n = s->mask ? tg_size_min(i, n) : n;
    s->in_document = n > 0;
    s->is_masked = s->mask != NULL;
    if (s->mask)
        memcpy(mask, s->mask, n);
    else
        memset(mask, TG_MASK_PREDICTED, n);
    return n;
}

/* Copy ids of the chunk, or of memory; *n = 0 at their end.  mask: NULL; or room for theirs, and then *n = 0
 * also at the end of each document. */
static tg_status copy(tg_tokens_stream *s, int32_t *ids, unsigned char *mask, size_t max, size_t *n,
                      tg_err *err)
{
    const size_t width = tg_ids_width(tg_tokenizer_vocab_size(s->tok));
    tg_status status;

    *n = 0;
    if (s->ready == 0 && s->archives && (status = read_chunk(s, err)))
        return status;
    if (s->ready == 0)
        return TG_OK;
    *n = tg_size_min(max, s->ready);
    if (mask)
        *n = of_document(s, mask, *n);
    s->ready -= *n;
    s->mask = s->mask ? s->mask + *n : NULL;
    if (s->archives) {
        tg_ids_unpack(ids, s->chunk, width, *n);
        s->chunk += *n * width;
    } else {
        memcpy(ids, s->given, *n * sizeof *ids);
        s->given += *n;
    }
    return TG_OK;
}

/* mask: NULL, or room for that of the ids. */
static tg_status next(tg_tokens_stream *s, int32_t *ids, unsigned char *mask, size_t max, size_t *n,
                      tg_err *err)
{
    const size_t V = tg_tokenizer_vocab_size(s->tok);
    size_t got = 1, good;
    tg_status status;

    for (*n = 0; *n < max && got > 0; *n += got)
        if ((status = s->encoder ? encode(s, ids + *n, max - *n, &got, err)
                                 : copy(s, ids + *n, mask ? mask + *n : NULL, max - *n, &got, err)))
            return status;
    if (s->encoder && mask)
        memset(mask, TG_MASK_PREDICTED, *n);
    good = tg_ids_check(ids, *n, V);
    if (good < *n) /* the padding of a model's embedding is no token of a text */
        return tg_fail(err, TG_EDATA, "token %llu is %ld: the model's vocabulary has %zu ids",
                       (unsigned long long)(s->count + good), (long)ids[good], V);
    s->count += *n;
    return TG_OK;
}

tg_status tg_tokens_stream_next(tg_tokens_stream *s, int32_t *ids, size_t max, size_t *n, tg_err *err)
{
    return next(s, ids, NULL, max, n, err);
}

tg_status tg_tokens_stream_next_document(tg_tokens_stream *s, int32_t *ids, unsigned char *mask, size_t max,
                                         size_t *n, tg_err *err)
{
    return next(s, ids, mask, max, n, err);
}

tg_status tg_tokens_stream_has_mask(tg_tokens_stream *s, bool *has, tg_err *err)
{
    const tg_status status = s->archives && s->ready == 0 ? read_chunk(s, err) : TG_OK;

    *has = s->mask != NULL;
    return status;
}

bool tg_tokens_stream_goes_on(const tg_tokens_stream *s)
{
    return s->ready > 0 && !s->in_document;
}

void tg_tokens_stream_close(tg_tokens_stream *s)
{
    tg_tokens_close(s->archives);
    tg_encoder_free(s->encoder);
    tg_source_close(&s->source);
    *s = (tg_tokens_stream){0};
}

/* ---- a prompt */

#define IDS_MIN 256 /* initial capacity */

/* Read all of a stream, and close it, unless the status says that it could not be opened. */
static tg_status collect(tg_tokens_prompt *p, tg_tokens_stream *s, size_t need, tg_status status, tg_err *err)
{
    size_t capacity = 0, n;

    *p = (tg_tokens_prompt){0};
    if (status)
        return status;
    while (!(status = tg_grow(&p->ids, &capacity, need, sizeof *p->ids, "token ids", err)) &&
           !(status = tg_tokens_stream_next(s, p->ids + p->n, capacity - p->n, &n, err))) {
        p->n += n;
        need = p->n + 1;
        if (need <= capacity) /* the stream has ended */
            break;
    }
    tg_tokens_stream_close(s);
    if (status)
        tg_tokens_prompt_free(p);
    return status;
}

static tg_status collect_text(tg_tokens_prompt *p, tg_tokens_stream s, bool continues, tg_err *err)
{
    const tg_status status = tg_encoder_create(&s.encoder, s.tok, err);

    if (!status && continues)
        tg_encoder_continue(s.encoder);
    return collect(p, &s, IDS_MIN, status, err);
}

tg_status tg_tokens_prompt_text(tg_tokens_prompt *p, const tg_tokenizer *tok, const void *text, size_t n,
                                tg_err *err)
{
    return collect_text(p, (tg_tokens_stream){.tok = tok, .text = {text, n}}, false, err);
}

tg_status tg_tokens_prompt_continue(tg_tokens_prompt *p, const tg_tokenizer *tok, const void *text, size_t n,
                                    tg_err *err)
{
    return collect_text(p, (tg_tokens_stream){.tok = tok, .text = {text, n}}, true, err);
}

tg_status tg_tokens_prompt_ids(tg_tokens_prompt *p, const tg_tokenizer *tok, const int32_t *ids, size_t n,
                               tg_err *err)
{
    tg_tokens_stream s;

    tg_tokens_stream_open_ids(&s, tok, ids, n);
    return collect(p, &s, n + 1, TG_OK, err);
}

tg_status tg_tokens_prompt_read(tg_tokens_prompt *p, const tg_tokenizer *tok, int fd, tg_err *err)
{
    tg_tokens_stream s;
    const tg_status status = tg_tokens_stream_open(&s, tok, fd, err);

    s.room = TG_TOKENS_PROMPT_MAX;
    return collect(p, &s, IDS_MIN, status, err);
}

tg_status tg_tokens_prompt_begin(tg_tokens_prompt *p, int32_t id, tg_err *err)
{
    int32_t *ids = realloc(p->ids, (p->n + 1) * sizeof *ids);

    if (!ids)
        return tg_fail_memory(err, (p->n + 1) * sizeof *ids, "token ids");
    memmove(ids + 1, ids, p->n * sizeof *ids);
    ids[0] = id;
    *p = (tg_tokens_prompt){.ids = ids, .n = p->n + 1, .begun = true};
    return TG_OK;
}

const unsigned char *tg_tokens_prompt_token(const tg_tokens_prompt *p, const tg_tokenizer *tok, size_t t,
                                            size_t *n)
{
    const int32_t before = t > (size_t)p->begun ? p->ids[t - 1] : -1;
    const unsigned char *text = tg_decoder_text(tok, before, p->ids[t], n);

    if (!tg_tokenizer_has_text(tok) || (p->begun && t == 0))
        *n = 0;
    return text;
}

void tg_tokens_prompt_free(tg_tokens_prompt *p)
{
    free(p->ids);
    *p = (tg_tokens_prompt){0};
}

/* ---- for programs (lib/tg/tokens.h) */

tg_status tg_tokens_stream_new(tg_tokens_stream **s, const tg_tokenizer *tok, int fd, tg_err *err)
{
    *s = tg_object_new(sizeof **s, "a stream", err);
    return *s ? tg_object_begun(s, tg_tokens_stream_open(*s, tok, fd, err)) : TG_ENOMEM;
}

tg_status tg_tokens_stream_new_ids(tg_tokens_stream **s, const tg_tokenizer *tok, const int32_t *ids,
                                   size_t n, tg_err *err)
{
    *s = tg_object_new(sizeof **s, "a stream", err);
    if (*s)
        tg_tokens_stream_open_ids(*s, tok, ids, n);
    return *s ? TG_OK : TG_ENOMEM;
}

void tg_tokens_stream_destroy(tg_tokens_stream *s)
{
    if (s)
        tg_tokens_stream_close(s);
    free(s);
}
