#include "lib/tokens/tokens.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "formats/crc.h"
#include "lib/base/grow.h"
#include "lib/base/size.h"
#include "lib/text/ids.h"
#include "lib/tokens/tokens_read.h"

/* Append one chunk. */
static tg_status append(tg_tokens *t, size_t *capacity, const void *ids, size_t n, tg_err *err)
{
    const size_t used = t->count * t->width, more = n * t->width;
    const tg_status status = tg_grow(&t->data, capacity, tg_size_add_sat(used, more), 1, "tokens", err);

    if (status)
        return status;
    memcpy(t->data + used, ids, more);
    t->count += n;
    return TG_OK;
}

/* The reader's tokenizer becomes that of *t, or must be the same. */
static tg_status adopt_tokenizer(tg_tokens *t, const tg_tokens_reader *r, tg_err *err)
{
    const tg_tokenizer *tok = tg_tokens_tokenizer(r);

    if (t->tokenizer)
        return tg_tokenizer_same(t->tokenizer, tok, err);
    t->tokenizer = tg_tokenizer_ref(tok);
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
