#include "lib/attn/attn.h"

#include <float.h>
#include <math.h>
#include <omp.h>

#include "lib/base/convert.h"
#include "lib/base/size.h"
#include "lib/nn/ref/ref.h"

tg_status tg_attn_index_in(const char *what, size_t index, size_t n, tg_err *err)
{
    if (index == TG_ATTN_ALL || index < n)
        return TG_OK;
    if (n == 1)
        return tg_fail(err, TG_EUSAGE, "%s %zu is out of range: there is only %s 0", what, index, what);
    return tg_fail(err, TG_EUSAGE, "%s %zu is out of range: there are %zu, 0 to %zu", what, index, n, n - 1);
}

tg_status tg_attn_pick_check(const tg_attn_pick *pick, size_t L, size_t H, size_t T, tg_err *err)
{
    tg_status status = tg_attn_index_in("layer", pick->layer, L, err);

    if (!status)
        status = tg_attn_index_in("head", pick->head, H, err);
    if (!status)
        status = tg_attn_index_in("query", pick->query, T, err);
    if (!status)
        status = tg_attn_index_in("key", pick->key, T, err);
    return status;
}

float tg_attn_mask_value(tg_attn_mask mask)
{
    static const float value[] = {(float)TG_MASKED, -INFINITY, -FLT_MAX};

    return value[mask];
}

/* ---- one row */

/* One thread's; scores and probs are as long as the panel, att as its channels. */
typedef struct lane {
    double *q, *scores, *probs, *att;
} lane;

void tg_attn_place(tg_arena *arena, tg_attn_work *work, size_t threads, size_t T, size_t D)
{
    tg_attn_panel_place(arena, &work->panel, T, D);
    work->threads = threads > 0 ? threads : (size_t)omp_get_max_threads();
    work->row_width = 2 * (tg_attn_panel_width(T) + tg_attn_panel_width(D));
    if (T > SIZE_MAX / 8 || D > SIZE_MAX / 8)
        work->row_width = SIZE_MAX; /* which the arena will not find */
    work->rows = tg_arena_take_rows(arena, work->threads, work->row_width, sizeof *work->rows);
}

static lane lane_of(const tg_attn_work *work, size_t thread)
{
    const size_t T = tg_attn_panel_width(work->panel.T), D = tg_attn_panel_width(work->panel.D);
    double *row = work->rows + thread * work->row_width;

    return (lane){row, row + D, row + D + T, row + D + 2 * T};
}

static void load_head(tg_attn_panel *panel, const tg_attn_view *a, size_t b, size_t h)
{
    for (size_t t = 0; t < a->T; t++) {
        const size_t at = (b * a->T + t) * a->stride + h * panel->D;

        tg_attn_panel_put(panel, t, a->k + at, a->v + at);
    }
}

/* Row i of row->b, row->h. */
static void compute_row(tg_attn_row *row, const tg_attn_work *work, size_t thread, size_t i, bool att)
{
    const tg_attn_view *a = row->view;
    const tg_attn_panel *panel = &work->panel;
    const lane l = lane_of(work, thread);
    const float *q = a->q + (row->b * a->T + i) * a->stride + row->h * panel->D;

    tg_double_from_float(l.q, q, panel->D);
    tg_attn_panel_scores(l.scores, panel, l.q, i);
    tg_softmax_row_ref64(l.probs, l.scores, i + 1); /* a masked score takes no share, however */
    for (size_t j = i + 1; j < a->T; j++)           /* low the others are */
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
    const size_t D = row->view->C / row->view->H;
    bool finite = true;

    for (size_t j = 0; j <= row->i; j++)
        finite = finite && isfinite((float)row->scores[j]) && isfinite((float)row->probs[j]);
    for (size_t d = 0; row->att && d < D; d++)
        finite = finite && isfinite((float)row->att[d]);
    return finite;
}

tg_status tg_attn_not_finite(size_t layer, size_t head, size_t query, tg_err *err)
{
    return tg_fail(err, TG_EDATA, "layer %zu, head %zu, position %zu: attention is not finite", layer, head,
                   query);
}

/* ---- walks */

/* The range that a picked index stands for: itself, or all of n. */
static void range(size_t *begin, size_t *end, size_t index, size_t n)
{
    *begin = index == TG_ATTN_ALL ? 0 : index;
    *end = index == TG_ATTN_ALL ? n : index + 1;
}

/* Walk over the picked queries of row->b, row->h. */
typedef bool (*walk_head)(const tg_attn_row *head, const tg_attn_pick *pick, tg_attn_work *work,
                          const void *how);

static bool walk_heads(const tg_attn_view *view, size_t layer, const tg_attn_pick *pick, tg_attn_work *work,
                       walk_head walk, const void *how)
{
    tg_attn_row head = {.view = view, .layer = layer};
    size_t h_begin, h_end;

    range(&head.j_begin, &head.j_end, pick->key, view->T);
    range(&h_begin, &h_end, pick->head, view->H);
    for (head.b = 0; head.b < view->B; head.b++) {
        for (head.h = h_begin; head.h < h_end; head.h++) {
            load_head(&work->panel, view, head.b, head.h);
            if (!walk(&head, pick, work, how))
                return false;
        }
    }
    return true;
}

struct visitor {
    tg_attn_visit visit;
    void *context;
};

static bool walk_alone(const tg_attn_row *head, const tg_attn_pick *pick, tg_attn_work *work, const void *how)
{
    const struct visitor *visitor = how;
    tg_attn_row row = *head;
    size_t i_begin, i_end;

    range(&i_begin, &i_end, pick->query, head->view->T);
    for (size_t i = i_begin; i < i_end; i++) {
        compute_row(&row, work, 0, i, true);
        if (!visitor->visit(visitor->context, &row))
            return false;
    }
    return true;
}

bool tg_attn_walk(const tg_attn_view *view, size_t layer, const tg_attn_pick *pick, tg_attn_work *work,
                  tg_attn_visit visit, void *context)
{
    return walk_heads(view, layer, pick, work, walk_alone, &(struct visitor){visit, context});
}

/* So long that a turn is little beside the work on what it hands on. */
size_t tg_attn_chunk(size_t T)
{
    return T < 1024 ? 1024 / T : 1;
}

static bool walk_together(const tg_attn_row *head, const tg_attn_pick *pick, tg_attn_work *work,
                          const void *how)
{
    const tg_attn_team *team = how;
    const size_t chunk = tg_attn_chunk(head->view->T);
    bool going = true;
    size_t i_begin, i_end;

    range(&i_begin, &i_end, pick->query, head->view->T);
    #pragma omp parallel for ordered schedule(static, 1) num_threads((int)work->threads)
    for (size_t first = i_begin; first < i_end; first += chunk) {
        const size_t thread = (size_t)omp_get_thread_num(), end = tg_size_min(first + chunk, i_end);
        tg_attn_row row = *head;
        bool wanted;

        #pragma omp atomic read
        wanted = going;
        for (size_t i = first; wanted && i < end; i++) {
            compute_row(&row, work, thread, i, team->att);
            team->row(team->context, &row, thread);
        }
        if (team->turn) {
            #pragma omp ordered
            if (going && !team->turn(team->context, thread)) {
                #pragma omp atomic write
                going = false;
            }
        }
    }
    return going;
}

bool tg_attn_walk_team(const tg_attn_view *view, size_t layer, const tg_attn_pick *pick, tg_attn_work *work,
                       const tg_attn_team *team)
{
    return walk_heads(view, layer, pick, work, walk_together, team);
}
