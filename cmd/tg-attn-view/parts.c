/* view: the numbers of a page, of which those that a glance at the patterns does not need are left out where
 * they would make it large. */
#include "cmd/tg-attn-view/parts.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cmd/cli/cli.h"
#include "formats/base64.h"
#include "formats/json.h"
#include "lib/base/decimal.h"
#include "lib/base/size.h"
#include "lib/dump/dump_extras.h"

/* ---- weights, in bytes before base64, which makes them a third more */

#define LARGE (24ULL << 20)   /* up to here a page has v and what is multiplied with it, */
#define SMALL (2150ULL << 10) /* and up to here all of it: 3 MiB with base64 and the page's own text */

typedef struct weight {
    const char *name;
    unsigned long long most;
} weight;

static const weight weights[VIEW_PARTS] = {
    [VIEW_VALUES] = {"the values v", LARGE},
    [VIEW_GRADIENT] = {"the gradient", UINT64_MAX}, /* it was asked for */
    [VIEW_WEIGHTS] = {"the output projection", LARGE},
    [VIEW_STEPS] = {"q and k before their rotation", SMALL},
    [VIEW_RESIDUAL] = {"the residual stream", SMALL},
};

static bool has(const tg_dump_layer *l, view_part part)
{
    switch (part) {
    case VIEW_VALUES:
        return l->data[TG_ATTN_V];
    case VIEW_GRADIENT:
        return l->extra[TG_DUMP_DATT].data && l->extra[TG_DUMP_LOSS].data;
    case VIEW_WEIGHTS:
        return l->extra[TG_DUMP_W_PROJ].data || l->extra[TG_DUMP_W_PROJ_T].data;
    case VIEW_STEPS:
        return l->data[TG_ATTN_Q_PROJECTED] && l->data[TG_ATTN_K_PROJECTED];
    default:
        return l->data[TG_ATTN_RESID];
    }
}

static bool has_norms(const tg_dump_layer *l)
{
    return l->data[TG_ATTN_Q_NORMED] && l->data[TG_ATTN_K_NORMED];
}

/* The bytes of a layer's part; of q and k for VIEW_PARTS. */
static unsigned long long bytes_of(const tg_dump *a, const tg_dump_layer *l, view_part part)
{
    const unsigned long long T = a->T, Q = a->H * a->D, KV = a->KV * a->D, C = a->C;

    switch (part) {
    case VIEW_VALUES:
        return T * KV * sizeof(float);
    case VIEW_GRADIENT:
        return T * Q * sizeof(double);
    case VIEW_WEIGHTS:
        return (Q + 2) * C * sizeof(float);
    case VIEW_STEPS:
        return T * (Q + KV) * sizeof(float) * (has_norms(l) ? 2 : 1);
    case VIEW_RESIDUAL:
        return T * C * sizeof(float);
    default:
        return T * (Q + KV) * sizeof(float);
    }
}

/* Whether all layers of n dumps have a part; *bytes is set to its weight. */
static bool all_have(const view *v, size_t n, view_part part, unsigned long long *bytes)
{
    bool all = true;

    *bytes = 0;
    for (size_t d = 0; d < n; d++)
        for (size_t m = 0; m < v[d].n; m += view_same_layer(&v[d], m)) {
            all = all && (part == VIEW_PARTS || has(v[d].map[m].layer, part));
            *bytes += bytes_of(v[d].dump, v[d].map[m].layer, part);
        }
    return all;
}

/* "a", then "a, b": add a name to a list. */
static void add_name(char *list, size_t size, const char *name)
{
    const size_t n = strlen(list);

    snprintf(list + n, size - n, "%s%s", n > 0 ? ", " : "", name);
}

static bool has_layers(const view *v, size_t n)
{
    for (size_t d = 0; d < n; d++)
        if (view_same_layer(&v[d], 0) < v[d].n)
            return true;
    return false;
}

unsigned parts_choose(const view *v, size_t n, bool whole)
{
    unsigned long long total, bytes, left_out = 0;
    unsigned parts = 0;
    char names[160] = "";
    const bool has_values = all_have(v, n, VIEW_VALUES, &bytes);

    (void)all_have(v, n, VIEW_PARTS, &total);
    for (view_part part = VIEW_VALUES; part < VIEW_PARTS; part++) {
        const bool of_values = part == VIEW_GRADIENT || part == VIEW_WEIGHTS;

        if (!all_have(v, n, part, &bytes) || (of_values && !has_values))
            continue;
        if ((whole || total + bytes <= weights[part].most) && (!of_values || parts & 1u << VIEW_VALUES)) {
            parts |= 1u << part;
            total += bytes;
            continue;
        }
        left_out += bytes;
        add_name(names, sizeof names, weights[part].name);
    }
    if (left_out > 0)
        cli_note("without %s, which would add %s: %s--whole puts all in", names, cli_bytes(left_out / 3 * 4),
                 has_layers(v, n) ? "-l chooses a layer, " : "");
    return parts;
}

