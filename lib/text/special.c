#include "lib/text/special.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/size.h"

static int compare(const void *x, const void *y)
{
    const tg_special_token *a = x, *b = y;
    const int order = memcmp(a->text, b->text, tg_size_min(a->n, b->n));

    return order != 0 ? order : (a->n > b->n) - (a->n < b->n);
}

void tg_specials_index(tg_specials *s)
{
    qsort(s->tokens, s->n, sizeof *s->tokens, compare);
    for (size_t i = 0; i < s->n; i++) {
        const tg_special_token *token = &s->tokens[i];
        const unsigned char last = token->text[token->n - 1];

        tg_borders_add(&s->borders, token->text, token->n);
        s->first[token->text[0] + 1] = i + 1;
        s->ends[last / 64] |= UINT64_C(1) << last % 64;
    }
    for (size_t c = 0; c < 256; c++)
        s->first[c + 1] = tg_size_max(s->first[c], s->first[c + 1]);
}

static tg_status add(tg_specials *s, const tg_tokenizer *tok, const uint32_t *ids, size_t n, tg_err *err)
{
    for (size_t i = 0; i < n; i++) {
        size_t length;
        const unsigned char *text = tg_tokenizer_token(tok, (int32_t)ids[i], &length);

        if (length > TG_SPECIAL_MAX)
            return tg_fail(err, TG_EDATA, "special token %lu has %zu bytes: at most %zu can be looked for",
                           (unsigned long)ids[i], length, TG_SPECIAL_MAX);
        if (length > 0)
            s->tokens[s->n++] = (tg_special_token){text, (uint32_t)length, (int32_t)ids[i]};
    }
    return TG_OK;
}

tg_status tg_specials_create(tg_specials *s, const tg_tokenizer *tok, bool special, tg_err *err)
{
    const uint32_t *ids, *added_ids;
    const size_t specials = tg_tokenizer_specials(tok, &ids), added = tg_tokenizer_added(tok, &added_ids);
    const size_t n = added + (special ? specials : 0);
    tg_status status;

    *s = (tg_specials){.tokens = malloc(tg_size_max(n, 1) * sizeof *s->tokens)};
    if (!s->tokens)
        return tg_fail_memory(err, n * sizeof *s->tokens, "special tokens");
    if ((status = add(s, tok, added_ids, added, err)) ||
        (special && (status = add(s, tok, ids, specials, err))))
        return status;
    tg_specials_index(s);
    return TG_OK;
}

void tg_specials_free(tg_specials *s)
{
    free(s->tokens);
    s->tokens = NULL;
    s->n = 0;
}

/* The first of tokens [low..high) whose byte at `depth` is at least c.  All have such a byte, and are
 * sorted by it. */
static size_t narrow(const tg_specials *s, size_t low, size_t high, size_t depth, unsigned c)
{
    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (s->tokens[middle].text[depth] < c)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

tg_special_match tg_specials_match(const tg_specials *s, const unsigned char *text, size_t n, bool last,
                                   const tg_special_token **token)
{
    size_t low = 0, high = s->n;

    *token = NULL;
    for (size_t depth = 0; low < high; depth++) {
        if (depth == n)
            return !last ? TG_SPECIAL_UNKNOWN : *token ? TG_SPECIAL_FOUND : TG_SPECIAL_NONE;
        if (depth == 0) {
            low = s->first[text[0]];
            high = s->first[text[0] + 1];
        } else {
            low = narrow(s, low, high, depth, text[depth]);
            high = narrow(s, low, high, depth, text[depth] + 1u);
        }
        if (low < high && s->tokens[low].n == depth + 1)
            *token = &s->tokens[low++];
    }
    return *token ? TG_SPECIAL_FOUND : TG_SPECIAL_NONE;
}

size_t tg_specials_next(const tg_specials *s, const unsigned char *text, size_t n)
{
    size_t i = 0;

    while (i < n && s->first[text[i]] == s->first[text[i] + 1])
        i++;
    return i;
}
