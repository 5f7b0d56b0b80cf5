#include "lib/gpt/infer.h"

#include <assert.h>
#include <string.h>

#include "lib/base/size.h"
#include "lib/nn/embedding.h"
#include "lib/nn/gelu.h"
#include "lib/nn/layernorm.h"
#include "lib/nn/slice.h"

static float *take_cache(tg_arena *arena, const tg_infer *f)
{
    const tg_config *c = &f->model->config;

    return tg_arena_take_rows(arena, f->sequences, c->n_layer * f->keys * c->n_embd, sizeof(float));
}

void tg_infer_place(tg_arena *arena, tg_infer *f, const tg_model *model, size_t rows_max, size_t sequences,
                    size_t keys)
{
    const tg_config *c = &model->config;
    const size_t C = c->n_embd;

    *f = (tg_infer){.model = model, .rows_max = rows_max, .sequences = sequences, .keys = keys, .count = 1};
    f->x = tg_arena_take(arena, rows_max * C, sizeof(float));
    f->normed = tg_arena_take(arena, rows_max * C, sizeof(float));
    f->qkv = tg_arena_take(arena, rows_max * 3 * C, sizeof(float));
    f->att = tg_arena_take(arena, rows_max * C, sizeof(float));
    f->fc = tg_arena_take(arena, rows_max * 4 * C, sizeof(float));
    f->stats = tg_arena_take(arena, rows_max * 2, sizeof(float));
    f->lse = tg_arena_take(arena, rows_max * c->n_head, sizeof(float));
    tg_matmul_place(arena, &f->matmul);
    tg_attention_place(arena, &f->attention, sequences > 0 ? keys : rows_max, C / c->n_head);
    if (sequences > 0) {
        f->k = take_cache(arena, f);
        f->v = take_cache(arena, f);
    }
}

