/* Hugging Face's model.safetensors of the families after GPT-2: the parameters under their own names, but
 * GPT-NeoX's q, k and v in one matrix, and Gemma's gains less 1. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/safetensors.h"
#include "lib/base/size.h"
#include "lib/models/canonical.h"
#include "lib/models/hf_write_families.h"
#include "lib/models/model_format.h"
#include "lib/models/writing.h"

struct plan {
    tg_padded_params padded;
    const tg_write_options *o;
    bool fused;
    bool less_one; /* gains: the model's are those of the file and 1 */
    size_t heads;
    tg_array *array; /* [n] */
    size_t n, largest;
    float *changed; /* [most] q, k and v, or gains */
    size_t most;
    uint16_t *rounded; /* the largest tensor */
    tg_safetensors_writer writer;
};

/* Whether an entry begins a tensor of three, q, or is one of the other two. */
static bool is_first(const struct plan *plan, const tg_param *p)
{
    return plan->fused && tg_is_query(p->kind);
}

static bool is_other(const struct plan *plan, const tg_param *p)
{
    return plan->fused && tg_is_part(p->kind) && !tg_is_query(p->kind);
}

static bool is_less(const struct plan *plan, const tg_param *p)
{
    return plan->less_one && p->use == TG_USE_NORM;
}

/* ---- the list of tensors */

/* attention.query.weight -> attention.query_key_value.weight */
static void name_array(tg_array *a, const tg_param *p, bool joined)
{
    const char *end = joined ? strrchr(p->name, '.') : p->name + strlen(p->name);

    snprintf(a->name, sizeof a->name, "%.*s%s%s", (int)(end - p->name), p->name, joined ? "_key_value" : "",
             end);
}

static void list_arrays(struct plan *plan)
{
    static const tg_dtype types[] = {{'f', 4}, {'f', 2}, {'B', 2}};
    const tg_params *table = &plan->padded.file.table;

    for (size_t i = 0; i < table->n; i++) {
        const tg_param *p = &table->entry[i];
        const size_t parts = is_first(plan, p) ? 3 : 1;
        tg_array *a = &plan->array[plan->n];

        if (is_other(plan, p))
            continue;
        *a = (tg_array){
            .dtype = types[plan->o->type], .ndim = p->ndim, .shape = {parts * p->shape[0], p->shape[1]}};
        name_array(a, p, parts > 1);
        plan->largest = tg_size_max(plan->largest, parts * p->count);
        if (parts > 1 || is_less(plan, p))
            plan->most = tg_size_max(plan->most, parts * p->count);
        plan->n++;
    }
}

/* ---- their values */

/* Rows of part 0, 1 or 2 of each head, which has the rows of all three. */
static void join(struct plan *plan, const float *x, const tg_param *p, size_t part)
{
    const size_t n = p->count / plan->heads; /* of a head */

    for (size_t h = 0; h < plan->heads; h++)
        memcpy(plan->changed + (3 * h + part) * n, x + h * n, n * sizeof *x);
}

/* All three. */
static tg_status get_joined(const float **x, struct plan *plan, size_t i, tg_err *err)
{
    static const tg_param_kind parts[] = {TG_Q_W, TG_K_W, TG_V_W};
    const tg_params *table = &plan->padded.file.table;
    const tg_param *p = &table->entry[i];
    tg_status status = TG_OK;

    for (size_t part = 0; part < 3 && !status; part++) {
        const size_t entry = tg_params_index(table, parts[part] + (p->kind - TG_Q_W), p->layer);

        if (!(status = tg_model_file_get(x, &plan->padded.buffer, &plan->padded.file, entry, false, err)))
            join(plan, *x, p, part);
    }
    *x = plan->changed;
    return status;
}

/* The values of a tensor that begins with entry i. */
static tg_status get(const float **x, struct plan *plan, size_t i, tg_err *err)
{
    const tg_param *p = &plan->padded.file.table.entry[i];
    tg_status status;

    if (is_first(plan, p))
        return get_joined(x, plan, i, err);
    status = tg_model_file_get(x, &plan->padded.buffer, &plan->padded.file, i, false, err);
    if (status || !is_less(plan, p))
        return status;
    for (size_t e = 0; e < p->count; e++)
        plan->changed[e] = (*x)[e] - 1;
    *x = plan->changed;
    return TG_OK;
}

/* Whether 1 and what is written of it, in this type, is the gain again. */
static bool is_gain_less(float gain, tg_write_type type)
{
    return 1 + (float)tg_rounded_to(type, (double)(gain - 1)) == gain;
}

tg_status tg_hf_gains_less(bool *exact, const tg_model_file *f, tg_write_type type, tg_err *err)
{
    tg_float_buffer buffer = {0};
    tg_status status = TG_OK;

    *exact = true;
    for (size_t i = 0; i < f->table.n && *exact && !status; i++) {
        const tg_param *p = &f->table.entry[i];
        const float *x;

        if (p->use != TG_USE_NORM || (status = tg_model_file_get(&x, &buffer, f, i, false, err)))
            continue;
        for (size_t e = 0; e < p->count && *exact; e++)
            *exact = is_gain_less(x[e], type);
    }
    free(buffer.x);
    return status;
}

static tg_status put_entry(struct plan *plan, size_t i, tg_err *err)
{
    const tg_param *p = &plan->padded.file.table.entry[i];
    const tg_write_type type = plan->o->type;
    const size_t count = (is_first(plan, p) ? 3 : 1) * p->count;
    const void *bytes;
    const float *x;
    tg_status status;

    if (is_other(plan, p))
        return TG_OK;
    if ((status = get(&x, plan, i, err)) ||
        (status = tg_write_convert(&bytes, plan->rounded, x, count, type, p->name, err)))
        return status;
    return tg_safetensors_put(&plan->writer, bytes, count * (type == TG_WRITE_F32 ? 4 : 2), err);
}

static tg_status put_all(struct plan *plan, int fd, tg_err *err)
{
    const size_t n = plan->padded.file.table.n;
    tg_status status;

    if (!(plan->array = calloc(n, sizeof *plan->array)))
        return tg_fail_memory(err, n * sizeof *plan->array, "the list of tensors");
    list_arrays(plan);
    plan->changed = malloc(tg_size_max(plan->most, 1) * sizeof *plan->changed);
    plan->rounded = malloc(plan->largest * sizeof *plan->rounded);
    if (!plan->changed || !plan->rounded)
        return tg_fail_memory(err, plan->most * sizeof *plan->changed + plan->largest * sizeof *plan->rounded,
                              "a tensor");
    status = tg_safetensors_begin(&plan->writer, fd, plan->array, plan->n, err);
    for (size_t i = 0; i < n && !status; i++) {
        status = put_entry(plan, i, err);
        tg_padded_params_done(&plan->padded, i, plan->o);
    }
    if (!status)
        tg_safetensors_end(&plan->writer);
    return status;
}

tg_status tg_hf_family_tensors(int fd, const tg_model_file *f, const tg_write_options *o, tg_err *err)
{
    const tg_hf_class *class = tg_hf_class_for(&f->config);
    const tg_config all = tg_hf_class_padded(class, &f->config);
    struct plan plan = {
        .o = o, .fused = class->fused, .less_one = class->gemma && all.norm_offset == 0, .heads = all.n_head};
    tg_status status = tg_padded_params_open_as(&plan.padded, f, &all, err);

    if (!status)
        status = put_all(&plan, fd, err);
    free(plan.array);
    free(plan.changed);
    free(plan.rounded);
    tg_padded_params_close(&plan.padded);
    return status;
}
