#include "lib/eval/eval.h"

#include <math.h>

#include "lib/base/size.h"
#include "lib/base/threads.h"
#include "lib/gpt/sample.h"

#define ROWS 1024 /* inputs per batch of windows, unless a window has more: enough for efficient products */

/* ---- set-up */

struct placement {
    tg_eval *e;
    const tg_model *model;
};

static size_t batch_windows(size_t T)
{
    return tg_size_max(ROWS / T, 1);
}

static void place(tg_arena *arena, void *context)
{
    const struct placement *p = context;
    tg_eval *e = p->e;
    const size_t T = e->plan.context, B = batch_windows(T),
                 ids = tg_tokenizer_vocab_size(p->model->tokenizer);
    size_t rows;

    tg_windows_place(arena, &e->windows, T, e->plan.stride, B);
    e->windows.open_end = e->plan.every_row;
    tg_pass_place(arena, &e->pass, p->model, &(tg_pass_size){.B = B, .T = T});
    rows = tg_pass_logits_rows(&e->pass);
    e->rows = tg_arena_take(arena, rows, sizeof *e->rows);
    e->top = tg_arena_take_rows(arena, rows, e->plan.top, sizeof *e->top);
    e->order = tg_arena_take_rows(arena, e->plan.top > 0 ? e->threads : 0, ids, sizeof *e->order);
    e->told_rows = B * T;
    if (e->plan.team->size > 1)
        e->told = tg_arena_take_rows(arena, e->plan.team->size, 1 + e->told_rows, sizeof *e->told);
}

tg_status tg_eval_open(tg_eval *e, const tg_model *model, const tg_eval_plan *plan, tg_err *err)
{
    *e = (tg_eval){.model = model, .plan = *plan, .threads = tg_threads()};
    if (!plan->team)
        e->plan.team = &tg_team_alone;
    return tg_arena_build(&e->arena, place, &(struct placement){e, model}, err);
}

void tg_eval_close(tg_eval *e)
{
    tg_arena_free(&e->arena);
}

/* ---- bytes */

/* Whether `id` is among ids [n], which are ascending. */
static bool contains(const uint32_t *ids, size_t n, uint32_t id)
{
    size_t low = 0;

    while (low < n) {
        const size_t middle = low + (n - low) / 2;

        if (ids[middle] == id)
            return true;
        if (ids[middle] < id)
            low = middle + 1;
        else
            n = middle;
    }
    return false;
}

size_t tg_eval_token_bytes(const tg_tokenizer *tok, int32_t id)
{
    const uint32_t *specials;
    const size_t count = tg_tokenizer_specials(tok, &specials);
    size_t n;

    if (!tg_tokenizer_has_text(tok) || contains(specials, count, (uint32_t)id))
        return 0;
    (void)tg_tokenizer_token(tok, id, &n);
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
            tg_top_ids(e->top + i * K, K, row, e->order + tg_threads_self() * ids, ids);
    }
}

/* Score rows [n] of consecutive inputs, whose logits [n,V] are there. */
static void score_rows(tg_eval *e, const float *logits, const int32_t *inputs, const int32_t *targets,
                       size_t n)
{
    tg_threads_run_on(e->threads, n, tg_threads_grain(e->model->config.vocab_size, 1), score_some,
                      &(struct scoring){e, logits, inputs, targets});
}

static tg_status add_row(tg_eval *e, const tg_score *score, int32_t target, tg_err *err)
{
    tg_eval_sums *sums = &e->sums;

    if (!isfinite(score->entropy) || !isfinite(score->log_prob))
        return tg_fail(err, TG_EDATA, "the logits of token %llu are not finite",
                       (unsigned long long)sums->scored);
    if (target < 0)
        return TG_OK;
    sums->scored++;
    sums->bytes += tg_eval_token_bytes(e->model->tokenizer, target);
    sums->right += score->rank == 1;
    sums->log_prob += score->log_prob;
    sums->entropy += score->entropy;
    return TG_OK;
}

static tg_status add_rows(tg_eval *e, size_t n, tg_err *err)
{
    tg_status status = TG_OK;

    for (size_t i = 0; !status && i < n; i++)
        status = add_row(e, &e->rows[i].score, e->rows[i].target, err);
    return status;
}

/* What a member has told, after the number of its rows. */
static tg_eval_told *told_by(const tg_eval *e, size_t member)
{
    return e->told + member * (1 + e->told_rows);
}

/* In a team rows are told, and added up later. */
static void tell_rows(tg_eval *e, size_t n)
{
    tg_eval_told *told = told_by(e, e->plan.team->rank) + 1;

    for (size_t i = 0; i < n; i++)
        told[e->told_n++] = (tg_eval_told){e->rows[i].score, e->rows[i].target};
}

