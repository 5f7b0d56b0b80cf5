/* heat: maps of what tg-lens wrote: predictions after each layer, the parts of a logit. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/tg-attn-view/heat.h"
#include "lib/view/label.h"

/* ---- predictions after each layer */

/* Whether what is looked for is the text's next token everywhere. */
static bool looks_for_next(const tg_results *r)
{
    const tg_results_array *ids = tg_results_find(r, "ids"), *positions = tg_results_find(r, "positions");
    const int64_t *target = tg_results_find(r, "target")->whole;

    for (size_t n = 0; n < positions->count; n++) {
        const size_t next = (size_t)positions->whole[n] + 1;

        if (target[n] != (next < ids->count ? ids->whole[next] : -1))
            return false;
    }
    return true;
}

static double lens_value(const tg_results *r, const char *show, size_t at, size_t column)
{
    const bool has_target = tg_results_find(r, "target")->whole[column] >= 0;

    if (strcmp(show, "entropy") == 0 || strcmp(show, "kl") == 0)
        return tg_results_find(r, show)->real[at];
    if (!has_target)
        return (double)NAN;
    if (strcmp(show, "rank") == 0)
        return (double)tg_results_find(r, show)->whole[at];
    if (strcmp(show, "logit") == 0)
        return tg_results_find(r, show)->real[at];
    return fmin(exp(tg_results_find(r, "logit")->real[at] - tg_results_find(r, "sum")->real[at]), 1);
}

/* The most probable token's text, or its id. */
static void name_top(char label[VIEW_LABEL], const tg_results *r, size_t at)
{
    const tg_results_array *text = tg_results_find(r, "top_text"), *ids = tg_results_find(r, "top_ids");
    char raw[VIEW_LABEL];

    at *= ids->shape[2];
    if (text)
        tg_results_text(raw, sizeof raw, text, at);
    else
        snprintf(raw, sizeof raw, "%lld", (long long)ids->whole[at]);
    view_make_label(label, raw, strlen(raw));
}

/* Probabilities begin at 0 and end at 1, or where the rows' maxima say. */
static tg_status set_probability_range(heat *h, tg_scale_kind kind, tg_err *err)
{
    float *maxima = calloc(h->rows, sizeof *maxima);

    if (!maxima)
        return tg_fail_memory(err, h->rows * sizeof *maxima, "the rows");
    for (size_t i = 0; i < h->rows; i++)
        for (size_t j = 0; j < h->columns; j++)
            maxima[i] = (float)fmax((double)maxima[i], h->value[i * h->columns + j]); /* not NaN */
    h->scale = (tg_scale){kind, 0, kind == TG_SCALE_AUTO ? tg_scale_top(maxima, h->rows) : 1};
    free(maxima);
    return TG_OK;
}

static tg_status set_lens_range(heat *h, const tg_results *r, const heat_want *want, const char *show,
                                tg_err *err)
{
    const char *of = looks_for_next(r) ? "of the next token" : "of the target";

    if (strcmp(show, "entropy") == 0 || strcmp(show, "kl") == 0) {
        snprintf(h->quantity, sizeof h->quantity, "%s",
                 *show == 'k' ? "divergence from the output (nats)" : "entropy of the prediction (nats)");
        heat_set_range(h, HEAT_FROM_ZERO);
        return TG_OK;
    }
    snprintf(h->quantity, sizeof h->quantity, "%s %s", strcmp(show, "probs") == 0 ? "probability" : show, of);
    if (strcmp(show, "probs") == 0)
        return set_probability_range(h, want->scale, err);
    heat_set_range(h, HEAT_ALL);
    if (strcmp(show, "rank") == 0) {
        h->decimals = 0;
        h->scale = (tg_scale){TG_SCALE_COUNT, 0, fmax(h->scale.high, 1)};
    }
    return TG_OK;
}