/* ---- facts */

void parts_put_string(tg_sink *out, const char *text)
{
    tg_sink_put(out, "\"", 1);
    for (; *text != '\0'; text++) {
        char escaped[TG_JSON_ESCAPE_MAX + 1];

        tg_sink_put(out, escaped, tg_json_escape(escaped, (unsigned char)*text, "\"\\<>&"));
    }
    tg_sink_put(out, "\"", 1);
}

void parts_put_facts(tg_sink *out, unsigned parts)
{
    static const char *const names[VIEW_PARTS] = {
        [VIEW_VALUES] = "values", [VIEW_GRADIENT] = "gradient", [VIEW_WEIGHTS] = "weights",
        [VIEW_STEPS] = "steps",   [VIEW_RESIDUAL] = "residual",
    };

    for (view_part part = VIEW_VALUES; part < VIEW_PARTS; part++)
        tg_sink_print(out, ", \"%s\": %s", names[part], parts & 1u << part ? "true" : "false");
}

void parts_put_number(tg_sink *out, double x)
{
    char digits[TG_DECIMAL_SIZE];

    tg_sink_put(out, digits, (size_t)(tg_decimal_general(digits, 17, x) - digits));
}

static double number_of(const tg_dump_extra_array *a)
{
    return *(const double *)a->data;
}

static void put_losses(tg_sink *out, const view *v)
{
    const tg_dump_extra_array *target = &v->dump->extra[TG_DUMP_TARGET];

    if (target->data)
        tg_sink_print(out, ", \"target\": %lld", (long long)*(const int64_t *)target->data);
    tg_sink_puts(out, ", \"losses\": [");
    for (size_t m = 0; m < v->n; m += view_same_layer(v, m)) {
        tg_sink_put(out, ", ", m > 0 ? 2 : 0);
        parts_put_number(out, number_of(&v->map[m].layer->extra[TG_DUMP_LOSS]));
    }
    tg_sink_puts(out, "]");
}

/* The ids, then their texts, of all positions. */
static void put_next(tg_sink *out, const tg_dump *a)
{
    const tg_dump_extra_array *ids = &a->extra[TG_DUMP_NEXT_IDS], *text = &a->extra[TG_DUMP_NEXT_TEXT];
    const int64_t *id = ids->data;
    char raw[VIEW_LABEL], shown[VIEW_LABEL];

    tg_sink_print(out, ", \"next\": {\"V\": %lld, \"ids\": [",
                  (long long)*(const int64_t *)a->extra[TG_DUMP_NEXT_VOCAB].data);
    for (size_t n = 0; n < ids->count; n++)
        tg_sink_print(out, "%s%lld", n > 0 ? "," : "", (long long)id[n]);
    tg_sink_puts(out, "]");
    if (text->data)
        tg_sink_puts(out, ", \"texts\": [");
    for (size_t n = 0; n < text->count; n++) {
        const char *from = (const char *)text->data + n * text->size;
        const size_t size = strnlen(from, tg_size_min(text->size, sizeof raw - 1));

        cli_escape(shown, sizeof shown, (const unsigned char *)from, size);
        tg_sink_put(out, ",", n > 0);
        parts_put_string(out, shown);
    }
    tg_sink_print(out, "%s}", text->data ? "]" : "");
}

void parts_put_dump_facts(tg_sink *out, const view *v, unsigned parts)
{
    if (parts & 1u << VIEW_GRADIENT)
        put_losses(out, v);
    if (v->dump->extra[TG_DUMP_NEXT_IDS].data)
        put_next(out, v->dump);
}

/* ---- arrays */

#define PIECE 12288 /* bytes: a multiple of 3, for base64, and of a number's size */

void parts_put_element(tg_sink *out, const char *id, const void *data, size_t size)
{
    const unsigned char *bytes = data;
    char text[TG_BASE64_SIZE(PIECE)];

    tg_sink_print(out, "<script type=\"text/plain\" id=\"%s\">", id);
    for (size_t at = 0, n; at < size; at += n) {
        n = tg_size_min(PIECE, size - at);
        tg_sink_put(out, text, tg_base64_encode(text, bytes + at, n));
    }
    tg_sink_print(out, "</script>\n");
}

