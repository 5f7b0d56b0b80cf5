#include "lib/attn/derivation.h"

#include <assert.h>
#include <stdlib.h>

#include "lib/attn/shape.h"
#include "lib/base/finite.h"
#include "lib/base/object.h"
#include "lib/base/size.h"
#include "lib/nn/tensor.h"

/* TG_ATTN_ALL is out of range here, unlike in a filter. */
static tg_status check_below(const char *what, size_t index, size_t n, tg_err *err)
{
    return tg_attn_check_index(what, tg_size_min(index, TG_ATTN_ALL - 1), n, err);
}

static tg_status check(const tg_derive_what *what, const tg_attn_layers *n, tg_err *err)
{
    tg_status status;

    if ((status = check_below("layer", what->layer, n->L, err)) ||
        (status = tg_attn_index_check(&what->at, n->B, n->H, n->T, err)) ||
        (status = check_below("the head's channel", what->channel, n->D, err)))
        return status;
    if (!n->model)
        return TG_OK;
    if ((status = check_below("the output's channel", what->out_channel, n->C, err)) || !what->backward)
        return status;
    return check_below("target", what->target, n->model->config.vocab_size, err);
}

struct placement {
    tg_derivation *d;
    const tg_attn_layers *layers;
};

static void place_derivation(tg_arena *arena, void *context)
{
    const struct placement *p = context;
    const tg_attn_layers *n = p->layers;
    tg_derivation *d = p->d;
    const tg_qkv_view shape = tg_attn_layers_shape(n);

    tg_attn_trace_place(arena, &d->t, &shape);
    tg_attn_vector_place(arena, &d->q, n->D);
    tg_attn_vector_place(arena, &d->k, n->D);
    d->datt = tg_arena_take(arena, n->D, sizeof *d->datt);
    if (n->model)
        d->output.w = tg_arena_take(arena, n->H * n->D, sizeof *d->output.w);
    if (n->model && d->what.backward)
        tg_gradient64_place(arena, &d->g, n->model, d->what.layer, n->T);
}

/* The offset of head h of token t in a stage, by the rule that holds for every shape (lib/nn/tensor.h).  The
 * last index is j in scores, and channel 0 in q and k. */
static size_t offset_in(const tg_qkv_view *a, tg_attn_stage stage, const tg_attn_index *at, size_t h,
                        size_t t)
{
    tg_attn_shape s;
    size_t index[TG_ATTN_DIMS];

    tg_attn_stage_shape(&s, stage, a);
    for (size_t n = 0; n < s.n; n++)
        index[n] = s.index[n] == 'b'   ? at->b
                   : s.index[n] == 'h' ? h
                   : s.index[n] == 'd' ? 0
                   : s.index[n] == 'j' ? at->j
                                       : t;
    return tg_tensor_offset(s.size, s.n, index);
}

/* Compute the offsets by the formulas of attn.h, and check them against that rule. */
static void locate(tg_derivation *d)
{
    const tg_qkv_view *a = &d->layer.view;
    const tg_attn_index *at = &d->what.at;

    const size_t g = tg_attn_kv_head(a, at->h);

    d->q_base = tg_attn_base(a, at->b, at->i, at->h);
    d->k_base = tg_attn_kv_base(a, at->b, at->j, g);
    d->offset = tg_attn_offset(a, at->b, at->h, at->i, at->j);
    d->masked = at->j > at->i || at->j < tg_attention_first(&a->rule, at->i);
    assert(d->q_base == offset_in(a, TG_ATTN_Q, at, at->h, at->i) &&
           d->k_base == offset_in(a, TG_ATTN_K, at, g, at->j));
    assert(d->offset == offset_in(a, TG_ATTN_SCORES, at, at->h, at->i));
}

/* How q_i and k_j came to be. */
static void make_vectors(tg_derivation *d, const tg_attn_layers *n)
{
    const tg_qkv_view *a = &d->layer.view;
    const tg_attn_index *at = &d->what.at;

    if (!d->layer.q_steps.projected)
        return;
    tg_attn_vector_fill(&d->q, n, &d->layer, &d->layer.q_steps, a->q + at->i * a->ldq,
                        (tg_attn_vector_at){at->i, at->h, a->H});
    tg_attn_vector_fill(&d->k, n, &d->layer, &d->layer.k_steps, a->k + at->j * a->ldk,
                        (tg_attn_vector_at){at->j, tg_attn_kv_head(a, at->h), a->KV});
}

