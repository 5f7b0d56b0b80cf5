#include "lib/train/state_arrays.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/convert.h"
#include "lib/base/finite.h"

tg_status tg_state_array_find(const tg_param **p, const tg_params *table, const char *prefix,
                              const tg_array *a, tg_err *err)
{
    const size_t n = strlen(prefix);

    *p = strncmp(a->name, prefix, n) == 0 ? tg_params_find(table, a->name + n) : NULL;
    if (!*p || (a->count == (*p)->count && a->dtype.kind == 'f' && a->dtype.size == sizeof(float)))
        return TG_OK;
    return tg_fail(err, TG_EDATA, "%s has %zu elements of type %c%zu, expected %zu of type f4 like %s",
                   a->name, a->count, a->dtype.kind, a->dtype.size, (*p)->count, (*p)->name);
}

/* What is done with the values of a parameter, which have this name in an archive. */
typedef tg_status visit(void *context, const char *name, tg_flat flat, const tg_param *p, tg_err *err);

static tg_status visit_all(const tg_state_arrays *s, const tg_params *table, visit *each, void *context,
                           tg_err *err)
{
    char name[TG_NAME_MAX + 1];
    tg_status status = TG_OK;

    for (size_t i = 0; !status && i < table->n; i++) {
        const tg_param *p = &table->entry[i];

        if (s->without_hidden && p->hidden)
            continue;
        snprintf(name, sizeof name, "%s%s", s->prefix, p->name);
        status = each(context, name, s->flat, p, err);
    }
    return status;
}

static tg_status check_finite(void *none, const char *name, tg_flat flat, const tg_param *p, tg_err *err)
{
    const tg_bf16 *x = flat.halves ? flat.halves + p->offset : NULL;
    size_t bad;

    (void)none;
    if (!x)
        return tg_check_finite(name, flat.floats + p->offset, p->count, err);
    bad = tg_find_not_finite16(x, p->count);
    return bad == p->count ? TG_OK : tg_fail_not_finite(name, bad, (double)tg_float_from_bf16(x[bad]), err);
}

tg_status tg_state_arrays_check_finite(const tg_state_arrays *s, const tg_params *table, tg_err *err)
{
    return visit_all(s, table, check_finite, NULL, err);
}

static tg_status put(void *writer, const char *name, tg_flat flat, const tg_param *p, tg_err *err)
{
    if (flat.halves)
        return tg_archive_put_widened(writer, name, p->ndim, p->shape, flat.halves + p->offset, err);
    return tg_archive_put(writer, name, TG_F32, p->ndim, p->shape, flat.floats + p->offset, err);
}

tg_status tg_state_arrays_put(const tg_state_arrays *s, const tg_params *table, tg_archive_writer *w,
                              tg_err *err)
{
    return visit_all(s, table, put, w, err);
}
