#include "lib/models/hf_layers.h"

#include <stdio.h>

#include "lib/base/size.h"

/* Those that a config may have; more are refused later. */
static size_t count_layers(const tg_hf_reading *r)
{
    return tg_size_min(r->f->config.n_layer, TG_LAYERS_MAX);
}

static void set_layer(tg_hf_reading *r, uint64_t *layers, size_t layer, const char *name, const char *what)
{
    char shown[96];

    if (layer < TG_LAYER_BITS) {
        *layers |= (uint64_t)1 << layer;
        return;
    }
    snprintf(shown, sizeof shown, "%s in layer %zu, not one of the first %d,", what, layer, TG_LAYER_BITS);
    tg_hf_refuse(r, name, shown);
}

static void check_length(tg_hf_reading *r, const char *name, size_t n, bool fits)
{
    if (!r->j.status && !fits)
        r->j.status = tg_fail(r->j.err, TG_EDATA, "\"%s\" has %zu entries for %zu layers", name, n,
                              r->f->config.n_layer);
}

/* ---- rotation */

static void read_list(tg_hf_reading *r, const char *name)
{
    tg_json *const j = &r->j;
    tg_config *c = &r->f->config;
    size_t n = 0;

    for (tg_json_enter(j, TG_JSON_ARRAY); tg_json_element(j); n++)
        if (tg_json_get_size(j) == 0 && !j->status && n < c->n_layer)
            set_layer(r, &c->unrotated_layers, n, name, "a layer without rotation");
    check_length(r, name, n, n >= c->n_layer);
}

void tg_hf_read_unrotated(tg_hf_reading *r)
{
    static const char list[] = "no_rope_layers", every[] = "no_rope_layer_interval";
    const size_t interval = tg_hf_get_size(r, r->in, every, 4);

    if (tg_json_find(&r->j, r->in, list)) {
        read_list(r, list);
        return;
    }
    if (interval == 0)
        tg_hf_refuse(r, every, "0");
    for (size_t i = 0; interval > 0 && i < count_layers(r); i++)
        if ((i + 1) % interval == 0)
            set_layer(r, &r->f->config.unrotated_layers, i, every, "a layer without rotation");
}

/* ---- windows */

/* 0: none. */
static size_t read_window(tg_hf_reading *r, tg_hf_windows rule, size_t otherwise)
{
    static const char name[] = "sliding_window";
    const bool must_ask = rule == TG_HF_LAST || rule == TG_HF_UNROTATED;

    if (must_ask && !tg_hf_get_bool(r, "use_sliding_window", false))
        return 0;
    if (!tg_json_find(&r->j, r->in, name))
        return tg_hf_is_missing(r, name) ? otherwise : 0;
    otherwise = tg_json_get_size(&r->j);
    if (otherwise == 0)
        tg_hf_refuse(r, name, "a window of 0");
    return otherwise;
}

/* "layer_types". */
static uint64_t read_types(tg_hf_reading *r, const char *name, bool matters)
{
    tg_json *const j = &r->j;
    const size_t n_layer = r->f->config.n_layer;
    uint64_t layers = 0;
    size_t n = 0;

    for (tg_json_enter(j, TG_JSON_ARRAY); tg_json_element(j); n++) {
        const tg_span type = tg_json_get_text(j);
        char text[TG_SHOWN_MAX], shown[TG_SHOWN_MAX + 2];

        if (tg_span_is(type, "sliding_attention")) {
            if (matters && n < n_layer)
                set_layer(r, &layers, n, name, "a window");
        } else if (!tg_span_is(type, "full_attention")) {
            snprintf(shown, sizeof shown, "\"%s\"",
                     tg_shown(text, (tg_span){type.p, tg_size_min(type.n, 60)}));
            tg_hf_refuse(r, name, shown);
        }
    }
    check_length(r, name, n, n == n_layer);
    return layers;
}

/* Where the rule begins, or how often it leaves a layer out. */
static size_t read_number(tg_hf_reading *r, tg_hf_windows rule)
{
    static const char pattern[] = "sliding_window_pattern";
    size_t number;

    if (rule == TG_HF_LAST)
        return tg_hf_get_size(r, r->in, "max_window_layers", 28);
    number = rule == TG_HF_MOST ? tg_hf_get_size(r, r->in, pattern, 6) : 1;
    if (number == 0)
        tg_hf_refuse(r, pattern, "0");
    return number;
}

static bool has_window(const tg_config *c, tg_hf_windows rule, size_t number, size_t layer)
{
    switch (rule) {
    case TG_HF_NO_WINDOWS:
        return false;
    case TG_HF_ALL:
        return true;
    case TG_HF_LAST:
        return layer >= number;
    case TG_HF_UNROTATED:
        return !tg_config_rotates(c, layer);
    case TG_HF_EVEN:
        return layer % 2 == 0;
    case TG_HF_MOST:
        return (layer + 1) % number != 0;
    }
    return false;
}

static uint64_t follow_rule(tg_hf_reading *r, tg_hf_windows rule)
{
    const size_t number = read_number(r, rule);
    uint64_t layers = 0;

    for (size_t i = 0; !r->j.status && i < count_layers(r); i++)
        if (has_window(&r->f->config, rule, number, i))
            set_layer(r, &layers, i, "sliding_window", "a window");
    return layers;
}

void tg_hf_read_windows(tg_hf_reading *r, tg_hf_windows rule, size_t otherwise)
{
    static const char types[] = "layer_types";
    const bool always = rule == TG_HF_EVEN || rule == TG_HF_MOST; /* whatever the window is */
    tg_config *c = &r->f->config;
    size_t window;
    bool matters;

    if (rule == TG_HF_NO_WINDOWS)
        return;
    window = read_window(r, rule, otherwise);
    matters = window < c->n_ctx || c->rope_local_theta > 0;
    if (tg_json_find(&r->j, r->in, types))
        c->window_layers = read_types(r, types, matters);
    else if (matters && (window > 0 || always))
        c->window_layers = follow_rule(r, rule);
    if (c->window_layers == 0)
        return;
    c->window = window;
    if (window == 0)
        tg_hf_refuse(r, "sliding_window", "null for layers with a window");
}
