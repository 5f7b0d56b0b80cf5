/*
 * dump_rows: rows of scores and probabilities from a dump, whether it holds them or only
 * what they are made of.
 */
#ifndef TG_ATTN_DUMP_ROWS_H
#define TG_ATTN_DUMP_ROWS_H

#include "lib/attn/dump_read.h"

/* The stages that rows of `show`, TG_ATTN_SCORES or TG_ATTN_PROBS, can be made of: for tg_dump_want. */
unsigned tg_dump_rows_stages(tg_attn_stage show);

/* Whether a layer holds enough for rows of `show`. */
bool tg_dump_rows_there(const tg_dump_layer *layer, tg_attn_stage show);

/* Doubles that tg_dump_row() wants as scratch. */
size_t tg_dump_row_scratch(const tg_dump *dump);

/*
 * row [i + 1] = scores or probs [b,h,i,0..i], as they are in the dump; else the softmax of
 * its scores; else computed from q and k by the reference operations in double precision,
 * and rounded.  tg_dump_rows_there() must hold.
 */
void tg_dump_row(float *row, const tg_dump *dump, const tg_dump_layer *layer, tg_attn_stage show, size_t b,
                 size_t h, size_t i, double *scratch);

#endif
