#include "lib/gpt/config.h"

#include <float.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/size.h"

static const struct preset {
    const char *name;
    size_t L, H, C, n_ctx, V;
} presets[] = {
    {"tinygpt", 2, 1, 64, 64, 256}, /* the documents' baseline */
    {"baby", 4, 4, 128, 64, 256},   /* nanoGPT's CPU configuration, on bytes */
    {"gpt2", 12, 12, 768, 1024, 50257},
    {"gpt2-medium", 24, 16, 1024, 1024, 50257},
    {"gpt2-large", 36, 20, 1280, 1024, 50257},
    {"gpt2-xl", 48, 25, 1600, 1024, 50257},
};
#define N_PRESETS (sizeof presets / sizeof presets[0])

const char *tg_config_preset_name(size_t i)
{
    return i < N_PRESETS ? presets[i].name : NULL;
}

tg_config tg_config_preset(size_t i)
{
    tg_config config = {
        .n_layer = presets[i].L,
        .n_head = presets[i].H,
        .n_embd = presets[i].C,
        .n_ctx = presets[i].n_ctx,
        .vocab_size = presets[i].V,
        .layer_norm_epsilon = 1e-5,
        .activation = TG_GELU_TANH,
        .layer_norm_weight = true,
        .layer_norm_bias = true,
        .linear_bias = true,
        .tied = true,
        .head_bias = false,
    };

    if (i == 0) {
        config.layer_norm_weight = config.layer_norm_bias = false;
        config.tied = false;
        config.head_bias = true;
    }
    return config;
}

static tg_status check_size(const char *name, size_t value, size_t most, tg_err *err)
{
    if (value >= 1 && value <= most)
        return TG_OK;
    return tg_fail(err, TG_EDATA, "%s must be between 1 and %zu, got %zu", name, most, value);
}

tg_status tg_config_check_heads(size_t H, size_t C, tg_status code, tg_err *err)
{
    char possible[TG_ERR_MAX / 2] = "";
    size_t used = 0;

    if (H >= 1 && C % H == 0)
        return TG_OK;
    for (size_t h = 1; h <= tg_size_min(C, TG_SIZE_LIMIT) && used < sizeof possible - 24; h++)
        if (C % h == 0)
            used += (size_t)snprintf(possible + used, sizeof possible - used, " %zu", h);
    return tg_fail(err, code, "%zu heads do not divide C = %zu: possible are%s", H, C, possible);
}

tg_status tg_config_check(const tg_config *config, tg_err *err)
{
    const struct {
        const char *name;
        size_t value, most;
    } sizes[] = {
        {"n_layer", config->n_layer, TG_LAYERS_MAX},       {"n_head", config->n_head, TG_SIZE_LIMIT},
        {"n_embd", config->n_embd, TG_SIZE_LIMIT},         {"n_ctx", config->n_ctx, TG_SIZE_LIMIT},
        {"vocab_size", config->vocab_size, TG_SIZE_LIMIT},
    };

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        if (check_size(sizes[i].name, sizes[i].value, sizes[i].most, err))
            return TG_EDATA;
    if (tg_config_check_heads(config->n_head, config->n_embd, TG_EDATA, err))
        return TG_EDATA;
    /* the operations use it as a float, which must be a normal one */
    if (!((float)config->layer_norm_epsilon >= FLT_MIN && config->layer_norm_epsilon <= 1))
        return tg_fail(err, TG_EDATA, "layer_norm_epsilon must be between %g and 1, got %g", (double)FLT_MIN,
                       config->layer_norm_epsilon);
    return TG_OK;
}

/* ---- the archive's config/... arrays, one table for writing and reading */

enum value_type { IS_SIZE, IS_REAL, IS_BOOL, IS_ACTIVATION };