/* The element "name" + layer + "." + nth. */
static void put_bytes(tg_sink *out, const char *name, size_t layer, size_t nth, const void *data, size_t size)
{
    char id[64];

    snprintf(id, sizeof id, "%s%zu.%zu", name, layer, nth);
    parts_put_element(out, id, data, size);
}

/* Write sequence b of a stage, which is contiguous in either layout. */
static void put_stage(tg_sink *out, const view *v, size_t nth, const tg_dump_layer *layer,
                      tg_attn_stage stage)
{
    const tg_dump *a = v->dump;
    const size_t heads = tg_attn_stage_of_keys(stage) ? a->KV : a->H;
    const size_t size = a->T * (tg_attn_stage_whole(stage) ? a->C : heads * a->D);

    put_bytes(out, tg_attn_stage_name(stage), layer->number, nth, layer->data[stage] + v->b * size,
              size * sizeof(float));
}

/* One that a layer may lack. */
static void put_extra(tg_sink *out, const char *name, size_t nth, const tg_dump_layer *layer,
                      tg_dump_extra extra)
{
    const tg_dump_extra_array *a = &layer->extra[extra];

    if (a->data)
        put_bytes(out, name, layer->number, nth, a->data, a->count * a->size);
}

static void put_steps(tg_sink *out, const view *v, size_t nth, const tg_dump_layer *layer)
{
    put_stage(out, v, nth, layer, TG_ATTN_Q_PROJECTED);
    put_stage(out, v, nth, layer, TG_ATTN_K_PROJECTED);
    if (has_norms(layer)) {
        put_stage(out, v, nth, layer, TG_ATTN_Q_NORMED);
        put_stage(out, v, nth, layer, TG_ATTN_K_NORMED);
    }
    put_extra(out, "frequency", nth, layer, TG_DUMP_FREQUENCY);
}

/* One matrix, whose name tells its order. */
static void put_weights(tg_sink *out, size_t nth, const tg_dump_layer *layer)
{
    if (layer->extra[TG_DUMP_W_PROJ].data)
        put_extra(out, "w", nth, layer, TG_DUMP_W_PROJ);
    else
        put_extra(out, "wt", nth, layer, TG_DUMP_W_PROJ_T);
}

/* The gradient of sequence b. */
static void put_gradient(tg_sink *out, const view *v, size_t nth, const tg_dump_layer *layer)
{
    const size_t size = v->dump->T * v->dump->H * v->dump->D;
    const double *datt = layer->extra[TG_DUMP_DATT].data;

    put_bytes(out, "datt", layer->number, nth, datt + v->b * size, size * sizeof *datt);
}

static void put_layer(tg_sink *out, const view *v, size_t nth, const tg_dump_layer *layer, unsigned parts)
{
    put_stage(out, v, nth, layer, TG_ATTN_Q);
    put_stage(out, v, nth, layer, TG_ATTN_K);
    if (parts & 1u << VIEW_VALUES)
        put_stage(out, v, nth, layer, TG_ATTN_V);
    if (parts & 1u << VIEW_GRADIENT)
        put_gradient(out, v, nth, layer);
    if (parts & 1u << VIEW_WEIGHTS) {
        put_weights(out, nth, layer);
        put_extra(out, "bias", nth, layer, TG_DUMP_B_PROJ);
        put_extra(out, "gain", nth, layer, TG_DUMP_OUT_NORM);
        put_extra(out, "epsilon", nth, layer, TG_DUMP_OUT_NORM_EPS);
    }
    if (parts & 1u << VIEW_STEPS)
        put_steps(out, v, nth, layer);
    if (parts & 1u << VIEW_RESIDUAL)
        put_stage(out, v, nth, layer, TG_ATTN_RESID);
}

void parts_put_arrays(tg_sink *out, const view *v, size_t nth, unsigned parts)
{
    const tg_dump_extra_array *logits = &v->dump->extra[TG_DUMP_NEXT_LOGITS];
    const tg_dump_extra_array *sum = &v->dump->extra[TG_DUMP_NEXT_SUM];

    for (size_t m = 0; m < v->n; m += view_same_layer(v, m))
        put_layer(out, v, nth, v->map[m].layer, parts);
    if (!logits->data)
        return;
    put_bytes(out, "logits", 0, nth, logits->data, logits->count * logits->size);
    put_bytes(out, "logsum", 0, nth, sum->data, sum->count * sum->size);
}
