#include "lib/dump/extras_write.h"

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

/* Write one, of the layer or of the text, in the shape that its dimensions give; `last` takes the place of a
 * dimension that only the array itself tells. */
static tg_status put(tg_archive_writer *w, const tg_attn_layers *n, size_t layer, tg_dump_extra extra,
                     size_t last, const void *data, tg_err *err)
{
    tg_dtype type = tg_dump_extra_type(extra);
    char name[TG_DUMP_NAME_SIZE];
    size_t shape[3];
    const size_t dims = tg_dump_extra_shape(shape, extra, n->B, n->T, n->H * n->D, n->C);

    tg_dump_extra_array_name(name, layer, extra);
    if (dims > 0 && shape[dims - 1] == 0)
        shape[dims - 1] = last;
    return tg_archive_put(w, name, type, dims, shape, data, err);
}

tg_status tg_extras_put_target(tg_archive_writer *w, int32_t target, tg_err *err)
{
    return tg_archive_put_i64(w, tg_dump_extra_name(TG_DUMP_TARGET), target, err);
}

/* ---- a layer's */

static tg_status put_frequency(tg_archive_writer *w, const tg_attn_layers *n, const tg_attn_layer *layer,
                               tg_err *err)
{
    const tg_attn_steps *steps = &layer->q_steps;
    const size_t pairs = steps->angles.cols / 2;
    double *frequency = malloc(pairs * sizeof *frequency);
    tg_status status;

    if (!frequency)
        return tg_fail_memory(err, pairs * sizeof *frequency, "the frequencies");
    for (size_t m = 0; m < pairs; m++)
        frequency[m] = tg_attn_frequency(n, layer->number, steps, m);
    status = put(w, n, layer->number, TG_DUMP_FREQUENCY, pairs, frequency, err);
    free(frequency);
    return status;
}

/* The norm that the projection's output goes through. */
static tg_status put_norm(tg_archive_writer *w, const tg_attn_layers *n, const tg_attn_layer *layer,
                          tg_err *err)
{
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
    if (!(status = put(w, n, layer->number, TG_DUMP_OUT_NORM, 0, gain, err)))
        status = put(w, n, layer->number, TG_DUMP_OUT_NORM_EPS, 0, &epsilon, err);
    free(gain);
    return status;
}

