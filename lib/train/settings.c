#include "lib/train/settings.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define FIELD(name, type, member) {name, type, offsetof(tg_settings, member)}

const tg_setting tg_setting_table[TG_SETTINGS] = {
    FIELD("seed", TG_SETTING_U64, seed),
    FIELD("steps", TG_SETTING_SIZE, steps),
    FIELD("batch", TG_SETTING_SIZE, batch),
    FIELD("context", TG_SETTING_SIZE, context),
    FIELD("accumulate", TG_SETTING_SIZE, accumulate),
    FIELD("warmup", TG_SETTING_SIZE, warmup),
    FIELD("lr", TG_SETTING_REAL, lr),
    FIELD("min-lr", TG_SETTING_REAL, min_lr),
    FIELD("beta1", TG_SETTING_REAL, beta1),
    FIELD("beta2", TG_SETTING_REAL, beta2),
    FIELD("weight-decay", TG_SETTING_REAL, weight_decay),
    FIELD("clip", TG_SETTING_REAL, clip),
    FIELD("dropout", TG_SETTING_REAL, dropout),
    FIELD("val-fraction", TG_SETTING_REAL, val_fraction),
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
    };
}

static size_t width(tg_setting_type type)
{
    return type == TG_SETTING_SIZE ? sizeof(size_t) : 8;
}

static void *place(tg_settings *s, size_t i)
{
    return (char *)s + tg_setting_table[i].at;
}

static const void *value(const tg_settings *s, size_t i)
{
    return (const char *)s + tg_setting_table[i].at;
}

void tg_setting_copy(tg_settings *to, const tg_settings *from, size_t i)
{
    memcpy(place(to, i), value(from, i), width(tg_setting_table[i].type));
}

bool tg_setting_same(const tg_settings *a, const tg_settings *b, size_t i)
{
    return memcmp(value(a, i), value(b, i), width(tg_setting_table[i].type)) == 0;
}

void tg_setting_text(char *text, size_t size, const tg_settings *s, size_t i)
{
    const void *at = value(s, i);

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
        return tg_archive_read(r, place(s, i), 8, err);
    case TG_SETTING_SIZE:
        return tg_archive_get_size(r, a, place(s, i), err);
    case TG_SETTING_REAL:
        return tg_archive_get_f64(r, a, place(s, i), err);
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

tg_status tg_settings_check(const tg_settings *s, tg_err *err)
{
    const struct {
        const char *name;
        double value, least, most;
    } ranges[] = {
        {"steps", (double)s->steps, 1, 1e12},      {"batch", (double)s->batch, 1, 65536},
        {"context", (double)s->context, 1, 1e9},   {"accumulate", (double)s->accumulate, 1, 65536},
        {"warmup", (double)s->warmup, 0, 1e12},    {"lr", s->lr, 0, 1e3},
        {"min-lr", s->min_lr, 0, 1e3},             {"beta1", s->beta1, 0, 0.999999},
        {"beta2", s->beta2, 0, 0.999999},          {"weight-decay", s->weight_decay, 0, 1e3},
        {"clip", s->clip, 0, 1e9},                 {"dropout", s->dropout, 0, 0.99},
        {"val-fraction", s->val_fraction, 0, 0.9},
    };

    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
        if (!(ranges[i].value >= ranges[i].least && ranges[i].value <= ranges[i].most))
            return tg_fail(err, TG_EDATA, "%s must be between %g and %g, got %g", ranges[i].name,
                           ranges[i].least, ranges[i].most, ranges[i].value);
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
