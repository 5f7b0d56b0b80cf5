/* The kind "bytes": 256 ids, id = byte.  It needs no arrays and no lookahead. */
#include "lib/base/size.h"
#include "lib/text/kind.h"

#define IDS 256

/* The tokenizer's state: each id's text. */
struct bytes {
    unsigned char text[IDS];
};

static tg_status complete(void *tok, size_t *vocab_size, tg_err *err)
{
    struct bytes *b = tok;

    if (*vocab_size != 0 && *vocab_size != IDS)
        return tg_fail(err, TG_EDATA, "tokenizer/vocab_size must be %d for \"bytes\", got %zu", IDS,
                       *vocab_size);
    *vocab_size = IDS;
    for (size_t i = 0; i < IDS; i++)
        b->text[i] = (unsigned char)i;
    return TG_OK;
}

static const unsigned char *token(const void *tok, int32_t id, size_t *n)
{
    const struct bytes *b = tok;

    *n = 1;
    return b->text + id;
}

static tg_status encode(void *encoder, const void *tok, tg_text *text, int32_t *ids, size_t max, size_t *n,
                        tg_err *err)
{
    (void)encoder;
    (void)tok;
    (void)err;
    *n = tg_size_min(text->n, max);
    for (size_t i = 0; i < *n; i++)
        ids[i] = text->next[i];
    tg_text_take(text, *n);
    return TG_OK;
}

const tg_tokenizer_kind tg_tokenizer_kind_bytes = {
    .name = "bytes",
    .size = sizeof(struct bytes),
    .ids_are_bytes = true,
    .complete = complete,
    .token = token,
    .encode = encode,
};
