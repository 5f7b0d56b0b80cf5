/* heat: the parts of a map, whatever it is of. */
#include "cmd/tg-attn-view/heat.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/size.h"
#include "lib/view/colormap.h"

/* ---- which layers and heads */

void heat_axis_free(heat_axis *axis)
{
    free(axis->index);
    free(axis->number);
    *axis = (heat_axis){0};
}

static tg_status check_list(const heat_axis *all, const char *what, const view_list *list, tg_err *err)
{
    for (size_t i = 0; i < list->n; i++) {
        bool found = false;

        for (size_t k = 0; k < all->n; k++)
            found = found || all->number[k] == list->index[i];
        if (!found)
            return tg_fail(err, TG_EUSAGE, "%s %zu is not in the archive", what, list->index[i]);
    }
    return TG_OK;
}

tg_status heat_choose(heat_axis *axis, const char *what, const int64_t *number, size_t n,
                      const view_list *list, tg_err *err)
{
    tg_status status;

    *axis = (heat_axis){.n = n, .index = calloc(n, sizeof(size_t)), .number = calloc(n, sizeof(size_t))};
    if (!axis->index || !axis->number)
        return tg_fail_memory(err, 2 * n * sizeof(size_t), "the rows");
    for (size_t i = 0; i < n; i++) {
        axis->index[i] = i;
        axis->number[i] = number ? (size_t)number[i] : i;
    }
    if ((status = check_list(axis, what, list, err)))
        return status;
    axis->n = 0;
    for (size_t i = 0; i < n; i++)
        if (view_list_keeps(list, axis->number[i])) {
            axis->index[axis->n] = i;
            axis->number[axis->n++] = axis->number[i];
        }
    return TG_OK;
}

/* ---- memory and names */

tg_status heat_place(heat *h, size_t rows, size_t columns, bool tokens, bool texts, tg_err *err)
{
    const size_t n = tg_size_mul_sat(rows, columns);

    h->rows = rows;
    h->columns = columns;
    h->row = calloc(rows, sizeof *h->row);
    h->column = calloc(columns, sizeof *h->column);
    h->value = calloc(n, sizeof *h->value);
    h->token = tokens ? calloc(columns, sizeof *h->token) : NULL;
    h->text = texts ? calloc(n, sizeof *h->text) : NULL;
    if (h->row && h->column && h->value && (h->token || !tokens) && (h->text || !texts))
        return TG_OK;
    return tg_fail_memory(err, tg_size_mul_sat(n, sizeof *h->value + texts * sizeof *h->text), "the map");
}

void heat_free(heat *h)
{
    free(h->row);
    free(h->column);
    free(h->token);
    free(h->other);
    free(h->value);
    free(h->text);
}

void heat_label(char label[VIEW_LABEL], const tg_results *r, const char *ids_name, const char *text_name,
                size_t t)
{
    const tg_results_array *text = tg_results_find(r, text_name), *ids = tg_results_find(r, ids_name);
    char raw[VIEW_LABEL] = "";

    if (text)
        tg_results_text(raw, sizeof raw, text, t);
    else if (ids)
        snprintf(raw, sizeof raw, "%lld", (long long)ids->whole[t]);
    view_make_label(label, raw, strlen(raw));
}

void heat_name_position(heat *h, size_t column, const tg_results *r, size_t position)
{
    snprintf(h->column[column], HEAT_NAME, "%zu", position);
    if (h->token)
        heat_label(h->token[column], r, "ids", "text", position);
}

void heat_name_layer(heat *h, size_t row, size_t layer)
{
    snprintf(h->row[row], HEAT_NAME, "%zu", layer);
}

void heat_name_head(heat *h, size_t row, size_t layer, size_t head)
{
    snprintf(h->row[row], HEAT_NAME, "%zu.%zu", layer, head);
}

/* ---- numbers */

/* Two digits or so of the largest number. */
static int decimals_of(double most)
{
    return most >= 100 ? 1 : most >= 0.1 ? 2 : most >= 0.01 ? 3 : 4;
}

void heat_set_range(heat *h, heat_range range)
{
    double low = HUGE_VAL, high = -HUGE_VAL;

    for (size_t i = 0; i < h->rows * h->columns; i++)
        if (!isnan(h->value[i])) {
            low = fmin(low, h->value[i]);
            high = fmax(high, h->value[i]);
        }
    if (low > high) /* no numbers */
        low = high = 0;
    if (range == HEAT_FROM_ZERO)
        low = fmin(low, 0);
    if (range == HEAT_DIVERGING) {
        high = fmax(fabs(low), fabs(high));
        low = -high;
    }
    h->decimals = decimals_of(fmax(fabs(low), fabs(high)));
    h->diverges = range == HEAT_DIVERGING;
    h->scale = (tg_scale){TG_SCALE_LINEAR, low, high > low ? high : low + 1};
}

void heat_widen(heat *h, double most)
{
    h->scale.high = fmax(h->scale.high, most);
    h->scale.low = -h->scale.high;
}

bool heat_step(unsigned *step, const heat *h, size_t row, size_t column)
{
    const double x = h->value[row * h->columns + column];

    if (isnan(x))
        return false;
    *step = tg_colormap_step(tg_scale_place(&h->scale, x));
    return true;
}

void heat_number(char out[HEAT_NUMBER], const heat *h, size_t row, size_t column)
{
    const double x = h->value[row * h->columns + column];
    const bool zero = !(x < 0 || x > 0), none = fabs(x) < pow(10, -h->decimals) / 2; /* none: no "-0.00" */

    *out = '\0';
    if (!isnan(x))
        snprintf(out, HEAT_NUMBER, fabs(x) < 1e9 ? "%.*f" : "%.*e", zero ? 0 : h->decimals, none ? 0 : x);
}

size_t heat_widest_number(const heat *h)
{
    char text[HEAT_NUMBER];
    size_t widest = 1;

    for (size_t i = 0; i < h->rows; i++)
        for (size_t j = 0; j < h->columns; j++) {
            heat_number(text, h, i, j);
            widest = tg_size_max(widest, strlen(text));
        }
    return widest;
}

void heat_axes(char out[HEAT_LINE], const heat *h, bool texts)
{
    snprintf(out, HEAT_LINE, "%s down, %s across%s", h->rows_are, h->columns_are,
             h->text && texts ? "; in each cell the most probable token" : "");
}
