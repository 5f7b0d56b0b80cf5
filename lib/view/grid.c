#include "lib/view/grid.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "lib/base/size.h"

tg_status tg_grid_make(tg_grid *grid, size_t T, size_t n, tg_err *err)
{
    const size_t side = tg_ceil_div(T, n);
    size_t bytes;

    *grid = (tg_grid){.T = T, .n = n, .side = side};
    if (!tg_size_mul(&bytes, side, side) || !tg_size_mul(&bytes, bytes, sizeof *grid->cell))
        bytes = SIZE_MAX;
    if (bytes == SIZE_MAX || !(grid->cell = malloc(bytes)))
        return tg_fail_memory(err, bytes, "a map");
    for (size_t c = 0; c < side * side; c++)
        grid->cell[c] = -INFINITY;
    return TG_OK;
}

void tg_grid_free(tg_grid *grid)
{
    free(grid->cell);
    *grid = (tg_grid){0};
}

void tg_grid_add(tg_grid *grid, size_t i, const float *row)
{
    float *cell = grid->cell + i / grid->n * grid->side;

    for (size_t j = 0, in_cell = 0; j <= i; j++) {
        *cell = row[j] > *cell ? row[j] : *cell;
        if (++in_cell == grid->n) {
            in_cell = 0;
            cell++;
        }
    }
}

void tg_grid_range(const tg_grid *grid, double *low, double *high)
{
    for (size_t c = 0; c < grid->side * grid->side; c++) {
        const double x = (double)grid->cell[c];

        if (isfinite(x)) {
            *low = x < *low ? x : *low;
            *high = x > *high ? x : *high;
        }
    }
}
