#include "lib/attn/stage.h"

#include <assert.h>
#include <string.h>

#include "lib/base/convert.h"
#include "lib/base/size.h"
#include "lib/nn/linear64.h"

size_t tg_stage_width(const tg_qkv_view *a)
{
    const size_t heads = tg_size_add_sat(a->H, tg_size_mul_sat(2, a->KV));

    return tg_size_max(tg_size_mul_sat(heads, a->D), a->C);
}

void tg_stage_scratch_place(tg_arena *arena, tg_stage_scratch *scratch, const tg_qkv_view *a)
{
    const size_t rows = tg_size_mul_sat(a->B, a->T);

    tg_attn_scratch_place(arena, &scratch->walk, 0, a->T, a->D);
    scratch->values = tg_arena_take_rows(arena, rows, tg_stage_width(a), sizeof *scratch->values);
    scratch->att = tg_arena_take_rows(arena, rows, a->H * a->D, sizeof *scratch->att);
}

/* The float32 numbers of a stage that is divided into heads: token n's are at floats + n * ld. */
typedef struct source {
    const float *floats;
    size_t ld;
} source;

static source source_of(tg_attn_stage stage, const tg_attn_layer *layer)
{
    const tg_qkv_view *a = &layer->view;
    const size_t Q = a->H * a->D, KV = a->KV * a->D;

    switch (stage) {
    case TG_ATTN_Q_PROJECTED:
        return (source){layer->q_steps.projected, Q};
    case TG_ATTN_K_PROJECTED:
        return (source){layer->k_steps.projected, KV};
    case TG_ATTN_Q_NORMED:
        return (source){layer->q_steps.normed, Q};
    case TG_ATTN_K_NORMED:
        return (source){layer->k_steps.normed, KV};
    case TG_ATTN_Q:
        return (source){a->q, a->ldq};
    case TG_ATTN_K:
        return (source){a->k, a->ldk};
    default:
        return (source){a->v, a->ldv};
    }
}

/* Copy such a stage into the view's layout. */
static void gather(double *out, tg_attn_stage stage, const tg_attn_layer *layer)
{
    const tg_qkv_view *a = &layer->view;
    const source from = source_of(stage, layer);
    const bool kv = tg_attn_stage_of_keys(stage);

    for (size_t b = 0; b < a->B; b++)
        for (size_t t = 0; t < a->T; t++)
            for (size_t h = 0; h < (kv ? a->KV : a->H); h++)
                tg_double_from_float(out + (kv ? tg_attn_kv_base : tg_attn_base)(a, b, t, h),
                                     from.floats + (b * a->T + t) * from.ld + h * a->D, a->D);
}

static void keep_att(void *context, const tg_attn_row *row, size_t thread)
{
    double *att = context;
    const tg_qkv_view *a = row->view;

    (void)thread;
    memcpy(att + tg_attn_base(a, row->b, row->i, row->h), row->att, a->D * sizeof *att);
}

static void attend(double *att, const tg_qkv_view *view, const tg_attn_filter *filter,
                   tg_attn_scratch *scratch)
{
    const tg_attn_visitor visitor = {.row = keep_att, .context = att, .att = true};

    (void)tg_attn_walk_parallel(view, 0, filter, scratch, &visitor); /* without turns it cannot end early */
}

/* Project all tokens, or in each sequence only the query's. */
static void project(double *out, const double *att, const tg_attn_layer *layer, size_t query)
{
    const size_t B = layer->view.B, T = layer->view.T, C = layer->view.C, Q = layer->view.H * layer->view.D;
    const tg_linear proj = tg_attn_layer_proj(layer);

    if (query == TG_ATTN_ALL) {
        tg_linear64_forward(out, NULL, att, &proj, B * T);
        return;
    }
    for (size_t n = query; n < B * T; n += T)
        tg_linear64_forward(out + n * C, NULL, att + n * Q, &proj, 1);
}

/* Compute att of all heads in the layout that the projection reads, then project it. */
static void fill_out(tg_stage_scratch *scratch, const tg_attn_layer *layer, size_t query)
{
    const tg_attn_filter heads = {TG_ATTN_ALL, TG_ATTN_ALL, query, TG_ATTN_ALL};
    tg_qkv_view view = layer->view;

    view.layout = TG_ATTN_BTHD;
    attend(scratch->att, &view, &heads, &scratch->walk);
    project(scratch->values, scratch->att, layer, query);
}

static void copy_rows(double *out, tg_matrix from, size_t N)
{
    for (size_t n = 0; n < N; n++)
        tg_double_from_float(out + n * from.cols, tg_floats(tg_matrix_from(from, n)), from.cols);
}

void tg_stage_fill(tg_stage_scratch *scratch, tg_attn_stage stage, const tg_attn_layer *layer,
                   const tg_attn_filter *filter)
{
    const tg_qkv_view *view = &layer->view;
    const size_t N = view->B * view->T;

    assert(!tg_attn_stage_square(stage) && tg_attn_layer_has(layer, stage));
    if (stage == TG_ATTN_RESID)
        copy_rows(scratch->values, layer->residual, N);
    else if (stage == TG_ATTN_X)
        tg_double_from_float(scratch->values, layer->x, N * view->C);
    else if (stage == TG_ATTN_QKV)
        tg_double_from_float(scratch->values, layer->qkv, N * (view->H + 2 * view->KV) * view->D);
    else if (stage == TG_ATTN_ATT)
        attend(scratch->values, view, filter, &scratch->walk);
    else if (stage == TG_ATTN_OUT)
        fill_out(scratch, layer, filter->query);
    else
        gather(scratch->values, stage, layer);
}

/* ---- all rows */

struct walk {
    bool probs;
    tg_stage_row row;
    void *context;
};

static void visit_row(void *context, const tg_attn_row *row, size_t thread)
{
    const struct walk *w = context;

    (void)thread;
    w->row(w->context, &(tg_stage_part){tg_attn_offset(row->view, row->b, row->h, row->i, 0), row->first,
                                        row->i, row->view->T, w->probs ? row->probs : row->scores});
}

void tg_stage_walk(tg_stage_scratch *scratch, tg_attn_stage stage, const tg_attn_layer *layer,
                   tg_stage_row row, void *context)
{
    struct walk w = {stage == TG_ATTN_PROBS, row, context};
    const tg_attn_visitor visitor = {.row = visit_row, .context = &w};
    tg_attn_shape shape;

    if (tg_attn_stage_square(stage)) {
        (void)tg_attn_walk_parallel(&layer->view, 0, &TG_ATTN_KEEP_ALL, &scratch->walk, &visitor);
        return;
    }
    tg_attn_stage_shape(&shape, stage, &layer->view);
    tg_stage_fill(scratch, stage, layer, &TG_ATTN_KEEP_ALL);
    row(context, &(tg_stage_part){.last = tg_attn_shape_count(&shape) - 1,
                                  .T = tg_attn_shape_count(&shape),
                                  .numbers = scratch->values});
}

float tg_stage_masked(tg_attn_stage stage, tg_attn_mask mask)
{
    return stage == TG_ATTN_PROBS ? 0.0f : tg_attn_mask_value(mask);
}
