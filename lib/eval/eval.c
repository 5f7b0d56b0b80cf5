#include "lib/eval/eval.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/object.h"
#include "lib/base/size.h"
#include "lib/base/threads.h"
#include "lib/gpt/sample.h"
#include "lib/text/decoder.h"
#include "lib/text/ids.h"

#define ROWS 1024 /* inputs per batch of windows, unless a window has more: enough for efficient products */

/* ---- set-up */

/* What the members of a team send each other of a batch of windows. */
struct scored_row {
    tg_score score;
    int32_t input, target;
};

struct scored {
    size_t windows, n;
    struct scored_row row[]; /* [n] */
};

static void place_eval(tg_arena *arena, void *context)
{
    tg_eval *e = context;
    const size_t T = e->plan.context, B = tg_size_max(ROWS / T, 1);
    size_t rows;

    tg_tokens_windows_place(arena, &e->windows, T, e->plan.stride, B);
    e->windows.open_end = e->plan.every_row;
    e->windows.by_document = true;
    tg_pass_place(arena, &e->pass, e->model, &(tg_pass_size){.B = B, .T = T});
    rows = tg_pass_logits_rows(&e->pass);
    e->rows = tg_arena_take(arena, rows, sizeof *e->rows);
    e->top = tg_arena_take_rows(arena, rows, e->plan.top, sizeof *e->top);
    tg_tokens_window_map_place(
        arena, &e->map, e->plan.team,
        tg_size_add_sat(sizeof(struct scored), tg_size_mul_sat(B * T, sizeof(struct scored_row))));
}

tg_status tg_eval_open(tg_eval *e, const tg_model *model, const tg_eval_plan *plan, tg_err *err)
{
    *e = (tg_eval){.model = model, .plan = *plan};
    return tg_arena_build(&e->arena, place_eval, e, err);
}

void tg_eval_close(tg_eval *e)
{
    tg_arena_free(&e->arena);
}

/* ---- bytes */

size_t tg_eval_token_bytes(const tg_tokenizer *tok, int32_t before, int32_t id)
{
    const uint32_t *specials;
    const size_t count = tg_tokenizer_specials(tok, &specials);
    size_t n;

    if (!tg_tokenizer_has_text(tok) || tg_ids_contain(specials, count, (size_t)id))
        return 0;
    (void)tg_decoder_text(tok, before, id, &n);
    return n;
}

/* ---- a block of rows */

struct scoring {
    tg_eval *e;
    const float *logits;
    const int32_t *inputs, *targets;
};

static void score_some(void *context, size_t begin, size_t end)
{
    const struct scoring *s = context;
    tg_eval *e = s->e;
    const size_t V = e->model->config.vocab_size, ids = tg_tokenizer_vocab_size(e->model->tokenizer);
    const size_t K = e->plan.top;

    for (size_t i = begin; i < end; i++) {
        const float *row = s->logits + i * V;

        e->rows[i] = (tg_eval_row){.input = s->inputs[i],
                                   .target = s->targets[i],
                                   .score = tg_score_row(row, V, ids, s->targets[i]),
                                   .top = e->top + i * K,
                                   .logits = row};
        if (K > 0)
            tg_top_ids(e->top + i * K, K, row, ids);
    }
}

static bool is_finite(const tg_score *score)
{
    return isfinite(score->entropy) && isfinite(score->log_prob);
}

/* Add the next row of a text, and say that it is no longer at its start. */
static tg_status add_row(tg_eval *e, const struct scored_row *row, bool *start, tg_err *err)
{
    const int32_t before = *start && e->windows.prefix >= 0 ? -1 : row->input; /* a prefix is no part of it */
    tg_eval_sums *sums = &e->sums;

    if (!is_finite(&row->score))
        return tg_fail(err, TG_EDATA, "the logits of token %llu are not finite",
                       (unsigned long long)sums->scored);
    *start = false;
    if (row->target < 0)
        return TG_OK;
    sums->scored++;
    sums->bytes += tg_eval_token_bytes(e->model->tokenizer, before, row->target);
    sums->right += row->score.rank == 0;
    sums->log_prob += row->score.log_prob;
    sums->entropy += row->score.entropy;
    return TG_OK;
}

/* ---- a batch of windows */

struct run {
    tg_eval *e;
    tg_eval_take *take;
    void *context;
    bool start;  /* no row has been added */
    bool finite; /* all scores so far: nobody takes the others, and add_row() fails */
};

static void run_pass(tg_pass *p, const tg_tokens_window_batch *w)
{
    p->acts.B = w->B;
    p->acts.T = w->T;
    tg_pass_begin(p, w->inputs);
    (void)tg_pass_layers(p, 0, tg_layers_end(&p->acts), NULL);
}

