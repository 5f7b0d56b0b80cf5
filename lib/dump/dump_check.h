/*
 * dump_check: compare a dump's arrays with the same arrays, recomputed.
 */
#ifndef TG_DUMP_CHECK_H
#define TG_DUMP_CHECK_H

#include "lib/attn/stage.h"
#include "lib/dump/dump_read.h"
#include "lib/dump/extras_make.h"

/* How an array differs; all zero if it does not. */
typedef struct tg_dump_difference {
    size_t count;            /* elements that differ */
    size_t first;            /* the offset of the first, */
    double dumped, computed; /* and its two values */
    double largest;          /* the largest |dumped - computed| */
} tg_dump_difference;

/*
 * Compare a stage of a dump's layer, which must have it, with the same stage of a layer of the same
 * shape and layout.  Each element is rounded to float32; a masked score must have the value of the
 * dump's mask.  Two numbers count as equal if they differ by at most tolerance * max(1, |computed|).
 */
void tg_dump_compare(tg_dump_difference *difference, const tg_dump *dump, const tg_dump_layer *dumped,
                     tg_attn_stage stage, const tg_attn_layer *layer, tg_stage_scratch *scratch,
                     double tolerance);

/* Compare it with numbers in the stage's shape and the layout bthd, of which a masked score is TG_MASKED
 * (lib/nn/ref/ref.h).  Numbers also count as equal that differ by at most of_largest times the largest. */
void tg_dump_compare_numbers(tg_dump_difference *difference, const tg_dump *dump, const tg_dump_layer *dumped,
                             tg_attn_stage stage, const double *numbers, double tolerance, double of_largest);

/* Compare an array that is no stage with what was made; of texts only the count is set, and the first. */
void tg_dump_compare_extra(tg_dump_difference *difference, const tg_dump_extra_array *dumped,
                           const tg_extras_made *made, double tolerance);

#endif
