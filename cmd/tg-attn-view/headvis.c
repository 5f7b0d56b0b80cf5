/* headvis: the files that HeadVis reads. */
#include "cmd/tg-attn-view/headvis.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cli/cli.h"
#include "cmd/tg-attn-view/parts.h"
#include "formats/path.h"

/* ---- measures: their names there, and what they are */

enum { INDUCTION = 5, DUPLICATE, METRICS };

static const struct {
    const char *name, *what;
} metrics[METRICS] = {
    {"self_attention_score", "mean attention to the query's own position"},
    {"previous_token_score", "mean attention to the position before"},
    {"first_token_score", "mean attention to position 0"},
    {"pattern_entropy", "mean entropy of a query's probabilities, in nats"},
    {"qk_distance", "mean distance of the keys, in tokens, by their probabilities"},
    {"induction_score", "mean attention to the tokens that follow earlier copies of the current one"},
    {"duplicate_token_score", "mean attention to earlier copies of the current token"},
};

/* Some texts have no token twice. */
static bool has_metric(const headvis *d, size_t metric)
{
    const tg_head_means *m = &d->measures[0].means;

    return d->measures[0].known && (metric != INDUCTION || m->repeats) && (metric != DUPLICATE || m->copies);
}

static double metric_of(const tg_head_means *m, size_t metric)
{
    const double all[METRICS] = {m->diagonal, m->previous,  m->first,    m->entropy,
                                 m->distance, m->induction, m->duplicate};

    return all[metric];
}

/* ---- parts of JSON */

/* A member's name; the first one has no comma before it. */
static void put_name(tg_sink *out, bool first, const char *name)
{
    tg_sink_puts(out, first ? "" : ", ");
    parts_put_string(out, name);
    tg_sink_puts(out, ": ");
}

static void put_heads(tg_sink *out, const view *v)
{
    for (size_t m = 0; m < v->n; m++)
        tg_sink_print(out, "%s[%zu,%zu]", m > 0 ? "," : "[", v->map[m].layer->number, v->map[m].head);
    tg_sink_puts(out, "]");
}

static void put_sequence(tg_sink *out, const headvis_sequence *s, size_t number)
{
    const size_t T = s->v->dump->T;

    tg_sink_print(out, "{\"sequence_id\": %zu, \"interval\": %zu, \"tokens\": [", number, s->interval);
    for (size_t t = 0; t < T; t++) {
        tg_sink_put(out, ",", t > 0);
        parts_put_string(out, s->token[t]);
    }
    tg_sink_puts(out, "], \"attention_indices\": [");
    for (size_t k = 0; k < s->n; k++)
        tg_sink_print(out, "%s%zu", k > 0 ? "," : "", s->pair[k].i * T + s->pair[k].j);
    tg_sink_puts(out, "], \"attention_values\": [");
    for (size_t k = 0; k < s->n; k++)
        tg_sink_print(out, "%s%.4f", k > 0 ? "," : "", (double)s->pair[k].prob);
    tg_sink_print(out, "], \"seq_len\": %zu, \"max_activation\": %.4f}", T, (double)s->most);
}

/* How many of the stored pairs have a distance from 0, 1, 2, 4, 8 on, and so on. */
static void put_distances(tg_sink *out, const headvis *d)
{
    size_t count[66] = {0}, last = 0;

    for (size_t i = 0; i < d->n; i++)
        for (size_t k = 0; k < d->seq[i].n; k++) {
            const headvis_pair *pair = &d->seq[i].pair[k];
            size_t bin = 0;

            for (size_t distance = pair->i - pair->j; distance > 0; distance /= 2)
                bin++;
            count[bin]++;
            last = bin > last ? bin : last;
        }
    tg_sink_puts(out, "{\"bin_edges\": [0");
    for (size_t bin = 0; bin <= last; bin++)
        tg_sink_print(out, ",%llu", 1ULL << bin);
    tg_sink_puts(out, "], \"bin_values\": [");
    for (size_t bin = 0; bin <= last; bin++)
        tg_sink_print(out, "%s%zu", bin > 0 ? "," : "", count[bin]);
    tg_sink_puts(out, "]}");
}

