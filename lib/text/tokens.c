#include "lib/text/tokens.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/crc.h"
#include "lib/base/size.h"
#include "lib/text/tokens_parts.h"

/* ---- what all parts share */

size_t tg_tokens_width(size_t vocab_size)
{
    if (vocab_size <= (size_t)1 << 8)
        return 1;
    return vocab_size <= (size_t)1 << 16 ? 2 : 4;
}

void tg_tokens_chunk_name(char name[TG_TOKENS_NAME_SIZE], size_t number)
{
    snprintf(name, TG_TOKENS_NAME_SIZE, "tokens/%08zu", number);
}

uint32_t tg_tokens_load_id(const unsigned char *p, size_t width)
{
    if (width == 1)
        return p[0];
    if (width == 2)
        return p[0] | (uint32_t)p[1] << 8;
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

tg_status tg_tokens_check_same(const tg_tokenizer *first, const tg_tokenizer *other, tg_err *err)
{
    if (tg_tokenizer_equal(first, other))
        return TG_OK;
    return tg_fail(err, TG_EDATA,
                   "these tokens are of tokenizer %s with %zu ids, those before of %s with %zu", other->kind,
                   other->vocab_size, first->kind, first->vocab_size);
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
        return tg_tokens_check_same(&t->tokenizer, tok, err);
    t->tokenizer = *tok;
    t->width = tg_tokens_width(tok->vocab_size);
    return TG_OK;
}

tg_status tg_tokens_load_source(tg_tokens *t, tg_source *source, size_t most, tg_err *err)
{
    size_t room = t->count * t->width;
    tg_tokens_reader *r;
    const void *ids;
    size_t n;
    tg_status status = tg_tokens_open_source(&r, source, err);

    if (status)
        return status;
    while (!(status = tg_tokens_next(r, &ids, &n, err)) && !(status = adopt_tokenizer(t, r, err)) && n > 0) {
        if (n > most || t->count > most - n)
            status = tg_fail(err, TG_EDATA, "more than %zu tokens", most);
        if (status || (status = append(t, &room, ids, n, err)))
            break;
    }
    tg_tokens_close(r);
    return status;
}

void tg_tokens_free(tg_tokens *t)
{
    free(t->data);
    *t = (tg_tokens){0};
}

uint32_t tg_tokens_crc(const tg_tokens *t)
{
    return tg_crc32(0, t->data, t->count * t->width);
}

void tg_tokens_get(const tg_tokens *t, int32_t *ids, size_t at, size_t n)
{
    const unsigned char *p = t->data + at * t->width;

    assert(at <= t->count && n <= t->count - at);
    for (size_t i = 0; i < n; i++)
        ids[i] = (int32_t)tg_tokens_load_id(p + i * t->width, t->width);
}
