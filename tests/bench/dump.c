#include "tests/bench/dump.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd/lines/columns.h"
#include "lib/attn/attn.h"
#include "lib/base/rng.h"
#include "lib/base/threads.h"

struct dump {
    tg_qkv_view view;
    tg_attn_scratch scratch;
    columns columns;
    size_t threads;
    table_text *text;       /* [threads] */
    double *scores, *probs; /* [T] of a row like any other */
    double bytes;
    atomic_size_t text_bytes;
};

static void place(tg_arena *arena, struct dump *d)
{
    const tg_qkv_view *a = &d->view;
    const size_t n = a->T * 3 * a->C;
    float *qkv = tg_arena_take(arena, n, sizeof *qkv);
    const tg_rng rng = {.seed = 1};

    d->view.q = qkv;
    d->view.k = qkv ? qkv + a->C : NULL;
    d->view.v = qkv ? qkv + 2 * a->C : NULL;
    for (size_t i = 0; qkv && i < n; i++)
        qkv[i] = (float)tg_rng_normal(&rng, i);
    tg_attn_scratch_place(arena, &d->scratch, 0, a->T, a->C / a->H);
    d->scores = tg_arena_take(arena, a->T, sizeof *d->scores);
    d->probs = tg_arena_take(arena, a->T, sizeof *d->probs);
    d->text = tg_arena_take(arena, d->threads, sizeof *d->text);
    for (size_t n_text = 0; n_text < d->threads; n_text++) {
        char *text = tg_arena_take(arena, table_capacity(&d->columns.table, tg_attn_chunk(a->T) * a->T), 1);

        if (d->text)
            d->text[n_text] = (table_text){text, 0};
    }
}

static void put(void *context, const tg_attn_row *row, size_t thread)
{
    struct dump *d = context;

    columns_put_row(&d->text[thread], &d->columns, row);
}

static bool count(void *context, size_t thread)
{
    struct dump *d = context;

    d->bytes += (double)d->text[thread].n;
    d->text[thread].n = 0;
    return true;
}

double dump_rows(void *context)
{
    static const tg_attn_filter all = {TG_ATTN_ALL, TG_ATTN_ALL, TG_ATTN_ALL, TG_ATTN_ALL};
    struct dump *d = context;
    const tg_attn_visitor visitor = {.row = put, .turn = count, .context = d};

    d->bytes = 0;
    (void)tg_attn_walk_parallel(&d->view, 0, &all, &d->scratch, &visitor);
    return d->bytes;
}

static void put_rows(void *context, size_t begin, size_t end)
{
    struct dump *d = context;
    const size_t T = d->view.T;
    table_text *text = &d->text[tg_threads_self()];

    for (size_t n = begin; n < end; n++) {
        const tg_attn_row row = {&d->view, 0, 0, n / T, n % T, 0, 0, T, d->scores, d->probs, NULL};

        text->n = 0;
        columns_put_row(text, &d->columns, &row);
        d->text_bytes += text->n;
    }
}

double dump_text(void *context)
{
    struct dump *d = context;

    d->text_bytes = 0;
    tg_threads_run_on(d->threads, d->view.H * d->view.T, 4, put_rows, d);
    return (double)d->text_bytes;
}

static void keep_row(void *context, const tg_attn_row *row, size_t thread)
{
    struct dump *d = context;

    (void)thread;
    for (size_t j = 0; j < row->view->T; j++) {
        d->scores[j] = row->scores[j];
        d->probs[j] = row->probs[j];
    }
}

struct dump *dump_open(size_t T, size_t H, size_t D)
{
    static struct dump d;
    const tg_attn_filter last = {TG_ATTN_ALL, 0, T - 1, TG_ATTN_ALL};
    const tg_attn_visitor visitor = {.row = keep_row, .context = &d};
    tg_arena arena = {0};
    tg_err err;

    d.view = (tg_qkv_view){.B = 1,
                           .T = T,
                           .C = H * D,
                           .H = H,
                           .KV = H,
                           .D = D,
                           .ldq = 3 * H * D,
                           .ldk = 3 * H * D,
                           .ldv = 3 * H * D};
    d.threads = tg_threads();
    columns_set(&d.columns,
                &(columns_of){.stage = TG_ATTN_EVERY, .view = d.view, .L = 1, .format = TABLE_TSV});
    place(&arena, &d);
    if (tg_arena_alloc(&arena, &err)) {
        fprintf(stderr, "bench: %s\n", err.message);
        exit(3);
    }
    place(&arena, &d);
    (void)tg_attn_walk_parallel(&d.view, 0, &last, &d.scratch, &visitor);
    return &d;
}
