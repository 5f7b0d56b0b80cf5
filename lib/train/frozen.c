#include "lib/train/frozen.h"

#include <stdlib.h>

#include "lib/gpt/freeze.h"

/* As many as there may be. */
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
    unsigned char *frozen;
    tg_status status;

    if (a->count != n || a->dtype.kind != 'u' || a->dtype.size != 1)
        return tg_fail(err, TG_EDATA, TG_FROZEN " has %zu elements of type %c%zu, expected %zu of type u1",
                       a->count, a->dtype.kind, a->dtype.size, n);
    if (m->params)
        return tg_fail(err, TG_EDATA, TG_FROZEN " comes after the first tensor");
    frozen = malloc(n);
    if (!frozen)
        return tg_fail_memory(err, n, "the frozen parameters");
    if (!(status = tg_archive_read(r, frozen, n, err)) && !(status = check(frozen, n, err)))
        status = tg_model_freeze(m, frozen, err);
    free(frozen);
    return status;
}

/* Whether each parameter [table.n] is frozen; NULL: there is no memory.  The caller frees it. */
static unsigned char *flags_of(const tg_model *m)
{
    unsigned char *frozen = malloc(m->table.n);

    for (size_t i = 0; frozen && i < m->table.n; i++)
        frozen[i] = tg_model_is_frozen(m, i);
    return frozen;
}

tg_status tg_frozen_put(const tg_model *m, tg_archive_writer *w, tg_err *err)
{
    unsigned char *frozen = flags_of(m);
    tg_status status;

    if (!frozen)
        return tg_fail_memory(err, m->table.n, "the frozen parameters");
    status = tg_archive_put(w, TG_FROZEN, TG_U8, 1, &m->table.n, frozen, err);
    free(frozen);
    return status;
}

tg_status tg_frozen_spread(tg_model *m, const tg_team *team, tg_err *err)
{
    size_t n = m->trained.n;
    unsigned char *frozen;
    tg_status status;

    tg_team_spread(team, &n, sizeof n);
    if (n == 0)
        return TG_OK;
    frozen = flags_of(m);
    if (!frozen)
        return tg_fail_memory(err, m->table.n, "the frozen parameters");
    tg_team_spread(team, frozen, m->table.n);
    status = team->rank == 0 ? TG_OK : tg_model_freeze(m, frozen, err);
    free(frozen);
    return status;
}
