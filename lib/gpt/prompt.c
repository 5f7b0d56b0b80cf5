#include "lib/gpt/prompt.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/size.h"
#include "lib/text/tokens.h"

static tg_status check_ids(const tg_prompt *p, const tg_model *model, tg_err *err)
{
    size_t V = model->config.vocab_size;

    for (size_t t = 0; t < p->n; t++) {
        if (p->ids[t] < 0 || (size_t)p->ids[t] >= V)
            return tg_fail(err, TG_EDATA, "token %zu is %ld, the model's vocabulary has %zu", t,
                           (long)p->ids[t], V);
    }
    return TG_OK;
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

tg_status tg_prompt_text(tg_prompt *p, const tg_model *model, const void *text, size_t n, tg_err *err)
{
    tg_status status = alloc_ids(p, n, err);

    if (status)
        return status;
    p->n = tg_tokenizer_encode(&model->tokenizer, p->ids, text, n);
    if ((status = check_ids(p, model, err)))
        tg_prompt_free(p);
    return status;
}

tg_status tg_prompt_ids(tg_prompt *p, const tg_model *model, const int32_t *ids, size_t n, tg_err *err)
{
    tg_status status = alloc_ids(p, n, err);

    if (status)
        return status;
    memcpy(p->ids, ids, n * sizeof *ids);
    p->n = n;
    if ((status = check_ids(p, model, err)))
        tg_prompt_free(p);
    return status;
}

static tg_status from_tokens(tg_prompt *p, const tg_model *model, const tg_tokens *tokens, tg_err *err)
{
    tg_status status;

    if (!tg_tokenizer_equal(&tokens->tokenizer, &model->tokenizer))
        return tg_fail(err, TG_EDATA,
                       "the tokens are of tokenizer \"%s\" with %zu ids, the model's is \"%s\" with %zu",
                       tokens->tokenizer.kind, tokens->tokenizer.vocab_size, model->tokenizer.kind,
                       model->tokenizer.vocab_size);
    if ((status = alloc_ids(p, tokens->count, err)))
        return status;
    tg_tokens_get(tokens, p->ids, 0, tokens->count);
    p->n = tokens->count;
    if ((status = check_ids(p, model, err)))
        tg_prompt_free(p);
    return status;
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

/* All that is left of the source into *text [*n], which the caller frees. */
static tg_status read_text(unsigned char **text, size_t *n, tg_source *source, tg_err *err)
{
    size_t room = 0;
    tg_status status;

    while (!(status = tg_source_peek(source, 1, err)) && source->ready > 0) {
        size_t more = source->ready;

        if (more > TG_PROMPT_MAX - *n)
            return tg_fail(err, TG_EDATA, "more than %zu bytes of text", TG_PROMPT_MAX);
        if (*n + more > room) {
            unsigned char *bigger = realloc(*text, room = 2 * (*n + more));

            if (!bigger)
                return tg_fail_memory(err, room, "the text");
            *text = bigger;
        }
        memcpy(*text + *n, source->next, more);
        *n += more;
        tg_source_skip(source, more);
    }
    return status;
}

static tg_status from_text(tg_prompt *p, const tg_model *model, tg_source *source, tg_err *err)
{
    unsigned char *text = NULL;
    size_t n = 0;
    tg_status status = read_text(&text, &n, source, err);

    if (!status && n == 0)
        status = tg_fail(err, TG_EDATA, "empty: expected text or tokens");
    if (!status)
        status = tg_prompt_text(p, model, text, n, err);
    free(text);
    return status;
}

tg_status tg_prompt_read(tg_prompt *p, const tg_model *model, int fd, tg_err *err)
{
    tg_source source;
    bool archive;
    tg_status status = tg_source_open(&source, fd, err);

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
