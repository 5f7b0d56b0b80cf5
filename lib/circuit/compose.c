#include "lib/circuit/compose.h"

#include <math.h>
#include <string.h>

#include "lib/base/size.h"
#include "lib/base/threads.h"
#include "lib/circuit/heads.h"
#include "lib/circuit/product64.h"

/* A block of all [C,C] matrices. */
#define ROWS ((size_t)32)
#define COLUMNS ((size_t)64)
#define BLOCK (ROWS * COLUMNS)

/* The [C,C] matrices of a head, each x g x^T with x [C,D] and g [D,D]: what is written, A^T A, and what is
 * read, B B^T, as query, as key and as value. */
enum { WRITTEN, AS_QUERY, AS_KEY, AS_VALUE, SIDES };
enum { OF_V, OF_O, OF_Q, OF_K };

static const size_t gram_of[SIDES] = {
    [WRITTEN] = OF_V, [AS_QUERY] = OF_K, [AS_KEY] = OF_Q, [AS_VALUE] = OF_O};

void tg_compose_place(tg_arena *arena, tg_compose *c, const tg_config *config)
{
    const size_t L = config->n_layer, H = config->n_head, N = L * H, D = tg_config_head_dim(config);

    *c = (tg_compose){.L = L, .H = H, .N = N, .C = config->n_embd, .D = D};
    c->layer = tg_arena_take(arena, L, sizeof *c->layer);
    for (size_t l = 0; l < L; l++) {
        tg_factors f;

        tg_factors_place(arena, &f, config);
        if (c->layer)
            c->layer[l] = f;
    }
    for (size_t t = 0; t < TG_COMPOSITIONS; t++)
        c->score[t] = tg_arena_take_rows(arena, N, N, sizeof *c->score[t]);
    c->ov_norm = tg_arena_take(arena, N, sizeof *c->ov_norm);
    c->qk_norm = tg_arena_take(arena, N, sizeof *c->qk_norm);
    for (size_t i = 0; i < SIDES; i++) {
        c->gram[i] = tg_arena_take_rows(arena, N, D * D, sizeof *c->gram[i]);
        c->panel[i] = tg_arena_take_rows(arena, N * D, COLUMNS, sizeof *c->panel[i]);
        c->block[i] = tg_arena_take_rows(arena, N, BLOCK, sizeof *c->block[i]);
    }
}

double tg_compose_baseline(const tg_config *config)
{
    return 1 / sqrt((double)config->n_embd);
}

/* ---- a head's matrices */

/* x of a side, as a matrix [C,D] at `at` with these strides. */
struct tall {
    const double *at;
    size_t row, col;
};

static struct tall tall_of(const tg_compose *c, size_t side, size_t head)
{
    const tg_factors *f = &c->layer[head / c->H];
    const size_t h = head % c->H;

    if (side == WRITTEN)
        return (struct tall){tg_factors_o(f, h), 1, c->C};
    return (struct tall){side == AS_QUERY ? tg_factors_q(f, h)
                         : side == AS_KEY ? tg_factors_k(f, h)
                                          : tg_factors_v(f, h),
                         c->D, 1};
}

static void set_grams(void *context, size_t begin, size_t end)
{
    const tg_compose *c = context;
    const size_t C = c->C, D = c->D;

    for (size_t n = begin; n < end; n++) {
        const tg_factors *f = &c->layer[n / c->H];
        const size_t h = n % c->H, at = n * D * D;
        const double *q = tg_factors_q(f, h), *k = tg_factors_k(f, h), *v = tg_factors_v(f, h),
                     *o = tg_factors_o(f, h);

        tg_gram_columns(c->gram[OF_V] + at, v, v, C, D);
        tg_gram_rows(c->gram[OF_O] + at, o, o, C, D);
        tg_gram_columns(c->gram[OF_Q] + at, q, q, C, D);
        tg_gram_columns(c->gram[OF_K] + at, k, k, C, D);
        c->ov_norm[n] = tg_gram_norm(c->gram[OF_V] + at, c->gram[OF_O] + at, D);
        c->qk_norm[n] = tg_gram_norm(c->gram[OF_Q] + at, c->gram[OF_K] + at, D);
    }
}

/* ---- blocks of them: a piece of work is a side of a head, SIDES * head + side */

struct blocks {
    const tg_compose *c;
    size_t row, column; /* where the block begins */
};