static void put_tokens(tg_sink *out, headvis_weight *list, size_t n, bool keys)
{
    headvis_sort(list, n, keys);
    tg_sink_puts(out, "[");
    for (size_t i = 0; i < n && i < HEADVIS_TOKENS && list[i].weight[keys] > 0; i++) {
        tg_sink_puts(out, i > 0 ? ", {\"token\": " : "{\"token\": ");
        parts_put_string(out, list[i].token);
        tg_sink_print(out, ", \"weight\": %.4f}", list[i].weight[keys]);
    }
    tg_sink_puts(out, "]");
}

/* ---- the files */

/* What a file is made from. */
struct content {
    headvis *d;
    const view *v; /* the first */
    size_t map;    /* of a head's file */
};

static tg_status put_nothing(tg_sink *out, const struct content *c, tg_err *err)
{
    (void)c;
    (void)err;
    tg_sink_puts(out, "{}");
    return TG_OK;
}

static tg_status put_config(tg_sink *out, const struct content *c, tg_err *err)
{
    const view *v = c->v;
    const char *source = v->dump->source;
    char name[1024];

    (void)err;
    view_name(v->title, strncmp(source, "-m ", 3) == 0 ? source + 3 : v->name, name, sizeof name);
    tg_sink_puts(out, "{\"model_name\": ");
    parts_put_string(out, name);
    put_name(out, false, "heads");
    put_heads(out, v);
    tg_sink_print(out, ", \"n_layers\": %zu, \"n_heads\": %zu, \"n_intervals\": %zu, \"metrics\": [",
                  v->dump->n_layer, v->dump->H, c->d->intervals);
    for (size_t k = 0, n = 0; k < METRICS; k++)
        if (has_metric(c->d, k))
            tg_sink_print(out, "%s\"%s\"", n++ > 0 ? ", " : "", metrics[k].name);
    tg_sink_puts(out, "], \"metric_descriptions\": {");
    for (size_t k = 0, n = 0; k < METRICS; k++)
        if (has_metric(c->d, k)) {
            put_name(out, n++ == 0, metrics[k].name);
            parts_put_string(out, metrics[k].what);
        }
    tg_sink_puts(out,
                 "}, \"head_data_pattern\": \"L{layer}H{head}.json\", \"has_umap\": false, \"umap_heads\": []"
                 ", \"custom_plots\": [{\"key\": \"qk_distance_histogram\", \"label\": \"Q-K distance\"}]"
                 ", \"custom_tables\": [{\"key\": \"top_query_tokens\", \"label\": \"Top query tokens\"}, "
                 "{\"key\": \"top_key_tokens\", \"label\": \"Top key tokens\"}], \"statistics_display\": {"
                 "\"n_samples\": {\"label\": \"Texts\", \"format\": \"default\"}, "
                 "\"mean_max_activation\": {\"label\": \"Mean max activation\", \"format\": \"default\"}}}");
    return TG_OK;
}

static tg_status put_scatter(tg_sink *out, const struct content *c, tg_err *err)
{
    (void)err;
    for (size_t m = 0; m < c->v->n; m++) {
        const view_map *map = &c->v->map[m];

        tg_sink_print(out, "%s{\"layer\": %zu, \"head\": %zu", m > 0 ? ",\n" : "[", map->layer->number,
                      map->head);
        for (size_t k = 0; k < METRICS; k++)
            if (has_metric(c->d, k)) {
                put_name(out, false, metrics[k].name);
                tg_sink_print(out, "%.4f", metric_of(&c->d->measures[m].means, k));
            }
        tg_sink_puts(out, "}");
    }
    tg_sink_puts(out, "]");
    return TG_OK;
}

