/* view: one page that holds numbers of one or more dumps, and computes the rest when it is shown. */
#include <assert.h>
#include <string.h>

#include "cmd/cli/cli.h"
#include "cmd/tg-attn-view/parts.h"
#include "formats/base64.h"
#include "formats/sha256.h"
#include "lib/base/choice.h"
#include "lib/base/size.h"

/* ---- the security policy: only the page's own script and style run, and nothing is fetched */

static void put_hash(tg_sink *out, const char *directive, const char *data, size_t n)
{
    unsigned char hash[TG_SHA256_SIZE];
    char text[TG_BASE64_SIZE(TG_SHA256_SIZE)];

    tg_sha256(hash, data, n);
    tg_sink_print(out, "; %s 'sha256-%.*s'", directive, (int)tg_base64_encode(text, hash, sizeof hash), text);
}

static void put_policy(tg_sink *out)
{
    tg_sink_print(out, "default-src 'none'; base-uri 'none'; form-action 'none'");
    put_hash(out, "script-src", view_page_script, view_page_script_size);
    put_hash(out, "style-src", view_page_style, view_page_style_size);
}

/* ---- what the dump says, as JSON */

/* The file's name, and what names the dump's input on a command line; not what cannot be typed
 * there as it is shown. */
static void put_names(tg_sink *out, const view *v)
{
    const char *source = v->dump->source;
    char shown[4 * TG_DUMP_SOURCE_SIZE];

    view_input(v->name, shown, 1024);
    tg_sink_puts(out, "\"name\": ");
    parts_put_string(out, shown);
    cli_escape(shown, sizeof shown, (const unsigned char *)source, strlen(source));
    tg_sink_puts(out, ", \"source\": ");
    parts_put_string(out, strcmp(shown, source) == 0 ? source : "");
}

static void put_tokens(tg_sink *out, const view *v)
{
    const tg_dump *dump = v->dump;

    tg_sink_print(out, ", \"tokens\": %s", v->label ? "[" : "null");
    for (size_t t = 0; v->label && t < dump->T; t++) {
        tg_sink_put(out, ", ", t > 0 ? 2 : 0);
        parts_put_string(out, v->label[t]);
    }
    tg_sink_print(out, "%s, \"ids\": %s", v->label ? "]" : "", dump->ids ? "[" : "null");
    for (size_t t = 0; dump->ids && t < dump->T; t++)
        tg_sink_print(out, "%s%lld", t > 0 ? ", " : "", (long long)dump->ids[t]);
    tg_sink_print(out, "%s", dump->ids ? "]" : "");
}

static bool has_other_tokens(const view *v, const view *first)
{
    const tg_dump *a = first->dump, *b = v->dump;

    return a->ids && memcmp(a->ids, b->ids, a->T * sizeof *a->ids) != 0;
}

static void put_map(tg_sink *out, const char *name, tg_colormap which)
{
    tg_rgb map[TG_COLORMAP_SIZE];

    tg_colormap_fill(map, which);
    tg_sink_print(out, "\"%s\": \"", name);
    for (size_t n = 0; n < TG_COLORMAP_SIZE; n++)
        tg_sink_print(out, "%02x%02x%02x", map[n].r, map[n].g, map[n].b);
    tg_sink_print(out, "\"");
}

static void put_colors(tg_sink *out)
{
    for (unsigned dark = 0; dark <= 1; dark++) {
        tg_sink_print(out, ", \"%s\": {", dark ? "dark" : "light");
        put_map(out, "probs", (tg_colormap){.dark = dark});
        tg_sink_put(out, ", ", 2);
        put_map(out, "scores", (tg_colormap){.dark = dark, .diverges = true});
        tg_sink_put(out, "}", 1);
    }
}

/* Write the layers of the page that have a window. */
static void put_window(tg_sink *out, const view *v)
{
    bool any = false;

    for (size_t m = 0; m < v->n; m += view_same_layer(v, m)) {
        const size_t layer = v->map[m].layer->number, window = tg_dump_rule(v->dump, layer).window;

        if (window == 0)
            continue;
        if (!any)
            tg_sink_print(out, ", \"window\": {\"keys\": %zu, \"layers\": [", window);
        tg_sink_print(out, "%s%zu", any ? ", " : "", layer);
        any = true;
    }
    tg_sink_puts(out, any ? "]}" : "");
}

