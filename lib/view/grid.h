/*
 * grid: a causal map [T,T] in fewer cells.
 *
 * A cell stands for n queries and n keys, and holds the greatest of their numbers: what
 * stands out in the map stands out in the grid, be it one number wide.  Cells that the
 * mask covers whole hold -INFINITY.
 */
#ifndef TG_VIEW_GRID_H
#define TG_VIEW_GRID_H

#include <stddef.h>

#include "lib/base/status.h"

typedef struct tg_grid {
    size_t T, n; /* tokens; those that a cell stands for */
    size_t side; /* cells: T/n, rounded up */
    float *cell; /* [side,side]; queries down, keys across */
} tg_grid;

/* All masked.  TG_ENOMEM. */
TG_MUST_CHECK tg_status tg_grid_make(tg_grid *grid, size_t T, size_t n, tg_err *err);
void tg_grid_free(tg_grid *grid); /* a zeroed one is fine */

/* Take in query i: row [i + 1], its numbers for keys 0 to i. */
void tg_grid_add(tg_grid *grid, size_t i, const float *row);

/* Widen *low and *high to the cells' numbers. */
void tg_grid_range(const tg_grid *grid, double *low, double *high);

#endif
