#include "lib/dump/extras_make.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/attn/vector.h"
#include "lib/base/finite.h"
#include "lib/base/size.h"
#include "lib/dump/dump_extras.h"
#include "lib/gpt/bind.h"
#include "lib/gpt/gradient64.h"
#include "lib/gpt/infer.h"
#include "lib/gpt/sample.h"
#include "lib/gpt/score.h"

/* Who makes arrays, and where they go. */
struct maker {
    const tg_attn_layers *layers;
    size_t layer;
    tg_extras_take take;
    void *context;
};

/* Hand over an array in the shape that its dimensions give; `last` takes the place of a dimension that only
 * the array itself has. */
static tg_status give(const struct maker *m, tg_dump_extra extra, size_t last, const void *data, tg_err *err)
{
    const tg_qkv_view view = tg_attn_layers_shape(m->layers);
    tg_extras_made made = {.layer = m->layer, .extra = extra, .count = 1, .data = data};

    made.type = tg_dump_extra_type(extra);
    if (extra == TG_DUMP_NEXT_TEXT)
        made.type.size = TG_DUMP_NEXT_TEXT_SIZE;
    made.dims = tg_dump_extra_shape(made.shape, extra, &view);
    if (made.dims > 0 && made.shape[made.dims - 1] == 0)
        made.shape[made.dims - 1] = last;
    for (size_t d = 0; d < made.dims; d++)
        made.count *= made.shape[d];
    return m->take(m->context, &made, err);
}

/* ---- a layer's */

static tg_status make_frequency(const struct maker *m, const tg_attn_layer *layer, tg_err *err)
{
    const tg_attn_steps *steps = &layer->q_steps;
    const size_t pairs = steps->angles.cols / 2;
    double *frequency = malloc(pairs * sizeof *frequency);
    tg_status status;

    if (!frequency)
        return tg_fail_memory(err, pairs * sizeof *frequency, "the frequencies");
    for (size_t n = 0; n < pairs; n++)
        frequency[n] = tg_attn_frequency(m->layers, layer->number, steps, n);
    status = give(m, TG_DUMP_FREQUENCY, pairs, frequency, err);
    free(frequency);
    return status;
}

/* The norm that the projection's output goes through. */
static tg_status make_norm(const struct maker *m, const tg_attn_layer *layer, tg_err *err)
{
    const tg_attn_layers *n = m->layers;
    const tg_binding bound = {.model = n->model};
    const tg_rmsnorm norm = tg_bind_rmsnorm(&bound, TG_OUT_NORM_W, layer->number);
    const double epsilon = (double)(float)norm.epsilon;
    float *gain;
    tg_status status;

    if (!norm.w)
        return TG_OK;
    if (!(gain = malloc(n->C * sizeof *gain)))
        return tg_fail_memory(err, n->C * sizeof *gain, "the gains");
    for (size_t c = 0; c < n->C; c++)
        gain[c] = norm.offset + norm.w[c];
    if (!(status = give(m, TG_DUMP_OUT_NORM, 0, gain, err)))
        status = give(m, TG_DUMP_OUT_NORM_EPS, 0, &epsilon, err);
    free(gain);
    return status;
}

static tg_status make_weights(const struct maker *m, const tg_attn_layer *layer, tg_err *err)
{
    const tg_linear proj = tg_attn_layer_proj(layer);
    const tg_dump_extra matrix = proj.transposed ? TG_DUMP_W_PROJ_T : TG_DUMP_W_PROJ;
    tg_status status;

    if ((status = give(m, matrix, 0, proj.w, err)) ||
        (proj.b && (status = give(m, TG_DUMP_B_PROJ, 0, proj.b, err))))
        return status;
    return make_norm(m, layer, err);
}

struct gradient {
    tg_gradient64 g;
    const tg_attn_layers *layers;
    size_t layer;
};

static void place_gradient(tg_arena *arena, void *context)
{
    struct gradient *p = context;

    tg_gradient64_place(arena, &p->g, p->layers->model, p->layer, p->layers->T);
}

static tg_status make_gradient(const struct maker *m, const tg_attn_layer *layer, int32_t target, tg_err *err)
{
    const tg_attn_layers *n = m->layers;
    struct gradient p = {.layers = n, .layer = layer->number};
    const size_t count = n->T * n->H * n->D;
    tg_arena arena = {0};
    tg_status status;

    if ((status = tg_arena_build(&arena, place_gradient, &p, err)))
        return status;
    tg_gradient64_begin(&p.g, layer->residual, &layer->rows);
    (void)tg_gradient64_loss(&p.g, target);
    tg_gradient64_run(&p.g);
    if (!isfinite(p.g.loss) || tg_find_not_finite64(p.g.datt, count) < count)
        status = tg_fail(err, TG_EDATA, "layer %zu: the gradient is not finite", layer->number);
    if (!status && !(status = give(m, TG_DUMP_DATT, 0, p.g.datt, err)))
        status = give(m, TG_DUMP_LOSS, 0, &p.g.loss, err);
    tg_arena_free(&arena);
    return status;
}

