#include "lib/learn/learned_tokens.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/grow.h"
#include "lib/bpe/token_table.h"

void tg_learned_tokens_free(tg_learned_tokens *t)
{
    free(t->ends);
    free(t->halves);
    free(t->text);
    free(t->special_ids);
    *t = (tg_learned_tokens){0};
}

size_t tg_learned_tokens_memory(const tg_learned_tokens *t)
{
    return t->ends_capacity * sizeof *t->ends + t->halves_capacity * sizeof *t->halves + t->text_capacity;
}

static const char vocabulary[] = "the vocabulary"; /* for messages */

tg_status tg_learned_tokens_reserve(tg_learned_tokens *t, size_t more, size_t n, tg_err *err)
{
    const size_t ids = t->n + more + t->n_special, bytes = t->bytes + n + t->special_bytes;
    tg_status status;

    if ((status = tg_grow(&t->ends, &t->ends_capacity, ids, sizeof *t->ends, vocabulary, err)) ||
        (status = tg_grow(&t->halves, &t->halves_capacity, ids, sizeof *t->halves, vocabulary, err)))
        return status;
    return tg_grow(&t->text, &t->text_capacity, bytes, 1, vocabulary, err);
}

tg_status tg_learned_tokens_begin(tg_learned_tokens *t, const char *const *special, size_t n_special,
                                  tg_err *err)
{
    tg_status status;

    *t = (tg_learned_tokens){.special = special, .n_special = n_special};
    for (size_t i = 0; i < n_special; i++)
        t->special_bytes += strlen(special[i]);
    if (!(t->special_ids = calloc(n_special + 1, sizeof *t->special_ids)))
        return tg_fail_memory(err, (n_special + 1) * sizeof *t->special_ids, vocabulary);
    if ((status = tg_learned_tokens_reserve(t, TG_LEARNED_BYTES, TG_LEARNED_BYTES, err)))
        return status;
    for (uint32_t i = 0; i < TG_LEARNED_BYTES; i++) {
        t->text[i] = (unsigned char)i;
        t->ends[i] = i + 1;
    }
    t->n = t->bytes = TG_LEARNED_BYTES;
    return TG_OK;
}

uint32_t tg_learned_tokens_join(tg_learned_tokens *t, uint32_t left, uint32_t right)
{
    uint32_t *halves = t->halves[t->n - TG_LEARNED_BYTES];

    halves[0] = left;
    halves[1] = right;
    for (size_t h = 0; h < 2; h++) {
        size_t size;
        const unsigned char *text = tg_token_text(t->ends, t->text, halves[h], &size);

        memcpy(t->text + t->bytes, text, size);
        t->bytes += size;
    }
    t->ends[t->n] = (uint32_t)t->bytes;
    return (uint32_t)t->n++;
}

void tg_learned_tokens_vocab(tg_learned_tokens *t, tg_split split, tg_bpe_vocab *vocab)
{
    size_t bytes = t->bytes;

    for (size_t i = 0; i < t->n_special; i++) {
        const size_t size = strlen(t->special[i]);

        memcpy(t->text + bytes, t->special[i], size);
        bytes += size;
        t->ends[t->n + i] = (uint32_t)bytes;
        t->special_ids[i] = (uint32_t)(t->n + i);
    }
    *vocab = (tg_bpe_vocab){
        .split = split,
        .n = t->n + t->n_special,
        .ends = t->ends,
        .tokens = t->text,
        .n_merges = t->n - TG_LEARNED_BYTES,
        .merges = (const uint32_t(*)[2])t->halves,
        .n_special = t->n_special,
        .special = t->special_ids,
    };
}
