#include "lib/gpt/stream.h"

#include <stdbool.h>
#include <string.h>

#include "lib/base/size.h"
#include "lib/text/ids.h"

void tg_stream_open_ids(tg_stream *s, const tg_model *model, const int32_t *ids, size_t n)
{
    static const int32_t none[1]; /* a stream without given ids reads a descriptor */

    *s = (tg_stream){.model = model, .given = ids ? ids : none, .ready = n};
}

tg_status tg_stream_open(tg_stream *s, const tg_model *model, int fd, tg_err *err)
{
    bool archive;
    tg_status status;

    *s = (tg_stream){.model = model};
    if ((status = tg_source_open_unmapped(&s->text, fd, err)))
        return status;
    if (!(status = tg_archive_sniff(&s->text, &archive, err)))
        status = archive ? tg_tokens_open_source(&s->tokens, &s->text, err)
                         : tg_encoder_create(&s->encoder, model->tokenizer, err);
    if (status)
        tg_stream_close(s);
    return status;
}

static size_t take_given(tg_stream *s, int32_t *ids, size_t max)
{
    const size_t n = tg_size_min(max, s->ready);

    memcpy(ids, s->given, n * sizeof *ids);
    s->given += n;
    s->ready -= n;
    return n;
}

/* Encode text until there are ids; *n = 0 at its end. */
static tg_status take_text(tg_stream *s, int32_t *ids, size_t max, size_t *n, tg_err *err)
{
    tg_status status;

    for (*n = 0; *n == 0;) {
        tg_text piece;

        if ((status = tg_source_peek(&s->text, 1, err)))
            return status;
        if (s->text.ready == 0)
            return tg_encoder_finish(s->encoder, ids, max, n, err);
        piece = (tg_text){s->text.next, s->text.ready};
        if ((status = tg_encoder_encode(s->encoder, &piece, ids, max, n, err)))
            return status;
        tg_source_skip(&s->text, s->text.ready - piece.n);
    }
    return TG_OK;
}

/* Read the next chunk; ready = 0 when the archives have ended. */
static tg_status next_chunk(tg_stream *s, tg_err *err)
{
    const tg_tokenizer *own = s->model->tokenizer;
    const void *ids;
    tg_status status;

    if ((status = tg_tokens_next(s->tokens, &ids, &s->ready, err)) ||
        (status = tg_tokenizer_same(own, tg_tokens_tokenizer(s->tokens), err)))
        return status;
    s->chunk = ids;
    s->width = tg_ids_width(tg_tokenizer_vocab_size(own));
    return TG_OK;
}

static tg_status take_tokens(tg_stream *s, int32_t *ids, size_t max, size_t *n, tg_err *err)
{
    tg_status status;

    if (s->ready == 0 && (status = next_chunk(s, err)))
        return status;
    *n = tg_size_min(max, s->ready);
    if (*n == 0)
        return TG_OK;
    tg_ids_unpack(ids, s->chunk, s->width, *n);
    s->chunk += *n * s->width;
    s->ready -= *n;
    return TG_OK;
}

static tg_status check_ids(const tg_stream *s, const int32_t *ids, size_t n, tg_err *err)
{
    const size_t V = tg_tokenizer_vocab_size(s->model->tokenizer), good = tg_ids_check(ids, n, V);

    if (good == n)
        return TG_OK;
    return tg_fail(err, TG_EDATA, "token %llu is %ld: the model's vocabulary has %zu ids",
                   (unsigned long long)(s->count + good), (long)ids[good], V);
}

tg_status tg_stream_next(tg_stream *s, int32_t *ids, size_t max, size_t *n, tg_err *err)
{
    size_t got = 1;
    tg_status status = TG_OK;

    for (*n = 0; *n < max && got > 0; *n += got) {
        if (s->given)
            got = take_given(s, ids + *n, max - *n);
        else if (s->tokens)
            status = take_tokens(s, ids + *n, max - *n, &got, err);
        else
            status = take_text(s, ids + *n, max - *n, &got, err);
        if (status)
            return status;
    }
    if ((status = check_ids(s, ids, *n, err)))
        return status;
    s->count += *n;
    return TG_OK;
}

void tg_stream_close(tg_stream *s)
{
    tg_tokens_close(s->tokens);
    tg_encoder_free(s->encoder);
    tg_source_close(&s->text);
    *s = (tg_stream){0};
}
