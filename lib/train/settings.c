#include "lib/train/settings.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/choice.h"
#include "lib/base/size.h"
#include "lib/kernels/matmul.h"

#define FIELD(name, type, member, min, max)                                                                  \
    {                                                                                                        \
        name, TG_SETTING_##type, offsetof(tg_settings, member), min, max                                     \
    }

const tg_setting tg_setting_table[TG_SETTINGS] = {
    [TG_SET_SEED] = FIELD("seed", U64, seed, 0, 0),
    [TG_SET_STEPS] = FIELD("steps", SIZE, steps, 1, 1e12),
    [TG_SET_BATCH] = FIELD("batch", SIZE, batch, 1, 65536),
    [TG_SET_CONTEXT] = FIELD("context", SIZE, context, 0, 1e7),
    [TG_SET_ACCUMULATE] = FIELD("accumulate", SIZE, accumulate, 1, 65536),
    [TG_SET_WARMUP] = FIELD("warmup", SIZE, warmup, 0, 1e12),
    [TG_SET_LR] = FIELD("lr", REAL, lr, 0, 1e3),
    [TG_SET_MIN_LR] = FIELD("min-lr", REAL, min_lr, 0, 1e3),
    [TG_SET_BETA1] = FIELD("beta1", REAL, beta1, 0, 0.999999),
    [TG_SET_BETA2] = FIELD("beta2", REAL, beta2, 0, 0.999999),
    [TG_SET_WEIGHT_DECAY] = FIELD("weight-decay", REAL, weight_decay, 0, 1e3),
    [TG_SET_CLIP] = FIELD("clip", REAL, clip, 0, 1e9),
    [TG_SET_DROPOUT] = FIELD("dropout", REAL, dropout, 0, 0.99),
    [TG_SET_VAL_FRACTION] = FIELD("val-fraction", REAL, val_fraction, 0, 0.9),
    [TG_SET_PRECISION] = FIELD("precision", PRECISION, precision, TG_PRECISION_FLOAT32, TG_PRECISION_BF16),
};

tg_settings tg_settings_default(void)
{
    return (tg_settings){
        .seed = 0,
        .steps = 2000,
        .batch = 12,
        .context = 0,
        .accumulate = 1,
        .warmup = 100,
        .lr = 2e-3,
        .min_lr = 2e-4,
        .beta1 = 0.9,
        .beta2 = 0.99,
        .weight_decay = 0.1,
        .clip = 1.0,
        .dropout = 0.0,
        .val_fraction = 0.1,
        .precision = TG_PRECISION_FLOAT32,
    };
}

static size_t width(tg_setting_type type)
{
    return type == TG_SETTING_SIZE || type == TG_SETTING_PRECISION ? sizeof(size_t) : 8;
}

void *tg_setting_place(tg_settings *s, size_t i)
{
    return (char *)s + tg_setting_table[i].at;
}

static const void *value(const tg_settings *s, size_t i)
{
    return (const char *)s + tg_setting_table[i].at;
}

void tg_setting_copy(tg_settings *to, const tg_settings *from, size_t i)
{
    memcpy(tg_setting_place(to, i), value(from, i), width(tg_setting_table[i].type));
}

bool tg_setting_same(const tg_settings *a, const tg_settings *b, size_t i)
{
    return memcmp(value(a, i), value(b, i), width(tg_setting_table[i].type)) == 0;
}

void tg_setting_text(char *text, size_t size, const tg_settings *s, size_t i)
{
    const void *at = value(s, i);
    char name[TG_CHOICE_ROOM];

    switch (tg_setting_table[i].type) {
    case TG_SETTING_U64:
        snprintf(text, size, "%llu", (unsigned long long)*(const uint64_t *)at);
        break;
    case TG_SETTING_SIZE:
        snprintf(text, size, "%zu", *(const size_t *)at);
        break;
    case TG_SETTING_REAL:
        snprintf(text, size, "%g", *(const double *)at);
        break;
    case TG_SETTING_PRECISION:
        snprintf(text, size, "%s", tg_choice_name(name, TG_PRECISIONS, *(const size_t *)at));
        break;
    }
}

