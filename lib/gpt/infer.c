#include "lib/gpt/infer.h"

#include <assert.h>

#include "lib/nn/embedding.h"
#include "lib/nn/gelu.h"
#include "lib/nn/layernorm.h"
#include "lib/nn/linear.h"
#include "lib/nn/slice.h"

void tg_infer_place(tg_arena *arena, tg_infer *f, const tg_model *model, size_t rows_max, bool cache)
{
    const tg_config *c = &model->config;
    const size_t C = c->n_embd, keys = cache ? c->n_ctx : rows_max;

    *f = (tg_infer){.model = model, .rows_max = rows_max};
    f->x = tg_arena_take(arena, rows_max * C, sizeof(float));
    f->normed = tg_arena_take(arena, rows_max * C, sizeof(float));
    f->qkv = tg_arena_take(arena, rows_max * 3 * C, sizeof(float));
    f->att = tg_arena_take(arena, rows_max * C, sizeof(float));
    f->fc = tg_arena_take(arena, rows_max * 4 * C, sizeof(float));
    f->stats = tg_arena_take(arena, rows_max * 2, sizeof(float));
    f->lse = tg_arena_take(arena, rows_max * c->n_head, sizeof(float));
    tg_matmul_place(arena, &f->matmul);
    tg_attention_place(arena, &f->attention, keys, C / c->n_head);
    if (cache) {
        f->k = tg_arena_take(arena, c->n_layer * c->n_ctx * C, sizeof(float));
        f->v = tg_arena_take(arena, c->n_layer * c->n_ctx * C, sizeof(float));
    }
}

static const float *weight(const tg_infer *f, tg_param_kind kind, size_t l)
{
    return tg_model_weight(f->model, kind, l);
}

static void normalise(tg_infer *f, const float *x, size_t rows, tg_param_kind w, tg_param_kind b, size_t l)
{
    const tg_config *c = &f->model->config;

    tg_layernorm_forward(f->normed, f->stats, f->stats + f->rows_max, x, weight(f, w, l), weight(f, b, l),
                         rows, c->n_embd, (float)c->layer_norm_epsilon);
}

static void linear(tg_infer *f, float *out, const float *inp, tg_param_kind w, tg_param_kind b, size_t l,
                   const float *add, size_t in, size_t out_width)
{
    tg_linear_forward(out, inp, weight(f, w, l), weight(f, b, l), add, f->rows, in, out_width, &f->matmul);
}

void tg_infer_begin(tg_infer *f, const int32_t *ids, size_t n)
{
    assert(n >= 1 && n <= f->rows_max && f->past + n <= f->model->config.n_ctx);
    f->rows = n;
    tg_embedding_forward(f->x, ids, weight(f, TG_WTE, 0), weight(f, TG_WPE, 0), f->past, 1, n,
                         f->model->config.n_embd);
}

void tg_infer_qkv(tg_infer *f, size_t l)
{
    const size_t C = f->model->config.n_embd;

    normalise(f, f->x, f->rows, TG_LN1_W, TG_LN1_B, l);
    linear(f, f->qkv, f->normed, TG_QKV_W, TG_QKV_B, l, NULL, C, 3 * C);
}

static void attend(tg_infer *f, size_t l)
{
    const tg_config *c = &f->model->config;
    const size_t C = c->n_embd;
    float *k, *v;

    if (!f->k) {
        tg_attention_forward(f->att, f->lse, f->qkv, NULL, 1, f->rows, C, c->n_head, &f->attention);
        return;
    }
    k = f->k + l * c->n_ctx * C;
    v = f->v + l * c->n_ctx * C;
    tg_slice_forward(k + f->past * C, f->qkv, f->rows, 3 * C, C, C);
    tg_slice_forward(v + f->past * C, f->qkv, f->rows, 3 * C, 2 * C, C);
    tg_attention_cached(f->att, f->qkv, k, v, f->rows, f->past, C, c->n_head, &f->attention);
}

void tg_infer_block(tg_infer *f, size_t l)
{
    const tg_config *c = &f->model->config;
    const size_t C = c->n_embd;

    attend(f, l);
    linear(f, f->x, f->att, TG_ATT_PROJ_W, TG_ATT_PROJ_B, l, f->x, C, C);
    normalise(f, f->x, f->rows, TG_LN2_W, TG_LN2_B, l);
    linear(f, f->fc, f->normed, TG_FC_W, TG_FC_B, l, NULL, C, 4 * C);
    tg_gelu_forward(f->fc, f->fc, f->rows * 4 * C, c->activation);
    linear(f, f->x, f->fc, TG_FC_PROJ_W, TG_FC_PROJ_B, l, f->x, 4 * C, C);
}

void tg_infer_end(tg_infer *f)
{
    if (f->k)
        f->past += f->rows;
}

void tg_infer_logits(tg_infer *f, size_t row, float *logits)
{
    const tg_config *c = &f->model->config;
    const size_t C = c->n_embd;
    const tg_matmul op = {
        .M = 1, .N = c->vocab_size, .K = C,
        .a = f->normed, .a_row = C, .a_col = 1,
        .b = weight(f, c->tied ? TG_WTE : TG_HEAD_W, 0), .b_row = 1, .b_col = C,
        .c = logits, .ldc = c->vocab_size,
        .bias = weight(f, TG_HEAD_B, 0),
    };

    normalise(f, f->x + row * C, 1, TG_LNF_W, TG_LNF_B, 0);
    tg_matmul_run(&op, &f->matmul);
}

void tg_infer_run(tg_infer *f, const int32_t *ids, size_t n, float *logits)
{
    tg_infer_begin(f, ids, n);
    for (size_t l = 0; l < f->model->config.n_layer; l++) {
        tg_infer_qkv(f, l);
        tg_infer_block(f, l);
    }
    tg_infer_end(f);
    tg_infer_logits(f, n - 1, logits);
}

void tg_infer_reset(tg_infer *f)
{
    f->past = 0;
}
