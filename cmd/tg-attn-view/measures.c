/* view: what each head does, in a few numbers: those of tg-attn-dump --summary. */
#include <stdlib.h>

#include "cmd/tg-attn-view/view.h"
#include "lib/heads/dump_stats.h"

/* Heads of a layer with a number that is not finite have no measures. */
static void measure_layer(view_measures *measures, tg_dump_stats *s, const tg_dump_layer *layer, size_t b)
{
    const tg_attn_filter every = TG_ATTN_KEEP_ALL;
    tg_err err;
    const bool finite = !tg_dump_stats_of_layer(s, layer, &every, &err);

    for (size_t h = 0; h < s->dump->H; h++) {
        const tg_head_stats *head = &s->heads[b * s->dump->H + h];

        measures[h] = (view_measures){finite && head->rows > 0, tg_head_stats_means(head)};
    }
}

tg_status view_measure(view *v, tg_err *err)
{
    const tg_dump *a = v->dump;
    tg_dump_stats s;
    tg_status status;

    if (!(v->measures = calloc(a->n, a->H * sizeof *v->measures)))
        return tg_fail_memory(err, (unsigned long long)a->n * a->H * sizeof *v->measures, "the measures");
    if ((status = tg_dump_stats_open(&s, a, err)))
        return status;
    for (size_t l = 0; l < a->n; l++)
        if (tg_dump_stats_can(&a->layer[l]))
            measure_layer(v->measures + l * a->H, &s, &a->layer[l], v->b);
    tg_dump_stats_close(&s);
    return TG_OK;
}
