#include "lib/gpt/layers.h"

#include "lib/base/size.h"
#include "lib/gpt/block.h"
#include "lib/gpt/family.h"
#include "lib/gpt/rope.h"

size_t tg_place(const tg_acts *a, size_t layer, size_t row)
{
    return layer * a->family->n_acts + row;
}

size_t tg_layers_end(const tg_acts *a)
{
    return tg_place(a, a->L, 0);
}

/* A block's part of a run from .. to - 1. */
static tg_block block_of(tg_acts *a, size_t layer, size_t from, size_t to, const tg_tap *tap)
{
    const size_t first = tg_place(a, layer, 0), n = a->family->n_acts;

    return (tg_block){.a = a,
                      .layer = layer,
                      .from = from > first ? from - first : 0,
                      .to = tg_size_min(to - first, n),
                      .tap = tap};
}

bool tg_layers_forward(tg_acts *a, size_t from, size_t to, const tg_tap *tap)
{
    const size_t n = a->family->n_acts;

    tg_rope_fill(a);
    for (size_t l = from / n; l * n < to; l++) {
        tg_block b = block_of(a, l, from, to, tap);

        tg_acts_page(a)->forward(&b);
        if (b.ended)
            return false;
    }
    return true;
}

/* The rows whose gradients a block has before its first operation backward: those of the residual stream. */
static uint64_t rows_of_stream(const tg_family *family)
{
    uint64_t rows = 0;

    for (size_t i = 1; i < family->n_acts; i++)
        if (family->act[i].gradient == TG_SCRATCH_DX)
            rows |= (uint64_t)1 << i;
    return rows;
}

/* Recompute a block from its x, except the last row: that is the next block's x. */
static void recompute(tg_acts *a, size_t layer)
{
    tg_block b = {.a = a, .layer = layer, .to = a->family->n_acts - 1};

    tg_acts_page(a)->forward(&b);
}

bool tg_layers_backward(tg_acts *a, size_t from, size_t to, const tg_tap *tap)
{
    const size_t n = a->family->n_acts;
    const uint64_t stream = rows_of_stream(a->family);

    tg_rope_fill(a);
    for (size_t l = tg_ceil_div(to, n); l-- > from / n;) {
        tg_block b = block_of(a, l, from, to, tap);

        if (a->kind == TG_ACTS_X_KEPT && l + 1 < a->L) /* the last block's are still there */
            recompute(a, l);
        b.has_gradient = stream;
        tg_acts_page(a)->backward(&b);
        if (b.ended)
            return false;
    }
    return true;
}
