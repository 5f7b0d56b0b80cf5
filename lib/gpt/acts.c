#include "lib/gpt/acts.h"

#include "lib/base/size.h"

/* Max bytes over all blocks of an activation that backward can recompute: x2 at the cost of one small
 * product per block, gelu at that of GELU.  Beyond this the blocks share one. */
#ifndef KEPT_MAX
#define KEPT_MAX ((size_t)128 << 20)
#endif

static tg_matrix place(tg_arena *arena, const tg_acts_size *size, size_t rows, size_t cols)
{
    return tg_matrix_place(arena, size->type, rows, cols);
}

static tg_matrix place_between(tg_arena *arena, const tg_acts_size *size, size_t rows, size_t cols)
{
    return tg_matrix_place(arena, size->between, rows, cols);
}

static tg_norm_stats place_stats(tg_arena *arena, const tg_acts_size *size, size_t rows)
{
    return (tg_norm_stats){.mean = place(arena, size, rows, 1), .rstd = place(arena, size, rows, 1)};
}

/* One block's activations, except x2, ln_2, fc and gelu, which the callers add. */
static tg_block_acts place_block(tg_arena *arena, const tg_acts_size *size, size_t C, size_t H)
{
    const size_t N = size->B * size->T;

    return (tg_block_acts){
        .x = place(arena, size, N, C),
        .ln_1 = place_stats(arena, size, N),
        .qkv = place_between(arena, size, N, 3 * C),
        .att = place_between(arena, size, N, C),
        .lse = place(arena, size, N, H),
    };
}

/* A set of activations per block.  In a dry run a->block is NULL. */
static void place_blocks(tg_arena *arena, tg_acts *a, const tg_acts_size *size, size_t H)
{
    const size_t N = size->B * size->T;
    const size_t rows_kept = KEPT_MAX / sizeof(float) / a->C / (a->L - size->layer);
    tg_matrix shared;

    a->recompute_x2 = N > rows_kept;
    a->recompute_gelu = 4 * N > rows_kept * (size->between == TG_TYPE_BF16 ? 2 : 1);
    shared = place(arena, size, a->recompute_x2 ? N : 0, a->C);
    for (size_t l = size->layer; l < a->L; l++) {
        tg_block_acts block = place_block(arena, size, a->C, H);

        block.x2 = a->recompute_x2 ? shared : place(arena, size, N, a->C);
        block.ln_2 = place_stats(arena, size, N);
        block.fc = place_between(arena, size, N, 4 * a->C);
        block.gelu = a->recompute_gelu ? a->wide : place_between(arena, size, N, 4 * a->C);
        if (a->block)
            a->block[l] = block;
    }
}

/* One set of activations for all blocks: every output overwrites its input. */
static void place_in_place(tg_arena *arena, tg_acts *a, const tg_acts_size *size, size_t H)
{
    tg_block_acts block = place_block(arena, size, a->C, H);

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
    const size_t each = tg_type_size(size->between);
    const size_t logits = tg_ceil_div(size->logits * sizeof(float), each);
    const size_t rows = tg_size_max(4 * size->B * size->T, tg_ceil_div(logits, a->C));

    a->wide = place_between(arena, size, rows, a->C);
    a->wide.cols = 4 * a->C;
    a->logits = (float *)a->wide.data;
}

void tg_acts_place(tg_arena *arena, tg_acts *a, const tg_binding *bound, const tg_acts_size *size)
{
    const tg_config *c = &bound->model->config;
    const size_t N = size->B * size->T, C = c->n_embd;

    *a = (tg_acts){.bound = *bound, .B = size->B, .T = size->T, .C = C, .L = c->n_layer};
    a->block = tg_arena_take(arena, a->L, sizeof *a->block);
    a->normed = place_between(arena, size, N, C);
    place_wide(arena, a, size);
    if (size->kind == TG_ACTS_IN_PLACE) {
        place_in_place(arena, a, size, c->n_head);
        return;
    }
    place_blocks(arena, a, size, c->n_head);
    a->x = place(arena, size, N, C);
    a->ln_f = place_stats(arena, size, N);
    a->dx = place(arena, size, N, C);
    a->dnormed = place(arena, size, N, C);
    a->datt = size->between == size->type ? a->dnormed : place_between(arena, size, N, C);
}