/* ---- a batch of windows */

static void run_pass(tg_pass *p, const tg_window_batch *w)
{
    p->acts.B = w->B;
    p->acts.T = w->T;
    tg_pass_begin(p, w->inputs);
    (void)tg_pass_layers(p, 0, tg_layers_end(&p->acts), NULL);
}

/* Rows first .. end - 1 of the batch. */
static tg_status take_rows(tg_eval *e, const tg_window_batch *w, size_t first, size_t end, tg_eval_take *take,
                           void *context, tg_err *err)
{
    const size_t block = tg_pass_logits_rows(&e->pass);
    tg_status status = TG_OK;

    for (size_t r = first, n; !status && r < end; r += n) {
        n = tg_size_min(block, end - r);
        score_rows(e, tg_pass_logits(&e->pass, r, n), w->inputs + r, w->targets + r, n);
        if (e->told)
            tell_rows(e, n);
        else if (!(status = add_rows(e, n, err)) && take)
            status = take(context, e->rows, n, err);
    }
    return status;
}

/* The rows of each window that no earlier window had.  Without overlap they are adjacent. */
static tg_status take_windows(tg_eval *e, const tg_window_batch *w, tg_eval_take *take, void *context,
                              tg_err *err)
{
    tg_status status = TG_OK;

    if (w->seen == 0)
        return take_rows(e, w, 0, w->B * w->T, take, context, err);
    for (size_t b = 0; !status && b < w->B; b++)
        status = take_rows(e, w, b * w->T + (b == 0 ? w->seen_first : w->seen), (b + 1) * w->T, take, context,
                           err);
    return status;
}

/* ---- a text, in a team */

/* Read a batch for each member, and compute one's own. */
static tg_status compute_round(tg_eval *e, bool *ended, tg_err *err)
{
    const tg_team *team = e->plan.team;
    tg_window_batch batch;
    tg_status status;

    for (size_t member = 0; member < team->size && !*ended; member++) {
        if ((status = tg_windows_next(&e->windows, &batch, err)))
            return status;
        e->sums.windows += batch.B;
        *ended = batch.B == 0;
        if (member != team->rank || *ended)
            continue;
        run_pass(&e->pass, &batch);
        if ((status = take_windows(e, &batch, NULL, NULL, err)))
            return status;
    }
    return TG_OK;
}

/* Add up what all have told, in order. */
static tg_status add_round(tg_eval *e, tg_err *err)
{
    tg_status status = TG_OK;

    for (size_t member = 0; member < e->plan.team->size; member++) {
        const tg_eval_told *told = told_by(e, member);

        if (told->score.rank != TG_OK)
            return tg_fail(err, (tg_status)told->score.rank, "process %zu failed", member);
        for (int64_t i = 1; !status && i <= told->target; i++)
            status = add_row(e, &told[i].score, (int32_t)told[i].target, err);
    }
    return status;
}

static tg_status run_in_team(tg_eval *e, tg_eval_take *take, void *context, tg_err *err)
{
    const tg_team *team = e->plan.team;
    bool ended = false;
    tg_status status = TG_OK;

    while (!status && !ended) {
        e->told_n = 0;
        status = compute_round(e, &ended, err);
        *told_by(e, team->rank) = (tg_eval_told){.score.rank = (size_t)status, .target = (int64_t)e->told_n};
        tg_team_share_even(team, e->told, (1 + e->told_rows) * sizeof *e->told);
        if (!status && !(status = add_round(e, err)) && take)
            status = take(context, NULL, 0, err);
    }
    return status;
}

/* ---- a text */

static tg_status run_alone(tg_eval *e, tg_eval_take *take, void *context, tg_err *err)
{
    tg_window_batch batch;
    tg_status status;

    while (!(status = tg_windows_next(&e->windows, &batch, err)) && batch.B > 0) {
        e->sums.windows += batch.B;
        run_pass(&e->pass, &batch);
        if ((status = take_windows(e, &batch, take, context, err)))
            return status;
    }
    return status;
}

tg_status tg_eval_run(tg_eval *e, tg_stream *stream, tg_eval_take *take, void *context, tg_err *err)
{
    tg_status status;

    tg_windows_begin(&e->windows, stream, e->plan.prefix);
    status = e->told ? run_in_team(e, take, context, err) : run_alone(e, take, context, err);
    e->sums.tokens += stream->count;
    if (status || (e->plan.every_row && e->windows.count > 0))
        return status;
    return tg_windows_check_any(&e->windows, err);
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
