#include "lib/patch/writes.h"

#include <string.h>

#include "lib/base/convert.h"
#include "lib/base/size.h"
#include "lib/base/threads.h"
#include "lib/gpt/params.h"
#include "lib/nn/linear64.h"

void tg_patch_writes_place(tg_arena *arena, tg_patch_writes *w, const tg_config *config, size_t capacity)
{
    const size_t widest = tg_size_max(tg_dim_size(TG_DIM_Q, config), tg_dim_size(TG_DIM_INNER, config));

    *w = (tg_patch_writes){.graph = tg_patch_graph_of(config), .capacity = capacity, .C = config->n_embd};
    w->row = tg_arena_take_rows(arena, tg_size_mul_sat(w->graph.senders, capacity), w->C, sizeof *w->row);
    w->inputs = tg_arena_take_rows(arena, capacity, widest, sizeof *w->inputs);
    w->one = tg_arena_take(arena, widest, sizeof *w->one);
    w->written = tg_arena_take_rows(arena, tg_size_max(capacity, w->graph.H), w->C, sizeof *w->written);
}

/* ---- inputs: those of the source, less those of the base, each times the scale of the norm in its run */

/* to += sign * scale * from */
static void add_inputs(const tg_patch_writes *w, const tg_sublayer *s, double *to, const float *from,
                       double sign)
{
    double scale;

    tg_double_from_float(w->one, from, s->map.in);
    scale = sign * tg_sublayer_scale(s, w->written, w->one);
    for (size_t i = 0; i < s->map.in; i++)
        to[i] += scale * w->one[i];
}

/* ---- writes of heads */

struct heads {
    tg_patch_writes *w;
    const tg_sublayer *s;
    size_t layer, T, D;
};

/* out [C] = sum over d of in[d] W[first + d, c] */
static void multiply(double *out, const double *in, const tg_linear *l, size_t first, size_t D)
{
    const float *weights = l->w;
    const size_t C = l->out;

    memset(out, 0, C * sizeof *out);
    for (size_t d = 0; d < D && !l->transposed; d++)
        for (size_t c = 0; c < C; c++)
            out[c] += in[d] * (double)weights[(first + d) * C + c];
    for (size_t c = 0; c < C && l->transposed; c++)
        for (size_t d = 0; d < D; d++)
            out[c] += in[d] * (double)weights[c * l->in + first + d];
}

static void write_heads(void *context, size_t begin, size_t end)
{
    const struct heads *h = context;
    const size_t C = h->w->C;

    for (size_t i = begin; i < end; i++)
        for (size_t t = 0; t < h->T; t++) {
            const size_t first = i * h->D;
            double *row = h->w->written + i * C;
            float *out = tg_patch_write_at(h->w, tg_patch_sender(&h->w->graph, h->layer, i), t);

            multiply(row, h->w->inputs + t * h->s->map.in + first, &h->s->map, first, h->D);
            for (size_t c = 0; c < C; c++)
                out[c] = (float)(row[c] * tg_rmsnorm_gain(&h->s->norm, c));
        }
}

/* ---- writes of an MLP */

static void write_mlp(tg_patch_writes *w, const tg_sublayer *s, size_t layer, size_t T)
{
    tg_linear map = s->map;

    map.b = NULL;
    tg_linear64_forward(w->written, NULL, w->inputs, &map, T);
    for (size_t t = 0; t < T; t++) {
        float *out = tg_patch_write_at(w, tg_patch_sender(&w->graph, layer, w->graph.H), t);

        for (size_t c = 0; c < w->C; c++)
            out[c] = (float)(w->written[t * w->C + c] * tg_rmsnorm_gain(&s->norm, c));
    }
}

void tg_patch_writes_set_sublayer(tg_patch_writes *w, const tg_acts *acts, tg_sublayer_kind kind,
                                  size_t layer, tg_matrix source, tg_matrix base, size_t T)
{
    const tg_sublayer s = tg_sublayer_of(acts, kind, layer);
    struct heads heads = {w, &s, layer, T, s.map.in / w->graph.H};

    memset(w->inputs, 0, T * s.map.in * sizeof *w->inputs);
    for (size_t t = 0; t < T; t++) {
        if (source.data)
            add_inputs(w, &s, w->inputs + t * s.map.in, tg_floats(source) + t * source.ld, 1);
        add_inputs(w, &s, w->inputs + t * s.map.in, tg_floats(base) + t * base.ld, -1);
    }
    if (kind == TG_SUBLAYER_ATTENTION)
        tg_threads_run(w->graph.H, 1, write_heads, &heads);
    else
        write_mlp(w, &s, layer, T);
}

/* ---- all of them */

static void write_embedding(tg_patch_writes *w, const tg_patch_kept *source, const tg_patch_kept *base)
{
    for (size_t t = 0; t < base->T; t++) {
        const float *x = source ? tg_patch_kept_at(source, TG_PATCH_X, 0, t) : NULL;
        const float *of_base = tg_patch_kept_at(base, TG_PATCH_X, 0, t);
        float *out = tg_patch_write_at(w, TG_PATCH_EMBEDDING, t);

        for (size_t c = 0; c < w->C; c++)
            out[c] = (x ? x[c] : 0) - of_base[c];
    }
}

void tg_patch_writes_set(tg_patch_writes *w, const tg_acts *acts, const tg_patch_kept *source,
                         const tg_patch_kept *base)
{
    write_embedding(w, source, base);
    for (size_t l = 0; l < w->graph.L; l++)
        for (tg_sublayer_kind k = 0; k < TG_SUBLAYERS; k++)
            tg_patch_writes_set_sublayer(w, acts, k, l, tg_patch_kept_inputs(source, k, l),
                                         tg_patch_kept_inputs(base, k, l), base->T);
}
