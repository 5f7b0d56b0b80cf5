#include "lib/train/checkpoint.h"
#include "lib/kernels/kernels.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/finite.h"

void tg_checkpoint_free(tg_checkpoint *c)
{
    tg_arena_free(&c->moments);
    tg_model_free(&c->model);
    *c = (tg_checkpoint){0};
}

/* Memory for both moments, zeros at first. */
static void place_moments(tg_arena *arena, void *context)
{
    tg_checkpoint *c = context;

    c->m = tg_arena_take(arena, c->model.table.floats, sizeof *c->m);
    c->v = tg_arena_take(arena, c->model.table.floats, sizeof *c->v);
}

tg_status tg_checkpoint_begin(tg_checkpoint *c, const tg_model *model, tg_err *err)
{
    c->model = *model;
    c->settings = tg_settings_default();
    return tg_arena_build(&c->moments, place_moments, c, err);
}

/* ---- reading */

/* The optimizer takes the root of v. */
static tg_status check_not_negative(const char *name, const float *x, size_t n, tg_err *err)
{
    for (size_t i = 0; i < n; i++)
        if (x[i] < 0)
            return tg_fail(err, TG_EDATA, "%s[%zu] is %g: it must not be negative", name, i, (double)x[i]);
    return TG_OK;
}

/* opt/m/NAME or opt/v/NAME into its place. */
static tg_status take_moment(tg_checkpoint *c, tg_archive_reader *r, const tg_array *a, bool *taken,
                             const tg_model *model, tg_err *err)
{
    const tg_param *p = tg_params_find(&model->table, a->name + strlen("opt/m/"));
    const bool is_m = a->name[4] == 'm';
    float *place;
    tg_status status;

    if (!p)
        return TG_OK;
    if (a->count != p->count || a->dtype.kind != 'f' || a->dtype.size != sizeof(float))
        return tg_fail(err, TG_EDATA, "%s must be %zu elements of type <f4, like %s", a->name, p->count,
                       p->name);
    if (!c->moments.base && (status = tg_arena_build(&c->moments, place_moments, c, err)))
        return status;
    place = (is_m ? c->m : c->v) + p->offset;
    if ((status = tg_archive_read(r, place, a->bytes, err)))
        return status;
    *taken = true;
    c->moments_read++;
    if ((status = tg_check_finite(a->name, place, p->count, err)))
        return status;
    return is_m ? TG_OK : check_not_negative(a->name, place, p->count, err);
}

static tg_status take(void *context, tg_archive_reader *r, const tg_array *a, bool *taken,
                      const tg_model *model, tg_err *err)
{
    tg_checkpoint *c = context;
    const struct {
        const char *name;
        size_t *value;
    } state[] = {
        {"train/step", &c->step},
        {"train/text_tokens", &c->text_tokens},
        {"train/text_crc", &c->text_crc},
    };

    for (size_t i = 0; i < sizeof state / sizeof state[0]; i++)
        if (strcmp(a->name, state[i].name) == 0) {
            *taken = true;
            return tg_archive_get_size(r, a, state[i].value, err);
        }
    if (strncmp(a->name, "opt/m/", 6) == 0 || strncmp(a->name, "opt/v/", 6) == 0)
        return take_moment(c, r, a, taken, model, err);
    return tg_settings_take(&c->settings, r, a, taken, err);
}

static tg_status check_settings(const tg_checkpoint *c, tg_err *err)
{
    const size_t context = c->settings.context, n_ctx = c->model.config.n_ctx;
    tg_status status = tg_settings_check(&c->settings, err);

    if (!status && context > n_ctx)
        status = tg_fail(err, TG_EDATA, "context %zu is more than the model's %zu", context, n_ctx);
    return status;
}

static tg_status check_state(const tg_checkpoint *c, tg_err *err)
{
    const size_t want = 2 * c->model.table.n;

    if (c->step >= TG_RUN_LIMIT)
        return tg_fail(err, TG_EDATA, "train/step must be below %zu, got %zu", TG_RUN_LIMIT, c->step);
    if (c->moments_read != want && (c->step > 0 || c->moments_read > 0))
        return tg_fail(err, TG_EDATA, "step %zu, but %zu of %zu arrays of the optimizer's state", c->step,
                       c->moments_read, want);
    return check_settings(c, err);
}

