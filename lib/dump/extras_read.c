#include "lib/dump/extras_read.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/finite.h"

/* ---- types and shapes */

static tg_status check_type(const tg_array *a, tg_dump_extra extra, tg_err *err)
{
    const tg_dtype want = tg_dump_extra_type(extra);

    if (a->dtype.kind == want.kind && (want.size == 0 || a->dtype.size == want.size))
        return TG_OK;
    return tg_fail(err, TG_EDATA, "array %s: elements are '%c%zu', expected '%c%zu'", a->name, a->dtype.kind,
                   a->dtype.size, want.kind, want.size);
}

/* A dimension that only the array itself has is any but 0. */
static bool has_shape(const tg_array *a, const size_t *shape, size_t dims)
{
    for (size_t d = 0; d < dims && a->ndim == dims; d++)
        if (shape[d] > 0 ? a->shape[d] != shape[d] : a->shape[d] == 0)
            return false;
    return a->ndim == dims;
}

static tg_status check_shape(const tg_qkv_view *view, const tg_array *a, tg_dump_extra extra, tg_err *err)
{
    char got[TG_ARRAY_TEXT_MAX], want[TG_ARRAY_TEXT_MAX];
    size_t shape[3];
    const size_t dims = tg_dump_extra_shape(shape, extra, view);

    if (view->C == 0 || (view->T == 0 && extra >= TG_DUMP_DATT && dims > 0))
        return tg_fail(err, TG_EDATA, "array %s comes before dump/n_embd, or before any that gives T",
                       a->name);
    if (has_shape(a, shape, dims))
        return TG_OK;
    return tg_fail(err, TG_EDATA, "array %s has shape %s, expected %s%s", a->name,
                   tg_shape_text(got, a->ndim, a->shape), tg_shape_text(want, dims, shape),
                   dims > 0 && shape[dims - 1] == 0 ? ", with any number but 0 at the end" : "");
}

/* ---- numbers */

static tg_status check_doubles(const tg_array *a, const double *x, tg_err *err)
{
    const size_t bad = tg_find_not_finite64(x, a->count);

    return bad < a->count ? tg_fail_not_finite(a->name, bad, x[bad], err) : TG_OK;
}

static tg_status check_integers(const tg_array *a, const int64_t *x, tg_err *err)
{
    for (size_t n = 0; n < a->count; n++)
        if (x[n] < 0 || x[n] > INT32_MAX)
            return tg_fail(err, TG_EDATA, "%s[%zu] is %lld, expected 0 to %d", a->name, n, (long long)x[n],
                           INT32_MAX);
    return TG_OK;
}

static tg_status check_values(const tg_array *a, const void *data, tg_err *err)
{
    if (a->dtype.kind == 'i')
        return check_integers(a, data, err);
    if (a->dtype.kind != 'f')
        return TG_OK;
    return a->dtype.size == 8 ? check_doubles(a, data, err) : tg_check_finite(a->name, data, a->count, err);
}

tg_status tg_extras_read(tg_dump_extra_array *kept, tg_archive_reader *reader, const tg_qkv_view *view,
                         const tg_array *a, tg_dump_extra extra, bool keep, tg_err *err)
{
    const void *data = a->data;
    tg_status status;

    if ((status = check_type(a, extra, err)) || (status = check_shape(view, a, extra, err)) || !keep)
        return status;
    if (kept->data)
        return tg_fail(err, TG_EDATA, "array %s was given before", a->name);
    if (!data || (uintptr_t)data % sizeof(double) != 0) {
        if (!(kept->owned = malloc(a->bytes)))
            return tg_fail_memory(err, a->bytes, a->name);
        if ((status = tg_archive_read(reader, kept->owned, a->bytes, err)))
            return status;
        data = kept->owned;
    }
    kept->data = data;
    kept->count = a->count;
    kept->size = a->dtype.size;
    return check_values(a, data, err);
}

/* ---- all together */

static tg_status check_next(const tg_dump *dump, tg_err *err)
{
    const tg_dump_extra_array *ids = &dump->extra[TG_DUMP_NEXT_IDS];
    const tg_dump_extra_array *text = &dump->extra[TG_DUMP_NEXT_TEXT];
    const int64_t V = *(const int64_t *)dump->extra[TG_DUMP_NEXT_VOCAB].data, *id = ids->data;

    if (dump->extra[TG_DUMP_NEXT_LOGITS].count != ids->count || (text->data && text->count != ids->count))
        return tg_fail(err, TG_EDATA, "next/logits or next/text has another shape than next/ids");
    for (size_t n = 0; n < ids->count; n++)
        if (id[n] >= V)
            return tg_fail(err, TG_EDATA, "next/ids[%zu] is %lld, expected below next/vocab_size, %lld", n,
                           (long long)id[n], (long long)V);
    return TG_OK;
}

static tg_status missing(const char *name, size_t layer, tg_dump_extra with, tg_err *err)
{
    char given[TG_DUMP_NAME_SIZE];

    tg_dump_extra_array_name(given, layer, with);
    return tg_fail(err, TG_EDATA, "array %s is missing: the dump has %s", name, given);
}

/* A norm has an epsilon, a gradient a loss, and that a target. */
static tg_status check_layer(const tg_dump *dump, const tg_dump_layer *l, tg_err *err)
{
    static const tg_dump_extra pairs[][2] = {{TG_DUMP_OUT_NORM, TG_DUMP_OUT_NORM_EPS},
                                             {TG_DUMP_DATT, TG_DUMP_LOSS}};
    char name[TG_DUMP_NAME_SIZE];

    for (size_t p = 0; p < sizeof pairs / sizeof pairs[0]; p++) {
        const bool has = l->extra[pairs[p][0]].data, has_other = l->extra[pairs[p][1]].data;

        if (has == has_other)
            continue;
        tg_dump_extra_array_name(name, l->number, pairs[p][has]);
        return missing(name, l->number, pairs[p][!has], err);
    }
    if (l->extra[TG_DUMP_DATT].data && !dump->extra[TG_DUMP_TARGET].data)
        return missing(tg_dump_extra_name(TG_DUMP_TARGET), l->number, TG_DUMP_DATT, err);
    return TG_OK;
}

tg_status tg_extras_check(const tg_dump *dump, tg_err *err)
{
    size_t n = 0;

    for (size_t l = 0; l < dump->n; l++) {
        const tg_status status = check_layer(dump, &dump->layer[l], err);

        if (status)
            return status;
    }
    for (tg_dump_extra extra = TG_DUMP_NEXT_VOCAB; extra < TG_DUMP_EXTRA_COUNT; extra++)
        n += extra != TG_DUMP_NEXT_TEXT && dump->extra[extra].data;
    if (n == 0)
        return TG_OK;
    if (n < 4)
        return tg_fail(err, TG_EDATA,
                       "next/vocab_size, next/ids, next/logits or next/sum is there without the others");
    return check_next(dump, err);
}