static void project(tg_derivation *d, const tg_params *table)
{
    const size_t D = d->layer.view.D, c = d->what.out_channel;
    const size_t norm = tg_params_index(table, TG_OUT_NORM_W, d->layer.number);
    const tg_linear proj = tg_attn_layer_proj(&d->layer);
    const float *w = proj.w;
    tg_derived_output *o = &d->output;

    o->name = table->entry[tg_params_index(table, TG_ATT_PROJ_W, d->layer.number)].name;
    o->transposed = proj.transposed;
    o->norm = norm < table->n ? table->entry[norm].name : NULL;
    for (size_t m = 0; m < d->layer.view.H * D; m++) {
        o->w[m] = (double)w[proj.transposed ? c * proj.in + m : m * proj.out + c];
        o->sum += d->t.att[m] * o->w[m];
        if (m / D == d->what.at.h)
            o->of_head += d->t.att[m] * o->w[m];
    }
    o->out = proj.b ? o->sum + (double)proj.b[c] : o->sum;
}

/* Compute datt from the model's loss.  Without a model the loss is a channel of att, and datt is 1
 * there and 0 elsewhere. */
static void find_datt(tg_derivation *d)
{
    const size_t D = d->layer.view.D;
    const double *of_model = NULL;

    if (d->layer.x) {
        tg_gradient64_begin(&d->g, d->layer.residual, &d->layer.rows);
        tg_gradient64_loss(&d->g, (int32_t)d->what.target);
        tg_gradient64_run(&d->g);
        of_model = d->g.datt + (d->what.at.i * d->layer.view.H + d->what.at.h) * D;
    }
    for (size_t c = 0; c < D; c++)
        d->datt[c] = of_model ? of_model[c] : (double)(c == d->what.channel);
}

static bool all_finite(const double *x, size_t n)
{
    return tg_find_not_finite64(x, n) == n;
}

/* Finite but huge weights overflow. */
static tg_status check_finite(const tg_derivation *d, tg_err *err)
{
    const tg_attn_index *at = &d->what.at;
    const size_t l = d->layer.number, D = d->layer.view.D, n = at->i + 1;

    if (!all_finite(d->t.scores, n) || !all_finite(d->t.probs, n) ||
        !all_finite(d->t.att, d->layer.view.H * D))
        return tg_attn_not_finite(l, at->h, at->i, err);
    if (d->what.backward &&
        !(all_finite(&d->g.loss, 1) && all_finite(d->datt, D) && all_finite(d->t.dscores, n)))
        return tg_fail(err, TG_EDATA, "layer %zu, head %zu, position %zu: the gradient is not finite", l,
                       at->h, at->i);
    return TG_OK;
}

tg_status tg_derive(tg_derivation *d, tg_attn_layers *layers, const tg_derive_what *what, tg_err *err)
{
    tg_status status;

    *d = (tg_derivation){.what = *what};
    if ((status = check(what, layers, err)))
        return status;
    if ((status = tg_arena_build(&d->arena, place_derivation, &(struct placement){d, layers}, err)))
        return status;
    if (!tg_attn_layers_find(layers, what->layer, &d->layer)) { /* check() has made sure that it exists */
        tg_derivation_free(d);
        return tg_attn_layers_check(layers, err);
    }
    locate(d);
    tg_attn_trace_forward(&d->t, &d->layer.view, what->at);
    make_vectors(d, layers);
    if (layers->model)
        project(d, &layers->model->table);
    if (what->backward) {
        find_datt(d);
        tg_attn_trace_backward(&d->t, d->datt);
        if (d->layer.q_steps.projected) {
            tg_attn_vector_backward(&d->q, d->t.dq);
            tg_attn_vector_backward(&d->k, d->t.dk);
        }
    }
    if ((status = tg_attn_layers_check(layers, err)) || (status = check_finite(d, err)))
        tg_derivation_free(d);
    return status;
}

void tg_derivation_free(tg_derivation *d)
{
    tg_arena_free(&d->arena);
}

/* ---- for programs (lib/tg/attention.h) */

tg_status tg_derivation_new(tg_derivation **d, tg_attn_layers *layers, const tg_derive_what *what,
                            tg_err *err)
{
    tg_attn_layers_rewind(layers);
    *d = tg_object_new(sizeof **d, "a derivation", err);
    return *d ? tg_object_begun(d, tg_derive(*d, layers, what, err)) : TG_ENOMEM;
}

void tg_derivation_destroy(tg_derivation *d)
{
    if (d)
        tg_derivation_free(d);
    free(d);
}

const tg_attn_trace *tg_derivation_trace(const tg_derivation *d)
{
    return &d->t;
}

const tg_derived_output *tg_derivation_output(const tg_derivation *d)
{
    return &d->output;
}

const double *tg_derivation_datt(const tg_derivation *d)
{
    return d->datt;
}
