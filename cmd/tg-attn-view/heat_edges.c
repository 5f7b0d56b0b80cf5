/* heat: maps of what tg-patch --path wrote: receivers down, senders across. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmd/tg-attn-view/heat.h"
#include "lib/base/choice.h"

static void describe(heat *h, const tg_results *r, bool effect)
{
    char metric[TG_CHOICE_SIZE], direction[TG_CHOICE_SIZE], method[TG_CHOICE_SIZE];
    bool noise, estimated;

    tg_results_text(metric, sizeof metric, tg_results_find(r, "metric"), 0);
    tg_results_text(direction, sizeof direction, tg_results_find(r, "direction"), 0);
    tg_results_text(method, sizeof method, tg_results_find(r, "method"), 0);
    noise = strcmp(direction, "noise") == 0;
    estimated = strcmp(method, "attribution") == 0;
    snprintf(h->quantity, HEAT_LINE, "%s %s patches of edges", effect ? "effect" : metric,
             effect ? "of" : "after");
    snprintf(h->about[0], HEAT_LINE, "%s: clean %.4g, corrupt %.4g%s", metric, tg_results_real(r, "clean"),
             tg_results_real(r, "corrupt"), tg_results_whole(r, "pairs") > 1 ? ", means over pairs" : "");
    snprintf(h->about[1], HEAT_LINE, "%s run with edges of the %s one%s", noise ? "clean" : "corrupt",
             noise ? "corrupt" : "clean",
             !estimated                          ? ""
             : tg_results_whole(r, "steps") == 0 ? ", estimated to first order"
                                                 : ", estimated by integrated gradients");
}

tg_status heat_of_edges(heat *h, const tg_results *r, const heat_want *want, const char *show, tg_err *err)
{
    const tg_results_array *senders = tg_results_find(r, "senders"), *edge = tg_results_find(r, "edge");
    const tg_results_array *receivers = tg_results_find(r, "receivers");
    const bool effect = strcmp(show, "effect") == 0;
    const double *value = tg_results_find(r, effect ? "effect" : "value")->real;
    tg_status status;

    if (want->layers->n > 0 || want->heads->n > 0)
        return tg_fail(err, TG_EUSAGE,
                       "--layer and --head do not go with edges: give tg-patch a shorter --path");
    if ((status = heat_place(h, receivers->count, senders->count, false, false, err)))
        return status;
    h->rows_are = "receiver";
    h->columns_are = "sender";
    for (size_t i = 0; i < h->rows; i++)
        tg_results_text(h->row[i], HEAT_NAME, receivers, i);
    for (size_t j = 0; j < h->columns; j++)
        tg_results_text(h->column[j], HEAT_NAME, senders, j);
    for (size_t i = 0; i < h->rows * h->columns; i++)
        h->value[i] = edge->whole[i] ? value[i] : (double)NAN;
    describe(h, r, effect);
    heat_set_range(h, effect ? HEAT_DIVERGING : HEAT_ALL);
    return TG_OK;
}
