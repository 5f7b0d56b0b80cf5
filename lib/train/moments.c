#include "lib/train/moments.h"

#include <string.h>

#include "lib/base/convert.h"
#include "lib/base/finite.h"
#include "lib/base/size.h"
#include "lib/train/state_arrays.h"

#define M "opt/m/"
#define V "opt/v/"

/* ---- in memory */

struct placing {
    tg_moments *s;
    size_t n;
    tg_precision type;
};

static tg_flat take_flat(tg_arena *arena, const struct placing *p)
{
    if (p->type == TG_PRECISION_BF16)
        return (tg_flat){.halves = tg_arena_take(arena, p->n, sizeof(tg_bf16))};
    return (tg_flat){.floats = tg_arena_take(arena, p->n, sizeof(float))};
}

static void place(tg_arena *arena, void *context)
{
    const struct placing *p = context;

    p->s->m = take_flat(arena, p);
    p->s->v = take_flat(arena, p);
}

tg_status tg_moments_build(tg_moments *s, const tg_params *table, const tg_settings *settings, tg_err *err)
{
    tg_moments_free(s);
    return tg_arena_build(&s->memory, place, &(struct placing){s, table->floats, settings->master}, err);
}

void tg_moments_free(tg_moments *s)
{
    tg_arena_free(&s->memory);
    *s = (tg_moments){0};
}

static bool has_v(const tg_settings *settings, const tg_param *p)
{
    return settings->optimizer != TG_OPTIMIZER_MUON || !p->hidden;
}

/* The number of arrays that hold a table's moments.  A parameter that Muon updates has no v. */
static size_t count(const tg_params *table, const tg_settings *settings)
{
    size_t n = 0;

    for (size_t i = 0; i < table->n; i++)
        n += 1 + has_v(settings, &table->entry[i]);
    return n;
}

/* ---- reading */

/* The optimizer takes the square root of v. */
static tg_status check_not_negative(const char *name, const float *x, size_t n, tg_err *err)
{
    for (size_t i = 0; i < n; i++)
        if (x[i] < 0)
            return tg_fail(err, TG_EDATA, "%s[%zu] is %g: it must not be negative", name, i, (double)x[i]);
    return TG_OK;
}

static tg_status read_floats(float *x, tg_archive_reader *r, const tg_array *a, bool is_v, tg_err *err)
{
    tg_status status = tg_archive_read(r, x, a->bytes, err);

    if (status || (status = tg_check_finite(a->name, x, a->count, err)))
        return status;
    return is_v ? check_not_negative(a->name, x, a->count, err) : TG_OK;
}

/* Values that were bf16 before they were written as float32. */
static tg_status read_halves(tg_bf16 *x, tg_archive_reader *r, const tg_array *a, bool is_v, tg_err *err)
{
    float piece[1024];
    const size_t most = sizeof piece / sizeof *piece;

    for (size_t at = 0; at < a->count; at += most) {
        const size_t n = tg_size_min(most, a->count - at);
        const tg_status status = tg_archive_read(r, piece, n * sizeof *piece, err);

        if (status)
            return status;
        for (size_t i = 0; i < n; i++) {
            x[at + i] = tg_bf16_from_float(piece[i]);
            if (!tg_bf16_is_finite(x[at + i]) || (is_v && piece[i] < 0))
                return tg_fail(err, TG_EDATA, "%s[%zu] is %g: it must be finite%s", a->name, at + i,
                               (double)piece[i], is_v ? ", and not negative" : "");
        }
    }
    return TG_OK;
}

tg_status tg_moments_take(tg_moments *s, const tg_params *table, const tg_settings *settings,
                          tg_archive_reader *r, const tg_array *a, bool *taken, tg_err *err)
{
    const bool is_v = strncmp(a->name, V, strlen(V)) == 0;
    const tg_param *p;
    tg_flat to;
    tg_status status = tg_state_array_find(&p, table, is_v ? V : M, a, err);

    if (status || !p)
        return status;
    if (!s->memory.base && (status = tg_moments_build(s, table, settings, err)))
        return status;
    *taken = true;
    s->read++;
    s->hidden_v_read += is_v && p->hidden;
    to = is_v ? s->v : s->m;
    return to.halves ? read_halves(to.halves + p->offset, r, a, is_v, err)
                     : read_floats(to.floats + p->offset, r, a, is_v, err);
}

tg_status tg_moments_check(const tg_moments *s, const tg_params *table, const tg_settings *settings,
                           size_t step, tg_err *err)
{
    const size_t want = count(table, settings);

    if (settings->optimizer == TG_OPTIMIZER_MUON && s->hidden_v_read > 0)
        return tg_fail(
            err, TG_EDATA,
            "the optimizer's state has arrays opt/v/ of matrices that muon updates: %zu, expected none",
            s->hidden_v_read);
    if (s->read > 0 && (settings->master == TG_PRECISION_BF16) != (s->m.halves != NULL))
        return tg_fail(err, TG_EDATA, "train/master comes after the optimizer's state");
    if (s->read != want && (step > 0 || s->read > 0))
        return tg_fail(err, TG_EDATA, "the optimizer's state has %zu of %zu arrays at step %zu", s->read,
                       want, step);
    return TG_OK;
}

/* ---- all of them */

static tg_state_arrays arrays_of_m(const tg_moments *s)
{
    return (tg_state_arrays){.prefix = M, .flat = s->m};
}

static tg_state_arrays arrays_of_v(const tg_moments *s, const tg_settings *settings)
{
    return (tg_state_arrays){
        .prefix = V, .flat = s->v, .without_hidden = settings->optimizer == TG_OPTIMIZER_MUON};
}

tg_status tg_moments_put(const tg_moments *s, const tg_params *table, const tg_settings *settings,
                         tg_archive_writer *w, tg_err *err)
{
    const tg_state_arrays m = arrays_of_m(s), v = arrays_of_v(s, settings);
    const tg_status status = tg_state_arrays_put(&m, table, w, err);

    return status ? status : tg_state_arrays_put(&v, table, w, err);
}

tg_status tg_moments_check_finite(const tg_moments *s, tg_flat values, const tg_params *table,
                                  const tg_settings *settings, tg_err *err)
{
    const tg_state_arrays w = {.prefix = "", .flat = values}, m = arrays_of_m(s),
                          v = arrays_of_v(s, settings);
    tg_status status;

    if ((status = tg_state_arrays_check_finite(&w, table, err)) ||
        (status = tg_state_arrays_check_finite(&m, table, err)))
        return status;
    return tg_state_arrays_check_finite(&v, table, err);
}