/* Write a setting of scores, so that the page has its very bits, unless the dump has none. */
static void put_setting(tg_sink *out, const char *name, double value)
{
    if (!(value > 0))
        return;
    tg_sink_print(out, ", \"%s\": ", name);
    parts_put_number(out, value);
}

/* Only what is not as in GPT-2, where each head has keys of its own and they divide the channels. */
static void put_family(tg_sink *out, const view *v)
{
    const tg_dump *a = v->dump;

    if (a->KV != a->H)
        tg_sink_print(out, ", \"KV\": %zu", a->KV);
    if (a->C != a->H * a->D)
        tg_sink_print(out, ", \"C\": %zu", a->C);
    put_setting(out, "attnScale", a->attn_scale);
    put_setting(out, "attnCap", a->attn_cap);
    put_window(out, v);
}

/* Write a head's measures, all digits of them, or null; null too for induction and duplicate without an
 * earlier copy.  The last is the change in loss without the head, if the dump has it. */
static void put_measures_of(tg_sink *out, const view_measures *measures, const double *change)
{
    const tg_head_means *m = &measures->means;
    const double means[] = {m->entropy, m->distance,  m->diagonal, m->previous,
                            m->first,   m->induction, m->duplicate};
    const size_t n = sizeof means / sizeof means[0];

    for (size_t i = 0; measures->known && i < n; i++) {
        tg_sink_puts(out, i == 0 ? "[" : ", ");
        if (i < n - 2 || (i == n - 2 ? m->repeats : m->copies))
            parts_put_number(out, means[i]);
        else
            tg_sink_puts(out, "null");
    }
    if (measures->known && change) {
        tg_sink_puts(out, ", ");
        parts_put_number(out, *change);
    }
    tg_sink_puts(out, measures->known ? "]" : "null");
}

/* Write them by layer, then head. */
static void put_measures(tg_sink *out, const view *v)
{
    const tg_dump *a = v->dump;

    tg_sink_puts(out, ", \"measures\": [");
    for (size_t m = 0; m < v->n; m += view_same_layer(v, m)) {
        const view_measures *of_layer = v->measures + (size_t)(v->map[m].layer - a->layer) * a->H;
        const double *changes = v->map[m].layer->extra[TG_DUMP_CHANGE].data;

        for (size_t h = 0; h < a->H; h++) {
            tg_sink_puts(out, h > 0 ? ", " : m > 0 ? ", [" : "[");
            put_measures_of(out, &of_layer[h], changes ? &changes[h] : NULL);
        }
        tg_sink_puts(out, "]");
    }
    tg_sink_puts(out, "]");
}

/* Write a page's title before the first name. */
static void put_title(tg_sink *out, const char *text, const char *file)
{
    char title[1024];

    if (!text)
        return;
    view_name(text, file, title, sizeof title);
    tg_sink_puts(out, "\"title\": ");
    parts_put_string(out, title);
    tg_sink_puts(out, ", ");
}

/* Write what differs from dump to dump: n of them. */
static void put_dumps(tg_sink *out, const view *v, size_t n, unsigned parts)
{
    tg_sink_puts(out, "{");
    put_title(out, v->title, v->name);
    tg_sink_puts(out, "\"dumps\": [");
    for (size_t d = 0; d < n; d++) {
        tg_sink_puts(out, d > 0 ? ", {" : "{");
        put_names(out, &v[d]);
        put_measures(out, &v[d]);
        parts_put_dump_facts(out, &v[d], parts);
        if (d > 0 && has_other_tokens(&v[0], &v[d]))
            put_tokens(out, &v[d]);
        tg_sink_puts(out, "}");
    }
    tg_sink_puts(out, "]");
}

