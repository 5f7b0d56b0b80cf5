#include "lib/attn/attn.h"

#include <float.h>
#include <math.h>
#include <string.h>

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

/* ---- a panel: the sums of PANEL keys, or of PANEL channels, advance together
 *
 * Every result has exactly the bits of the double-precision reference operations (attention_scores_row,
 * softmax_row, attention_values_row in lib/nn/ref/ref_ops.h): each sum adds the same products in the same
 * order.
 */

#define PANEL ((size_t)8)

/* Doubles in the widest vector that every processor has. */
#define LANES 2
typedef double lanes __attribute__((vector_size(LANES * sizeof(double))));

/* PANEL sums, kept in registers. */
typedef struct sums {
    lanes s0, s1, s2, s3;
} sums;

static inline lanes load(const double *p)
{
    lanes x;

    memcpy(&x, p, sizeof x);
    return x;
}

/* sums += factor * p[0..7]; each product is rounded before it is added */
static inline void add(sums *s, double factor, const double *p)
{
    s->s0 += factor * load(p);
    s->s1 += factor * load(p + LANES);
    s->s2 += factor * load(p + 2 * LANES);
    s->s3 += factor * load(p + 3 * LANES);
}

/* n rounded up to PANEL; SIZE_MAX, which no arena can provide, if that overflows. */
static size_t padded(size_t n)
{
    return n > SIZE_MAX - PANEL ? SIZE_MAX : tg_round_up(n, PANEL);
}

static void load_head(tg_attn_panel *panel, const tg_qkv_view *a, size_t b, size_t h)
{
    const size_t D = a->D, g = tg_attn_kv_head(a, h) * D;

    for (size_t t = 0; t < a->T; t++) {
        const size_t n = b * a->T + t;
        const float *k = a->k + n * a->ldk + g, *v = a->v + n * a->ldv + g;
        double *k_t = panel->k + t / PANEL * D * PANEL + t % PANEL, *v_t = panel->v + t * padded(D);

        for (size_t d = 0; d < D; d++) {
            k_t[d * PANEL] = (double)k[d];
            v_t[d] = (double)v[d];
        }
    }
}

/* scores[j] = (sum over d of q[d] * k_j[d]) / sqrt(D) for j <= i, TG_MASKED for i < j < T; writes
 * scores [padded(T)]. */
static void compute_scores(double *scores, const tg_attn_panel *panel, const double *q, size_t i)
{
    const size_t D = panel->D;
    const double root = sqrt((double)D);

    for (size_t j = 0; j <= i; j += PANEL) {
        const double *k_j = panel->k + j * D;
        sums s = {0};

        for (size_t d = 0; d < D; d++)
            add(&s, q[d], k_j + d * PANEL);
        s = (sums){s.s0 / root, s.s1 / root, s.s2 / root, s.s3 / root};
        memcpy(scores + j, &s, sizeof s);
    }
    for (size_t j = i + 1; j < panel->T; j++)
        scores[j] = TG_MASKED;
}

/* att[d] = sum over first <= j <= i of probs[j] * v_j[d]; writes att [padded(D)]. */
static void compute_att(double *att, const tg_attn_panel *panel, const double *probs, size_t first, size_t i)
{
    const size_t width = padded(panel->D);

    for (size_t d = 0; d < width; d += PANEL) {
        sums s = {0};

        for (size_t j = first; j <= i; j++)
            add(&s, probs[j], panel->v + j * width + d);
        memcpy(att + d, &s, sizeof s);
    }
}

/* ---- one row */

void tg_attn_scratch_place(tg_arena *arena, tg_attn_scratch *scratch, size_t threads, size_t T, size_t D)
{
    scratch->panel.T = T;
    scratch->panel.D = D;
    scratch->panel.k = tg_arena_take_rows(arena, padded(T), D, sizeof *scratch->panel.k);
    scratch->panel.v = tg_arena_take_rows(arena, T, padded(D), sizeof *scratch->panel.v);
    scratch->threads = threads > 0 ? threads : tg_threads();
    scratch->row_width = tg_size_mul_sat(2, tg_size_add_sat(padded(T), padded(D)));
    scratch->rows = tg_arena_take_rows(arena, scratch->threads, scratch->row_width, sizeof *scratch->rows);
}

void tg_attn_probs_row(double *probs, const double *scores, size_t T, size_t first, size_t i)
{
    memset(probs, 0, first * sizeof *probs);
    tg_softmax_row_ref64(probs + first, scores + first, i + 1 - first);
    memset(probs + i + 1, 0, (T - i - 1) * sizeof *probs);
}

/* Compute row i of head row->h of sequence row->b. */
static void compute_row(tg_attn_row *row, const tg_attn_scratch *scratch, size_t thread, size_t i, bool att)
{
    const tg_qkv_view *a = row->view;
    const tg_attn_panel *panel = &scratch->panel;
    const size_t T = padded(panel->T), D = padded(panel->D);
    /* the thread's buffers, padded to whole panels */
    double *q = scratch->rows + thread * scratch->row_width, *scores = q + D, *probs = scores + T;

    tg_double_from_float(q, a->q + (row->b * a->T + i) * a->ldq + row->h * a->D, panel->D);
    compute_scores(scores, panel, q, i);
    tg_attention_rule_row_ref64(scores, &a->rule, panel->D, i);
    row->i = i;
    row->first = tg_attention_first(&a->rule, i);
    tg_attn_probs_row(probs, scores, a->T, row->first, i);
    if (att)
        compute_att(probs + T, panel, probs, row->first, i);
    row->scores = scores;
    row->probs = probs;
    row->att = att ? probs + T : NULL;
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
