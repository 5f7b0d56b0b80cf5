#include "lib/lens/lens.h"

#include <math.h>
#include <string.h>

#include "lib/base/finite.h"
#include "lib/base/size.h"
#include "lib/base/threads.h"
#include "lib/gpt/family.h"
#include "lib/gpt/sample.h"

/* Bytes of the last layer's probabilities, unless that is fewer rows than ROWS_MIN. */
#define PROBABILITIES_MAX ((size_t)80 << 20)
#define ROWS_MIN ((size_t)4) /* from so many on, the last digits are those of longer blocks */

/* ---- set-up */

/* Which positions have rows. */
static size_t first_position(const tg_lens *n)
{
    return n->plan.position == TG_LENS_ALL ? 0 : n->plan.position;
}

static size_t end_position(const tg_lens *n)
{
    return n->plan.position == TG_LENS_ALL ? n->T : n->plan.position + 1;
}

static bool keeps(const tg_lens *n, size_t layer)
{
    return n->plan.layer == TG_LENS_ALL || n->plan.layer == layer;
}

/* The positions of a block: as many as memory allows, which makes the head's product faster, in blocks of
 * about the same size. */
static size_t block_of(const tg_lens *n)
{
    const size_t rows = tg_size_max(PROBABILITIES_MAX / (n->V * sizeof *n->p_last), ROWS_MIN);
    const size_t most = tg_size_min(n->T, tg_size_min(rows, tg_pass_logits_rows(&n->pass)));

    return tg_size_min(n->T, tg_size_max(tg_ceil_div(n->T, tg_ceil_div(n->T, most)), ROWS_MIN));
}

static void place_lens(tg_arena *arena, void *context)
{
    tg_lens *n = context;
    size_t places, block;

    tg_pass_place(arena, &n->pass, n->model, &(tg_pass_size){.B = 1, .T = n->T});
    n->block = block = block_of(n);
    places = tg_size_mul_sat(block, n->L + 1);
    n->stream = tg_arena_take_rows(arena, tg_size_mul_sat(n->L + 1, n->T), n->C, sizeof *n->stream);
    n->p_last = tg_arena_take_rows(arena, block, n->V, sizeof *n->p_last);
    n->rows = tg_arena_take(arena, places, sizeof *n->rows);
    n->top = tg_arena_take_rows(arena, places, n->plan.top, sizeof *n->top);
    n->top_logits = tg_arena_take_rows(arena, places, n->plan.top, sizeof *n->top_logits);
}

static tg_status check_plan(const tg_lens *n, tg_err *err)
{
    const tg_lens_plan *p = &n->plan;

    if (p->layer != TG_LENS_ALL && p->layer > n->L)
        return tg_fail(err, TG_EUSAGE, "layer %zu is out of range: expected 0 to %zu", p->layer, n->L);
    if (p->position != TG_LENS_ALL && p->position >= n->T)
        return tg_fail(err, TG_EUSAGE, "position %zu is out of range: expected 0 to %zu", p->position,
                       n->T - 1);
    return TG_OK;
}

tg_status tg_lens_open(tg_lens *n, const tg_model *model, size_t T, const tg_lens_plan *plan, tg_err *err)
{
    const tg_config *c = &model->config;
    tg_status status;

    *n = (tg_lens){.model = model,
                   .plan = *plan,
                   .L = c->n_layer,
                   .T = T,
                   .C = c->n_embd,
                   .V = c->vocab_size,
                   .ids = tg_size_min(tg_tokenizer_vocab_size(model->tokenizer), c->vocab_size)};
    if ((status = check_plan(n, err)))
        return status;
    return tg_arena_build(&n->arena, place_lens, n, err);
}

void tg_lens_close(tg_lens *n)
{
    tg_arena_free(&n->arena);
}

/* ---- the residual stream */

static float *stream_of(const tg_lens *n, size_t layer, size_t t)
{
    return n->stream + (layer * n->T + t) * n->C;
}

static void keep(const tg_lens *n, size_t layer, tg_matrix x)
{
    for (size_t t = 0; t < n->T; t++)
        memcpy(stream_of(n, layer, t), tg_floats(x) + t * x.ld, n->C * sizeof(float));
}

/* A tap. */
static bool keep_output(void *context, tg_acts *a, size_t layer, size_t row)
{
    const tg_lens *n = context;

    if (a->family->act[row].next)
        keep(n, layer + 1, tg_acts_row(a, layer, row));
    return true;
}

