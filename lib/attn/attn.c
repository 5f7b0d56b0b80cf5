#include "lib/attn/attn.h"

#include "lib/base/size.h"
#include "lib/nn/ref/ref.h"

static tg_status check_index(const char *what, size_t index, size_t n, tg_err *err)
{
    if (index == TG_ATTN_ALL || index < n)
        return TG_OK;
    if (n == 1)
        return tg_fail(err, TG_EUSAGE, "%s %zu is out of range: there is only %s 0", what, index, what);
    return tg_fail(err, TG_EUSAGE, "%s %zu is out of range: there are %zu, 0 to %zu", what, index, n, n - 1);
}

tg_status tg_attn_pick_check(const tg_attn_pick *pick, size_t L, size_t H, size_t T, tg_err *err)
{
    tg_status status = check_index("layer", pick->layer, L, err);

    if (!status)
        status = check_index("head", pick->head, H, err);
    if (!status)
        status = check_index("query", pick->query, T, err);
    if (!status)
        status = check_index("key", pick->key, T, err);
    return status;
}

void tg_attn_place(tg_arena *arena, tg_attn_work *work, size_t T, size_t D)
{
    size_t panel;

    if (!tg_size_mul(&panel, T, D))
        panel = SIZE_MAX; /* which the arena will not find */
    work->q = tg_arena_take(arena, D, sizeof *work->q);
    work->k = tg_arena_take(arena, panel, sizeof *work->k);
    work->v = tg_arena_take(arena, panel, sizeof *work->v);
    work->scores = tg_arena_take(arena, T, sizeof *work->scores);
    work->probs = tg_arena_take(arena, T, sizeof *work->probs);
    work->att = tg_arena_take(arena, D, sizeof *work->att);
}

/* One head of x (q, k or v), tokens t0 .. t0+n-1 of sequence b, as doubles [n,D]. */
static void gather(double *out, const tg_attn_view *a, const float *x, size_t b, size_t h, size_t t0,
                   size_t n)
{
    size_t D = a->C / a->H;

    for (size_t t = 0; t < n; t++) {
        const float *x_bth = x + (b * a->T + t0 + t) * a->stride + h * D;

        for (size_t d = 0; d < D; d++)
            out[t * D + d] = (double)x_bth[d];
    }
}

static void compute_row(tg_attn_work *w, const tg_attn_view *a, size_t b, size_t h, size_t i)
{
    size_t D = a->C / a->H;

    gather(w->q, a, a->q, b, h, i, 1);
    tg_attention_scores_row_ref64(w->scores, w->q, w->k, D, a->T, D, i);
    tg_softmax_row_ref64(w->probs, w->scores, i + 1); /* a masked score takes no share, however */
    for (size_t j = i + 1; j < a->T; j++)             /* low the others are */
        w->probs[j] = 0.0;
    tg_attention_values_row_ref64(w->att, w->probs, NULL, w->v, D, D, i);
}

/* The range that a picked index stands for: itself, or all of n. */
static void range(size_t *begin, size_t *end, size_t index, size_t n)
{
    *begin = index == TG_ATTN_ALL ? 0 : index;
    *end = index == TG_ATTN_ALL ? n : index + 1;
}

static bool walk_head(tg_attn_row *row, const tg_attn_pick *pick, tg_attn_work *work, tg_attn_visit visit,
                      void *context)
{
    const tg_attn_view *a = row->view;
    size_t i_begin, i_end;

    range(&i_begin, &i_end, pick->query, a->T);
    gather(work->k, a, a->k, row->b, row->h, 0, a->T);
    gather(work->v, a, a->v, row->b, row->h, 0, a->T);
    for (row->i = i_begin; row->i < i_end; row->i++) {
        compute_row(work, a, row->b, row->h, row->i);
        if (!visit(context, row))
            return false;
    }
    return true;
}

bool tg_attn_walk(const tg_attn_view *view, size_t layer, const tg_attn_pick *pick, tg_attn_work *work,
                  tg_attn_visit visit, void *context)
{
    size_t h_begin, h_end;
    tg_attn_row row = {
        .view = view, .layer = layer, .scores = work->scores, .probs = work->probs, .att = work->att};

    range(&row.j_begin, &row.j_end, pick->key, view->T);
    range(&h_begin, &h_end, pick->head, view->H);
    for (row.b = 0; row.b < view->B; row.b++) {
        for (row.h = h_begin; row.h < h_end; row.h++) {
            if (!walk_head(&row, pick, work, visit, context))
                return false;
        }
    }
    return true;
}
