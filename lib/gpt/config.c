#include "lib/gpt/config.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/size.h"
#include "lib/gpt/family.h"

/* ---- checks */

tg_status tg_config_check_heads(size_t H, size_t C, tg_status code, tg_err *err)
{
    char possible[TG_ERR_MAX / 2] = "";
    size_t used = 0;

    if (H >= 1 && C % H == 0)
        return TG_OK;
    for (size_t h = 1; h <= tg_size_min(C, TG_SIZE_LIMIT) && used < sizeof possible - 24; h++)
        if (C % h == 0)
            used += (size_t)snprintf(possible + used, sizeof possible - used, " %zu", h);
    return tg_fail(err, code, "%zu heads do not divide C = %zu, expected one of%s", H, C, possible);
}

#define SIZE_ROW(member, max) TG_SIZE_FIELD("config/" #member, tg_config, member, 1, max)
#define REAL_ROW(member, min, max) TG_REAL_FIELD("config/" #member, tg_config, member, min, max)
#define BOOL_ROW(member) TG_BOOL_FIELD("config/" #member, tg_config, member)

static const tg_field rows[TG_CONFIG_MEMBERS] = {
    [TG_CONFIG_N_LAYER] = SIZE_ROW(n_layer, TG_LAYERS_MAX),
    [TG_CONFIG_N_HEAD] = SIZE_ROW(n_head, TG_SIZE_LIMIT),
    [TG_CONFIG_N_EMBD] = SIZE_ROW(n_embd, TG_SIZE_LIMIT),
    [TG_CONFIG_N_CTX] = SIZE_ROW(n_ctx, TG_SIZE_LIMIT),
    [TG_CONFIG_VOCAB_SIZE] = SIZE_ROW(vocab_size, TG_SIZE_LIMIT),
    /* the operations convert it to float, which must not be subnormal */
    [TG_CONFIG_LAYER_NORM_EPSILON] =
        TG_REAL_FIELD("config/layer_norm_epsilon", tg_config, layer_norm_epsilon, (double)FLT_MIN, 1),
    [TG_CONFIG_ACTIVATION] = TG_CHOICE_FIELD("config/activation", tg_config, activation, TG_ACTIVATIONS),
    [TG_CONFIG_LAYER_NORM_WEIGHT] = BOOL_ROW(layer_norm_weight),
    [TG_CONFIG_LAYER_NORM_BIAS] = BOOL_ROW(layer_norm_bias),
    [TG_CONFIG_LINEAR_BIAS] = BOOL_ROW(linear_bias),
    [TG_CONFIG_TIED] = BOOL_ROW(tied),
    [TG_CONFIG_HEAD_BIAS] = BOOL_ROW(head_bias),
    [TG_CONFIG_N_KV_HEAD] = SIZE_ROW(n_kv_head, TG_SIZE_LIMIT),
    [TG_CONFIG_HEAD_DIM] = SIZE_ROW(head_dim, TG_SIZE_LIMIT),
    [TG_CONFIG_N_INNER] = SIZE_ROW(n_inner, TG_SIZE_LIMIT),
    [TG_CONFIG_ROPE_THETA] = REAL_ROW(rope_theta, 1, 1e12),
    [TG_CONFIG_QKV_BIAS] = BOOL_ROW(qkv_bias),
    [TG_CONFIG_OUT_BIAS] = BOOL_ROW(out_bias),
    [TG_CONFIG_MLP_BIAS] = BOOL_ROW(mlp_bias),
    [TG_CONFIG_QK_NORM] = BOOL_ROW(qk_norm),
    [TG_CONFIG_ROPE_SCALING] =
        TG_CHOICE_FIELD("config/rope_scaling", tg_config, rope_scaling, "none|linear|llama3"),
    [TG_CONFIG_ROPE_FACTOR] = REAL_ROW(rope_factor, 1, 1e6),
    [TG_CONFIG_ROPE_LOW_FREQ] = REAL_ROW(rope_low_freq, 1e-3, 1e6),
    [TG_CONFIG_ROPE_HIGH_FREQ] = REAL_ROW(rope_high_freq, 1e-3, 1e6),
    [TG_CONFIG_ROPE_CTX] = SIZE_ROW(rope_ctx, TG_SIZE_LIMIT),
    [TG_CONFIG_ROPE_DIM] = TG_SIZE_FIELD("config/rope_dim", tg_config, rope_dim, 0, TG_SIZE_LIMIT),
    [TG_CONFIG_ROPE_LOCAL_THETA] = REAL_ROW(rope_local_theta, 0, 1e12),
    [TG_CONFIG_UNROTATED_LAYERS] = TG_U64_FIELD("config/unrotated_layers", tg_config, unrotated_layers),
    [TG_CONFIG_WINDOW] = TG_SIZE_FIELD("config/window", tg_config, window, 0, TG_SIZE_LIMIT),
    [TG_CONFIG_WINDOW_LAYERS] = TG_U64_FIELD("config/window_layers", tg_config, window_layers),
    [TG_CONFIG_ATTN_SCALE] = REAL_ROW(attn_scale, 0, TG_ATTENTION_RULE_MAX),
    [TG_CONFIG_ATTN_CAP] = REAL_ROW(attn_cap, 0, TG_ATTENTION_RULE_MAX),
    [TG_CONFIG_NORM_OFFSET] = REAL_ROW(norm_offset, 0, 1),
    [TG_CONFIG_EMBED_SCALE] = REAL_ROW(embed_scale, 1e-6, 1e6),
    [TG_CONFIG_FINAL_LOGIT_SOFTCAPPING] = REAL_ROW(final_logit_softcapping, 0, 1e6),
};

