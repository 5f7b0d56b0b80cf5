#include "lib/attn/prompt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/size.h"
#include "lib/text/tokens.h"

typedef struct input {
    unsigned char *data; /* owned */
    size_t n;
} input;

/* As many as n bytes, fewer only at the end of the input; -1 with errno. */
static ssize_t read_up_to(int fd, unsigned char *dst, size_t n)
{
    size_t have = 0;
    ssize_t got;

    while (have < n) {
        got = read(fd, dst + have, n - have);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        have += (size_t)got;
    }
    return (ssize_t)have;
}

static tg_status read_all(input *in, int fd, tg_err *err)
{
    size_t room = 0;
    unsigned char *bigger;
    ssize_t got;

    do {
        room = room ? 2 * room : 64 << 10;
        if (room > TG_PROMPT_MAX + 1)
            room = TG_PROMPT_MAX + 1;
        if (!(bigger = realloc(in->data, room)))
            return tg_fail_memory(err, room, "the text");
        in->data = bigger;
        if ((got = read_up_to(fd, in->data + in->n, room - in->n)) < 0)
            return tg_fail_sys(err, "cannot read at offset %zu", in->n);
        in->n += (size_t)got;
    } while (in->n == room && room <= TG_PROMPT_MAX);
    if (in->n > TG_PROMPT_MAX)
        return tg_fail(err, TG_EDATA, "more than %zu bytes of text", TG_PROMPT_MAX);
    return TG_OK;
}

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

/* The archive reader wants a descriptor, and a pipe cannot be wound back: what was
 * read goes through a temporary file. */
static tg_status from_archive(tg_prompt *p, const tg_model *model, const input *in, tg_err *err)
{
    tg_tokens tokens = {0};
    tg_status s;
    FILE *f = tmpfile();

    if (!f)
        return tg_fail_sys(err, "cannot make a temporary file");
    if (fwrite(in->data, 1, in->n, f) != in->n || fflush(f) != 0 || lseek(fileno(f), 0, SEEK_SET) != 0)
        s = tg_fail_sys(err, "cannot write a temporary file of %zu bytes", in->n);
    else
        s = tg_tokens_load(&tokens, fileno(f), err);
    if (s == TG_OK)
        s = from_tokens(p, model, &tokens, err);
    tg_tokens_free(&tokens);
    fclose(f);
    return s;
}

tg_status tg_prompt_read(tg_prompt *p, const tg_model *model, int fd, tg_err *err)
{
    input in = {0};
    tg_status s = read_all(&in, fd, err);

    if (s != TG_OK)
        goto done;
    if (in.n == 0)
        s = tg_fail(err, TG_EDATA, "empty: expected text or tokens");
    else if (in.n >= 4 && tg_archive_magic(in.data, in.n))
        s = from_archive(p, model, &in, err);
    else
        s = tg_prompt_text(p, model, in.data, in.n, err);
done:
    free(in.data);
    return s;
}

void tg_prompt_free(tg_prompt *p)
{
    free(p->ids);
    p->ids = NULL;
    p->n = 0;
}