static void run_model(tg_lens *n, const int32_t *ids)
{
    tg_acts *a = &n->pass.acts;

    tg_pass_begin(&n->pass, ids);
    keep(n, 0, tg_acts_row(a, 0, TG_ACT_X));
    (void)tg_pass_layers(&n->pass, 0, tg_layers_end(a), &(tg_tap){keep_output, n});
}

/* ---- a block of positions */

/* The positions first .. first + n->block - 1 after some layer. */
struct block {
    tg_lens *lens;
    size_t first, layer;
    const float *logits; /* [block,V] */
};

static const float *logits_of(tg_lens *n, size_t layer, size_t first)
{
    return tg_pass_logits(&n->pass, tg_matrix_of(stream_of(n, layer, first), TG_TYPE_FLOAT, n->C), n->block);
}

static void score_rows(void *context, size_t begin, size_t end)
{
    const struct block *b = context;
    const tg_lens *n = b->lens;
    const size_t K = n->plan.top;

    for (size_t r = begin; r < end; r++) {
        const float *x = b->logits + r * n->V;
        const size_t t = b->first + r, at = r * (n->L + 1) + b->layer;
        const tg_lens_row *last = &n->rows[r * (n->L + 1) + n->L];
        double *p_last = n->p_last + r * n->V;
        tg_lens_row *row = &n->rows[at];

        *row = (tg_lens_row){.position = t,
                             .layer = b->layer,
                             .target = n->plan.targets[t],
                             .top = n->top + at * K,
                             .top_logits = n->top_logits + at * K,
                             .p_last = p_last};
        row->score = tg_score_row(x, n->V, n->ids, row->target);
        if (b->layer == n->L)
            tg_score_probs(p_last, &row->score, x, n->V);
        else
            row->kl = tg_score_divergence(p_last, last->score.entropy, &row->score, x, n->V);
        row->logit = row->target < 0 ? 0 : x[row->target];
        if (K > 0)
            tg_top_ids(n->top + at * K, K, x, n->ids);
        for (size_t k = 0; k < K; k++)
            n->top_logits[at * K + k] = x[row->top[k]];
    }
}

/* A logit that is not finite makes its row's entropy so. */
static tg_status check_finite(const struct block *b, tg_err *err)
{
    const tg_lens *n = b->lens;

    for (size_t r = 0; r < n->block; r++) {
        const float *x = b->logits + r * n->V;
        size_t bad;

        if (isfinite(n->rows[r * (n->L + 1) + b->layer].score.entropy))
            continue;
        bad = tg_find_not_finite(x, n->V);
        return tg_fail(err, TG_EDATA, "position %zu after layer %zu: logit %zu is %g: it must be finite",
                       b->first + r, b->layer, bad, (double)x[bad]);
    }
    return TG_OK;
}

static tg_status run_layer(tg_lens *n, size_t first, size_t layer, tg_err *err)
{
    const struct block b = {.lens = n, .first = first, .layer = layer, .logits = logits_of(n, layer, first)};

    tg_threads_run(n->block, tg_threads_grain(n->V, 1), score_rows, (void *)&b);
    return check_finite(&b, err);
}

/* The last layer comes first: the others are compared with it. */
static tg_status run_block(tg_lens *n, size_t first, tg_err *err)
{
    tg_status status = run_layer(n, first, n->L, err);

    for (size_t l = 0; l < n->L && !status; l++)
        if (keeps(n, l))
            status = run_layer(n, first, l, err);
    return tg_model_check_lent(n->model, err) ? err->code : status;
}

static tg_status give_rows(const tg_lens *n, size_t r, size_t count, tg_lens_take take, void *context,
                           tg_err *err)
{
    tg_status status = TG_OK;

    for (; count > 0 && !status; r++, count--)
        for (size_t l = 0; l <= n->L && !status; l++)
            if (keeps(n, l))
                status = take(context, &n->rows[r * (n->L + 1) + l], err);
    return status;
}

tg_status tg_lens_run(tg_lens *n, const int32_t *ids, tg_lens_take take, void *context, tg_err *err)
{
    const size_t end = end_position(n);
    tg_status status = TG_OK;

    run_model(n, ids);
    /* Blocks are whole, for the same last digits everywhere: the last one begins before the end of the one
     * before it. */
    for (size_t t = first_position(n), count; t < end && !status; t += count) {
        const size_t first = tg_size_min(t, n->T - n->block);

        count = tg_size_min(first + n->block, end) - t;
        if (!(status = run_block(n, first, err)))
            status = give_rows(n, t - first, count, take, context, err);
        (void)tg_watch_report(n->plan.watch, (double)(t + count) / (double)n->T);
    }
    return status;
}
