#include "lib/train/token_splits.h"

#include <stdlib.h>

#include "lib/base/size.h"
#include "lib/text/tokenizer.h"

/* Right halves that wait for their left ones: no token is split deeper.  One in 2^32 would be. */
#define DEPTH 32

tg_status tg_token_splits_init(tg_token_splits *s, const tg_tokenizer *tok, double p, tg_err *err)
{
    const size_t n = (size_t)tg_tokenizer_vocab_size(tok);

    *s = (tg_token_splits){.p = p};
    if (p == 0)
        return TG_OK;
    if (!tg_tokenizer_has_halves(tok))
        return tg_fail(err, TG_EUSAGE,
                       "split_tokens needs a tokenizer of kind bpe, whose tokens are merges of two");
    s->halves = malloc(tg_size_mul_sat(n, sizeof *s->halves));
    if (!s->halves)
        return tg_fail_memory(err, n * sizeof *s->halves, "the halves of tokens");
    tg_tokenizer_halves(tok, s->halves);
    return TG_OK;
}

void tg_token_splits_free(tg_token_splits *s)
{
    free(s->halves);
    *s = (tg_token_splits){0};
}

void tg_token_splits_window(const tg_token_splits *s, const tg_tokens *text, const tg_rng *rng, int32_t *ids,
                            int32_t *targets, size_t at, size_t T)
{
    int32_t waiting[DEPTH], id;
    size_t n_waiting = 0;
    uint64_t drawn = 0;

    for (size_t i = 0; i <= T; i++) {
        if (n_waiting > 0)
            id = waiting[--n_waiting];
        else
            tg_tokens_get(text, &id, at++, 1);
        while (n_waiting < DEPTH && s->halves[id][0] >= 0 && tg_rng_uniform(rng, drawn++) < s->p) {
            waiting[n_waiting++] = s->halves[id][1];
            id = s->halves[id][0];
        }
        if (i < T)
            ids[i] = id;
        if (i > 0)
            targets[i - 1] = id;
    }
}