/* Of archives without a dump: one without layers, which the page knows by that. */
static void put_bare_facts(tg_sink *out, const view_beside *beside, const char *title)
{
    tg_sink_print(out, "<script type=\"application/json\" id=\"dump\">{");
    put_title(out, title, beside->first);
    tg_sink_puts(out, "\"dumps\": [{\"name\": \"\", \"source\": \"\", \"measures\": []}]");
    tg_sink_print(out, ", \"nLayer\": %zu, \"B\": 1, \"b\": 0, \"T\": %zu, \"H\": 1, \"D\": 1",
                  beside_layers(beside), tg_size_max(beside_tokens(beside), 1));
    tg_sink_puts(
        out, ", \"layout\": \"bthd\", \"mask\": \"-inf\", \"start\": {\"layer\": 0, \"head\": 0}"
             ", \"show\": \"probs\", \"scale\": \"auto\", \"layers\": [], \"tokens\": null, \"ids\": null");
    put_colors(out);
    beside_put_facts(out, beside, true);
    tg_sink_print(out, "}</script>\n");
}

static void put_facts(tg_sink *out, const view *v, size_t n, const view_beside *beside, unsigned parts)
{
    const tg_scale_kind scale = v->show == TG_ATTN_PROBS ? v->scale.kind : TG_SCALE_AUTO;
    const tg_dump *a = v->dump;
    char layout[TG_CHOICE_SIZE], mask[TG_CHOICE_SIZE], name[TG_CHOICE_SIZE];

    tg_sink_print(out, "<script type=\"application/json\" id=\"dump\">");
    put_dumps(out, v, n, parts);
    tg_sink_print(out, ", \"layout\": \"%s\", \"mask\": \"%s\"",
                  tg_choice_name(layout, TG_ATTN_LAYOUTS, a->layout),
                  tg_choice_name(mask, TG_ATTN_MASKS, a->mask));
    tg_sink_print(out, ", \"nLayer\": %zu, \"B\": %zu, \"b\": %zu, \"T\": %zu, \"H\": %zu, \"D\": %zu",
                  a->n_layer, a->B, v->b, a->T, a->H, a->D);
    put_family(out, v);
    tg_sink_print(out, ", \"start\": {\"layer\": %zu, \"head\": %zu}", v->map->layer->number, v->map->head);
    tg_sink_print(out, ", \"show\": \"%s\", \"scale\": \"%s\", \"layers\": [", tg_attn_stage_name(v->show),
                  tg_choice_name(name, TG_SCALE_KINDS, scale));
    for (size_t m = 0; m < v->n; m += view_same_layer(v, m))
        tg_sink_print(out, "%s%zu", m > 0 ? ", " : "", v->map[m].layer->number);
    tg_sink_puts(out, "]");
    parts_put_facts(out, parts);
    put_tokens(out, v);
    put_colors(out);
    beside_put_facts(out, beside, false);
    tg_sink_print(out, "}</script>\n");
}

static void put_data(tg_sink *out, const view *v, size_t n, const view_beside *beside, const char *title,
                     bool whole)
{
    const unsigned parts = n > 0 ? parts_choose(v, n, whole) : 0;

    if (n > 0)
        put_facts(out, v, n, beside, parts);
    else
        put_bare_facts(out, beside, title);
    beside_put_arrays(out, beside);
    for (size_t d = 0; d < n; d++)
        parts_put_arrays(out, &v[d], d, parts);
}

/* ---- the page */

/* Put the page from *at to a marker, and skip that. */
static void put_until(tg_sink *out, const char **at, const char *marker)
{
    const char *found = strstr(*at, marker);

    assert(found);
    tg_sink_put(out, *at, (size_t)(found - *at));
    *at = found + strlen(marker);
}

tg_status view_html(view *v, size_t n, const view_beside *beside, const char *title, bool whole, tg_sink *out,
                    tg_err *err)
{
    const char *at = view_page_html;
    tg_status status = TG_OK;

    for (size_t d = 0; d < n && !status; d++)
        status = view_measure(&v[d], err);
    if (status)
        return status;
    put_until(out, &at, "@POLICY@");
    put_policy(out);
    put_until(out, &at, "@STYLE@");
    tg_sink_put(out, view_page_style, view_page_style_size);
    put_until(out, &at, "@DATA@");
    put_data(out, v, n, beside, title, whole);
    put_until(out, &at, "@SCRIPT@");
    tg_sink_put(out, view_page_script, view_page_script_size);
    tg_sink_puts(out, at);
    return TG_OK;
}