static void fill_lens(heat *h, const tg_results *r, const heat_axis *layers, const char *show)
{
    const int64_t *position = tg_results_find(r, "positions")->whole;

    for (size_t j = 0; j < h->columns; j++)
        heat_name_position(h, j, r, (size_t)position[j]);
    for (size_t i = 0; i < h->rows; i++) {
        heat_name_layer(h, i, layers->number[i]);
        for (size_t j = 0; j < h->columns; j++) {
            const size_t at = layers->index[i] * h->columns + j;

            h->value[i * h->columns + j] = lens_value(r, show, at, j);
            if (h->text)
                name_top(h->text[i * h->columns + j], r, at);
        }
    }
}

tg_status heat_of_lens(heat *h, const tg_results *r, const heat_want *want, const char *show, tg_err *err)
{
    const tg_results_array *layers = tg_results_find(r, "layers");
    heat_axis axis = {0};
    tg_status status;

    if (want->heads->n > 0)
        return tg_fail(err, TG_EUSAGE, "--head does not go with a lens, which has layers alone");
    if (!(status = heat_choose(&axis, "layer", layers->whole, layers->count, want->layers, err)) &&
        !(status = heat_place(h, axis.n, tg_results_find(r, "positions")->count, true,
                              tg_results_find(r, "top_ids") != NULL, err))) {
        h->rows_are = "layer";
        h->columns_are = "token";
        fill_lens(h, r, &axis, show);
        status = set_lens_range(h, r, want, show, err);
        snprintf(h->about[0], HEAT_LINE, "layer: blocks that have run, of %lld",
                 (long long)tg_results_whole(r, "n_layer"));
    }
    heat_axis_free(&axis);
    return status;
}

/* ---- the parts of a logit */

#define NAME_COLUMNS 16 /* of a token in a sentence */

/* The element of an id in the archive's texts; false: it is not there. */
static bool find_in_text(size_t *element, const tg_results *r, int64_t id)
{
    const tg_results_array *ids = tg_results_find(r, "ids");

    for (*element = 0; ids && *element < ids->count; ++*element)
        if (ids->whole[*element] == id)
            return tg_results_find(r, "text") != NULL;
    return false;
}

void heat_name_token(char out[HEAT_TOKEN + 2], const tg_results *r, const char *of, const char *of_text)
{
    const int64_t id = tg_results_whole(r, of);
    const tg_results_array *text = tg_results_find(r, of_text);
    char raw[VIEW_LABEL], label[VIEW_LABEL], name[HEAT_TOKEN];
    size_t element = 0;

    if (!text && find_in_text(&element, r, id))
        text = tg_results_find(r, "text");
    if (!text) {
        snprintf(out, HEAT_TOKEN, "id %lld", (long long)id);
        return;
    }
    tg_results_text(raw, sizeof raw, text, element);
    view_make_label(label, raw, strlen(raw));
    tg_label_copy(name, sizeof name, NAME_COLUMNS, label);
    snprintf(out, HEAT_TOKEN + 2, "\"%s\"", name);
}

static void describe(heat *h, const tg_results *r, const char *by)
{
    const int64_t minus = tg_results_whole(r, "minus");
    char token[HEAT_TOKEN + 2], other[HEAT_TOKEN + 2] = "";

    heat_name_token(token, r, "token", "token_text");
    if (minus >= 0)
        heat_name_token(other, r, "minus", "minus_text");
    snprintf(h->quantity, HEAT_LINE, "part of the logit%s", by);
    snprintf(h->about[0], HEAT_LINE, "logit %.4g of %s%s%s after token %lld", tg_results_real(r, "logit"),
             token, minus >= 0 ? " less " : "", other, (long long)tg_results_whole(r, "position"));
}

/* What is not of a layer; a part that is 0 is one that the model lacks. */
static void describe_rest(heat *h, const tg_results *r)
{
    static const struct {
        const char *array, *name;
    } parts[] = {
        {"position_embedding", "position"}, {"norm_bias", "norm's bias"}, {"head_bias", "head's bias"}};
    int n = snprintf(h->about[1], HEAT_LINE, "besides: embedding %.4g", tg_results_real(r, "embedding"));

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        const double part = tg_results_real(r, parts[i].array);

        if (part > 0 || part < 0)
            n += snprintf(h->about[1] + n, HEAT_LINE - (size_t)n, ", %s %.4g", parts[i].name, part);
    }
}

