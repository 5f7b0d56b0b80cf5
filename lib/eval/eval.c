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
}

tg_status tg_eval_open(tg_eval *e, const tg_model *model, const tg_eval_plan *plan, tg_err *err)
{
    *e = (tg_eval){.model = model, .plan = *plan, .threads = tg_threads()};
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

static tg_status add_rows(tg_eval *e, size_t n, tg_err *err)
{
    tg_eval_sums *sums = &e->sums;

    for (size_t i = 0; i < n; i++) {
        const tg_eval_row *row = &e->rows[i];

        if (!isfinite(row->score.entropy) || !isfinite(row->score.log_prob))
            return tg_fail(err, TG_EDATA, "the logits of token %llu are not finite",
                           (unsigned long long)sums->scored);
        if (row->target < 0)
            continue;
        sums->scored++;
        sums->bytes += tg_eval_token_bytes(e->model->tokenizer, row->target);
        sums->right += row->score.rank == 1;
        sums->log_prob += row->score.log_prob;
        sums->entropy += row->score.entropy;
    }
    return TG_OK;
}

/* ---- a batch of windows */

static void run_pass(tg_pass *p, const tg_window_batch *w)
{
    p->acts.B = w->B;
    p->acts.T = w->T;
    tg_pass_begin(p, w->inputs);
    for (size_t l = 0; l < p->acts.L; l++) {
        tg_pass_attend(p, l);
        tg_pass_finish_block(p, l);
    }
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
        status = add_rows(e, n, err);
        if (!status && take)
            status = take(context, e->rows, n, err);
    }
    return status;
}

/* The rows of each window that no earlier window had.  Without overlap they are adjacent. */
static tg_status take_windows(tg_eval *e, const tg_window_batch *w, tg_eval_take *take, void *context,
                              tg_err *err)
{
    tg_status status = TG_OK;

    e->sums.windows += w->B;
    if (w->seen == 0)
        return take_rows(e, w, 0, w->B * w->T, take, context, err);
    for (size_t b = 0; !status && b < w->B; b++)
        status = take_rows(e, w, b * w->T + (b == 0 ? w->seen_first : w->seen), (b + 1) * w->T, take, context,
                           err);
    return status;
}

/* ---- a text */

tg_status tg_eval_run(tg_eval *e, tg_stream *stream, tg_eval_take *take, void *context, tg_err *err)
{
    tg_window_batch batch;
    tg_status status;

    tg_windows_begin(&e->windows, stream, e->plan.prefix);
    while (!(status = tg_windows_next(&e->windows, &batch, err)) && batch.B > 0) {
        run_pass(&e->pass, &batch);
        if ((status = take_windows(e, &batch, take, context, err)))
            return status;
    }
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
