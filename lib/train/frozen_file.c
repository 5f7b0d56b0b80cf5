#include "lib/train/frozen_file.h"

#include <assert.h>

#include "lib/gpt/freeze.h"

/* At least one, and not all. */
static tg_status check(const unsigned char *frozen, size_t n, tg_err *err)
{
    size_t all = 0;

    for (size_t i = 0; i < n; i++) {
        if (frozen[i] > 1)
            return tg_fail(err, TG_EDATA, TG_FROZEN "[%zu] is %d, expected 0 or 1", i, frozen[i]);
        all += frozen[i];
    }
    if (all > 0 && all < n)
        return TG_OK;
    return tg_fail(err, TG_EDATA, TG_FROZEN " freezes %zu of %zu parameters", all, n);
}

tg_status tg_frozen_take(tg_model *m, tg_archive_reader *r, const tg_array *a, tg_err *err)
{
    const size_t n = m->table.n;
    unsigned char frozen[TG_NAMES_MAX];
    tg_status status;

    if (a->count != n || n > TG_NAMES_MAX || a->dtype.kind != 'u' || a->dtype.size != 1)
        return tg_fail(err, TG_EDATA, TG_FROZEN " has %zu elements of type %c%zu, expected %zu of type u1",
                       a->count, a->dtype.kind, a->dtype.size, n);
    if (m->params)
        return tg_fail(err, TG_EDATA, TG_FROZEN " comes after the first tensor");
    if ((status = tg_archive_read(r, frozen, n, err)) || (status = check(frozen, n, err)))
        return status;
    return tg_model_freeze(m, frozen, err);
}

void tg_frozen_flags(const tg_model *m, unsigned char frozen[TG_NAMES_MAX])
{
    assert(m->table.n <= TG_NAMES_MAX);
    for (size_t i = 0; i < m->table.n; i++)
        frozen[i] = tg_model_is_frozen(m, i);
}

tg_status tg_frozen_put(const tg_model *m, tg_archive_writer *w, tg_err *err)
{
    unsigned char frozen[TG_NAMES_MAX];

    tg_frozen_flags(m, frozen);
    return tg_archive_put(w, TG_FROZEN, TG_U8, 1, &m->table.n, frozen, err);
}
