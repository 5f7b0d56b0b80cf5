#include "lib/bpe/id_queue.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/grow.h"
#include "lib/base/size.h"

tg_status tg_id_queue_reserve(tg_id_queue *q, size_t more, tg_err *err)
{
    return tg_grow(&q->ids, &q->capacity, tg_size_add_sat(q->n, more), sizeof *q->ids, "ids", err);
}

size_t tg_id_queue_take(tg_id_queue *q, int32_t *ids, size_t max)
{
    const size_t n = tg_size_min(max, q->n - q->first);

    if (n > 0)
        memcpy(ids, q->ids + q->first, n * sizeof *ids);
    q->first += n;
    if (q->first == q->n)
        q->first = q->n = 0;
    return n;
}

void tg_id_queue_free(tg_id_queue *q)
{
    free(q->ids);
    *q = (tg_id_queue){0};
}
