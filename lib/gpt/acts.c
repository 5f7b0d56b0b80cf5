#include "lib/gpt/acts.h"

#include "lib/base/size.h"
#include "lib/gpt/family.h"

/* Max bytes over all blocks of an activation that backward can recompute: x2 at the cost of one small
 * product per block, gelu at that of GELU.  Beyond this the blocks share one. */
#ifndef KEPT_MAX
#define KEPT_MAX ((size_t)128 << 20)
#endif

static tg_matrix place(tg_arena *arena, const tg_acts_size *size, size_t cols)
{
    return tg_matrix_place(arena, size->type, size->B * size->T, cols);
}

static tg_matrix place_between(tg_arena *arena, const tg_acts_size *size, size_t cols)
{
    return tg_matrix_place(arena, size->between, size->B * size->T, cols);
}

/* A row's matrix for one block. */
static tg_matrix place_row(tg_arena *arena, const tg_acts_size *size, const tg_act_row *row, size_t cols)
{
    return (row->between ? place_between : place)(arena, size, cols);
}

/* The matrix that all blocks have in common. */
static tg_matrix place_common(tg_arena *arena, const tg_acts *a, const tg_acts_size *size,
                              const tg_act_row *row, size_t cols)
{
    return row->common == TG_COMMON_WIDE ? a->wide : place_row(arena, size, row, cols);
}

/* Whether the blocks' own matrices take more than KEPT_MAX, and need not be kept. */
static bool is_too_much(const tg_acts *a, const tg_acts_size *size, const tg_act_row *row, size_t cols)
{
    const size_t each = tg_type_size(row->between ? size->between : size->type);

    return row->again && size->B * size->T > KEPT_MAX / each / cols / (a->L - size->layer);
}

/* Activations that are kept from forward to backward.  In a dry run a->block is NULL. */
static void place_kept(tg_arena *arena, tg_acts *a, const tg_acts_size *size, const tg_act_row *row)
{
    const size_t cols = tg_dim_size(row->cols, &a->bound.model->config);
    tg_matrix common = {0};

    a->again[row->act] = is_too_much(a, size, row, cols);
    if (a->again[row->act])
        common = place_common(arena, a, size, row, cols);
    for (size_t l = size->layer; l < a->L; l++) {
        const tg_matrix m = a->again[row->act] ? common : place_row(arena, size, row, cols);

        if (a->block)
            a->block[l][row->act] = m;
    }
}

/* One set of activations for all blocks: every output overwrites its input. */
static void place_in_place(tg_arena *arena, tg_acts *a, const tg_acts_size *size, const tg_act_row *row)
{
    const size_t cols = tg_dim_size(row->cols, &a->bound.model->config);
    tg_matrix m = {0};

    if (row->over == row->act)
        m = place_common(arena, a, size, row, cols);
    for (size_t l = 0; a->block && l < a->L; l++)
        a->block[l][row->act] = row->over == row->act ? m : a->block[l][row->over];
    if (row->act == TG_ACT_X)
        a->x = m;
}

static size_t widest(const tg_family *family, const tg_config *c)
{
    size_t cols = 0;

    for (size_t i = 0; i < family->n_acts; i++)
        cols = tg_size_max(cols, tg_dim_size(family->act[i].cols, c));
    return cols;
}

/* The memory of `wide` is free when the loss is computed. */
static void place_wide(tg_arena *arena, tg_acts *a, const tg_acts_size *size, size_t cols)
{
    const size_t logits = tg_ceil_div(size->logits * sizeof(float), tg_type_size(size->between));
    const size_t rows = tg_size_max(size->B * size->T, tg_ceil_div(logits, cols));

    a->wide = tg_matrix_place(arena, size->between, rows, cols);
    a->logits = (float *)a->wide.data;
}

void tg_acts_place(tg_arena *arena, tg_acts *a, const tg_binding *bound, const tg_acts_size *size)
{
    const tg_config *c = &bound->model->config;
    const tg_family *family = tg_config_family(c);
    const size_t C = c->n_embd;

    *a = (tg_acts){.bound = *bound, .B = size->B, .T = size->T, .C = C, .L = c->n_layer};
    a->block = tg_arena_take(arena, a->L, sizeof *a->block);
    a->normed = place_between(arena, size, C);
    place_wide(arena, a, size, widest(family, c));
    for (size_t i = 0; i < family->n_acts; i++)
        (size->kind == TG_ACTS_KEPT ? place_kept : place_in_place)(arena, a, size, &family->act[i]);
    a->ln_f = (tg_norm_stats){.mean = place(arena, size, 1), .rstd = place(arena, size, 1)};
    if (size->kind == TG_ACTS_IN_PLACE)
        return;
    a->x = place(arena, size, C);
    a->dx = place(arena, size, C);
    a->dnormed = place(arena, size, C);
    a->datt = size->between == size->type ? a->dnormed : place_between(arena, size, C);
}