tg_status tg_checkpoint_read(tg_checkpoint *c, int fd, tg_err *err)
{
    tg_status status;

    *c = (tg_checkpoint){.settings = tg_settings_default()};
    if ((status = tg_model_read(&c->model, fd, true, take, c, err)) || (status = check_state(c, err)))
        goto failed;
    if (!c->moments.base && (status = tg_arena_build(&c->moments, place_moments, c, err)))
        goto failed;
    return TG_OK;

failed:
    tg_checkpoint_free(c);
    return status;
}

tg_status tg_checkpoint_settle(tg_checkpoint *c, tg_err *err)
{
    if (c->settings.context == 0)
        c->settings.context = c->model.config.n_ctx;
    if (!tg_matmul_has((tg_precision)c->settings.precision))
        return tg_fail(err, TG_EUSAGE, "precision bf16 needs bf16 products, which the %s kernels do not have",
                       tg_kernels_get()->isa);
    return check_settings(c, err);
}

/* ---- writing */

/* The name of a tensor, or with a prefix of its moments. */
static void tensor_name(char name[TG_NAME_MAX + 1], const char *prefix, const tg_param *p)
{
    snprintf(name, TG_NAME_MAX + 1, "%s%s", prefix, p->name);
}

static tg_status put_moments(const tg_checkpoint *c, const char *prefix, const float *flat,
                             tg_archive_writer *w, tg_err *err)
{
    const tg_params *table = &c->model.table;
    char name[TG_NAME_MAX + 1];
    tg_status status = TG_OK;

    for (size_t i = 0; !status && i < table->n; i++) {
        const tg_param *p = &table->entry[i];

        tensor_name(name, prefix, p);
        status = tg_archive_put(w, name, TG_F32, p->ndim, p->shape, flat + p->offset, err);
    }
    return status;
}

static tg_status put_state(const tg_checkpoint *c, tg_archive_writer *w, tg_err *err)
{
    tg_status status;

    if ((status = tg_settings_put(&c->settings, w, err)) ||
        (status = tg_archive_put_i64(w, "train/step", (int64_t)c->step, err)) ||
        (status = tg_archive_put_i64(w, "train/text_tokens", (int64_t)c->text_tokens, err)))
        return status;
    return tg_archive_put_i64(w, "train/text_crc", (int64_t)c->text_crc, err);
}

static tg_status put_all(const tg_checkpoint *c, tg_archive_writer *w, tg_err *err)
{
    tg_status status;

    if ((status = tg_model_put_header(&c->model, w, err)) || (status = put_state(c, w, err)) ||
        (status = tg_model_put_tensors(&c->model, w, err)) ||
        (status = put_moments(c, "opt/m/", c->m, w, err)) ||
        (status = put_moments(c, "opt/v/", c->v, w, err)))
        return status;
    return tg_archive_finish(w, err);
}

/* An update can overflow where the loss before it did not.  What would be refused when
 * it is read is not written. */
static tg_status check_finite(const tg_checkpoint *c, tg_err *err)
{
    const tg_params *table = &c->model.table;
    const struct {
        const char *prefix;
        const float *flat;
    } all[] = {{"", c->model.params}, {"opt/m/", c->m}, {"opt/v/", c->v}};
    char name[TG_NAME_MAX + 1];
    tg_status status = TG_OK;

    for (size_t i = 0; !status && i < 3 * table->n; i++) {
        const tg_param *p = &table->entry[i % table->n];

        tensor_name(name, all[i / table->n].prefix, p);
        status = tg_check_finite(name, all[i / table->n].flat + p->offset, p->count, err);
    }
    return status;
}

tg_status tg_checkpoint_write(const tg_checkpoint *c, int fd, tg_err *err)
{
    tg_archive_writer *w;
    tg_status status;

    if ((status = check_finite(c, err)) || (status = tg_archive_create(&w, fd, 0, err)))
        return status;
    status = put_all(c, w, err);
    tg_archive_abandon(w);
    return status;
}
