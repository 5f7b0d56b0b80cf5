#include "lib/base/size.h"

#include "lib/gpt/real.h"

/* Max bytes of x2 over all blocks.  Beyond this the blocks share one x2, which backward
 * recomputes at the cost of one small product per block. */
#ifndef X2_MAX
#define X2_MAX ((size_t)128 << 20)
#endif

static real *take(tg_arena *arena, size_t rows, size_t width)
{
    return tg_arena_take_rows(arena, rows, width, sizeof(real));
}

static tg_row_stats take_stats(tg_arena *arena, size_t rows)
{
    return (tg_row_stats){.mean = take(arena, rows, 1), .rstd = take(arena, rows, 1)};
}

/* One block's activations, except x2, ln_2 and fc, which the callers add. */
static tg_block_acts take_block(tg_arena *arena, size_t N, size_t C, size_t H)
{
    return (tg_block_acts){
        .x = take(arena, N, C),
        .ln_1 = take_stats(arena, N),
        .qkv = take(arena, N, 3 * C),
        .att = take(arena, N, C),
        .lse = take(arena, N, H),
    };
}

/* A set of activations per block.  In a dry run a->block is NULL. */
static void place_blocks(tg_arena *arena, tg_acts *a, size_t N, size_t H, size_t layer)
{
    real *shared;

    a->recompute_x2 = N > X2_MAX / sizeof(float) / a->C / (a->L - layer);
    shared = take(arena, a->recompute_x2 ? N : 0, a->C);
    for (size_t l = layer; l < a->L; l++) {
        tg_block_acts block = take_block(arena, N, a->C, H);

        block.x2 = a->recompute_x2 ? shared : take(arena, N, a->C);
        block.ln_2 = take_stats(arena, N);
        block.fc = take(arena, N, 4 * a->C);
        if (a->block)
            a->block[l] = block;
    }
}

/* One set of activations for all blocks: every output overwrites its input. */
static void place_in_place(tg_arena *arena, tg_acts *a, size_t N, size_t H)
{
    tg_block_acts block = take_block(arena, N, a->C, H);

    block.x2 = block.x;
    block.ln_2 = block.ln_1;
    block.fc = a->wide;
    for (size_t l = 0; a->block && l < a->L; l++)
        a->block[l] = block;
    a->x = block.x;
    a->ln_f = block.ln_1;
}

void tg_acts_place(tg_arena *arena, tg_acts *a, const tg_binding *bound, size_t B, size_t T, size_t layer,
                   size_t wide, tg_acts_kind kind)
{
    const tg_config *c = &bound->model->config;
    const size_t N = B * T, C = c->n_embd;

    *a = (tg_acts){.bound = *bound, .B = B, .T = T, .C = C, .L = c->n_layer};
    a->block = tg_arena_take(arena, a->L, sizeof *a->block);
    a->normed = take(arena, N, C);
    a->wide = take(arena, tg_size_max(4 * N, tg_ceil_div(wide, C)), C);
    if (kind == TG_ACTS_IN_PLACE) {
        place_in_place(arena, a, N, c->n_head);
        return;
    }
    place_blocks(arena, a, N, c->n_head, layer);
    a->x = take(arena, N, C);
    a->ln_f = take_stats(arena, N);
    a->dx = take(arena, N, C);
    a->dnormed = take(arena, N, C);
}
