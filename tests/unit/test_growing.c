/* lib/attn/growing: while a text grows, its last rows have the bits of the whole text's. */
#include <stdlib.h>
#include <string.h>

#include "lib/attn/growing.h"
#include "lib/attn/layers.h"
#include "tests/unit/bodies.h"
#include "tests/unit/check.h"
#include "tests/unit/small_model.h"

enum { T_MAX = 80 };
static int32_t ids[T_MAX];

/* The rows of a query, one after another: scores and probabilities of all keys, in the order of the walk. */
struct rows {
    double *numbers; /* [capacity] */
    size_t n, capacity, count;
};

static void keep_row(void *context, const tg_attn_row *row, size_t thread)
{
    struct rows *r = context;
    const size_t n = row->view->T;

    (void)thread;
    CHECK(r->n + 2 * n <= r->capacity && row->i == n - 1);
    memcpy(r->numbers + r->n, row->scores, n * sizeof *r->numbers);
    memcpy(r->numbers + r->n + n, row->probs, n * sizeof *r->numbers);
    r->n += 2 * n;
    r->count++;
}

static struct rows rows_for(const tg_model *m)
{
    const size_t capacity = 2 * T_MAX * m->config.n_layer * m->config.n_head;
    struct rows r = {.numbers = calloc(capacity, sizeof *r.numbers), .capacity = capacity};

    CHECK(r.numbers != NULL);
    return r;
}

/* Keep the rows of the last of T tokens, as a dump has them. */
static void walk_whole(struct rows *r, const tg_model *m, size_t T)
{
    const tg_attn_filter last = {TG_ATTN_ALL, TG_ATTN_ALL, T - 1, TG_ATTN_ALL};
    tg_attn_layers layers;
    tg_err err = {0};

    r->n = 0;
    CHECK_OK(tg_attn_layers_model(&layers, m, ids, T, &err), &err);
    CHECK_OK(tg_attn_layers_select(&layers, &last, &err), &err);
    CHECK_OK(tg_attn_layers_walk_parallel(&layers, &(tg_attn_visitor){.row = keep_row, .context = r}, &err),
             &err);
    tg_attn_layers_close(&layers);
}

/* Begin with `first` tokens, and add one after another up to T. */
static void check_model(const tg_model *m, size_t first, size_t T)
{
    struct rows want = rows_for(m), got = rows_for(m);
    const tg_attn_visitor visitor = {.row = keep_row, .context = &got};
    tg_attn_growing g;
    tg_err err = {0};

    CHECK_OK(tg_attn_growing_open(&g, m, T, first, &err), &err);
    for (size_t t = 0; t < T; t++) {
        if (t + 1 < first)
            continue;
        got.n = 0;
        CHECK_OK(tg_attn_growing_add(&g, t + 1 == first ? ids : ids + t, t + 1 == first ? first : 1, &visitor,
                                     &err),
                 &err);
        CHECK_EQ(tg_attn_growing_shape(&g).T, t + 1);
        walk_whole(&want, m, t + 1);
        CHECK_EQ(got.n, want.n);
        CHECK(memcmp(got.numbers, want.numbers, got.n * sizeof *got.numbers) == 0);
    }
    CHECK_EQ(got.count, (T - first + 1) * m->config.n_layer * m->config.n_head);
    tg_attn_growing_close(&g);
    free(want.numbers);
    free(got.numbers);
}

/* Keys of more than two blocks; bodies have a context of 16. */
static void gpt2(void)
{
    tg_model m;

    small_model_create(&m, small_config(2, 3, 48, T_MAX), 3);
    small_model_stir(&m, 7, 0.5, 0.3);
    check_model(&m, 1, T_MAX);
    check_model(&m, 37, 50);
    tg_model_free(&m);
}

static void families(void)
{
    for (size_t i = 0; i < BODIES; i++) {
        tg_model m;

        body_create(&m, i);
        check_model(&m, 1, 16);
        check_model(&m, 3, 16);
        check_model(&m, 11, 16);
        tg_model_free(&m);
    }
}

/* A turn ends the walk. */
static bool stop(void *context, size_t thread)
{
    (void)thread;
    return --*(size_t *)context > 0;
}

static void count_row(void *context, const tg_attn_row *row, size_t thread)
{
    (void)context, (void)row, (void)thread;
}

static void a_turn_ends_it(void)
{
    size_t left = 2;
    tg_attn_growing g;
    tg_model m;
    tg_err err = {0};

    small_model_create(&m, small_config(2, 3, 12, 16), 3);
    CHECK_OK(tg_attn_growing_open(&g, &m, 16, 5, &err), &err);
    CHECK_OK(tg_attn_growing_add(&g, ids, 5, NULL, &err), &err);
    CHECK_OK(tg_attn_growing_add(&g, ids + 5, 1,
                                 &(tg_attn_visitor){.row = count_row, .turn = stop, .context = &left}, &err),
             &err);
    CHECK_EQ(left, 0);
    tg_attn_growing_close(&g);
    tg_model_free(&m);
}

static void tests(void)
{
    for (size_t t = 0; t < T_MAX; t++)
        ids[t] = (int32_t)((t * 79 + t * t * 13) % 256);
    RUN(gpt2);
    RUN(families);
    RUN(a_turn_ends_it);
}

int main(int argc, char **argv)
{
    return check_each_isa(argc, argv, tests);
}
