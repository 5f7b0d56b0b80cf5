#include "lib/models/canonical.h"

#include <math.h>

#include "lib/base/convert.h"

bool tg_same_float(double a, double b)
{
    return (float)a == (float)b;
}

double tg_rounded_to(tg_write_type type, double x)
{
    const float single = (float)x;
    uint16_t bits;

    if (type == TG_WRITE_F16)
        return (double)tg_float_from_half(tg_half_from_float(single));
    if (type == TG_WRITE_BF16 && tg_round_to_bf16(&bits, &single, 1))
        return (double)tg_float_from_bf16(bits);
    return (double)single;
}

tg_config tg_config_canonical(const tg_config *config)
{
    const double width = (double)tg_config_head_dim(config), root = sqrt((double)config->n_embd);
    tg_config c = *config;

    c.unrotated_layers &= tg_layer_mask(c.n_layer);
    if (c.window >= c.n_ctx && c.rope_local_theta == 0)
        c.window = 0;
    c.window_layers &= c.window > 0 ? tg_layer_mask(c.n_layer) : 0;
    if (c.window_layers == 0) {
        c.window = 0;
        c.rope_local_theta = 0;
    }
    if (c.rope_dim == tg_config_head_dim(config))
        c.rope_dim = 0;
    if (c.rope_scaling == TG_ROPE_PLAIN) {
        c.rope_factor = c.rope_low_freq = c.rope_high_freq = 1;
        c.rope_ctx = 1;
    }
    if (tg_same_float(c.attn_scale, 1 / sqrt(width)))
        c.attn_scale = 0;
    if (tg_same_float(c.embed_scale, root))
        c.embed_scale = root;
    return c;
}

bool tg_config_has_same_windows(const tg_config *c)
{
    size_t l = 1;

    while (l < c->n_layer && tg_config_window(c, l) == tg_config_window(c, 0))
        l++;
    return l >= c->n_layer;
}

/* ---- messages */

tg_status tg_config_check_fixed(const tg_config *config, const tg_config *c, const tg_config *want,
                                uint64_t said, const char *whose, const char *name, tg_err *err)
{
    char got[TG_CHOICE_SIZE], expected[TG_CHOICE_SIZE];

    for (size_t i = 0; i < TG_CONFIG_MEMBERS; i++) {
        const tg_field *f = &tg_config_fields.row[i];

        if (said & TG_CONFIG_BIT(i) || !tg_config_has(config, i) || tg_field_equal(f, c, want))
            continue;
        tg_field_text(got, sizeof got, f, config);
        tg_field_text(expected, sizeof expected, f, want);
        return tg_fail(err, TG_EUSAGE, "%s is %s, but %s \"%s\" can only have %s", f->name, got, whose, name,
                       expected);
    }
    return TG_OK;
}

const char *tg_config_scaling(char text[TG_CHOICE_SIZE], const tg_config *config)
{
    tg_field_text(text, TG_CHOICE_SIZE, &tg_config_fields.row[TG_CONFIG_ROPE_SCALING], config);
    return text;
}

/* ---- ends of a text */

/* 1 + the ids, 0 for none. */
static size_t start_of(const tg_tokenizer *tok)
{
    return tok ? (size_t)(tg_tokenizer_start_of_text(tok) + 1) : 0;
}

static size_t end_of(const tg_tokenizer *tok)
{
    return tok ? (size_t)(tg_tokenizer_end_of_text(tok) + 1) : 0;
}

void tg_config_omit_ends(tg_config *c, const tg_tokenizer *tok)
{
    if (!c->add_bos && c->bos_token == start_of(tok))
        c->bos_token = 0;
    if (c->eos_token == end_of(tok))
        c->eos_token = 0;
}

void tg_config_name_ends(tg_config *c, const tg_tokenizer *tok)
{
    if (c->bos_token == 0)
        c->bos_token = start_of(tok);
    if (c->eos_token == 0)
        c->eos_token = end_of(tok);
}

tg_write_type tg_scale_type(const tg_config *c)
{
    const double root = sqrt((double)c->n_embd);

    if (!tg_same_float(c->embed_scale, root))
        for (tg_write_type type = TG_WRITE_F16; type <= TG_WRITE_BF16; type++)
            if (c->embed_scale == tg_rounded_to(type, root))
                return type;
    return TG_WRITE_F32;
}
