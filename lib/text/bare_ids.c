#include "lib/text/bare_ids.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/decimal.h"
#include "lib/base/size.h"
#include "lib/text/kind.h"

#define WIDTH 8 /* bytes for the digits of an id */

struct bare_ids {
    size_t n;
    char (*digits)[WIDTH]; /* [n] each id's text, in as many bytes as it has digits; owned */
};

static tg_status complete(void *tok, size_t *vocab_size, tg_err *err)
{
    struct bare_ids *b = tok;
    char number[TG_DECIMAL_SIZE];

    if (*vocab_size < 1 || *vocab_size > TG_BARE_IDS_MAX)
        return tg_fail(err, TG_EDATA, "tokenizer/vocab_size is %zu, expected 1 to %zu for \"ids\"",
                       *vocab_size, TG_BARE_IDS_MAX);
    b->n = *vocab_size;
    if (!(b->digits = calloc(b->n, sizeof *b->digits)))
        return tg_fail_memory(err, b->n * sizeof *b->digits, "the ids");
    for (size_t id = 0; id < b->n; id++) {
        const size_t n = (size_t)(tg_decimal_size(number, id) - number);

        memcpy(b->digits[id], number, tg_size_min(n, WIDTH));
    }
    return TG_OK;
}

static void free_digits(void *tok)
{
    struct bare_ids *b = tok;

    free(b->digits);
}

static const unsigned char *token(const void *tok, int32_t id, size_t *n)
{
    const struct bare_ids *b = tok;

    *n = tg_decimal_digits((size_t)id);
    return (const unsigned char *)b->digits[id];
}

static tg_status encode(void *encoder, const void *tok, tg_text *text, int32_t *ids, size_t max, size_t *n,
                        tg_err *err)
{
    const struct bare_ids *b = tok;

    (void)encoder;
    (void)ids;
    (void)max;
    *n = 0;
    if (text->n == 0)
        return TG_OK;
    return tg_fail(err, TG_EDATA,
                   "the model has no tokenizer, only ids 0 to %zu: give token ids (--ids), not text",
                   b->n - 1);
}

const tg_tokenizer_kind tg_tokenizer_kind_ids = {
    .name = "ids",
    .size = sizeof(struct bare_ids),
    .no_text = true,
    .complete = complete,
    .free = free_digits,
    .token = token,
    .encode = encode,
};

tg_status tg_bare_ids_create(const tg_tokenizer **out, size_t n, tg_err *err)
{
    tg_tokenizer *tok;
    const tg_status status = tg_tokenizer_begin(&tok, &tg_tokenizer_kind_ids, err);

    *out = NULL;
    return status ? status : tg_tokenizer_seal(out, tok, n, err);
}
