#include "lib/train/settings.h"

#include <math.h>

#include "lib/base/size.h"

#define SIZE_ROW(member, min, max) TG_SIZE_FIELD("train/" #member, tg_settings, member, min, max)
#define REAL_ROW(member, min, max) TG_REAL_FIELD("train/" #member, tg_settings, member, min, max)

static const tg_field rows[TG_SETTINGS] = {
    [TG_SET_SEED] = TG_U64_FIELD("train/seed", tg_settings, seed),
    [TG_SET_STEPS] = SIZE_ROW(steps, 1, TG_STEPS_MAX),
    [TG_SET_BATCH] = SIZE_ROW(batch, 1, 65536),
    [TG_SET_CONTEXT] = SIZE_ROW(context, 0, 1e7),
    [TG_SET_ACCUMULATE] = SIZE_ROW(accumulate, 1, TG_ACCUMULATE_MAX),
    [TG_SET_WARMUP] = SIZE_ROW(warmup, 0, TG_STEPS_MAX),
    [TG_SET_LR] = REAL_ROW(lr, 0, 1e3),
    [TG_SET_MIN_LR] = REAL_ROW(min_lr, 0, 1e3),
    [TG_SET_BETA1] = REAL_ROW(beta1, 0, 0.999999),
    [TG_SET_BETA2] = REAL_ROW(beta2, 0, 0.999999),
    [TG_SET_WEIGHT_DECAY] = REAL_ROW(weight_decay, 0, 1e3),
    [TG_SET_CLIP] = REAL_ROW(clip, 0, 1e9),
    [TG_SET_DROPOUT] = REAL_ROW(dropout, 0, 0.99),
    [TG_SET_VAL_FRACTION] = REAL_ROW(val_fraction, 0, 0.9),
    [TG_SET_PRECISION] = TG_CHOICE_FIELD("train/precision", tg_settings, precision, TG_PRECISIONS),
    [TG_SET_VAL_BLOCKS] = SIZE_ROW(val_blocks, 1, 1e6),
    [TG_SET_OPTIMIZER] = TG_CHOICE_FIELD("train/optimizer", tg_settings, optimizer, TG_OPTIMIZERS),
    [TG_SET_MOMENTUM] = REAL_ROW(momentum, 0, 0.999999),
    [TG_SET_DECAY] = SIZE_ROW(decay, 0, TG_STEPS_MAX),
    [TG_SET_PACKING] = TG_BOOL_FIELD("train/packing", tg_settings, packing),
    [TG_SET_MASTER] = TG_CHOICE_FIELD("train/master", tg_settings, master, TG_PRECISIONS),
    [TG_SET_FIRST_CONTEXT] = SIZE_ROW(first_context, 0, 1e7),
    [TG_SET_AVERAGE] = SIZE_ROW(average, 0, TG_STEPS_MAX),
};

const tg_fields tg_settings_fields = {rows, TG_SETTINGS};

tg_fields tg_settings_saved(const tg_settings *s)
{
    if (s->average > 0)
        return tg_settings_fields;
    if (s->first_context > 0)
        return (tg_fields){rows, TG_SET_AVERAGE};
    if (s->master != TG_PRECISION_FLOAT32)
        return (tg_fields){rows, TG_SET_FIRST_CONTEXT};
    if (!s->packing)
        return (tg_fields){rows, TG_SET_MASTER};
    if (s->decay > 0)
        return (tg_fields){rows, TG_SET_PACKING};
    if (s->optimizer != TG_OPTIMIZER_ADAMW)
        return (tg_fields){rows, TG_SET_DECAY};
    return (tg_fields){rows, s->val_blocks > 1 ? TG_SET_OPTIMIZER : TG_SET_VAL_BLOCKS};
}

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
        .val_blocks = 1,
        .optimizer = TG_OPTIMIZER_ADAMW,
        .momentum = 0.95,
        .packing = true,
        .master = TG_PRECISION_FLOAT32,
    };
}

void tg_settings_merge(tg_settings *s, const tg_settings *asked, const bool given[TG_SETTINGS])
{
    const bool follows = s->min_lr == s->lr / 10;

    for (size_t i = 0; i < TG_SETTINGS; i++)
        if (given[i])
            tg_field_copy(&rows[i], s, asked);
    if (follows && !given[TG_SET_MIN_LR])
        s->min_lr = s->lr / 10;
}

/* Of short sequences first. */
static tg_status check_first_context(const tg_settings *s, tg_err *err)
{
    const size_t first = s->first_context;

    if (first == 0)
        return TG_OK;
    if (s->decay == 0)
        return tg_fail(
            err, TG_EDATA,
            "a first context of %zu tokens, but no decay: it ends where the learning rate begins to fall",
            first);
    if (s->context > 0 && s->context % first != 0)
        return tg_fail(err, TG_EDATA, "a context of %zu is not a multiple of the first one, %zu", s->context,
                       first);
    return TG_OK;
}

size_t tg_settings_sequences(const tg_settings *s)
{
    const size_t shorter = s->first_context > 0 ? s->context / s->first_context : 1;

    return s->accumulate * s->batch * (shorter > 1 ? shorter : 1);
}

tg_status tg_settings_check(const tg_settings *s, tg_err *err)
{
    tg_status status = tg_fields_check(tg_settings_fields, s, err);
    size_t n;

    if (status)
        return status;
    if (!tg_size_mul(&n, s->steps, tg_settings_sequences(s)) || n >= TG_RUN_LIMIT)
        return tg_fail(err, TG_EDATA,
                       "%zu steps of %zu passes of %zu sequences, expected a product below %zu", s->steps,
                       s->accumulate, tg_settings_sequences(s) / s->accumulate, TG_RUN_LIMIT);
    if (s->decay > s->steps)
        return tg_fail(err, TG_EDATA, "decay in %zu of %zu steps, expected at most as many", s->decay,
                       s->steps);
    if (s->average > s->steps)
        return tg_fail(err, TG_EDATA, "a mean of the last %zu of %zu steps, expected at most as many",
                       s->average, s->steps);
    return check_first_context(s, err);
}

static double linear_lr(const tg_settings *s, size_t step)
{
    const size_t left = step < s->steps ? s->steps - step : 0;
    const double risen = fmin(1, (double)(step + 1) / (double)(s->warmup + 1));

    return risen * (s->min_lr + fmin(1, (double)left / (double)s->decay) * (s->lr - s->min_lr));
}

double tg_settings_lr(const tg_settings *s, size_t step)
{
    const double pi = 3.14159265358979323846;
    double done;

    if (s->decay > 0)
        return linear_lr(s, step);
    if (step < s->warmup)
        return s->lr * (double)(step + 1) / (double)(s->warmup + 1);
    if (step >= s->steps)
        return s->min_lr;
    done = (double)(step - s->warmup) / (double)(s->steps - s->warmup);
    return s->min_lr + 0.5 * (1.0 + cos(pi * done)) * (s->lr - s->min_lr);
}

size_t tg_settings_context(const tg_settings *s, size_t step)
{
    return s->first_context > 0 && step + s->decay < s->steps ? s->first_context : s->context;
}
