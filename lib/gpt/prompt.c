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
    tg_status s = alloc_ids(p, n, err);

    if (s != TG_OK)
        return s;
    p->n = tg_tokenizer_encode(&model->tokenizer, p->ids, text, n);
    if ((s = check_ids(p, model, err)) != TG_OK)
        tg_prompt_free(p);
    return s;
}

tg_status tg_prompt_ids(tg_prompt *p, const tg_model *model, const int32_t *ids, size_t n, tg_err *err)
{
    tg_status s = alloc_ids(p, n, err);

    if (s != TG_OK)
        return s;
    memcpy(p->ids, ids, n * sizeof *ids);
    p->n = n;
    if ((s = check_ids(p, model, err)) != TG_OK)
        tg_prompt_free(p);
    return s;
}

static tg_status from_tokens(tg_prompt *p, const tg_model *model, const tg_tokens *tokens, tg_err *err)
{
    tg_status s;

    if (!tg_tokenizer_equal(&tokens->tokenizer, &model->tokenizer))
        return tg_fail(err, TG_EDATA,
                       "the tokens are of tokenizer \"%s\" with %zu ids, the model's is \"%s\" with %zu",
                       tokens->tokenizer.kind, tokens->tokenizer.vocab_size, model->tokenizer.kind,
                       model->tokenizer.vocab_size);
    if ((s = alloc_ids(p, tokens->count, err)) != TG_OK)
        return s;
    tg_tokens_get(tokens, p->ids, 0, tokens->count);
    p->n = tokens->count;
    if ((s = check_ids(p, model, err)) != TG_OK)
        tg_prompt_free(p);
    return s;
}

static tg_status from_archive(tg_prompt *p, const tg_model *model, tg_source *source, tg_err *err)
{
    tg_tokens tokens = {0};
    tg_status s = tg_tokens_load_source(&tokens, source, err);

    if (s == TG_OK)
        s = from_tokens(p, model, &tokens, err);
    tg_tokens_free(&tokens);
    return s;
}

/* All that is left of the source into *text [*n], which the caller frees. */
static tg_status read_text(unsigned char **text, size_t *n, tg_source *source, tg_err *err)
{
    size_t room = 0;
    tg_status s;

    while (!(s = tg_source_peek(source, 1, err)) && source->ready > 0) {
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
    return s;
}

static tg_status from_text(tg_prompt *p, const tg_model *model, tg_source *source, tg_err *err)
{
    unsigned char *text = NULL;
    size_t n = 0;
    tg_status s = read_text(&text, &n, source, err);

    if (s == TG_OK && n == 0)
        s = tg_fail(err, TG_EDATA, "empty: expected text or tokens");
    if (s == TG_OK)
        s = tg_prompt_text(p, model, text, n, err);
    free(text);
    return s;
}

tg_status tg_prompt_read(tg_prompt *p, const tg_model *model, int fd, tg_err *err)
{
    tg_source source;
    bool archive;
    tg_status s = tg_source_open(&source, fd, err);

    if (s != TG_OK)
        return s;
    if ((s = tg_archive_sniff(&source, &archive, err)) == TG_OK)
        s = archive ? from_archive(p, model, &source, err) : from_text(p, model, &source, err);
    tg_source_close(&source);
    return s;
}

void tg_prompt_free(tg_prompt *p)
{
    free(p->ids);
    p->ids = NULL;
    p->n = 0;
}
