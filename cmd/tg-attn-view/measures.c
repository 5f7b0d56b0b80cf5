/* view: what each head does, in a few numbers: those of tg-attn-dump --summary. */
#include <stdlib.h>

#include "cmd/tg-attn-view/view.h"
#include "lib/heads/head_stats.h"

struct measuring {
    const tg_dump *dump;
    int32_t *ids;         /* [T]; NULL: the dump has no tokens */
    tg_head_stats *heads; /* [H] */
    tg_head_stats_scratch scratch;
};

static void place_measuring(tg_arena *arena, void *context)
{
    struct measuring *m = context;
    const tg_dump *a = m->dump;

    m->ids = a->ids ? tg_arena_take(arena, a->T, sizeof *m->ids) : NULL;
    m->heads = tg_arena_take(arena, a->H, sizeof *m->heads);
    tg_head_stats_place(arena, &m->scratch, a->T, a->D);
}

/* q and k of sequence b from head h on: all heads, as in [B,T,H,D], or one of [B,H,T,D]. */
static tg_attn_layer heads_from(const tg_dump *a, const tg_dump_layer *layer, size_t b, size_t h)
{
    const tg_qkv_view shape = tg_dump_shape(a);
    const bool all = a->layout == TG_ATTN_BTHD;
    const size_t H = all ? a->H : 1, KV = all ? a->KV : 1;
    const float *k = layer->data[TG_ATTN_K] + tg_attn_kv_base(&shape, b, 0, tg_attn_kv_head(&shape, h));

    return (tg_attn_layer){
        .number = layer->number,
        .view = {.B = 1,
                 .T = a->T,
                 .C = a->C,
                 .H = H,
                 .KV = KV,
                 .D = a->D,
                 .ldq = H * a->D,
                 .ldk = KV * a->D,
                 .ldv = KV * a->D,
                 .q = layer->data[TG_ATTN_Q] + tg_attn_base(&shape, b, 0, h),
                 .k = k,
                 .v = k, /* a dump may lack v, which measures do not depend on */
                 .rule = tg_dump_rule(a, layer->number)},
    };
}

/* Heads with a number that is not finite have no measures. */
static void measure_layer(view_measures *measures, const struct measuring *m, const tg_dump_layer *layer,
                          size_t b)
{
    const tg_attn_filter every = {TG_ATTN_ALL, TG_ATTN_ALL, TG_ATTN_ALL, TG_ATTN_ALL};

    for (size_t h = 0; h < m->dump->H;) {
        const tg_attn_layer heads = heads_from(m->dump, layer, b, h);
        tg_err err;
        const bool finite = !tg_head_stats_of_layer(m->heads, &heads, m->ids, &every, &m->scratch, &err);

        for (size_t n = 0; n < heads.view.H; n++, h++)
            measures[h] = (view_measures){finite && m->heads[n].rows > 0, tg_head_stats_means(&m->heads[n])};
    }
}

tg_status view_measure(view *v, tg_err *err)
{
    const tg_dump *a = v->dump;
    struct measuring m = {.dump = a};
    tg_arena arena = {0};
    tg_status status;

    if ((status = tg_arena_build(&arena, place_measuring, &m, err)))
        return status;
    if (!(v->measures = calloc(a->n, a->H * sizeof *v->measures))) {
        status = tg_fail_memory(err, (unsigned long long)a->n * a->H * sizeof *v->measures, "the measures");
        goto done;
    }
    for (size_t t = 0; m.ids && t < a->T; t++)
        m.ids[t] = (int32_t)a->ids[t];
    for (size_t l = 0; l < a->n; l++)
        measure_layer(v->measures + l * a->H, &m, &a->layer[l], v->b);

done:
    tg_arena_free(&arena);
    return status;
}
