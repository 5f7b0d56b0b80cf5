#include "lib/attn/attn.h"

#include <float.h>
#include <math.h>

#include "lib/base/convert.h"
#include "lib/base/finite.h"
#include "lib/base/size.h"
#include "lib/base/threads.h"
#include "lib/nn/ref/ref.h"

tg_status tg_attn_check_index(const char *what, size_t index, size_t n, tg_err *err)
{
    if (index == TG_ATTN_ALL || index < n)
        return TG_OK;
    if (n == 1)
        return tg_fail(err, TG_EUSAGE, "%s %zu is out of range: the only %s is 0", what, index, what);
    return tg_fail(err, TG_EUSAGE, "%s %zu is out of range: expected 0 to %zu", what, index, n - 1);
}

tg_status tg_attn_filter_check(const tg_attn_filter *filter, size_t L, size_t H, size_t T, tg_err *err)
{
    tg_status status;

    if ((status = tg_attn_check_index("layer", filter->layer, L, err)) ||
        (status = tg_attn_check_index("head", filter->head, H, err)) ||
        (status = tg_attn_check_index("query", filter->query, T, err)))
        return status;
    return tg_attn_check_index("key", filter->key, T, err);
}

float tg_attn_mask_value(tg_attn_mask mask)
{
    static const float value[] = {(float)TG_MASKED, -INFINITY, -FLT_MAX};

    return value[mask];
}

/* ---- one row */

/* One thread's buffers, padded to whole panels. */
typedef struct lane {
    double *q, *scores, *probs, *att;
} lane;

void tg_attn_scratch_place(tg_arena *arena, tg_attn_scratch *scratch, size_t threads, size_t T, size_t D)
{
    tg_attn_panel_place(arena, &scratch->panel, T, D);
    scratch->threads = threads > 0 ? threads : tg_threads();
    scratch->row_width = tg_size_mul_sat(2, tg_size_add_sat(tg_attn_panel_width(T), tg_attn_panel_width(D)));
    scratch->rows = tg_arena_take_rows(arena, scratch->threads, scratch->row_width, sizeof *scratch->rows);
}

static lane lane_of(const tg_attn_scratch *scratch, size_t thread)
{
    const size_t T = tg_attn_panel_width(scratch->panel.T), D = tg_attn_panel_width(scratch->panel.D);
    double *row = scratch->rows + thread * scratch->row_width;

    return (lane){row, row + D, row + D + T, row + D + 2 * T};
}

static void load_head(tg_attn_panel *panel, const tg_qkv_view *a, size_t b, size_t h)
{
    const size_t g = tg_attn_kv_head(a, h) * a->D;

    for (size_t t = 0; t < a->T; t++) {
        const size_t n = b * a->T + t;

        tg_attn_panel_put(panel, t, a->k + n * a->ldk + g, a->v + n * a->ldv + g);
    }
}

/* Compute row i of head row->h of sequence row->b. */
static void compute_row(tg_attn_row *row, const tg_attn_scratch *scratch, size_t thread, size_t i, bool att)
{
    const tg_qkv_view *a = row->view;
    const tg_attn_panel *panel = &scratch->panel;
    const lane l = lane_of(scratch, thread);
    const float *q = a->q + (row->b * a->T + i) * a->ldq + row->h * a->D;

    tg_double_from_float(l.q, q, panel->D);
    tg_attn_panel_scores(l.scores, panel, l.q, i);
    /* masked keys get probability 0, however low the visible scores are */
    tg_softmax_row_ref64(l.probs, l.scores, i + 1);
    for (size_t j = i + 1; j < a->T; j++)
        l.probs[j] = 0.0;
    if (att)
        tg_attn_panel_values(l.att, panel, l.probs, i);
    row->i = i;
    row->scores = l.scores;
    row->probs = l.probs;
    row->att = att ? l.att : NULL;
}

bool tg_attn_row_is_finite(const tg_attn_row *row)
{
    const size_t D = row->view->D, n = row->i + 1;

    return tg_find_not_finite_rounded(row->scores, n) == n &&
           tg_find_not_finite_rounded(row->probs, n) == n &&
           (!row->att || tg_find_not_finite_rounded(row->att, D) == D);
}

