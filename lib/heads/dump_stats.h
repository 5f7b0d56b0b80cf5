/*
 * dump_stats: what the heads of a dump do (head_stats.h).
 *
 * Where a layer has q and k, its numbers are those of the model that was dumped, to the last bit.  Otherwise
 * they are made from its probabilities or scores, which are rounded to float32.
 */
#ifndef TG_HEADS_DUMP_STATS_H
#define TG_HEADS_DUMP_STATS_H

#include <stdint.h>

#include "lib/dump/dump_read.h"
#include "lib/heads/head_stats.h"

typedef struct tg_dump_stats {
    const tg_dump *dump;
    tg_head_stats *heads; /* [B,H] of one layer */
    int32_t *ids;         /* [T] the tokens; NULL: the dump has none */
    tg_head_stats_scratch walk;
    float *row;              /* [T] of a layer without q and k, */
    double *p, *row_scratch; /* [T], and what it takes to make it */
    tg_arena arena;
} tg_dump_stats;

/* The dump must outlive it.  TG_ENOMEM: nothing to close. */
TG_MUST_CHECK tg_status tg_dump_stats_open(tg_dump_stats *s, const tg_dump *dump, tg_err *err);
void tg_dump_stats_close(tg_dump_stats *s);

/* Whether a layer has what it takes. */
bool tg_dump_stats_can(const tg_dump_layer *layer);

/* Compute s->heads of a layer that has it: those heads that filter->head keeps, over the queries that it
 * keeps; the others are zeroed.  TG_EDATA, with the place: a score that is made from q and k is not finite.
 */
TG_MUST_CHECK tg_status tg_dump_stats_of_layer(tg_dump_stats *s, const tg_dump_layer *layer,
                                               const tg_attn_filter *filter, tg_err *err);

#endif
