#include "lib/dump/dump_rows.h"

#include <math.h>
#include <string.h>

#include "lib/base/convert.h"
#include "lib/nn/ref/ref.h"

unsigned tg_dump_rows_stages(tg_attn_stage show)
{
    return TG_DUMP_BIT(show) | TG_DUMP_BIT(TG_ATTN_SCORES) | TG_DUMP_BIT(TG_ATTN_Q) | TG_DUMP_BIT(TG_ATTN_K);
}

bool tg_dump_has_rows(const tg_dump_layer *layer, tg_attn_stage show)
{
    return layer->data[show] || layer->data[TG_ATTN_SCORES] ||
           (layer->data[TG_ATTN_Q] && layer->data[TG_ATTN_K]);
}

size_t tg_dump_row_scratch(const tg_dump *dump)
{
    size_t D = 0; /* without q and k, no array proves that D is not absurd */

    for (size_t l = 0; l < dump->n; l++)
        if (dump->layer[l].data[TG_ATTN_Q] && dump->layer[l].data[TG_ATTN_K])
            D = dump->D;
    return 2 * dump->T + 2 * D;
}

/* scores [i + 1] from q and k, one key at a time; scratch [2D] for q_i and k_j as doubles. */
static void compute_scores(double *scores, const tg_dump *a, const tg_dump_layer *layer, size_t b, size_t h,
                           size_t i, double *scratch)
{
    const tg_qkv_view view = tg_dump_shape(a);
    const size_t g = tg_attn_kv_head(&view, h);
    const tg_attention_rule rule = tg_dump_rule(a, layer->number);
    double *q = scratch, *k = scratch + a->D;

    tg_double_from_float(q, layer->data[TG_ATTN_Q] + tg_attn_base(&view, b, i, h), a->D);
    for (size_t j = 0; j <= i; j++) {
        tg_double_from_float(k, layer->data[TG_ATTN_K] + tg_attn_kv_base(&view, b, j, g), a->D);
        tg_attention_scores_row_ref64(scores + j, q, k, a->D, 1, a->D, 0);
    }
    tg_attention_rule_row_ref64(scores, &rule, a->D, i);
}

static void hide(float *row, size_t first)
{
    for (size_t j = 0; j < first; j++)
        row[j] = -INFINITY;
}

void tg_dump_row(float *row, const tg_dump *dump, const tg_dump_layer *layer, tg_attn_stage show, size_t b,
                 size_t h, size_t i, double *scratch)
{
    const tg_qkv_view view = tg_dump_shape(dump);
    const size_t at = tg_attn_offset(&view, b, h, i, 0);
    const tg_attention_rule rule = tg_dump_rule(dump, layer->number);
    const size_t first = tg_attention_first(&rule, i);
    double *scores = scratch, *probs = scratch + dump->T;

    hide(row, first);
    if (layer->data[show]) {
        memcpy(row + first, layer->data[show] + at + first, (i + 1 - first) * sizeof *row);
        return;
    }
    if (layer->data[TG_ATTN_SCORES])
        tg_double_from_float(scores, layer->data[TG_ATTN_SCORES] + at, i + 1);
    else
        compute_scores(scores, dump, layer, b, h, i, probs + dump->T);
    if (show == TG_ATTN_PROBS)
        tg_softmax_row_ref64(probs + first, scores + first, i + 1 - first);
    for (size_t j = first; j <= i; j++)
        row[j] = (float)(show == TG_ATTN_PROBS ? probs[j] : scores[j]);
}
