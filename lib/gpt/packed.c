#include "lib/gpt/packed.h"

#include <math.h>
#include <string.h>

#include "lib/base/atomic_min.h"
#include "lib/base/threads.h"

static bool is_output_head(const tg_model *model, const tg_param *t)
{
    return t->kind == tg_head_kind(&model->config);
}

/* Whether t is the matrix of a product; the embeddings are only looked up. */
static bool is_matrix(const tg_model *model, const tg_param *t)
{
    return t->ndim == 2 && (is_output_head(model, t) || (t->kind != TG_WTE && t->kind != TG_WPE));
}

struct placement {
    tg_packed_model *p;
    const tg_model *model;
    tg_precision precision;
};

static void place(tg_arena *arena, void *context)
{
    const struct placement *to = context;
    const tg_model *model = to->model;
    const tg_params *table = &model->table;
    tg_packed_model *p = to->p;

    p->matrix = tg_arena_take(arena, table->n, sizeof *p->matrix);
    for (size_t i = 0; i < table->n; i++) {
        const tg_param *t = &table->entry[i];
        const bool head = is_output_head(model, t);
        tg_packed_matrix w = {0};

        if (is_matrix(model, t))
            tg_packed_matrix_place(arena, &w, t->shape[head], t->shape[!head], to->precision);
        if (p->matrix)
            p->matrix[i] = w;
    }
}

struct values {
    const float *w;
    atomic_size_t first; /* beyond bf16's range, of those seen */
};

/* Without the sign, finite floats compare like their bits. */
static void check_values(void *context, size_t begin, size_t end)
{
    struct values *v = context;
    const float limit = TG_BF16_MAX;
    uint32_t limit_bits, max = 0;
    size_t i = begin;

    memcpy(&limit_bits, &limit, sizeof limit_bits);
    for (size_t e = begin; e < end; e++) {
        uint32_t bits;

        memcpy(&bits, &v->w[e], sizeof bits);
        bits &= 0x7FFFFFFF;
        max = bits > max ? bits : max;
    }
    if (max <= limit_bits)
        return;
    while (fabsf(v->w[i]) <= limit)
        i++;
    tg_atomic_min(&v->first, i);
}

/* bf16 has float32's range, except for float32's largest values, which round to infinity. */
static tg_status check_bf16(const tg_param *t, const float *w, tg_err *err)
{
    struct values v = {w, t->count};
    size_t i;

    tg_threads_run(t->count, TG_THREADS_ELEMENTS, check_values, &v);
    i = v.first;
    if (i == t->count)
        return TG_OK;
    return tg_fail(err, TG_EDATA, "%s[%zu] is %g: bf16 would round it to infinity", t->name, i, (double)w[i]);
}

static tg_status check(const tg_model *model, tg_err *err)
{
    tg_status status = TG_OK;

    for (size_t i = 0; !status && i < model->table.n; i++) {
        if (is_matrix(model, &model->table.entry[i]))
            status = check_bf16(&model->table.entry[i], model->weight[i], err);
    }
    return status;
}

tg_status tg_packed_model_create(tg_packed_model *p, const tg_model *model, tg_precision precision,
                                 tg_err *err)
{
    const tg_params *table = &model->table;
    tg_status status;

    *p = (tg_packed_model){0};
    if (precision == TG_PRECISION_BF16 && (status = check(model, err)))
        return status;
    if ((status = tg_arena_build(&p->arena, place, &(struct placement){p, model, precision}, err)))
        return status;
    for (size_t i = 0; i < table->n; i++) {
        const tg_param *t = &table->entry[i];
        const tg_packed_matrix *w = &p->matrix[i];

        if (!w->panels)
            continue;
        if (is_output_head(model, t))
            tg_packed_matrix_pack(w, model->weight[i], 1, w->K);
        else
            tg_packed_matrix_pack(w, model->weight[i], w->N, 1);
    }
    return TG_OK;
}

void tg_packed_model_free(tg_packed_model *p)
{
    tg_arena_free(&p->arena);
}

const tg_packed_matrix *tg_packed_model_get(const tg_packed_model *p, const tg_model *model,
                                            tg_param_kind kind, size_t layer)
{
    return &p->matrix[tg_params_index(&model->table, kind, layer)];
}
