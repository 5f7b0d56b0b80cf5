/* heat: maps of what tg-patch --ablate wrote: layers down, heads and MLPs across. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmd/tg-attn-view/heat.h"
#include "lib/base/choice.h"

static size_t count(const tg_results_array *marks)
{
    size_t n = 0;

    for (size_t i = 0; i < marks->count; i++)
        n += marks->whole[i] != 0;
    return n;
}

static double faithfulness(const tg_results *r, double metric)
{
    const double none = tg_results_real(r, "none");

    return (metric - none) / (tg_results_real(r, "model") - none);
}

static void describe(heat *h, const tg_results *r, const char *show)
{
    char metric[TG_CHOICE_SIZE], by[TG_CHOICE_SIZE], answers[HEAT_ANSWERS];
    const bool circuit = tg_results_find(r, "whole") != NULL;

    heat_name_answers(answers, r);
    tg_results_text(metric, sizeof metric, tg_results_find(r, "metric"), 0);
    tg_results_text(by, sizeof by, tg_results_find(r, "by"), 0);
    snprintf(h->quantity, HEAT_LINE, "%s without %s",
             strcmp(show, "metric") == 0   ? metric
             : strcmp(show, "change") == 0 ? "change of the faithfulness"
                                           : show,
             circuit ? "each member" : "each head and MLP");
    snprintf(h->about[0], HEAT_LINE, "%s%s: model %.4g, none %.4g%s", metric, answers,
             tg_results_real(r, "model"), tg_results_real(r, "none"),
             tg_results_whole(r, "pairs") > 1 ? ", means over pairs" : "");
    if (circuit)
        snprintf(h->about[1], HEAT_LINE, "circuit of %zu, faithfulness %.4g; ablated: %s",
                 count(tg_results_find(r, "named")), faithfulness(r, tg_results_real(r, "whole")), by);
    else
        snprintf(h->about[1], HEAT_LINE, "ablated: %s", by);
}

/* Columns of heads, then the MLP. */
static tg_status fill(heat *h, const tg_results *r, const heat_axis *layers, const heat_axis *heads,
                      const char *show, tg_err *err)
{
    const tg_results_array *part = tg_results_find(r, "part");
    const tg_results_array *value = tg_results_find(r, strcmp(show, "metric") == 0 ? "value" : show);
    const size_t P = part->shape[1];
    const tg_status status = heat_place(h, layers->n, heads->n + 1, false, false, err);

    if (status)
        return status;
    for (size_t j = 0; j < heads->n; j++)
        snprintf(h->column[j], HEAT_NAME, "%zu", heads->number[j]);
    snprintf(h->column[heads->n], HEAT_NAME, "mlp");
    for (size_t i = 0; i < h->rows; i++) {
        heat_name_layer(h, i, layers->number[i]);
        for (size_t j = 0; j < h->columns; j++) {
            const size_t at = layers->index[i] * P + (j < heads->n ? heads->index[j] : P - 1);

            h->value[i * h->columns + j] = part->whole[at] ? value->real[at] : (double)NAN;
        }
    }
    h->rows_are = "layer";
    h->columns_are = "head";
    return TG_OK;
}

tg_status heat_of_ablation(heat *h, const tg_results *r, const heat_want *want, const char *show, tg_err *err)
{
    const tg_results_array *part = tg_results_find(r, "part");
    heat_axis layers = {0}, heads = {0};
    tg_status status;

    if (count(part) == 0)
        return tg_fail(err, TG_EDATA,
                       "no head or MLP of it was left out by itself: there is nothing to draw");
    if (!(status = heat_choose(&layers, "layer", NULL, part->shape[0], want->layers, err)) &&
        !(status = heat_choose(&heads, "head", NULL, part->shape[1] - 1, want->heads, err)) &&
        !(status = fill(h, r, &layers, &heads, show, err))) {
        describe(h, r, show);
        heat_set_range(h, strcmp(show, "change") == 0 ? HEAT_DIVERGING : HEAT_ALL);
    }
    heat_axis_free(&layers);
    heat_axis_free(&heads);
    return status;
}