static const struct field {
    const char *name;
    enum value_type type;
    size_t at;
} fields[] = {
    {"config/n_layer", IS_SIZE, offsetof(tg_config, n_layer)},
    {"config/n_head", IS_SIZE, offsetof(tg_config, n_head)},
    {"config/n_embd", IS_SIZE, offsetof(tg_config, n_embd)},
    {"config/n_ctx", IS_SIZE, offsetof(tg_config, n_ctx)},
    {"config/vocab_size", IS_SIZE, offsetof(tg_config, vocab_size)},
    {"config/layer_norm_epsilon", IS_REAL, offsetof(tg_config, layer_norm_epsilon)},
    {"config/activation", IS_ACTIVATION, offsetof(tg_config, activation)},
    {"config/layer_norm_weight", IS_BOOL, offsetof(tg_config, layer_norm_weight)},
    {"config/layer_norm_bias", IS_BOOL, offsetof(tg_config, layer_norm_bias)},
    {"config/linear_bias", IS_BOOL, offsetof(tg_config, linear_bias)},
    {"config/tied", IS_BOOL, offsetof(tg_config, tied)},
    {"config/head_bias", IS_BOOL, offsetof(tg_config, head_bias)},
};
#define N_FIELDS (sizeof fields / sizeof fields[0])

#define ACTIVATIONS "gelu_new|gelu" /* in tg_gelu_kind's order */

static tg_status put_field(const struct field *f, const tg_config *config, tg_archive_writer *w, tg_err *err)
{
    const void *at = (const char *)config + f->at;

    switch (f->type) {
    case IS_SIZE:
        return tg_archive_put_i64(w, f->name, (int64_t) * (const size_t *)at, err);
    case IS_REAL:
        return tg_archive_put_f64(w, f->name, *(const double *)at, err);
    case IS_BOOL:
        return tg_archive_put_i64(w, f->name, *(const bool *)at, err);
    case IS_ACTIVATION:
        return tg_archive_put_choice(w, f->name, ACTIVATIONS, *(const tg_gelu_kind *)at, err);
    }
    return TG_OK;
}

tg_status tg_config_put(const tg_config *config, tg_archive_writer *w, tg_err *err)
{
    for (size_t i = 0; i < N_FIELDS; i++) {
        tg_status status = put_field(&fields[i], config, w, err);

        if (status)
            return status;
    }
    return TG_OK;
}

static tg_status take_activation(tg_gelu_kind *kind, tg_archive_reader *r, const tg_array *a, tg_err *err)
{
    size_t number = 0;
    const tg_status status = tg_archive_get_choice(r, a, ACTIVATIONS, &number, err);

    *kind = (tg_gelu_kind)number;
    return status;
}

static tg_status take_bool(bool *value, tg_archive_reader *r, const tg_array *a, tg_err *err)
{
    size_t number;
    tg_status status = tg_archive_get_size(r, a, &number, err);

    if (status)
        return status;
    if (number > 1)
        return tg_fail(err, TG_EDATA, "%s must be 0 or 1, got %zu", a->name, number);
    *value = number == 1;
    return TG_OK;
}

static tg_status take_field(const struct field *f, tg_config *config, tg_archive_reader *r, const tg_array *a,
                            tg_err *err)
{
    void *at = (char *)config + f->at;

    switch (f->type) {
    case IS_SIZE:
        return tg_archive_get_size(r, a, at, err);
    case IS_REAL:
        return tg_archive_get_f64(r, a, at, err);
    case IS_BOOL:
        return take_bool(at, r, a, err);
    case IS_ACTIVATION:
        return take_activation(at, r, a, err);
    }
    return TG_OK;
}

tg_status tg_config_take(tg_config *config, unsigned *seen, tg_archive_reader *r, const tg_array *a,
                         bool *taken, tg_err *err)
{
    *taken = strncmp(a->name, "config/", 7) == 0;
    if (!*taken)
        return TG_OK;
    for (size_t i = 0; i < N_FIELDS; i++)
        if (strcmp(a->name, fields[i].name) == 0) {
            *seen |= 1u << i;
            return take_field(&fields[i], config, r, a, err);
        }
    return tg_fail(err, TG_EDATA, "%s is a setting that this version does not know", a->name);
}

tg_status tg_config_complete(const tg_config *config, unsigned seen, tg_err *err)
{
    for (size_t i = 0; i < N_FIELDS; i++)
        if (!(seen & 1u << i))
            return tg_fail(err, TG_EDATA, "%s is missing", fields[i].name);
    return tg_config_check(config, err);
}
