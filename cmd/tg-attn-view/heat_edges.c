/* heat: maps of what tg-patch --path wrote: receivers down, senders across. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmd/tg-attn-view/heat.h"

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
    heat_describe_patches(h, r, effect, "edges");
    heat_set_range(h, effect ? HEAT_DIVERGING : HEAT_ALL);
    return TG_OK;
}
