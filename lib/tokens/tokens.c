#include "lib/tokens/tokens.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "formats/crc.h"
#include "lib/base/grow.h"
#include "lib/base/size.h"
#include "lib/text/ids.h"
#include "lib/tokens/tokens_read.h"

/* The memory of *t, in bytes, which grows. */
struct room {
    size_t data, mask;
};

/* Append the mask of n more tokens; NULL: they have none.  `begins`: the tokens before them had one. */
static tg_status append_mask(tg_tokens *t, struct room *room, const unsigned char *mask, size_t n,
                             bool begins, tg_err *err)
{
    const bool is_first = !t->mask;
    tg_status status = tg_grow(&t->mask, &room->mask, t->count + n, 1, "a mask", err);

    if (status)
        return status;
    if (is_first)
        memset(t->mask, TG_MASK_PREDICTED, t->count);
    if (mask)
        memcpy(t->mask + t->count, mask, n);
    else
        memset(t->mask + t->count, TG_MASK_PREDICTED, n);
    if (!mask && begins)
        t->mask[t->count] = TG_MASK_FIRST;
    t->mask[0] = TG_MASK_FIRST;
    return TG_OK;
}

/* Append one chunk of n > 0 ids. */
static tg_status append(tg_tokens *t, struct room *room, const void *ids, size_t n, tg_err *err)
{
    const size_t used = t->count * t->width, more = n * t->width;
    const tg_status status = tg_grow(&t->data, &room->data, tg_size_add_sat(used, more), 1, "tokens", err);

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

static void note_chat(tg_tokens *t, tg_chat_note chat, bool is_first)
{
    t->chat = is_first || t->chat == chat ? chat : 0;
}

tg_status tg_tokens_load_source(tg_tokens *t, tg_source *source, size_t max, tg_err *err)
{
    struct room room = {t->count * t->width, t->mask ? t->count : 0};
    bool masked = t->mask != NULL; /* what comes before the chunk */
    tg_tokens_reader *r;
    const void *ids;
    size_t n;
    tg_status status = tg_tokens_open_source(&r, source, err);

    if (status)
        return status;
    while (!(status = tg_tokens_next(r, &ids, &n, err)) && !(status = adopt_tokenizer(t, r, err)) && n > 0) {
        if (n > max || t->count > max - n)
            status = tg_fail(err, TG_EDATA, "more than %zu tokens", max);
        if (!status && (t->mask || tg_tokens_mask(r)))
            status = append_mask(t, &room, tg_tokens_mask(r), n, masked, err);
        if (status || (status = append(t, &room, ids, n, err)))
            break;
        masked = tg_tokens_mask(r) != NULL;
        note_chat(t, tg_tokens_chat(r), t->count == n);
    }
    tg_tokens_close(r);
    return status;
}

void tg_tokens_free(tg_tokens *t)
{
    tg_tokenizer_free(t->tokenizer);
    free(t->data);
    free(t->mask);
    *t = (tg_tokens){0};
}

uint32_t tg_tokens_crc(const tg_tokens *t)
{
    const uint32_t crc = tg_crc32(0, t->data, t->count * t->width);

    return t->mask ? tg_crc32(crc, t->mask, t->count) : crc;
}

void tg_tokens_get(const tg_tokens *t, int32_t *ids, size_t at, size_t n)
{
    assert(at <= t->count && n <= t->count - at);
    if (n > 0) /* an empty text has no data */
        tg_ids_unpack(ids, t->data + at * t->width, t->width, n);
}