const tg_fields tg_config_fields = {rows, TG_CONFIG_MEMBERS};

/* The ids of optional tokens, as archives have them. */
struct ends {
    size_t bos, eos;
    bool add;
};
static const tg_field end_rows[TG_CONFIG_OPTIONAL] = {
    TG_SIZE_FIELD("config/bos_token_id", struct ends, bos, 0, TG_SIZE_LIMIT),
    TG_SIZE_FIELD("config/eos_token_id", struct ends, eos, 0, TG_SIZE_LIMIT),
    TG_BOOL_FIELD("config/add_bos", struct ends, add),
};

/* Not in archives of GPT-2, which are older than the field. */
static const tg_field family_row[] = {
    TG_CHOICE_FIELD("config/family", tg_config, family, tg_family_names),
};
static const tg_fields family_field = {family_row, 1};

size_t tg_config_head_dim(const tg_config *c)
{
    return c->head_dim > 0 ? c->head_dim : c->n_embd / c->n_head;
}

size_t tg_config_rope_dim(const tg_config *c)
{
    return c->rope_dim > 0 ? c->rope_dim : tg_config_head_dim(c);
}

size_t tg_config_window(const tg_config *c, size_t layer)
{
    return tg_layer_in(c->window_layers, layer) ? c->window : 0;
}

bool tg_config_rotates(const tg_config *c, size_t layer)
{
    return c->rope_theta > 0 && !tg_layer_in(c->unrotated_layers, layer);
}

tg_attention_rule tg_config_attention_rule(const tg_config *c, size_t layer)
{
    return (tg_attention_rule){c->attn_scale, c->attn_cap, tg_config_window(c, layer)};
}

size_t tg_config_kv_heads(const tg_config *c)
{
    return c->n_kv_head > 0 ? c->n_kv_head : c->n_head;
}

bool tg_config_has(const tg_config *config, size_t id)
{
    return tg_config_family(config)->settings & TG_CONFIG_BIT(id);
}

/* ---- members that follow from others */

static void give_size(const tg_config *c, tg_config_id id, size_t *member, size_t value)
{
    if (*member == 0 && tg_config_has(c, id))
        *member = value;
}

