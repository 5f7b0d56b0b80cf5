#include "lib/tokens/tokens.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "formats/crc.h"
#include "lib/base/size.h"
#include "lib/text/ids.h"
#include "lib/tokens/tokens_read.h"

/* Append one chunk.  The capacity, in bytes, doubles, so that memory is proportional to what
 * has arrived. */
static tg_status append(tg_tokens *t, size_t *capacity, const void *ids, size_t n, tg_err *err)
{
    const size_t used = t->count * t->width;
    size_t end, size;
    unsigned char *data;

    /* unreached: tokens that exceed the address space */
    if (!tg_size_mul(&end, n, t->width) || !tg_size_add(&end, end, used))
        return tg_fail(err, TG_ENOMEM, "out of memory: the tokens exceed the address space");
    if (end > *capacity) {
        /* unreached: half of the address space */
        size = *capacity <= SIZE_MAX / 2 ? tg_size_max(end, 2 * *capacity) : end;
        data = realloc(t->data, size);
        if (!data)
            return tg_fail_memory(err, size, "tokens");
        t->data = data;
        *capacity = size;
    }
    memcpy(t->data + used, ids, end - used);
    t->count += n;
    return TG_OK;
}

/* The reader's tokenizer becomes that of *t, or must be the same. */
static tg_status adopt_tokenizer(tg_tokens *t, const tg_tokens_reader *r, tg_err *err)
{
    const tg_tokenizer *tok = tg_tokens_tokenizer(r);

    if (t->tokenizer)
        return tg_tokenizer_same(t->tokenizer, tok, err);
    t->tokenizer = tg_tokenizer_share(tok);
    t->width = tg_ids_width(tg_tokenizer_vocab_size(tok));
    return TG_OK;
}

tg_status tg_tokens_load_source(tg_tokens *t, tg_source *source, size_t max, tg_err *err)
{
    size_t capacity = t->count * t->width;
    tg_tokens_reader *r;
    const void *ids;
    size_t n;
    tg_status status = tg_tokens_open_source(&r, source, err);

    if (status)
        return status;
    while (!(status = tg_tokens_next(r, &ids, &n, err)) && !(status = adopt_tokenizer(t, r, err)) && n > 0) {
        if (n > max || t->count > max - n)
            status = tg_fail(err, TG_EDATA, "more than %zu tokens", max);
        if (status || (status = append(t, &capacity, ids, n, err)))
            break;
    }
    tg_tokens_close(r);
    return status;
}

void tg_tokens_free(tg_tokens *t)
{
    tg_tokenizer_free(t->tokenizer);
    free(t->data);
    *t = (tg_tokens){0};
}

uint32_t tg_tokens_crc(const tg_tokens *t)
{
    return tg_crc32(0, t->data, t->count * t->width);
}

void tg_tokens_get(const tg_tokens *t, int32_t *ids, size_t at, size_t n)
{
    assert(at <= t->count && n <= t->count - at);
    tg_ids_unpack(ids, t->data + at * t->width, t->width, n);
}
