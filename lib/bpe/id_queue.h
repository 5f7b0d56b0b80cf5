/*
 * id_queue: ids that have been found but not yet returned to the caller.
 */
#ifndef TG_BPE_ID_QUEUE_H
#define TG_BPE_ID_QUEUE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/status.h"

typedef struct tg_id_queue {
    int32_t *ids;    /* owned */
    size_t first, n; /* ids [first..n) are queued */
    size_t capacity;
} tg_id_queue;

/* Make room for `more` ids after the queued ones.  TG_ENOMEM. */
TG_MUST_CHECK tg_status tg_id_queue_reserve(tg_id_queue *q, size_t more, tg_err *err);

/* Move at most max ids to `ids`; returns how many. */
size_t tg_id_queue_take(tg_id_queue *q, int32_t *ids, size_t max);

/* Free its memory and zero it. */
void tg_id_queue_free(tg_id_queue *q);

#endif