/* "train/min_lr" of "min-lr". */
static void array_name(char name[TG_NAME_MAX + 1], size_t i)
{
    snprintf(name, TG_NAME_MAX + 1, "train/%s", tg_setting_table[i].name);
    for (char *c = name; *c; c++)
        if (*c == '-')
            *c = '_';
}

tg_status tg_settings_put(const tg_settings *s, tg_archive_writer *w, tg_err *err)
{
    char name[TG_NAME_MAX + 1];
    tg_status status = TG_OK;

    for (size_t i = 0; !status && i < TG_SETTINGS; i++) {
        const void *at = value(s, i);

        array_name(name, i);
        switch (tg_setting_table[i].type) {
        case TG_SETTING_U64: /* all 64 bits, so not as a signed number */
            status = tg_archive_put(w, name, (tg_dtype){'u', 8}, 0, NULL, at, err);
            break;
        case TG_SETTING_SIZE:
            status = tg_archive_put_i64(w, name, (int64_t) * (const size_t *)at, err);
            break;
        case TG_SETTING_REAL:
            status = tg_archive_put_f64(w, name, *(const double *)at, err);
            break;
        case TG_SETTING_PRECISION:
            status = tg_archive_put_choice(w, name, TG_PRECISIONS, *(const size_t *)at, err);
            break;
        }
    }
    return status;
}

static tg_status take_value(tg_settings *s, size_t i, tg_archive_reader *r, const tg_array *a, tg_err *err)
{
    switch (tg_setting_table[i].type) {
    case TG_SETTING_U64:
        if (a->ndim != 0 || a->dtype.kind != 'u' || a->dtype.size != 8)
            return tg_fail(err, TG_EDATA, "%s must be a scalar of type <u8", a->name);
        return tg_archive_read(r, tg_setting_place(s, i), 8, err);
    case TG_SETTING_SIZE:
        return tg_archive_get_size(r, a, tg_setting_place(s, i), err);
    case TG_SETTING_REAL:
        return tg_archive_get_f64(r, a, tg_setting_place(s, i), err);
    case TG_SETTING_PRECISION:
        return tg_archive_get_choice(r, a, TG_PRECISIONS, tg_setting_place(s, i), err);
    }
    return TG_OK;
}

tg_status tg_settings_take(tg_settings *s, tg_archive_reader *r, const tg_array *a, bool *taken, tg_err *err)
{
    char name[TG_NAME_MAX + 1];

    for (size_t i = 0; i < TG_SETTINGS; i++) {
        array_name(name, i);
        if (strcmp(a->name, name) == 0) {
            *taken = true;
            return take_value(s, i, r, a, err);
        }
    }
    return TG_OK;
}

static tg_status check_range(const tg_settings *s, size_t i, tg_err *err)
{
    const tg_setting *f = &tg_setting_table[i];
    const void *at = value(s, i);
    double x;

    if (f->min == 0 && f->max == 0)
        return TG_OK;
    x = f->type == TG_SETTING_REAL ? *(const double *)at : (double)*(const size_t *)at;
    if (x >= f->min && x <= f->max) /* a NaN is not */
        return TG_OK;
    return tg_fail(err, TG_EDATA, "%s must be between %g and %g, got %g", f->name, f->min, f->max, x);
}

tg_status tg_settings_check(const tg_settings *s, tg_err *err)
{
    tg_status status = TG_OK;
    size_t n;

    for (size_t i = 0; !status && i < TG_SETTINGS; i++)
        status = check_range(s, i, err);
    if (status)
        return status;
    if (!tg_size_mul(&n, s->steps, s->accumulate) || !tg_size_mul(&n, n, s->batch) || n >= TG_RUN_LIMIT)
        return tg_fail(err, TG_EDATA, "%zu steps of %zu passes of %zu sequences are too many: %zu or more",
                       s->steps, s->accumulate, s->batch, TG_RUN_LIMIT);
    return TG_OK;
}

double tg_settings_lr(const tg_settings *s, size_t step)
{
    const double pi = 3.14159265358979323846;
    double done;

    if (step < s->warmup)
        return s->lr * (double)(step + 1) / (double)(s->warmup + 1);
    if (step >= s->steps)
        return s->min_lr;
    done = (double)(step - s->warmup) / (double)(s->steps - s->warmup);
    return s->min_lr + 0.5 * (1.0 + cos(pi * done)) * (s->lr - s->min_lr);
}
