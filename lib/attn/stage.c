#include "lib/attn/stage.h"

#include <assert.h>
#include <string.h>

#include "lib/base/convert.h"
#include "lib/base/size.h"
#include "lib/nn/ops64.h"

void tg_stage_scratch_place(tg_arena *arena, tg_stage_scratch *scratch, size_t B, size_t T, size_t C,
                            size_t H)
{
    const size_t rows = tg_size_mul_sat(B, T);

    tg_attn_scratch_place(arena, &scratch->walk, 0, T, C / H);
    scratch->values = tg_arena_take_rows(arena, rows, 3 * C, sizeof *scratch->values);
    scratch->att = tg_arena_take_rows(arena, rows, C, sizeof *scratch->att);
}

/* Copy q, k or v into the view's layout. */
static void gather(double *out, const tg_qkv_view *a, const float *in)
{
    const size_t D = a->C / a->H;

    for (size_t b = 0; b < a->B; b++)
        for (size_t t = 0; t < a->T; t++)
            for (size_t h = 0; h < a->H; h++)
                tg_double_from_float(out + tg_attn_base(a, b, t, h), in + (b * a->T + t) * a->stride + h * D,
                                     D);
}

static void keep_att(void *context, const tg_attn_row *row, size_t thread)
{
    double *att = context;
    const tg_qkv_view *a = row->view;

    (void)thread;
    memcpy(att + tg_attn_base(a, row->b, row->i, row->h), row->att, a->C / a->H * sizeof *att);
}

static void attend(double *att, const tg_qkv_view *view, const tg_attn_filter *filter,
                   tg_attn_scratch *scratch)
{
    const tg_attn_team team = {.row = keep_att, .context = att, .att = true};

    (void)tg_attn_walk_team(view, 0, filter, scratch, &team); /* without turns it cannot end early */
}

/* Project all tokens, or in each sequence only the query's. */
static void project(double *out, const double *att, const tg_attn_layer *layer, size_t query)
{
    const size_t B = layer->view.B, T = layer->view.T, C = layer->view.C;
    const tg_linear proj = {.w = layer->w_proj, .b = layer->b_proj, .in = C, .out = C};

    if (query == TG_ATTN_ALL) {
        tg_linear64_forward(out, NULL, att, &proj, B * T);
        return;
    }
    for (size_t n = query; n < B * T; n += T)
        tg_linear64_forward(out + n * C, NULL, att + n * C, &proj, 1);
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

void tg_stage_fill(tg_stage_scratch *scratch, tg_attn_stage stage, const tg_attn_layer *layer,
                   const tg_attn_filter *filter)
{
    const tg_qkv_view *view = &layer->view;
    const size_t n = view->B * view->T * view->C;

    assert(!tg_attn_stage_square(stage) && (layer->x || !tg_attn_stage_of_model(stage)));
    if (stage == TG_ATTN_X)
        tg_double_from_float(scratch->values, layer->x, n);
    else if (stage == TG_ATTN_QKV)
        tg_double_from_float(scratch->values, layer->qkv, 3 * n);
    else if (stage == TG_ATTN_ATT)
        attend(scratch->values, view, filter, &scratch->walk);
    else if (stage == TG_ATTN_OUT)
        fill_out(scratch, layer, filter->query);
    else
        gather(scratch->values, view, stage == TG_ATTN_Q ? view->q : stage == TG_ATTN_K ? view->k : view->v);
}

/* ---- scores and probabilities */

struct square {
    bool probs;
    tg_stage_row row;
    void *context;
};

static void visit_row(void *context, const tg_attn_row *row, size_t thread)
{
    const struct square *s = context;

    (void)thread;
    s->row(s->context, tg_attn_offset(row->view, row->b, row->h, row->i, 0),
           s->probs ? row->probs : row->scores, row->i, row->view->T);
}

void tg_stage_walk_square(tg_stage_scratch *scratch, tg_attn_stage stage, const tg_attn_layer *layer,
                          tg_stage_row row, void *context)
{
    struct square s = {stage == TG_ATTN_PROBS, row, context};
    const tg_attn_team team = {.row = visit_row, .context = &s};

    assert(tg_attn_stage_square(stage));
    (void)tg_attn_walk_team(&layer->view, 0, &TG_ATTN_KEEP_ALL, &scratch->walk, &team);
}

float tg_stage_masked(tg_attn_stage stage, tg_attn_mask mask)
{
    return stage == TG_ATTN_PROBS ? 0.0f : tg_attn_mask_value(mask);
}