tg_status tg_attn_not_finite(size_t layer, size_t head, size_t query, tg_err *err)
{
    return tg_fail(err, TG_EDATA, "layer %zu, head %zu, position %zu: attention is not finite", layer, head,
                   query);
}

/* ---- walks */

/* The indices begin <= n < end that a field of a filter keeps. */
typedef struct range {
    size_t begin, end;
} range;

static range range_of(size_t wanted, size_t n)
{
    return wanted == TG_ATTN_ALL ? (range){0, n} : (range){wanted, wanted + 1};
}

/* What all rows of a walk have in common. */
static tg_attn_row first_row(const tg_qkv_view *view, size_t layer, const tg_attn_filter *filter)
{
    const range keys = range_of(filter->key, view->T);

    return (tg_attn_row){.view = view, .layer = layer, .j_begin = keys.begin, .j_end = keys.end};
}

bool tg_attn_walk(const tg_qkv_view *view, size_t layer, const tg_attn_filter *filter,
                  tg_attn_scratch *scratch, tg_attn_visit visit, void *context)
{
    const range heads = range_of(filter->head, view->H), queries = range_of(filter->query, view->T);
    tg_attn_row row = first_row(view, layer, filter);

    for (row.b = 0; row.b < view->B; row.b++) {
        for (row.h = heads.begin; row.h < heads.end; row.h++) {
            load_head(&scratch->panel, view, row.b, row.h);
            for (size_t i = queries.begin; i < queries.end; i++) {
                compute_row(&row, scratch, 0, i, true);
                if (!visit(context, &row))
                    return false;
            }
        }
    }
    return true;
}

/* Long enough that waiting for a turn costs little compared with making the output. */
size_t tg_attn_chunk(size_t T)
{
    return T < 1024 ? 1024 / T : 1;
}

/* The walk over queries of one head, whose keys and values are loaded; `first` is what its rows have
 * in common. */
struct head_walk {
    const tg_attn_row *first;
    range queries;
    const tg_attn_scratch *scratch;
    const tg_attn_visitor *visitor;
};

static void walk_queries(void *context, size_t begin, size_t end)
{
    const struct head_walk *w = context;
    const size_t thread = tg_threads_self();
    tg_attn_row row = *w->first;

    for (size_t i = begin; i < end; i++) {
        compute_row(&row, w->scratch, thread, w->queries.begin + i, w->visitor->att);
        w->visitor->row(w->visitor->context, &row, thread);
    }
}

static void walk_chunk(void *context, size_t n)
{
    const struct head_walk *w = context;
    const size_t chunk = tg_attn_chunk(w->first->view->T), all = w->queries.end - w->queries.begin;

    walk_queries(context, n * chunk, tg_size_min(all, (n + 1) * chunk));
}

static bool take_turn(void *context, size_t n)
{
    const struct head_walk *w = context;

    (void)n;
    return w->visitor->turn(w->visitor->context, tg_threads_self());
}

static bool walk_head(struct head_walk *w)
{
    const size_t n = w->queries.end - w->queries.begin, chunk = tg_attn_chunk(w->first->view->T);

    if (w->visitor->turn)
        return tg_threads_run_in_turn(w->scratch->threads, tg_ceil_div(n, chunk), walk_chunk, take_turn, w);
    tg_threads_run_on(w->scratch->threads, n, chunk, walk_queries, w);
    return true;
}

bool tg_attn_walk_parallel(const tg_qkv_view *view, size_t layer, const tg_attn_filter *filter,
                           tg_attn_scratch *scratch, const tg_attn_visitor *visitor)
{
    const range heads = range_of(filter->head, view->H), queries = range_of(filter->query, view->T);
    tg_attn_row row = first_row(view, layer, filter);

    for (row.b = 0; row.b < view->B; row.b++) {
        for (row.h = heads.begin; row.h < heads.end; row.h++) {
            load_head(&scratch->panel, view, row.b, row.h);
            if (!walk_head(&(struct head_walk){&row, queries, scratch, visitor}))
                return false;
        }
    }
    return true;
}
