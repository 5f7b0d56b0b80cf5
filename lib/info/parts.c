#include "lib/info/parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/grow.h"
#include "lib/base/size.h"
#include "lib/info/info.h"

#define WHAT "what is in the file"

const tg_info_value *tg_info_find(const tg_info *info, const char *name)
{
    for (size_t i = 0; i < info->n_values; i++)
        if (strcmp(info->value[i].name, name) == 0)
            return &info->value[i];
    return NULL;
}

tg_status tg_info_add_value(tg_info *info, const char *name, tg_info_type type, const char *text, tg_err *err)
{
    const tg_info_value *same = tg_info_find(info, name);
    tg_info_value v = {.type = type};
    tg_status status;

    if (same && strcmp(same->text, text) == 0)
        return TG_OK;
    status = tg_grow(&info->value, &info->values_capacity, info->n_values + 1, sizeof v, WHAT, err);
    if (status)
        return status;
    v.name = strdup(name);
    v.text = strdup(text);
    info->value[info->n_values++] = v;
    return v.name && v.text ? TG_OK : tg_fail_memory(err, strlen(name) + strlen(text), "a value");
}

tg_status tg_info_add_tensor(tg_info *info, const tg_stored *s, tg_info_tensor **t, tg_err *err)
{
    const tg_array *a = &s->array;
    char text[TG_ARRAY_TEXT_MAX];
    const tg_status status = tg_grow(&info->tensor, &info->capacity, info->n + 1, sizeof **t, WHAT, err);

    if (status)
        return status;
    *t = &info->tensor[info->n++];
    **t = (tg_info_tensor){
        .ndim = a->ndim, .count = a->count, .stored = s->stored, .file = tg_size_max(info->n_files, 1) - 1};
    memcpy((*t)->name, a->name, sizeof a->name);
    memcpy((*t)->shape, a->shape, sizeof a->shape);
    if (a->dtype.kind == 'S')
        snprintf((*t)->type, sizeof(*t)->type, "S%zu", a->dtype.size);
    else
        snprintf((*t)->type, sizeof(*t)->type, "%.23s", tg_stored_type(text, s));
    return TG_OK;
}

tg_status tg_info_add_file(tg_info *info, const char *path, uint64_t bytes, tg_err *err)
{
    char **files = realloc(info->file, (info->n_files + 1) * sizeof *files);
    char *copy = strdup(path);

    if (files)
        info->file = files;
    if (!files || !copy) {
        free(copy);
        return tg_fail_memory(err, strlen(path), "a path");
    }
    info->file[info->n_files++] = copy;
    info->bytes += bytes;
    return TG_OK;
}

/* ---- numbers */

void tg_stats_add(tg_stats *s, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const float v = x[i];

        s->count++;
        if (!isfinite(v)) {
            s->not_finite++;
            continue;
        }
        if (s->count - s->not_finite == 1)
            s->min = s->max = v;
        s->min = v < s->min ? v : s->min;
        s->max = v > s->max ? v : s->max;
        s->sum += (double)v;
        s->squares += (double)v * (double)v;
    }
}

double tg_stats_mean(const tg_stats *s)
{
    const uint64_t n = s->count - s->not_finite;

    return n > 0 ? s->sum / (double)n : nan("");
}

double tg_stats_norm(const tg_stats *s)
{
    return sqrt(s->squares);
}

#define STEP ((size_t)1 << 16) /* numbers at a time */

tg_status tg_info_add_stats(tg_info_tensor *t, const tg_stored *s, tg_err *err)
{
    float *x;
    tg_status status = TG_OK;

    if ((!s->blocks && s->array.dtype.kind != 'f' && s->array.dtype.kind != 'B') || s->array.count == 0)
        return TG_OK;
    if (!(x = malloc(STEP * sizeof *x)))
        return tg_fail_memory(err, STEP * sizeof *x, "numbers");
    t->has_stats = true;
    for (size_t i = 0, n; !status && i < s->array.count; i += n) {
        n = tg_size_min(STEP, s->array.count - i);
        if (!(status = tg_stored_load(x, s, i, n, err)))
            tg_stats_add(&t->stats, x, n);
    }
    free(x);
    return status;
}

tg_status tg_info_check_finite(const tg_info_tensor *t, tg_err *err)
{
    if (!t->has_stats || t->stats.not_finite == 0)
        return TG_OK;
    return tg_fail(err, TG_EDATA, "%s: %llu of %llu numbers are NaN or infinite", t->name,
                   (unsigned long long)t->stats.not_finite, (unsigned long long)t->stats.count);
}

tg_status tg_info_add_list(tg_info *info, const tg_tensor_list *list, const tg_info_want *want, tg_err *err)
{
    tg_status status = TG_OK;

    for (size_t i = 0; !status && i < list->n; i++) {
        const tg_stored *s = &list->tensor[i];
        tg_info_tensor *t;

        if ((status = tg_info_add_tensor(info, s, &t, err)))
            return status;
        t->placed = true;
        t->offset = s->offset;
        if (want->stats || want->check)
            status = tg_info_add_stats(t, s, err);
        if (!status && want->check)
            status = tg_info_check_finite(t, err);
    }
    return status;
}
