#include "lib/gpt/packed.h"

#include <float.h>
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
    return t->use == TG_USE_MATRIX || is_output_head(model, t);
}

struct placement {
    tg_packed_model *p;
    const tg_model *model;
    tg_weight_type type;
};

static void place_matrices(tg_arena *arena, void *context)
{
    const struct placement *to = context;
    const tg_model *model = to->model;
    const tg_params *table = &model->table;
    tg_packed_model *p = to->p;

    p->matrix = tg_arena_take(arena, table->n, sizeof *p->matrix);
    for (size_t i = 0; i < table->n; i++) {
        const tg_param *t = &table->entry[i];
        tg_packed_matrix w = {0};

        if (is_matrix(model, t))
            tg_packed_matrix_place(arena, &w, t->shape[t->transposed], t->shape[!t->transposed], to->type);
        if (p->matrix)
            p->matrix[i] = w;
    }
}

struct values {
    const float *w;
    float limit;
    atomic_size_t first; /* beyond the limit, of those seen */
};

/* Without the sign, finite floats compare like their bits. */
static void check_values(void *context, size_t begin, size_t end)
{
    struct values *v = context;
    uint32_t limit_bits, max = 0;
    size_t i = begin;

    memcpy(&limit_bits, &v->limit, sizeof limit_bits);
    for (size_t e = begin; e < end; e++) {
        uint32_t bits;

        memcpy(&bits, &v->w[e], sizeof bits);
        bits &= 0x7FFFFFFF;
        max = bits > max ? bits : max;
    }
    if (max <= limit_bits)
        return;
    while (fabsf(v->w[i]) <= v->limit)
        i++;
    tg_atomic_min(&v->first, i);
}

/* bf16 has float32's range, except for float32's largest values, which round to infinity.  In int8
 * an infinite or a NaN weight would be its column's scale. */
static tg_status check_matrix(const tg_param *t, const float *w, tg_weight_type type, tg_err *err)
{
    const bool bf16 = type == TG_WEIGHT_BF16;
    struct values v = {w, bf16 ? TG_BF16_MAX : FLT_MAX, t->count};
    size_t i;

    tg_threads_run(t->count, TG_THREADS_ELEMENTS, check_values, &v);
    i = v.first;
    if (i == t->count)
        return TG_OK;
    return tg_fail(err, TG_EDATA, "%s[%zu] is %g: %s", t->name, i, (double)w[i],
                   bf16 ? "bf16 would round it to infinity" : "int8 needs finite weights");
}

static tg_status pack(const tg_packed_matrix *to, const tg_param *t, const float *w, tg_weight_type type,
                      tg_err *err)
{
    const tg_status status = type == TG_WEIGHT_FLOAT32 ? TG_OK : check_matrix(t, w, type, err);

    if (status)
        return status;
    if (t->transposed)
        tg_packed_matrix_pack(to, w, 1, to->K);
    else
        tg_packed_matrix_pack(to, w, to->N, 1);
    return TG_OK;
}

tg_status tg_packed_model_create(tg_packed_model *p, const tg_model *model, tg_weight_type type, tg_err *err)
{
    const tg_params *table = &model->table;
    tg_status status;

    *p = (tg_packed_model){.type = type};
    if ((status = tg_arena_build(&p->arena, place_matrices, &(struct placement){p, model, type}, err)))
        return status;
    for (size_t i = 0; i < table->n && !status; i++) {
        if (!p->matrix[i].panels)
            continue;
        const float *w = tg_model_values(model, i);

        if (!(status = tg_model_check_lent(model, err)))
            status = pack(&p->matrix[i], &table->entry[i], w, type, err);
        tg_model_forget(model, i);
    }
    if (status)
        tg_packed_model_free(p);
    return status;
}

void tg_packed_model_free(tg_packed_model *p)
{
    tg_arena_free(&p->arena);
}
