#include "lib/learn/cells.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/grow.h"
#include "lib/base/size.h"

#define LOW_COUNTS ((size_t)1 << 16) /* each of these has one place in the weights */
#define NO_PLACE UINT32_MAX

void tg_cells_free(tg_cells *cells)
{
    free(cells->cell);
    free(cells->weights);
    free(cells->starts);
    *cells = (tg_cells){0};
}

size_t tg_cells_memory(const tg_cells *cells)
{
    return cells->n * sizeof *cells->cell + cells->weights_capacity * sizeof *cells->weights +
           cells->n_starts * sizeof *cells->starts;
}

/* ---- weights */

/* The index of a count in the weights.  Low counts are shared; each high one is added anew, and the
 * length of the text limits how many there are.  low [LOW_COUNTS]: the indices of the low counts. */
static tg_status find_weight(tg_cells *cells, uint32_t *low, uint64_t count, uint32_t *place, tg_err *err)
{
    uint32_t *known = count < LOW_COUNTS ? &low[count] : place;
    tg_status status;

    *place = NO_PLACE;
    if (*known == NO_PLACE) {
        if ((status = tg_grow(&cells->weights, &cells->weights_capacity, cells->n_weights + 1,
                              sizeof *cells->weights, "the counts of pieces", err)))
            return status;
        *known = (uint32_t)cells->n_weights;
        cells->weights[cells->n_weights++] = count;
    }
    *place = *known;
    return TG_OK;
}

/* ---- pieces */

static tg_status add_piece(tg_cells *cells, uint32_t *low, const tg_piece *piece, tg_err *err)
{
    tg_cell *cell = cells->cell + cells->used;
    uint32_t weight;
    const tg_status status = find_weight(cells, low, piece->count, &weight, err);

    if (status)
        return status;
    for (size_t i = 0; i < piece->n; i++)
        cell[i] = (tg_cell){piece->text[i], weight};
    cell[piece->n] = (tg_cell){TG_CELL_BORDER, 0};
    if (cells->starts)
        cells->starts[cells->n_starts++] = (uint32_t)cells->used;
    cells->used += piece->n + 1;
    return TG_OK;
}

static int compare_pieces(const void *a, const void *b)
{
    const tg_piece *x = a, *y = b;
    int order;

    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    order = memcmp(x->text, y->text, tg_size_min(x->n, y->n));
    return order ? order : (x->n > y->n) - (x->n < y->n);
}

static tg_status add_sorted(tg_cells *cells, uint32_t *low, const tg_piece_counts *counts, tg_err *err)
{
    const size_t n = counts->used;
    tg_piece *pieces = calloc(n, sizeof *pieces);
    tg_status status = TG_OK;
    size_t at = 0;

    cells->starts = calloc(n, sizeof *cells->starts);
    if (!pieces || !cells->starts) {
        free(pieces);
        return tg_fail_memory(err, n * (sizeof *pieces + sizeof *cells->starts), "the order of pieces");
    }
    for (size_t i = 0; i < n; i++)
        tg_piece_counts_next(counts, &at, &pieces[i]);
    qsort(pieces, n, sizeof *pieces, compare_pieces);
    for (size_t i = 0; !status && i < n; i++)
        status = add_piece(cells, low, &pieces[i], err);
    free(pieces);
    return status;
}

static tg_status add_all(tg_cells *cells, uint32_t *low, const tg_piece_counts *counts, tg_err *err)
{
    tg_status status = TG_OK;
    size_t at = 0;
    tg_piece piece;

    while (!status && tg_piece_counts_next(counts, &at, &piece))
        status = add_piece(cells, low, &piece, err);
    return status;
}

tg_status tg_cells_fill(tg_cells *cells, const tg_piece_counts *counts, bool sorted, tg_err *err)
{
    const size_t n = tg_size_add_sat(counts->distinct_bytes, counts->used + 1);
    uint32_t *low;
    tg_status status;

    *cells = (tg_cells){0};
    if (counts->used == 0)
        return tg_fail(err, TG_EDATA, "the text is empty, expected at least one byte");
    if (n >= TG_CELL_INSIDE)
        return tg_fail(err, TG_EDATA, "the distinct pieces have %zu bytes, expected less than 4 GiB",
                       counts->distinct_bytes);
    if (!(cells->cell = malloc(n * sizeof *cells->cell)) || !(low = malloc(LOW_COUNTS * sizeof *low)))
        return tg_fail_memory(err, n * sizeof *cells->cell, "the distinct pieces");
    memset(low, 0xFF, LOW_COUNTS * sizeof *low); /* NO_PLACE */
    cells->n = n;
    cells->cell[cells->used++] = (tg_cell){TG_CELL_BORDER, 0};
    status = sorted ? add_sorted(cells, low, counts, err) : add_all(cells, low, counts, err);
    free(low);
    return status;
}
