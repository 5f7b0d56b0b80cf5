/*
 * dump_check: a dump's arrays against the same computed again.
 */
#ifndef TG_ATTN_DUMP_CHECK_H
#define TG_ATTN_DUMP_CHECK_H

#include "lib/attn/dump_read.h"
#include "lib/attn/stage.h"

/* How an array differs; all zero when it does not. */
typedef struct tg_dump_difference {
    size_t count;           /* elements that differ */
    size_t first;           /* the first one's offset, and */
    float dumped, computed; /* what it is on either side */
    double largest;         /* |dumped - computed| */
} tg_dump_difference;

/*
 * Compare one stage, which the dump's layer has, with that of a layer of the same shape and
 * layout: each element, at its offset, rounded to float32; masked scores with what the dump
 * says stands for them.  Equal are numbers that are equal, or differ by at most
 * tolerance * max(1, |computed|).
 */
void tg_dump_compare(tg_dump_difference *difference, const tg_dump *dump, const tg_dump_layer *dumped,
                     tg_attn_stage stage, const tg_attn_layer *layer, tg_attn_stages *stages,
                     double tolerance);

#endif
