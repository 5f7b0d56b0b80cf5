#include "lib/base/size.h"

#include "lib/gpt/real.h"

/* Max bytes over all blocks of an activation that backward can recompute: x2 at the cost of one small
 * product per block, gelu at that of GELU.  Beyond this the blocks share one. */
#ifndef KEPT_MAX
#define KEPT_MAX ((size_t)128 << 20)
#endif

static real *take(tg_arena *arena, size_t rows, size_t width)
{
    return tg_arena_take_rows(arena, rows, width, sizeof(real));
}

/* What passes between products. */
static act *take_act(tg_arena *arena, const tg_acts_size *size, size_t rows, size_t width)
{
    const bool half = size->precision == TG_PRECISION_BF16;

    return tg_arena_take_rows(arena, rows, width, half ? sizeof(tg_bf16) : sizeof(real));
}

static tg_row_stats take_stats(tg_arena *arena, size_t rows)
{
    return (tg_row_stats){.mean = take(arena, rows, 1), .rstd = take(arena, rows, 1)};
}

/* One block's activations, except x2, ln_2, fc and gelu, which the callers add. */
static tg_block_acts take_block(tg_arena *arena, const tg_acts_size *size, size_t C, size_t H)
{
    const size_t N = size->B * size->T;

    return (tg_block_acts){
        .x = take(arena, N, C),
        .ln_1 = take_stats(arena, N),
        .qkv = take_act(arena, size, N, 3 * C),
        .att = take_act(arena, size, N, C),
        .lse = take(arena, N, H),
    };
}

/* A set of activations per block.  In a dry run a->block is NULL. */
static void place_blocks(tg_arena *arena, tg_acts *a, const tg_acts_size *size, size_t H)
{
    const size_t N = size->B * size->T;
    const size_t rows_kept = KEPT_MAX / sizeof(float) / a->C / (a->L - size->layer);
    real *shared;

    a->recompute_x2 = N > rows_kept;
    a->recompute_gelu = 4 * N > rows_kept * (size->precision == TG_PRECISION_BF16 ? 2 : 1);
    shared = take(arena, a->recompute_x2 ? N : 0, a->C);
    for (size_t l = size->layer; l < a->L; l++) {
        tg_block_acts block = take_block(arena, size, a->C, H);

        block.x2 = a->recompute_x2 ? shared : take(arena, N, a->C);
        block.ln_2 = take_stats(arena, N);
        block.fc = take_act(arena, size, N, 4 * a->C);
        block.gelu = a->recompute_gelu ? a->wide : take_act(arena, size, N, 4 * a->C);
        if (a->block)
            a->block[l] = block;
    }
}

/* One set of activations for all blocks: every output overwrites its input. */
static void place_in_place(tg_arena *arena, tg_acts *a, const tg_acts_size *size, size_t H)
{
    tg_block_acts block = take_block(arena, size, a->C, H);

    block.x2 = block.x;
    block.ln_2 = block.ln_1;
    block.fc = block.gelu = a->wide;
    for (size_t l = 0; a->block && l < a->L; l++)
        a->block[l] = block;
    a->x = block.x;
    a->ln_f = block.ln_1;
}

/* The memory of `wide` is free when the loss is computed. */
static void place_wide(tg_arena *arena, tg_acts *a, const tg_acts_size *size)
{
    const size_t rows = 4 * size->B * size->T;
    const bool half = size->precision == TG_PRECISION_BF16;
    const size_t rows_of_logits = tg_ceil_div(size->logits, a->C) * (half ? 2 : 1);

    a->wide = take_act(arena, size, tg_size_max(rows, rows_of_logits), a->C);
    a->logits = (real *)a->wide;
}

void tg_acts_place(tg_arena *arena, tg_acts *a, const tg_binding *bound, const tg_acts_size *size)
{
    const tg_config *c = &bound->model->config;
    const size_t N = size->B * size->T, C = c->n_embd;

    *a = (tg_acts){.bound = *bound, .B = size->B, .T = size->T, .C = C, .L = c->n_layer};
    a->block = tg_arena_take(arena, a->L, sizeof *a->block);
    a->normed = take_act(arena, size, N, C);
    place_wide(arena, a, size);
    if (size->kind == TG_ACTS_IN_PLACE) {
        place_in_place(arena, a, size, c->n_head);
        return;
    }
    place_blocks(arena, a, size, c->n_head);
    a->x = take(arena, N, C);
    a->ln_f = take_stats(arena, N);
    a->dx = take(arena, N, C);
    a->dnormed = take(arena, N, C);
    a->datt = size->precision == TG_PRECISION_BF16 ? take_act(arena, size, N, C) : a->dnormed;
}
