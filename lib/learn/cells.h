/*
 * cells: all distinct pieces, concatenated, for vocab_learner.c.
 *
 * There is one cell for each byte of a piece, and one at each border.  A token has as many cells as
 * bytes.  Its id is in its first and its last cell, so that its neighbours are found in constant
 * time without links: the next token begins where it ends, and the cell before it is the last cell
 * of the previous token.
 */
#ifndef TG_LEARN_CELLS_H
#define TG_LEARN_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/status.h"
#include "lib/learn/piece_counts.h"

#define TG_CELL_BORDER UINT32_MAX       /* between two pieces */
#define TG_CELL_INSIDE (UINT32_MAX - 1) /* where a token used to begin */

typedef struct tg_cell {
    uint32_t id;
    uint32_t weight; /* how often the piece occurs: an index into `weights` */
} tg_cell;

typedef struct tg_cells {
    tg_cell *cell;     /* [n]; the first and the last are borders */
    size_t n, used;    /* used < n while they are being filled */
    uint64_t *weights; /* [n_weights]: few, because most pieces are rare */
    size_t n_weights, weights_capacity;
    uint32_t *starts; /* [n_starts]: where pieces begin, the most frequent first; NULL: not wanted */
    size_t n_starts;
} tg_cells;

/* Fill the cells with the pieces' bytes.  sorted: by count, then by their bytes, and record `starts`.
 * TG_EDATA: there are none, or too many for 32 bits.  TG_ENOMEM.  After a failure cells can only be
 * freed. */
TG_MUST_CHECK tg_status tg_cells_fill(tg_cells *cells, const tg_piece_counts *counts, bool sorted,
                                      tg_err *err);

void tg_cells_free(tg_cells *cells);

size_t tg_cells_memory(const tg_cells *cells);

/* How often the piece of cell i occurs. */
static inline uint64_t tg_cells_weight(const tg_cells *cells, size_t i)
{
    return cells->weights[cells->cell[i].weight];
}

/* Merge two tokens: the first has left_size cells, both together have `size`. */
static inline void tg_cells_merge(tg_cells *cells, size_t i, size_t left_size, size_t size, uint32_t id)
{
    cells->cell[i + left_size].id = TG_CELL_INSIDE;
    cells->cell[i + size - 1].id = id;
    cells->cell[i].id = id;
}

#endif
