#include "lib/spm/tail.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/grow.h"
#include "lib/base/size.h"

/* Append the ids of the first symbols, all but `keep`. */
static tg_status put_first(tg_spm_tail *t, tg_spm_ids *p, size_t keep, tg_err *err)
{
    const size_t n = t->n - tg_size_min(t->n, keep);
    tg_status status = TG_OK;

    for (size_t i = 0; !status && i < n; i++) {
        size_t length;
        const unsigned char *text = tg_spm_text(p->spm, t->symbols[i], &length);

        if (!(status = tg_id_queue_reserve(&p->queue, TG_SPM_IDS_OF(length), err)))
            status = tg_spm_ids_put_symbol(p, t->symbols[i], text, length, err);
    }
    t->n -= n;
    if (t->n > 0)
        memmove(t->symbols, t->symbols + n, t->n * sizeof *t->symbols);
    return status;
}

/* Merge the last two symbols as long as they have a merge. */
static void reduce(tg_spm_tail *t, const tg_pairs *pairs)
{
    uint32_t rank;

    while (t->n > 1 &&
           (rank = tg_pairs_rank(pairs, t->symbols[t->n - 2], t->symbols[t->n - 1])) != TG_RANK_NONE)
        t->symbols[--t->n - 1] = pairs->pairs[rank].made;
}

tg_status tg_spm_tail_push(tg_spm_tail *t, tg_spm_ids *p, uint32_t symbol, const unsigned char *text,
                           size_t n, tg_err *err)
{
    tg_status status;

    if (symbol == TG_SPM_NO_SYMBOL) {
        if ((status = tg_spm_tail_finish(t, p, err)) ||
            (status = tg_id_queue_reserve(&p->queue, TG_SPM_IDS_OF(n), err)))
            return status;
        return tg_spm_ids_put_symbol(p, symbol, text, n, err);
    }
    if ((status = tg_grow(&t->symbols, &t->capacity, t->n + 1, sizeof *t->symbols, "symbols", err)))
        return status;
    t->symbols[t->n++] = symbol;
    reduce(t, &p->spm->pairs);
    return t->n < 2 * p->spm->longest ? TG_OK : put_first(t, p, p->spm->longest, err);
}

tg_status tg_spm_tail_finish(tg_spm_tail *t, tg_spm_ids *p, tg_err *err)
{
    return put_first(t, p, 0, err);
}

void tg_spm_tail_free(tg_spm_tail *t)
{
    free(t->symbols);
    *t = (tg_spm_tail){0};
}
