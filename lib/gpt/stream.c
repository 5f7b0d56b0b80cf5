#include "lib/gpt/stream.h"

#include <string.h>

#include "lib/base/size.h"

void tg_stream_open_ids(tg_stream *s, const tg_model *model, const int32_t *ids, size_t n)
{
    *s = (tg_stream){.model = model, .given = ids, .ready = n};
}

tg_status tg_stream_open(tg_stream *s, const tg_model *model, int fd, tg_err *err)
{
    bool archive;
    tg_status status;

    *s = (tg_stream){.model = model};
    if ((status = tg_source_open(&s->text, fd, err)))
        return status;
    if ((status = tg_archive_sniff(&s->text, &archive, err))) {
        tg_source_close(&s->text);
        return status;
    }
    return archive ? tg_tokens_open_source(&s->tokens, &s->text, err) : TG_OK;
}

static size_t take_given(tg_stream *s, int32_t *ids, size_t most)
{
    const size_t n = tg_size_min(most, s->ready);

    memcpy(ids, s->given, n * sizeof *ids);
    s->given += n;
    s->ready -= n;
    return n;
}

/* A byte is a token: text can be cut anywhere. */
static tg_status take_text(tg_stream *s, int32_t *ids, size_t most, size_t *n, tg_err *err)
{
    const tg_status status = tg_source_peek(&s->text, 1, err);
    const size_t bytes = tg_size_min(most, s->text.ready);

    if (status)
        return status;
    *n = tg_tokenizer_encode(&s->model->tokenizer, ids, s->text.next, bytes);
    tg_source_skip(&s->text, bytes);
    return TG_OK;
}

/* A chunk is at hand, unless the archives have ended. */
static tg_status next_chunk(tg_stream *s, tg_err *err)
{
    const tg_tokenizer *own = &s->model->tokenizer, *theirs = tg_tokens_tokenizer(s->tokens);
    const void *ids;
    tg_status status = tg_tokens_next(s->tokens, &ids, &s->ready, err);

    if (status)
        return status;
    if (!tg_tokenizer_equal(theirs, own))
        return tg_fail(err, TG_EDATA,
                       "the tokens are of tokenizer \"%s\" with %zu ids, the model's is \"%s\" with %zu",
                       theirs->kind, theirs->vocab_size, own->kind, own->vocab_size);
    s->chunk = ids;
    s->width = tg_tokens_width(theirs->vocab_size);
    return TG_OK;
}

static tg_status take_tokens(tg_stream *s, int32_t *ids, size_t most, size_t *n, tg_err *err)
{
    tg_status status;

    if (s->ready == 0 && (status = next_chunk(s, err)))
        return status;
    *n = tg_size_min(most, s->ready);
    if (*n == 0)
        return TG_OK;
    for (size_t t = 0; t < *n; t++)
        ids[t] = (int32_t)tg_tokens_load_id(s->chunk + t * s->width, s->width);
    s->chunk += *n * s->width;
    s->ready -= *n;
    return TG_OK;
}

static tg_status check_ids(const tg_stream *s, const int32_t *ids, size_t n, tg_err *err)
{
    const size_t V = s->model->config.vocab_size;

    for (size_t t = 0; t < n; t++) {
        if (ids[t] < 0 || (size_t)ids[t] >= V)
            return tg_fail(err, TG_EDATA, "token %llu is %ld, the model's vocabulary has %zu",
                           (unsigned long long)(s->count + t), (long)ids[t], V);
    }
    return TG_OK;
}

tg_status tg_stream_next(tg_stream *s, int32_t *ids, size_t most, size_t *n, tg_err *err)
{
    size_t got = 1;
    tg_status status = TG_OK;

    for (*n = 0; *n < most && got > 0; *n += got) {
        if (s->given)
            got = take_given(s, ids + *n, most - *n);
        else if (s->tokens)
            status = take_tokens(s, ids + *n, most - *n, &got, err);
        else
            status = take_text(s, ids + *n, most - *n, &got, err);
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
    tg_source_close(&s->text);
    *s = (tg_stream){0};
}
