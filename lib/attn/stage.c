#include "lib/attn/stage.h"

#include <assert.h>
#include <string.h>

#include "lib/nn/ops64.h"
#include "lib/attn/widen.h"
#include "lib/base/size.h"

void tg_attn_stages_place(tg_arena *arena, tg_attn_stages *stages, size_t B, size_t T, size_t C, size_t H)
{
    size_t rows;

    if (!tg_size_mul(&rows, B, T))
        rows = SIZE_MAX; /* which the arena will not find */
    tg_attn_place(arena, &stages->work, 0, T, C / H);
    stages->values = tg_arena_take_rows(arena, rows, 3 * C, sizeof *stages->values);
    stages->att = tg_arena_take_rows(arena, rows, C, sizeof *stages->att);
}

/* q, k or v, from where they lie into the view's layout. */
static void gather(double *out, const tg_attn_view *a, const float *in)
{
    const size_t D = a->C / a->H;

    for (size_t b = 0; b < a->B; b++)
        for (size_t t = 0; t < a->T; t++)
            for (size_t h = 0; h < a->H; h++)
                tg_double_from_float(out + tg_attn_base(a, b, t, h), in + (b * a->T + t) * a->stride + h * D, D);
}

static void keep_att(void *context, const tg_attn_row *row, size_t thread)
{
    double *att = context;
    const tg_attn_view *a = row->view;

    (void)thread;
    memcpy(att + tg_attn_base(a, row->b, row->i, row->h), row->att, a->C / a->H * sizeof *att);
}

static void attend(double *att, const tg_attn_view *view, const tg_attn_pick *pick, tg_attn_work *work)
{
    const tg_attn_team team = {.row = keep_att, .context = att, .att = true};

    (void)tg_attn_walk_team(view, 0, pick, work, &team); /* without turns it goes to the end */
}

/* All tokens' at once, or the query's in each sequence. */
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

void tg_attn_stages_fill(tg_attn_stages *stages, tg_attn_stage stage, const tg_attn_layer *layer,
                         const tg_attn_pick *pick)
{
    const tg_attn_pick heads = {TG_ATTN_ALL, TG_ATTN_ALL, pick->query, TG_ATTN_ALL};
    tg_attn_view view = layer->view;
    const size_t n = view.B * view.T * view.C;

    assert(!tg_attn_stage_square(stage) && (layer->x || !tg_attn_stage_of_model(stage)));
    if (stage == TG_ATTN_X || stage == TG_ATTN_QKV)
        tg_double_from_float(stages->values, stage == TG_ATTN_X ? layer->x : layer->qkv, stage == TG_ATTN_X ? n : 3 * n);
    else if (stage == TG_ATTN_ATT)
        attend(stages->values, &view, pick, &stages->work);
    else if (stage != TG_ATTN_OUT)
        gather(stages->values, &view, stage == TG_ATTN_Q ? view.q : stage == TG_ATTN_K ? view.k : view.v);
    else {
        view.layout = TG_ATTN_BTHD; /* as the projection reads it */
        attend(stages->att, &view, &heads, &stages->work);
        project(stages->values, stages->att, layer, pick->query);
    }
}