/* panel [D,columns] = g x^T */
static void make_panels(void *context, size_t begin, size_t end)
{
    const struct blocks *b = context;
    const tg_compose *c = b->c;
    const size_t D = c->D, n = tg_size_min(COLUMNS, c->C - b->column);

    for (size_t i = begin; i < end; i++) {
        const size_t head = i / SIDES, side = i % SIDES;
        const struct tall x = tall_of(c, side, head);
        double *panel = c->panel[side] + head * D * COLUMNS;

        memset(panel, 0, D * COLUMNS * sizeof *panel);
        tg_product64_run(&(tg_product64){D, n, D, c->gram[gram_of[side]] + head * D * D,
                                         x.at + b->column * x.row, TG_TYPE_DOUBLE, TG_TYPE_DOUBLE, D, 1,
                                         x.col, x.row, panel, COLUMNS, false});
    }
}

/* Each pair of elements i < j is there twice, and counts once, with weight 2. */
static void weigh(double *block, size_t row, size_t column)
{
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < COLUMNS; j++)
            block[i * COLUMNS + j] *= row + i < column + j ? 2 : row + i == column + j ? 1 : 0;
}

/* block [rows,columns] = x panel */
static void make_blocks(void *context, size_t begin, size_t end)
{
    const struct blocks *b = context;
    const tg_compose *c = b->c;
    const size_t D = c->D, m = tg_size_min(ROWS, c->C - b->row);

    for (size_t i = begin; i < end; i++) {
        const size_t head = i / SIDES, side = i % SIDES;
        const struct tall x = tall_of(c, side, head);
        double *block = c->block[side] + head * BLOCK;

        memset(block, 0, BLOCK * sizeof *block);
        tg_product64_run(&(tg_product64){m, COLUMNS, D, x.at + b->row * x.row,
                                         c->panel[side] + head * D * COLUMNS, TG_TYPE_DOUBLE, TG_TYPE_DOUBLE,
                                         x.row, x.col, COLUMNS, 1, block, COLUMNS, false});
        if (side == WRITTEN)
            weigh(block, b->row, b->column);
    }
}

/* score[from,to] += <what from writes, what to reads> in this block */
static void add_blocks(const tg_compose *c)
{
    for (size_t t = 0; t < TG_COMPOSITIONS; t++)
        tg_product64_run(&(tg_product64){c->N, c->N, BLOCK, c->block[WRITTEN], c->block[AS_QUERY + t],
                                         TG_TYPE_DOUBLE, TG_TYPE_DOUBLE, BLOCK, 1, 1, BLOCK, c->score[t],
                                         c->N, true});
}

static bool sum_blocks(const tg_compose *c, const tg_watch *watch)
{
    const double all = (double)c->C * (double)c->C;

    for (size_t column = 0; column < c->C; column += COLUMNS) {
        struct blocks b = {c, 0, column};

        tg_threads_run(SIDES * c->N, 1, make_panels, &b);
        for (; b.row < tg_size_min(column + COLUMNS, c->C); b.row += ROWS) {
            tg_threads_run(SIDES * c->N, 1, make_blocks, &b);
            add_blocks(c);
            if (!tg_watch_report(watch, (double)column * (double)column / all))
                return false;
        }
    }
    return true;
}

/* ---- scores */

/* From sums of squares to scores. */
static void divide(tg_compose *c)
{
    for (size_t i = 0; i < c->N * c->N; i++) {
        const size_t from = i / c->N, to = i % c->N;

        for (size_t t = 0; t < TG_COMPOSITIONS; t++) {
            const double read = t == TG_COMPOSE_V ? c->ov_norm[to] : c->qk_norm[to];

            c->score[t][i] =
                from / c->H < to / c->H ? sqrt(fmax(c->score[t][i], 0)) / (c->ov_norm[from] * read) : nan("");
        }
    }
}

bool tg_compose_run(tg_compose *c, const tg_model *model, const tg_watch *watch)
{
    for (size_t l = 0; l < c->L; l++)
        tg_factors_set(&c->layer[l], model, l);
    for (size_t t = 0; t < TG_COMPOSITIONS; t++)
        memset(c->score[t], 0, c->N * c->N * sizeof *c->score[t]);
    tg_threads_run(c->N, 1, set_grams, c);
    if (!sum_blocks(c, watch))
        return false;
    divide(c);
    return true;
}
