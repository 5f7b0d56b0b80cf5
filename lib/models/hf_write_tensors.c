/* Hugging Face's model.safetensors of the families after GPT-2: the parameters under their own names, but
 * those in one tensor that the class has so, Gemma's gains less 1, and nanochat's q and k with the halves of
 * heads exchanged. */
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
    const tg_names *names; /* of tensors with several parameters; NULL: there are none */
    bool less_one;         /* gains: the model's are those of the file and 1 */
    size_t heads;
    tg_array *array; /* [n] */
    size_t n, largest;
    float *changed; /* [most] several parameters, or gains */
    size_t most;
    uint16_t *rounded; /* the largest tensor */
    tg_safetensors_writer writer;
};

/* The tensor that an entry is in with others; NULL: it is one of its own. */
static const tg_joint *joint_of(const struct plan *plan, const tg_param *p)
{
    return tg_names_joint(plan->names, p->kind);
}

/* Whether it is there with an entry before it. */
static bool is_other(const struct plan *plan, const tg_param *p)
{
    const tg_joint *joint = joint_of(plan, p);

    return joint && p->kind != joint->part[0];
}

/* Part i of the tensor of an entry. */
static size_t part_of(const struct plan *plan, const tg_joint *joint, const tg_param *p, size_t i)
{
    return tg_params_index(&plan->padded.file.table, joint->part[i], p->layer);
}

/* The rows of the tensor that an entry is in. */
static size_t count_rows(const struct plan *plan, const tg_param *p)
{
    const tg_joint *joint = joint_of(plan, p);
    size_t rows = joint ? 0 : p->shape[0];

    for (size_t i = 0; joint && i < joint->n; i++)
        rows += plan->padded.file.table.entry[part_of(plan, joint, p, i)].shape[0];
    return rows;
}

/* Its values. */
static size_t count_of(const struct plan *plan, const tg_param *p)
{
    return count_rows(plan, p) * (p->count / p->shape[0]);
}

static bool is_less(const struct plan *plan, const tg_param *p)
{
    return plan->less_one && p->use == TG_USE_NORM;
}

/* Whether each head's second half comes first in the file. */
static bool is_swapped(const struct plan *plan, const tg_param *p)
{
    return plan->names && plan->names->swapped && tg_is_rotated(p->kind);
}

/* ---- the list of tensors */

static void name_array(tg_array *a, const struct plan *plan, const tg_param *p)
{
    const tg_joint *joint = joint_of(plan, p);

    if (joint)
        tg_names_put(a->name, sizeof a->name, plan->names, joint->kind, TG_NAME_WHOLE, p->layer);
    else
        snprintf(a->name, sizeof a->name, "%s", p->name);
}

static void list_arrays(struct plan *plan)
{
    static const tg_dtype types[] = {{'f', 4}, {'f', 2}, {'B', 2}};
    const tg_params *table = &plan->padded.file.table;

    for (size_t i = 0; i < table->n; i++) {
        const tg_param *p = &table->entry[i];
        tg_array *a = &plan->array[plan->n];

        if (is_other(plan, p))
            continue;
        *a = (tg_array){
            .dtype = types[plan->o->type], .ndim = p->ndim, .shape = {count_rows(plan, p), p->shape[1]}};
        name_array(a, plan, p);
        plan->largest = tg_size_max(plan->largest, count_of(plan, p));
        if (joint_of(plan, p) || is_less(plan, p) || is_swapped(plan, p))
            plan->most = tg_size_max(plan->most, count_of(plan, p));
        plan->n++;
    }
}

/* ---- their values */

/* Rows of part i of each head, which has the rows of n parts, one after another. */
static void join_by_head(struct plan *plan, const float *x, const tg_param *p, size_t i, size_t n)
{
    const size_t size = p->count / plan->heads; /* of a head */

    for (size_t h = 0; h < plan->heads; h++)
        memcpy(plan->changed + (n * h + i) * size, x + h * size, size * sizeof *x);
}

/* All parts of the tensor that an entry begins. */
static tg_status get_joined(const float **x, struct plan *plan, const tg_param *p, const tg_joint *joint,
                            tg_err *err)
{
    size_t begin = 0;

    for (size_t i = 0; i < joint->n; i++) {
        const size_t entry = part_of(plan, joint, p, i);
        const size_t count = plan->padded.file.table.entry[entry].count;
        const tg_status status =
            tg_model_file_get(x, &plan->padded.buffer, &plan->padded.file, entry, false, err);

        if (status)
            return status;
        if (plan->names->by_head)
            join_by_head(plan, *x, p, i, joint->n);
        else
            memcpy(plan->changed + begin, *x, count * sizeof **x);
        begin += count;
    }
    *x = plan->changed;
    return TG_OK;
}

static const float *swap(struct plan *plan, const float *x, const tg_param *p)
{
    const size_t half = tg_config_head_dim(&plan->padded.file.config) / 2 * (p->count / p->shape[0]);

    for (size_t at = 0; at < p->count; at += 2 * half) {
        memcpy(plan->changed + at, x + at + half, half * sizeof *x);
        memcpy(plan->changed + at + half, x + at, half * sizeof *x);
    }
    return plan->changed;
}

/* The values of a tensor that begins with entry i. */
static tg_status get(const float **x, struct plan *plan, size_t i, tg_err *err)
{
    const tg_param *p = &plan->padded.file.table.entry[i];
    const tg_joint *joint = joint_of(plan, p);
    tg_status status;

    if (joint)
        return get_joined(x, plan, p, joint, err);
    status = tg_model_file_get(x, &plan->padded.buffer, &plan->padded.file, i, false, err);
    if (!status && is_swapped(plan, p))
        *x = swap(plan, *x, p);
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
    const size_t count = count_of(plan, p);
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
    struct plan plan = {.o = o,
                        .names = tg_names_hf(class->family),
                        .less_one = class->gemma && all.norm_offset == 0,
                        .heads = all.n_head};
    tg_status status = tg_padded_params_open_as(&plan.padded, f, &all, err);

    if (!status)
        status = put_all(&plan, fd, err);
    free(plan.array);
    free(plan.changed);
    free(plan.rounded);
    tg_padded_params_close(&plan.padded);
    return status;
}