tg_status tg_extras_make_layer(const tg_attn_layers *n, const tg_attn_layer *layer,
                               const tg_dump_settings *dump, tg_extras_take take, void *context, tg_err *err)
{
    const struct maker m = {n, layer->number, take, context};
    tg_status status = TG_OK;

    if (layer->q_steps.angles.data && dump->stages == TG_DUMP_EVERY)
        status = make_frequency(&m, layer, err);
    if (!status && dump->weights && n->model)
        status = make_weights(&m, layer, err);
    if (!status && dump->changes)
        status = give(&m, TG_DUMP_CHANGE, 0, dump->changes + layer->number * n->H, err);
    if (!status && dump->gradient && n->model)
        status = make_gradient(&m, layer, dump->target, err);
    return status;
}

/* ---- what the model predicts */

#define NEXT 10 /* tokens that are kept of each position */
#define ROWS 64 /* of logits at a time; their last digits are those of tg-eval from four rows on */

struct next {
    const tg_dump_settings *dump;
    size_t T, V, K, ids; /* only the first `ids` logits are of tokens */
    float *all;          /* [ROWS,V] */
    int32_t *top;        /* [K] and what comes of it */
    int64_t *id;         /* [T,K] */
    float *logit;        /* [T,K] */
    double *sum;         /* [T] */
    char *text;          /* [T,K,TG_DUMP_NEXT_TEXT_SIZE] */
};

static void place_next(tg_arena *arena, void *context)
{
    struct next *x = context;
    const size_t kept = tg_size_mul_sat(x->T, x->K);

    x->all = tg_arena_take_rows(arena, tg_size_min(x->T, ROWS), x->V, sizeof *x->all);
    x->top = tg_arena_take(arena, x->K, sizeof *x->top);
    x->id = tg_arena_take(arena, kept, sizeof *x->id);
    x->logit = tg_arena_take(arena, kept, sizeof *x->logit);
    x->sum = tg_arena_take(arena, x->T, sizeof *x->sum);
    x->text = tg_arena_take(arena, kept, TG_DUMP_NEXT_TEXT_SIZE);
}

static tg_status take_row(struct next *x, size_t t, const float *row, tg_err *err)
{
    const size_t bad = tg_find_not_finite(row, x->V);
    tg_score score;

    if (bad < x->V)
        return tg_fail(err, TG_EDATA, "position %zu: logit %zu is %g: it must be finite", t, bad,
                       (double)row[bad]);
    score = tg_score_row(row, x->V, x->ids, -1);
    x->sum[t] = score.max + score.log_sum;
    tg_top_ids(x->top, x->K, row, x->ids);
    for (size_t k = 0, at = t * x->K; k < x->K; k++, at++) {
        x->id[at] = x->top[k];
        x->logit[at] = row[x->top[k]];
        if (x->dump->text_of)
            (void)x->dump->text_of(x->dump->context, x->text + at * TG_DUMP_NEXT_TEXT_SIZE,
                                   TG_DUMP_NEXT_TEXT_SIZE, x->top[k]);
    }
    return TG_OK;
}

/* Blocks of ROWS rows; the last one, where it is short, begins before the end of the one before it. */
static tg_status take_rows(struct next *x, tg_infer *infer, tg_err *err)
{
    const size_t block = tg_size_min(x->T, ROWS);
    tg_status status = TG_OK;

    memset(x->text, 0, x->T * x->K * TG_DUMP_NEXT_TEXT_SIZE);
    for (size_t t = 0; t < x->T && !status; t += block) {
        const size_t first = tg_size_min(t, x->T - block);

        tg_infer_logits(infer, first, block, x->all);
        for (size_t n = 0; n < block && !status; n++)
            status = take_row(x, first + n, x->all + n * x->V, err);
    }
    return status;
}

static tg_status give_next(const struct maker *m, const struct next *x, tg_err *err)
{
    const int64_t V = (int64_t)x->V;
    tg_status status;

    if ((status = give(m, TG_DUMP_NEXT_VOCAB, 0, &V, err)) ||
        (status = give(m, TG_DUMP_NEXT_IDS, x->K, x->id, err)) ||
        (x->dump->text_of && (status = give(m, TG_DUMP_NEXT_TEXT, x->K, x->text, err))) ||
        (status = give(m, TG_DUMP_NEXT_LOGITS, x->K, x->logit, err)))
        return status;
    return give(m, TG_DUMP_NEXT_SUM, 0, x->sum, err);
}

tg_status tg_extras_make_next(tg_attn_layers *n, const tg_dump_settings *dump, tg_extras_take take,
                              void *context, tg_err *err)
{
    const struct maker m = {n, 0, take, context};
    const size_t V = n->model->config.vocab_size;
    struct next x = {
        .dump = dump, .T = n->T, .V = V, .ids = tg_size_min(tg_tokenizer_vocab_size(n->model->tokenizer), V)};
    tg_arena arena;
    tg_status status;

    x.K = tg_size_min(NEXT, x.ids);
    if (!tg_attn_layers_end(n))
        return tg_attn_layers_check(n, err);
    if ((status = tg_arena_build(&arena, place_next, &x, err)))
        return status;
    if (!(status = take_rows(&x, &n->infer, err)))
        status = give_next(&m, &x, err);
    tg_arena_free(&arena);
    return status;
}