static void give_real(const tg_config *c, tg_config_id id, double *member, double value)
{
    if (*member == 0 && tg_config_has(c, id))
        *member = value;
}

void tg_config_neutral(tg_config *c)
{
    give_size(c, TG_CONFIG_ROPE_CTX, &c->rope_ctx, 1);
    give_real(c, TG_CONFIG_ROPE_FACTOR, &c->rope_factor, 1);
    give_real(c, TG_CONFIG_ROPE_LOW_FREQ, &c->rope_low_freq, 1);
    give_real(c, TG_CONFIG_ROPE_HIGH_FREQ, &c->rope_high_freq, 1);
    give_real(c, TG_CONFIG_EMBED_SCALE, &c->embed_scale, 1);
}

void tg_config_derive(tg_config *c)
{
    give_size(c, TG_CONFIG_N_KV_HEAD, &c->n_kv_head, c->n_head);
    give_size(c, TG_CONFIG_HEAD_DIM, &c->head_dim, c->n_embd / c->n_head);
    give_size(c, TG_CONFIG_N_INNER, &c->n_inner, 4 * c->n_embd);
    if (c->rope_dim == tg_config_head_dim(c))
        c->rope_dim = 0;
    if (c->norm_offset > 0)
        give_real(c, TG_CONFIG_EMBED_SCALE, &c->embed_scale, sqrt((double)c->n_embd));
    if (c->window > 0 && c->window_layers == 0)
        c->window_layers = UINT64_MAX;
    c->window_layers &= tg_layer_mask(c->n_layer);
    tg_config_neutral(c);
}

/* ---- checks of all */

/* Member i alone. */
static tg_fields member(size_t i)
{
    return (tg_fields){&rows[i], 1};
}

enum { SHOWN_NAME = 64 };

/* What messages call member i. */
static const char *shown(char text[SHOWN_NAME], const char *const *names, size_t i)
{
    if (!names[i])
        return rows[i].name;
    snprintf(text, SHOWN_NAME, "\"%s\"", names[i]);
    return text;
}

/* Each member alone. */
static tg_status check_ranges(const tg_config *config, const char *const *names, tg_err *err)
{
    tg_status status = tg_fields_check(family_field, config, err);

    for (size_t i = 0; !status && i < TG_CONFIG_MEMBERS; i++) {
        char text[SHOWN_NAME];
        tg_field row = rows[i];

        row.name = shown(text, names, i);
        if (tg_config_has(config, i))
            status = tg_fields_check((tg_fields){&row, 1}, config, err);
    }
    return status;
}

tg_status tg_config_check_as(const tg_config *config, const char *const names[TG_CONFIG_MEMBERS], tg_err *err)
{
    char text[SHOWN_NAME], other[SHOWN_NAME];
    const tg_status status = check_ranges(config, names, err);

    if (status)
        return status;
    if (config->n_head % tg_config_kv_heads(config) != 0)
        return tg_fail(err, TG_EDATA, "%s is %zu, expected a divisor of %s, %zu",
                       shown(text, names, TG_CONFIG_N_KV_HEAD), config->n_kv_head,
                       shown(other, names, TG_CONFIG_N_HEAD), config->n_head);
    if (config->rope_theta > 0 && tg_config_rope_dim(config) % 2 != 0)
        return tg_fail(err, TG_EDATA, "%zu channels of a head are rotated, expected an even number",
                       tg_config_rope_dim(config));
    if (tg_config_rope_dim(config) > tg_config_head_dim(config))
        return tg_fail(err, TG_EDATA, "%s is %zu, expected at most the %zu channels of a head",
                       shown(text, names, TG_CONFIG_ROPE_DIM), config->rope_dim, tg_config_head_dim(config));
    if (config->head_dim == 0)
        return tg_config_check_heads(config->n_head, config->n_embd, TG_EDATA, err);
    if (config->head_dim > TG_SIZE_LIMIT / config->n_head)
        return tg_fail(err, TG_EDATA, "%zu heads of %zu channels, expected at most %d channels in all",
                       config->n_head, config->head_dim, TG_SIZE_LIMIT);
    return TG_OK;
}

