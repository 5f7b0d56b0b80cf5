#include "lib/heads/dump_stats.h"

#include "lib/dump/dump_rows.h"

static void place_stats(tg_arena *arena, void *context)
{
    tg_dump_stats *s = context;
    const tg_dump *d = s->dump;

    s->heads = tg_arena_take_rows(arena, d->B, d->H, sizeof *s->heads);
    s->ids = d->ids ? tg_arena_take(arena, d->T, sizeof *s->ids) : NULL;
    s->row = tg_arena_take(arena, d->T, sizeof *s->row);
    s->p = tg_arena_take(arena, d->T, sizeof *s->p);
    s->row_scratch = tg_arena_take(arena, tg_dump_row_scratch(d), sizeof *s->row_scratch);
    tg_head_stats_place(arena, &s->walk, d->T, d->D);
}

tg_status tg_dump_stats_open(tg_dump_stats *s, const tg_dump *dump, tg_err *err)
{
    tg_status status;

    *s = (tg_dump_stats){.dump = dump};
    if ((status = tg_arena_build(&s->arena, place_stats, s, err)))
        return status;
    for (size_t t = 0; s->ids && t < dump->T; t++)
        s->ids[t] = (int32_t)dump->ids[t]; /* they are only compared */
    return TG_OK;
}

void tg_dump_stats_close(tg_dump_stats *s)
{
    tg_arena_free(&s->arena);
}

bool tg_dump_stats_can(const tg_dump_layer *layer)
{
    return tg_dump_has_rows(layer, TG_ATTN_PROBS);
}

/* ---- from q and k */

/* All heads of [B,T,H,D], or one of [B,H,T,D], which lies as if it were alone. */
static tg_attn_layer view_from(const tg_dump *d, const tg_dump_layer *layer, size_t b, size_t h)
{
    const tg_qkv_view shape = tg_dump_shape(d);
    const bool all = d->layout == TG_ATTN_BTHD;
    const float *k = layer->data[TG_ATTN_K] + tg_attn_kv_base(&shape, b, 0, tg_attn_kv_head(&shape, h));
    tg_qkv_view view = tg_attn_shape_of(all ? d->B : 1, d->T, all ? d->H * d->D : d->D, all ? d->H : 1);

    view.KV = all ? d->KV : 1;
    view.ldk = view.ldv = view.KV * d->D;
    view.q = layer->data[TG_ATTN_Q] + tg_attn_base(&shape, b, 0, h);
    view.k = view.v = k; /* a dump may lack v, on which nothing here depends */
    view.rule = tg_dump_rule(d, layer->number);
    return (tg_attn_layer){.number = layer->number, .view = view};
}

static tg_status walk_layer(tg_dump_stats *s, const tg_dump_layer *layer, const tg_attn_filter *filter,
                            tg_err *err)
{
    const tg_dump *d = s->dump;
    tg_attn_filter of_one = *filter;
    tg_status status = TG_OK;

    if (d->layout == TG_ATTN_BTHD) {
        const tg_attn_layer all = view_from(d, layer, 0, 0);

        return tg_head_stats_of_layer(s->heads, &all, s->ids, filter, &s->walk, err);
    }
    of_one.head = TG_ATTN_ALL;
    for (size_t b = 0; b < d->B; b++) {
        for (size_t h = 0; h < d->H && !status; h++) {
            const tg_attn_layer one = view_from(d, layer, b, h);

            if (tg_attn_keeps(filter->head, h))
                status =
                    tg_head_stats_of_layer(&s->heads[b * d->H + h], &one, s->ids, &of_one, &s->walk, err);
        }
    }
    return status;
}

/* ---- from probabilities or scores */

static void add_row(tg_dump_stats *s, const tg_dump_layer *layer, size_t b, size_t h, size_t i)
{
    const tg_attention_rule rule = tg_dump_rule(s->dump, layer->number);
    const size_t first = tg_attention_first(&rule, i);

    tg_dump_row(s->row, s->dump, layer, TG_ATTN_PROBS, b, h, i, s->row_scratch);
    for (size_t j = 0; j <= i; j++)
        s->p[j] = j < first ? 0 : (double)s->row[j];
    tg_head_stats_add(&s->heads[b * s->dump->H + h], s->p, first, i, s->ids);
}

tg_status tg_dump_stats_of_layer(tg_dump_stats *s, const tg_dump_layer *layer, const tg_attn_filter *filter,
                                 tg_err *err)
{
    const tg_dump *d = s->dump;

    for (size_t n = 0; n < d->B * d->H; n++)
        s->heads[n] = (tg_head_stats){0};
    if (layer->data[TG_ATTN_Q] && layer->data[TG_ATTN_K])
        return walk_layer(s, layer, filter, err);
    for (size_t b = 0; b < d->B; b++)
        for (size_t h = 0; h < d->H; h++)
            for (size_t i = 0; i < d->T && tg_attn_keeps(filter->head, h); i++)
                if (tg_attn_keeps(filter->query, i))
                    add_row(s, layer, b, h, i);
    return TG_OK;
}