static bool has_any(const tg_results *r, const char *name)
{
    const tg_results_array *a = tg_results_find(r, name);

    for (size_t i = 0; i < a->count; i++)
        if (a->real[i] > 0 || a->real[i] < 0)
            return true;
    return false;
}

/* A column of what each layer has besides its heads; returns the next column. */
static size_t fill_column(heat *h, size_t column, const tg_results *r, const heat_axis *layers,
                          const char *name, const char *label)
{
    snprintf(h->column[column], HEAT_NAME, "%s", label);
    for (size_t i = 0; i < h->rows; i++)
        h->value[i * h->columns + column] = tg_results_find(r, name)->real[layers->index[i]];
    return column + 1;
}

/* Columns of heads, then of MLP and biases. */
static tg_status fill_parts(heat *h, const tg_results *r, const heat_axis *layers, const heat_axis *heads,
                            tg_err *err)
{
    const tg_results_array *head = tg_results_find(r, "head");
    const bool att = has_any(r, "att_bias"), mlp = has_any(r, "mlp_bias");
    size_t column = heads->n;
    const tg_status status = heat_place(h, layers->n, heads->n + 1 + att + mlp, false, false, err);

    if (status)
        return status;
    for (size_t j = 0; j < heads->n; j++) {
        snprintf(h->column[j], HEAT_NAME, "%zu", heads->number[j]);
        for (size_t i = 0; i < h->rows; i++)
            h->value[i * h->columns + j] = head->real[layers->index[i] * head->shape[1] + heads->index[j]];
    }
    for (size_t i = 0; i < h->rows; i++)
        heat_name_layer(h, i, layers->number[i]);
    if (att)
        column = fill_column(h, column, r, layers, "att_bias", "att bias");
    column = fill_column(h, column, r, layers, "mlp", "mlp");
    if (mlp)
        (void)fill_column(h, column, r, layers, "mlp_bias", "mlp bias");
    h->rows_are = "layer";
    h->columns_are = "head";
    describe(h, r, "");
    describe_rest(h, r);
    return TG_OK;
}

/* A row for each head, a column for each key. */
static tg_status fill_keys(heat *h, const tg_results *r, const heat_axis *layers, const heat_axis *heads,
                           tg_err *err)
{
    const tg_results_array *key = tg_results_find(r, "key");
    const size_t T = key->shape[2], position = (size_t)tg_results_whole(r, "position");
    const tg_status status = heat_place(h, layers->n * heads->n, T, true, false, err);

    if (status)
        return status;
    for (size_t t = 0; t < T; t++)
        heat_name_position(h, t, r, t);
    for (size_t i = 0; i < h->rows; i++) {
        const size_t l = i / heads->n, head = i % heads->n;

        heat_name_head(h, i, layers->number[l], heads->number[head]);
        for (size_t t = 0; t < T; t++)
            h->value[i * T + t] =
                t > position ? (double)NAN
                             : key->real[(layers->index[l] * key->shape[1] + heads->index[head]) * T + t];
    }
    h->rows_are = "layer.head";
    h->columns_are = "key";
    describe(h, r, ", by key");
    return TG_OK;
}

tg_status heat_of_attribution(heat *h, const tg_results *r, const heat_want *want, const char *show,
                              tg_err *err)
{
    const size_t *shape = tg_results_find(r, "head")->shape;
    heat_axis layers = {0}, heads = {0};
    tg_status status;

    if (!(status = heat_choose(&layers, "layer", NULL, shape[0], want->layers, err)) &&
        !(status = heat_choose(&heads, "head", NULL, shape[1], want->heads, err)))
        status = (strcmp(show, "keys") == 0 ? fill_keys : fill_parts)(h, r, &layers, &heads, err);
    if (!status)
        heat_set_range(h, HEAT_DIVERGING);
    heat_axis_free(&layers);
    heat_axis_free(&heads);
    return status;
}
