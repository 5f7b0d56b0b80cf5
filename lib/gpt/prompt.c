#include "lib/gpt/prompt.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/size.h"
#include "lib/text/encoder.h"
#include "lib/text/ids.h"
#include "lib/tokens/tokens.h"

/* The padding of the model's embedding is no token of a text. */
static tg_status check_ids(const tg_prompt *p, const tg_model *model, tg_err *err)
{
    const size_t ids = tg_tokenizer_vocab_size(model->tokenizer), good = tg_ids_check(p->ids, p->n, ids);

    if (good == p->n)
        return TG_OK;
    return tg_fail(err, TG_EDATA, "token %zu is %ld: the model's vocabulary has %zu ids", good,
                   (long)p->ids[good], ids);
}

/* The last step of making a prompt: check the ids; after a failure free the prompt. */
static tg_status checked(tg_prompt *p, const tg_model *model, tg_status status, tg_err *err)
{
    if (!status)
        status = check_ids(p, model, err);
    if (status)
        tg_prompt_free(p);
    return status;
}

static tg_status alloc_ids(tg_prompt *p, size_t n, tg_err *err)
{
    size_t bytes;

    p->n = 0;
    p->ids = NULL;
    if (!tg_size_mul(&bytes, tg_size_max(n, 1), sizeof *p->ids) || !(p->ids = malloc(bytes)))
        return tg_fail_memory(err, (unsigned long long)n * sizeof *p->ids, "token ids");
    return TG_OK;
}

/* ---- text */

#define IDS_MIN 256 /* initial capacity */

/* A prompt that grows as its text is encoded. */
typedef struct growing {
    tg_prompt *p;
    size_t capacity; /* ids */
    tg_encoder *encoder;
} growing;

static tg_status begin(growing *g, tg_prompt *p, const tg_model *model, tg_err *err)
{
    tg_status status;

    *g = (growing){.p = p, .capacity = IDS_MIN};
    if ((status = alloc_ids(p, IDS_MIN, err)))
        return status;
    return tg_encoder_create(&g->encoder, model->tokenizer, err);
}

/* Make the capacity exceed the number of ids. */
static tg_status grow(growing *g, tg_err *err)
{
    const size_t bytes = 2 * g->capacity * sizeof *g->p->ids;
    int32_t *ids;

    if (g->p->n < g->capacity)
        return TG_OK;
    if (!(ids = realloc(g->p->ids, bytes)))
        return tg_fail_memory(err, bytes, "token ids");
    g->p->ids = ids;
    g->capacity *= 2;
    return TG_OK;
}

/* Encode all of `text`; NULL at its end. */
static tg_status encode(growing *g, tg_text *text, tg_err *err)
{
    tg_prompt *p = g->p;
    size_t n, max;
    tg_status status;

    do {
        if ((status = grow(g, err)))
            return status;
        max = g->capacity - p->n;
        status = text ? tg_encoder_encode(g->encoder, text, p->ids + p->n, max, &n, err)
                      : tg_encoder_finish(g->encoder, p->ids + p->n, max, &n, err);
        p->n += n;
    } while (!status && n == max);
    return status;
}

tg_status tg_prompt_text(tg_prompt *p, const tg_model *model, const void *text, size_t n, tg_err *err)
{
    tg_text whole = {text, n};
    growing g;
    tg_status status = begin(&g, p, model, err);

    if (!status && !(status = encode(&g, &whole, err)))
        status = encode(&g, NULL, err);
    tg_encoder_free(g.encoder);
    return checked(p, model, status, err);
}

/* Encode all that is left of the source; *n counts its bytes. */
static tg_status encode_source(growing *g, tg_source *source, size_t *n, tg_err *err)
{
    tg_status status;

    while (!(status = tg_source_peek(source, 1, err)) && source->ready > 0) {
        tg_text piece = {source->next, source->ready};

        if (piece.n > TG_PROMPT_MAX - *n)
            return tg_fail(err, TG_EDATA, "more than %zu bytes of text", TG_PROMPT_MAX);
        *n += piece.n;
        if ((status = encode(g, &piece, err)))
            return status;
        tg_source_skip(source, source->ready);
    }
    return status;
}

static tg_status from_text(tg_prompt *p, const tg_model *model, tg_source *source, tg_err *err)
{
    growing g;
    size_t n = 0;
    tg_status status = begin(&g, p, model, err);

    if (!status)
        status = encode_source(&g, source, &n, err);
    if (!status && n > 0)
        status = encode(&g, NULL, err);
    tg_encoder_free(g.encoder);
    return checked(p, model, status, err);
}

/* ---- ids */

tg_status tg_prompt_ids(tg_prompt *p, const tg_model *model, const int32_t *ids, size_t n, tg_err *err)
{
    tg_status status = alloc_ids(p, n, err);

    if (status)
        return status;
    memcpy(p->ids, ids, n * sizeof *ids);
    p->n = n;
    return checked(p, model, TG_OK, err);
}

static tg_status from_tokens(tg_prompt *p, const tg_model *model, const tg_tokens *tokens, tg_err *err)
{
    tg_status status = tg_tokenizer_same(model->tokenizer, tokens->tokenizer, err);

    if (status || (status = alloc_ids(p, tokens->count, err)))
        return status;
    tg_tokens_get(tokens, p->ids, 0, tokens->count);
    p->n = tokens->count;
    return checked(p, model, TG_OK, err);
}

static tg_status from_archive(tg_prompt *p, const tg_model *model, tg_source *source, tg_err *err)
{
    tg_tokens tokens = {0};
    tg_status status = tg_tokens_load_source(&tokens, source, TG_PROMPT_MAX, err);

    if (!status)
        status = from_tokens(p, model, &tokens, err);
    tg_tokens_free(&tokens);
    return status;
}

/* ---- text or archive */

tg_status tg_prompt_read(tg_prompt *p, const tg_model *model, int fd, tg_err *err)
{
    tg_source source;
    bool archive;
    tg_status status = tg_source_open_unmapped(&source, fd, err);

    if (status)
        return status;
    if (!(status = tg_archive_sniff(&source, &archive, err)))
        status = archive ? from_archive(p, model, &source, err) : from_text(p, model, &source, err);
    tg_source_close(&source);
    return status;
}

void tg_prompt_free(tg_prompt *p)
{
    free(p->ids);
    p->ids = NULL;
    p->n = 0;
}