static tg_status put_head(tg_sink *out, const struct content *c, tg_err *err)
{
    headvis *d = c->d;
    headvis_weight *list;
    size_t n;
    double most = 0;
    tg_status status;

    headvis_take(d, c->map);
    if ((status = headvis_weigh(&list, &n, d, err)))
        return status;
    tg_sink_puts(out, "{\"sequences\": [");
    for (size_t i = 0; i < d->n; i++) {
        tg_sink_puts(out, i > 0 ? ",\n" : "");
        put_sequence(out, &d->seq[i], i);
        most += (double)d->seq[i].most;
    }
    tg_sink_puts(out, "], \"qk_distance_histogram\": ");
    put_distances(out, d);
    tg_sink_puts(out, ", \"top_query_tokens\": ");
    put_tokens(out, list, n, false);
    tg_sink_puts(out, ", \"top_key_tokens\": ");
    put_tokens(out, list, n, true);
    tg_sink_print(out,
                  ", \"histogram\": {}, \"statistics\": {\"n_samples\": %zu, \"mean_max_activation\": %.4f}}",
                  d->n, most / (double)d->n);
    free(list);
    return TG_OK;
}

typedef tg_status put_content(tg_sink *out, const struct content *c, tg_err *err);

static tg_status write_to(const char *path, put_content *put, const struct content *c, tg_err *err)
{
    static tg_sink out; /* large */
    cli_output output;
    tg_status status = cli_output_begin(&output, path, CLI_OUT_TEXT, err);

    if (status)
        return status;
    out = (tg_sink){.fd = output.fd};
    if (!(status = put(&out, c, err))) {
        tg_sink_puts(&out, "\n");
        if ((status = tg_sink_flush(&out, err)))
            status = tg_err_in(err, output.name);
    }
    if (!status)
        status = cli_output_commit(&output, err);
    cli_output_abort(&output);
    return status;
}

static tg_status write_file(const char *directory, const char *name, put_content *put,
                            const struct content *c, tg_err *err)
{
    char *path = tg_path_in(directory, name);
    const tg_status status =
        path ? write_to(path, put, c, err) : tg_fail_memory(err, strlen(directory), "a path");

    free(path);
    return status;
}

/* ---- the directory */

static tg_status make_directory_in(const char *parent, const char *name, tg_err *err)
{
    char *path = tg_path_in(parent, name);
    const tg_status status =
        path ? cli_make_directory(path, NULL, err) : tg_fail_memory(err, strlen(parent), "a path");

    free(path);
    return status;
}

static tg_status write_heads(const char *directory, struct content *c, tg_err *err)
{
    tg_status status = TG_OK;

    for (c->map = 0; c->map < c->v->n && !status; c->map++) {
        const view_map *map = &c->v->map[c->map];
        char name[64];

        snprintf(name, sizeof name, "heads/L%zuH%zu.json", map->layer->number, map->head);
        status = write_file(directory, name, put_head, c, err);
    }
    return status;
}

static tg_status write_all(const char *directory, struct content *c, tg_err *err)
{
    tg_status status;

    if ((status = cli_make_directory(directory, NULL, err)) ||
        (status = make_directory_in(directory, "heads", err)) ||
        (status = make_directory_in(directory, "attributions", err)) ||
        (status = write_file(directory, "config.json", put_config, c, err)) ||
        (status = write_file(directory, "scatter_data.json", put_scatter, c, err)) ||
        (status = write_file(directory, "server_config.json", put_nothing, c, err)) ||
        (status = write_file(directory, "attributions/manifest.json", put_nothing, c, err)))
        return status;
    return write_heads(directory, c, err);
}

tg_status headvis_write(view *v, size_t n, const char *directory, tg_err *err)
{
    headvis d;
    struct content c = {.d = &d, .v = v};
    tg_status status = headvis_make(&d, v, n, err);

    if (!status)
        status = write_all(directory, &c, err);
    headvis_free(&d);
    return status;
}