/* Rows first .. end - 1 of the batch. */
static tg_status take_rows(struct run *r, const tg_tokens_window_batch *w, size_t first, size_t end,
                           struct scored *scored, tg_err *err)
{
    tg_eval *e = r->e;
    const size_t block = tg_pass_logits_rows(&e->pass);
    tg_status status = TG_OK;

    for (size_t at = first, n; !status && at < end; at += n) {
        const float *logits;

        n = tg_size_min(block, end - at);
        logits = tg_pass_logits(&e->pass, tg_matrix_from(e->pass.acts.x, at), n);
        tg_threads_run(n, tg_threads_grain(e->model->config.vocab_size, 1), score_some,
                       &(struct scoring){e, logits, w->inputs + at, w->targets + at});
        for (size_t i = 0; i < n; i++) {
            scored->row[scored->n++] =
                (struct scored_row){e->rows[i].score, e->rows[i].input, e->rows[i].target};
            r->finite = r->finite && is_finite(&e->rows[i].score);
        }
        if (r->take && r->finite)
            status = r->take(r->context, e->rows, n, err);
    }
    return status;
}

/* The rows of each window that no earlier window had.  Without overlap they are adjacent. */
static tg_status compute(void *context, const tg_tokens_window_batch *w, void *results, tg_err *err)
{
    struct run *r = context;
    struct scored *scored = results;
    tg_status status = TG_OK;

    *scored = (struct scored){.windows = w->B};
    run_pass(&r->e->pass, w);
    if (w->seen == 0)
        return take_rows(r, w, 0, w->B * w->T, scored, err);
    for (size_t b = 0; !status && b < w->B; b++)
        status = take_rows(r, w, b * w->T + (b == 0 ? w->seen_first : w->seen), (b + 1) * w->T, scored, err);
    return status;
}

static tg_status add(void *context, const void *results, tg_err *err)
{
    struct run *r = context;
    const struct scored *scored = results;
    tg_status status = TG_OK;

    r->e->sums.windows += scored->windows;
    for (size_t i = 0; !status && i < scored->n; i++)
        status = add_row(r->e, &scored->row[i], &r->start, err);
    return status || !r->take ? status : r->take(r->context, NULL, 0, err);
}

/* ---- a text */

tg_status tg_eval_run(tg_eval *e, tg_tokens_stream *stream, tg_eval_take *take, void *context, tg_err *err)
{
    struct run run = {e, take, context, true, true};
    const uint64_t before = stream->count;
    tg_status status;

    tg_tokens_windows_begin(&e->windows, stream, e->plan.prefix);
    status =
        tg_tokens_window_map_run(&e->map, &e->windows, &(tg_tokens_window_work){compute, add, &run}, err);
    e->sums.tokens += stream->count - before;
    if (status || (e->plan.every_row && e->windows.count > 0) || before > 0 ||
        tg_tokens_stream_goes_on(stream))
        return status;
    return tg_tokens_windows_check_any(&e->windows, err);
}

double tg_eval_loss(const tg_eval_sums *sums)
{
    return sums->scored > 0 ? -sums->log_prob / (double)sums->scored : nan("");
}

double tg_eval_perplexity(const tg_eval_sums *sums)
{
    return exp(tg_eval_loss(sums));
}

double tg_eval_bits_per_byte(const tg_eval_sums *sums)
{
    return sums->bytes > 0 ? -sums->log_prob / (double)sums->bytes / log(2) : nan("");
}

/* ---- for programs (lib/tg/eval.h) */

tg_status tg_eval_new(tg_eval **e, const tg_model *model, const tg_eval_plan *plan, tg_err *err)
{
    const size_t ids = tg_tokenizer_vocab_size(model->tokenizer);

    *e = NULL;
    if (plan->context < 1 || plan->context > model->config.n_ctx || plan->stride < 1 ||
        plan->stride > plan->context || plan->top > ids || plan->prefix < -1 || plan->prefix >= (int32_t)ids)
        return tg_fail(
            err, TG_EUSAGE,
            "a plan of context %zu, stride %zu, top %zu, prefix %d: expected a context of 1 to %zu, a "
            "stride of 1 to that, at most %zu, and a token or -1",
            plan->context, plan->stride, plan->top, plan->prefix, model->config.n_ctx, ids);
    *e = tg_object_new(sizeof **e, "an evaluation", err);
    return *e ? tg_object_begun(e, tg_eval_open(*e, model, plan, err)) : TG_ENOMEM;
}

void tg_eval_destroy(tg_eval *e)
{
    if (e)
        tg_eval_close(e);
    free(e);
}

tg_eval_sums tg_eval_result(const tg_eval *e)
{
    return e->sums;
}
