/*
 * dump_rows: rows of scores and probabilities of a dump, whether it holds them or only what
 * they are computed from.
 */
#ifndef TG_DUMP_ROWS_H
#define TG_DUMP_ROWS_H

#include "lib/dump/dump_read.h"

/* The stages that rows of `show`, TG_ATTN_SCORES or TG_ATTN_PROBS, can be made from, as a set for
 * tg_dump_want. */
unsigned tg_dump_rows_stages(tg_attn_stage show);

/* Whether a layer holds enough of those stages. */
bool tg_dump_has_rows(const tg_dump_layer *layer, tg_attn_stage show);

/* The number of doubles of scratch that tg_dump_row() needs. */
size_t tg_dump_row_scratch(const tg_dump *dump);

/*
 * row [i + 1] = scores or probs [b,h,i,0..i], of a layer with tg_dump_has_rows(): copied if the
 * dump holds them; else the softmax of its scores; else computed from q and k.  By the reference
 * operations in double precision, rounded to float32.  -INFINITY for keys that the layer's window hides, of
 * probabilities as well.  O(i*D) time.
 */
void tg_dump_row(float *row, const tg_dump *dump, const tg_dump_layer *layer, tg_attn_stage show, size_t b,
                 size_t h, size_t i, double *scratch);

#endif