void tg_infer_select(tg_infer *f, size_t first, size_t count)
{
    assert(count >= 1 && count <= f->rows_max && first + count <= tg_size_max(1, f->sequences));
    f->first = first;
    f->count = count;
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

/* The product with the model's own weights, or with the packed ones. */
static void multiply(tg_infer *f, const tg_matmul *op, tg_param_kind w, size_t l)
{
    if (f->packed)
        tg_packed_matrix_run(op, tg_packed_model_get(f->packed, f->model, w, l));
    else
        tg_matmul_run(op, &f->matmul);
}

static void linear(tg_infer *f, float *out, const float *inp, tg_param_kind w, tg_param_kind b, size_t l,
                   const float *add, size_t in, size_t out_width, tg_gelu_function gelu)
{
    const tg_matmul op = {
        .M = f->rows, .N = out_width, .K = in,
        .a = inp, .a_row = in, .a_col = 1,
        .b = weight(f, w, l), .b_row = out_width, .b_col = 1,
        .c = out, .ldc = out_width,
        .bias = weight(f, b, l), .add = add,
        .map = gelu, .mapped = out,
    };

    multiply(f, &op, w, l);
}

void tg_infer_begin(tg_infer *f, const int32_t *ids, size_t n)
{
    f->n = n;
    f->rows = f->count * n;
    assert(n >= 1 && f->rows <= f->rows_max && f->past + n <= f->model->config.n_ctx);
    assert(!f->k || f->past + n <= f->keys);
    tg_embedding_forward(f->x, ids, weight(f, TG_WTE, 0), weight(f, TG_WPE, 0), f->past, f->count, n,
                         f->model->config.n_embd);
}

void tg_infer_qkv(tg_infer *f, size_t l)
{
    const size_t C = f->model->config.n_embd;

    normalise(f, f->x, f->rows, TG_LN1_W, TG_LN1_B, l);
    linear(f, f->qkv, f->normed, TG_QKV_W, TG_QKV_B, l, NULL, C, 3 * C, NULL);
}

/* Where layer l of a sequence begins in the cache. */
static size_t cache_at(const tg_infer *f, size_t sequence, size_t l)
{
    const tg_config *c = &f->model->config;

    return (sequence * c->n_layer + l) * f->keys * c->n_embd;
}

/* The new tokens' keys and values, behind those that are there. */
static void fill_cache(tg_infer *f, size_t l)
{
    const size_t C = f->model->config.n_embd;

    for (size_t s = 0; s < f->count; s++) {
        const float *qkv = f->qkv + s * f->n * 3 * C;
        const size_t to = cache_at(f, f->first + s, l) + f->past * C;

        tg_slice_forward(f->k + to, qkv, f->n, 3 * C, C, C);
        tg_slice_forward(f->v + to, qkv, f->n, 3 * C, 2 * C, C);
    }
}

static void attend(tg_infer *f, size_t l)
{
    const tg_config *c = &f->model->config;
    const size_t C = c->n_embd, at = cache_at(f, f->first, l);

    if (!f->k) {
        tg_attention_forward(f->att, f->lse, f->qkv, NULL, 1, f->rows, C, c->n_head, &f->attention);
        return;
    }
    fill_cache(f, l);
    tg_attention_cached(f->att, f->qkv, f->k + at, f->v + at, cache_at(f, 1, 0), f->count, f->n, f->past, C,
                        c->n_head, &f->attention);
}

void tg_infer_block(tg_infer *f, size_t l)
{
    const tg_config *c = &f->model->config;
    const size_t C = c->n_embd;

    attend(f, l);
    linear(f, f->x, f->att, TG_ATT_PROJ_W, TG_ATT_PROJ_B, l, f->x, C, C, NULL);
    normalise(f, f->x, f->rows, TG_LN2_W, TG_LN2_B, l);
    linear(f, f->fc, f->normed, TG_FC_W, TG_FC_B, l, NULL, C, 4 * C, tg_gelu_elements(c->activation));
    linear(f, f->x, f->fc, TG_FC_PROJ_W, TG_FC_PROJ_B, l, f->x, 4 * C, C, NULL);
}

void tg_infer_end(tg_infer *f)
{
    if (f->k)
        f->past += f->n;
}

void tg_infer_logits(tg_infer *f, size_t first_row, size_t rows, float *logits)
{
    const tg_config *c = &f->model->config;
    const size_t C = c->n_embd;
    const tg_param_kind head_w = c->tied ? TG_WTE : TG_HEAD_W;
    const tg_matmul op = {
        .M = rows, .N = c->vocab_size, .K = C,
        .a = f->normed, .a_row = C, .a_col = 1,
        .b = weight(f, head_w, 0), .b_row = 1, .b_col = C,
        .c = logits, .ldc = c->vocab_size,
        .bias = weight(f, TG_HEAD_B, 0),
    };

    normalise(f, f->x + first_row * C, rows, TG_LNF_W, TG_LNF_B, 0);
    multiply(f, &op, head_w, 0);
}

void tg_infer_run(tg_infer *f, const int32_t *ids, size_t n, float *logits)
{
    assert(n == 1 || f->count == 1);
    tg_infer_begin(f, ids, n);
    for (size_t l = 0; l < f->model->config.n_layer; l++) {
        tg_infer_qkv(f, l);
        tg_infer_block(f, l);
    }
    tg_infer_end(f);
    tg_infer_logits(f, n - 1, f->count, logits);
}

void tg_infer_broadcast_cache(tg_infer *f)
{
    const size_t L = f->model->config.n_layer, bytes = f->past * f->model->config.n_embd * sizeof(float);

    for (size_t s = 1; s < f->sequences; s++) {
        for (size_t l = 0; l < L; l++) {
            memcpy(f->k + cache_at(f, s, l), f->k + cache_at(f, 0, l), bytes);
            memcpy(f->v + cache_at(f, s, l), f->v + cache_at(f, 0, l), bytes);
        }
    }
}

void tg_infer_reset(tg_infer *f)
{
    f->past = 0;
}