tg_status tg_config_check(const tg_config *config, tg_err *err)
{
    static const char *const none[TG_CONFIG_MEMBERS] = {NULL};

    return tg_config_check_as(config, none, err);
}

/* ---- the archive */

tg_status tg_config_put(const tg_config *config, tg_archive_writer *w, tg_err *err)
{
    const struct ends ends = {config->bos_token - 1, config->eos_token - 1, config->add_bos};
    tg_status status = config->family > 0 ? tg_fields_put(family_field, config, w, err) : TG_OK;

    for (size_t i = 0; !status && i < TG_CONFIG_MEMBERS; i++)
        if (tg_config_has(config, i))
            status = tg_fields_put(member(i), config, w, err);
    if (!status && config->bos_token > 0)
        status = tg_fields_put((tg_fields){&end_rows[0], 1}, &ends, w, err);
    if (!status && config->eos_token > 0)
        status = tg_fields_put((tg_fields){&end_rows[1], 1}, &ends, w, err);
    if (!status && config->add_bos)
        status = tg_fields_put((tg_fields){&end_rows[2], 1}, &ends, w, err);
    return status;
}

/* Take the current array if it is about one of the optional tokens. */
static tg_status take_end(tg_config *config, tg_archive_reader *r, const tg_array *a, bool *taken,
                          tg_err *err)
{
    struct ends ends = {0};
    uint64_t seen = 0;
    const tg_fields fields = {end_rows, TG_CONFIG_OPTIONAL};
    tg_status status = tg_fields_take(fields, &ends, &seen, r, a, taken, err);

    if (status || !*taken || (status = tg_fields_check(fields, &ends, err)))
        return status;
    if (seen & 1)
        config->bos_token = ends.bos + 1;
    else if (seen & 4)
        config->add_bos = ends.add;
    else
        config->eos_token = ends.eos + 1;
    return TG_OK;
}

tg_status tg_config_take(tg_config *config, uint64_t *seen, tg_archive_reader *r, const tg_array *a,
                         bool *taken, tg_err *err)
{
    tg_status status = tg_fields_take(tg_config_fields, config, seen, r, a, taken, err);

    if (!status && !*taken)
        status = tg_fields_take(family_field, config, NULL, r, a, taken, err);
    if (!status && !*taken)
        status = take_end(config, r, a, taken, err);
    if (status || *taken || strncmp(a->name, "config/", 7) != 0)
        return status;
    return tg_fail(err, TG_EDATA, "%s is unknown to this version", a->name);
}

/* Every member that the family has was read, and no other. */
static tg_status check_members(const tg_config *config, uint64_t seen, tg_err *err)
{
    tg_status status = TG_OK;

    for (size_t i = 0; !status && i < TG_CONFIG_MEMBERS; i++) {
        const bool was_read = seen & TG_CONFIG_BIT(i);

        if (was_read && !tg_config_has(config, i))
            return tg_fail(err, TG_EDATA, "%s is not a setting of the family %s", rows[i].name,
                           tg_config_family(config)->name);
        if (tg_config_has(config, i))
            status = tg_fields_complete(member(i), was_read, err);
    }
    return status;
}

tg_status tg_config_complete(const tg_config *config, uint64_t seen, tg_err *err)
{
    tg_status status = check_members(config, seen, err);

    if (status || (status = tg_config_check(config, err)))
        return status;
    if (tg_size_max(config->bos_token, config->eos_token) > config->vocab_size)
        return tg_fail(err, TG_EDATA, "token %zu begins or ends a text, expected one of %zu tokens",
                       tg_size_max(config->bos_token, config->eos_token) - 1, config->vocab_size);
    if (config->add_bos && config->bos_token == 0)
        return tg_fail(err, TG_EDATA, "config/add_bos is 1, but config/bos_token_id is missing");
    return TG_OK;
}