static tg_status put_weights(tg_archive_writer *w, const tg_attn_layers *n, const tg_attn_layer *layer,
                             tg_err *err)
{
    const tg_linear proj = tg_attn_layer_proj(layer);
    const tg_dump_extra matrix = proj.transposed ? TG_DUMP_W_PROJ_T : TG_DUMP_W_PROJ;
    tg_status status;

    if ((status = put(w, n, layer->number, matrix, 0, proj.w, err)) ||
        (proj.b && (status = put(w, n, layer->number, TG_DUMP_B_PROJ, 0, proj.b, err))))
        return status;
    return put_norm(w, n, layer, err);
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

static tg_status put_gradient(tg_archive_writer *w, const tg_attn_layers *n, const tg_attn_layer *layer,
                              int32_t target, tg_err *err)
{
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
    if (!status && !(status = put(w, n, layer->number, TG_DUMP_DATT, 0, p.g.datt, err)))
        status = put(w, n, layer->number, TG_DUMP_LOSS, 0, &p.g.loss, err);
    tg_arena_free(&arena);
    return status;
}

tg_status tg_extras_put_layer(tg_archive_writer *w, const tg_attn_layers *n, const tg_attn_layer *layer,
                              const tg_dump_settings *dump, tg_err *err)
{
    tg_status status = TG_OK;

    if (layer->q_steps.angles.data)
        status = put_frequency(w, n, layer, err);
    if (!status && dump->weights && n->model)
        status = put_weights(w, n, layer, err);
    if (!status && dump->gradient && n->model)
        status = put_gradient(w, n, layer, dump->target, err);
    return status;
}

/* ---- what the model predicts */

#define NEXT 10 /* tokens that are kept of each position */
#define ROWS 64 /* of logits at a time; their last digits are those of tg-eval from four rows on */

struct next {
    const tg_dump_settings *dump;
    size_t T, V, K, ids; /* only the first `ids` logits are of tokens */
    float *all;          /* [ROWS,V] */
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
    x->id = tg_arena_take(arena, kept, sizeof *x->id);
    x->logit = tg_arena_take(arena, kept, sizeof *x->logit);
    x->sum = tg_arena_take(arena, x->T, sizeof *x->sum);
    x->text = tg_arena_take(arena, kept, TG_DUMP_NEXT_TEXT_SIZE);
}

/* Keep the K largest logits of a row, the largest first; of equal ones that of the lower id. */
static void keep_largest(int64_t *id, float *logit, size_t K, const float *row, size_t ids)
{
    size_t n = 0;

    for (size_t v = 0; v < ids; v++) {
        size_t at = n;

        if (n == K && !(row[v] > logit[K - 1]))
            continue;
        while (at > 0 && row[v] > logit[at - 1])
            at--;
        n += n < K;
        memmove(logit + at + 1, logit + at, (n - 1 - at) * sizeof *logit);
        memmove(id + at + 1, id + at, (n - 1 - at) * sizeof *id);
        logit[at] = row[v];
        id[at] = (int64_t)v;
    }
}

static double log_sum_exp(const float *row, size_t V)
{
    double max = (double)row[0], sum = 0;

    for (size_t v = 0; v < V; v++)
        max = fmax(max, (double)row[v]);
    for (size_t v = 0; v < V; v++)
        sum += exp((double)row[v] - max);
    return max + log(sum);
}

static tg_status take_row(struct next *x, size_t t, const float *row, tg_err *err)
{
    int64_t *id = x->id + t * x->K;
    const size_t bad = tg_find_not_finite(row, x->V);
    char *text = x->text + t * x->K * TG_DUMP_NEXT_TEXT_SIZE;

    if (bad < x->V)
        return tg_fail(err, TG_EDATA, "position %zu: logit %zu is %g: it must be finite", t, bad,
                       (double)row[bad]);
    keep_largest(id, x->logit + t * x->K, x->K, row, x->ids);
    x->sum[t] = log_sum_exp(row, x->V);
    for (size_t k = 0; k < x->K && x->dump->text_of; k++)
        (void)x->dump->text_of(x->dump->context, text + k * TG_DUMP_NEXT_TEXT_SIZE, TG_DUMP_NEXT_TEXT_SIZE,
                               (int32_t)id[k]);
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

static tg_status put_next(tg_archive_writer *w, const tg_attn_layers *n, const struct next *x, tg_err *err)
{
    const size_t shape[] = {x->T, x->K};
    const int64_t V = (int64_t)x->V;
    tg_status status;

    if ((status = put(w, n, 0, TG_DUMP_NEXT_VOCAB, 0, &V, err)) ||
        (status = put(w, n, 0, TG_DUMP_NEXT_IDS, x->K, x->id, err)) ||
        (x->dump->text_of && (status = tg_archive_put(w, tg_dump_extra_name(TG_DUMP_NEXT_TEXT),
                                                      (tg_dtype){'S', TG_DUMP_NEXT_TEXT_SIZE}, 2, shape,
                                                      x->text, err))) ||
        (status = put(w, n, 0, TG_DUMP_NEXT_LOGITS, x->K, x->logit, err)))
        return status;
    return put(w, n, 0, TG_DUMP_NEXT_SUM, 0, x->sum, err);
}

tg_status tg_extras_put_next(tg_archive_writer *w, tg_attn_layers *n, const tg_dump_settings *dump,
                             tg_err *err)
{
    struct next x = {
        .dump = dump, .T = n->T, .V = n->model->config.vocab_size, .ids = tg_size_min(tg_tokenizer_vocab_size(n->model->tokenizer), n->model->config.vocab_size)};
    tg_arena arena = {0};
    tg_status status;

    x.K = tg_size_min(NEXT, x.ids);
    if (!tg_attn_layers_end(n))
        return tg_attn_layers_check(n, err);
    if ((status = tg_arena_build(&arena, place_next, &x, err)))
        return status;
    if (!(status = take_rows(&x, &n->infer, err)))
        status = put_next(w, n, &x, err);
    tg_arena_free(&arena);
    return status;
}
