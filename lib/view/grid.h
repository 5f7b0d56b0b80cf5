/*
 * grid: a causal map [T,T], reduced to fewer cells.
 *
 * A cell covers n queries and n keys, and holds the greatest of their numbers, so that even a
 * single large number remains visible.  A cell that is masked entirely holds -INFINITY.
 */
#ifndef TG_VIEW_GRID_H
#define TG_VIEW_GRID_H

#include <stddef.h>

#include "lib/base/status.h"

typedef struct tg_grid {
    size_t T, n; /* tokens; tokens per cell */
    size_t side; /* cells: T/n, rounded up */
    float *cell; /* [side,side]; queries down, keys across */
} tg_grid;

/* Make a grid with all cells masked.  TG_ENOMEM. */
TG_MUST_CHECK tg_status tg_grid_make(tg_grid *grid, size_t T, size_t n, tg_err *err);
void tg_grid_free(tg_grid *grid); /* accepts a zeroed one */

/* Add query i: row [i + 1], its numbers for keys 0 to i. */
void tg_grid_add(tg_grid *grid, size_t i, const float *row);

/* Extend the range *low to *high to include all cells that are not masked. */
void tg_grid_range(const tg_grid *grid, double *low, double *high);

#endif
