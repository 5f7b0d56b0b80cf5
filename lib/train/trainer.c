#include "lib/train/trainer.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "lib/base/size.h"

/* List the blocks of the gradient's norm by their owners. */
static void order_blocks(tg_trainer *t, size_t members)
{
    size_t n = 0;

    for (size_t member = 0; member < members; member++) {
        for (size_t i = 0; i < t->partition.n; i++) {
            const tg_segment *s = &t->partition.segment[i];

            for (size_t at = s->begin; s->owner == member && at < s->end; at += tg_adamw_block())
                t->square_block[n++] = at / tg_adamw_block();
        }
        t->first_square[member + 1] = n;
    }
}

/* What a member needs for the others. */
static void place_team(tg_arena *arena, tg_trainer *t, const tg_team *team, const tg_params *table)
{
    const size_t blocks = tg_adamw_work(table);

    tg_partition_place(arena, &t->partition, table, team);
    tg_reduction_place(arena, &t->reduction, team, &t->partition, &t->sum);
    t->part = tg_arena_take(arena, t->reduction.n, sizeof *t->part);
    t->square = tg_arena_take(arena, blocks, sizeof *t->square);
    t->square_block = tg_arena_take(arena, blocks, sizeof *t->square_block);
    t->first_square = tg_arena_take(arena, team->size + 1, sizeof *t->first_square);
    if (t->part)
        order_blocks(t, team->size);
}

static void place_trainer(tg_arena *arena, void *context)
{
    tg_trainer *t = context;
    const size_t B = t->run->settings.batch, T = t->batches->T, passes = t->run->settings.accumulate;
    const tg_params *table = tg_model_trained(&t->run->model);

    tg_team_range(t->team, passes, &t->first_pass, &t->end_pass);
    tg_pass_place(arena, &t->pass, &t->run->model,
                  &(tg_pass_size){.B = B,
                                  .T = T,
                                  .gradients = true,
                                  .recompute = t->run->recompute,
                                  .precision = t->run->settings.precision});
    tg_tree_sum_place(arena, &t->sum, table->floats, passes, t->first_pass, t->end_pass);
    t->norm_work = tg_arena_take(arena, tg_adamw_work(table), sizeof(double));
    if (t->team->size > 1)
        place_team(arena, t, t->team, table);
    tg_optimizer_place(arena, &t->optimizer, &t->run->settings, table, &t->run->model.config, t->team);
    t->val_losses = tg_arena_take(arena, tg_ceil_div(t->batches->val_windows, B), sizeof *t->val_losses);
    t->windows.ids = tg_arena_take_rows(arena, B, T, sizeof(int32_t));
    t->windows.targets = tg_arena_take_rows(arena, B, T, sizeof(int32_t));
    t->windows.positions = tg_arena_take_rows(arena, B, T, sizeof(int32_t));
    t->pass.acts.positions = t->windows.positions;
}

size_t tg_trainer_bytes(const tg_run *run, const tg_batches *batches, const tg_team *team)
{
    tg_trainer t = {.run = (tg_run *)run, .batches = batches, .team = team}; /* *run is only read */

    place_trainer(&t.arena, &t);
    return t.arena.used;
}

tg_status tg_trainer_open(tg_trainer *t, tg_run *run, const tg_batches *batches, const tg_team *team,
                          tg_err *err)
{
    assert((run->settings.master == TG_PRECISION_BF16) == (run->model.halves != NULL)); /* tg_run_prepare() */
    assert(run->settings.average == 0 || run->average.mean);
    *t = (tg_trainer){.run = run, .batches = batches, .team = team};
    if (run->settings.first_context > 0)
        t->first = tg_batches_shorter(batches, run->settings.first_context);
    tg_model_renew(&run->model, run->step);
    return tg_arena_build(&t->arena, place_trainer, t, err);
}

void tg_trainer_close(tg_trainer *t)
{
    tg_arena_free(&t->arena);
}

/* The parameters that stay as they are follow the others. */
static void spread_frozen(const tg_trainer *t)
{
    const tg_model *m = &t->run->model;
    const tg_flat all = tg_model_trained_values(m);

    if (m->trained.n > 0)
        tg_team_spread(t->team, tg_flat_at(all, m->trained.floats),
                       (m->table.floats - m->trained.floats) * tg_flat_each(all));
}

static void send_mean(const tg_trainer *t, tg_route route)
{
    const tg_run *run = t->run;

    if (tg_average_is_unfinished(&run->settings, run->step))
        tg_partition_send(&t->partition, (tg_flat){.floats = run->average.mean}, route);
}

void tg_trainer_deal(tg_trainer *t)
{
    if (t->team->size == 1)
        return;
    spread_frozen(t);
    tg_partition_send(&t->partition, tg_model_trained_values(&t->run->model), TG_DEAL);
    tg_partition_send(&t->partition, tg_model_trained_values(&t->run->model), TG_SPREAD);
    tg_model_renew(&t->run->model, t->run->step);
    tg_partition_send(&t->partition, t->run->moments.m, TG_DEAL);
    tg_partition_send(tg_optimizer_with_v(&t->optimizer, &t->partition), t->run->moments.v, TG_DEAL);
    send_mean(t, TG_DEAL);
}

void tg_trainer_collect(tg_trainer *t)
{
    if (t->team->size == 1)
        return;
    tg_partition_send(&t->partition, t->run->moments.m, TG_COLLECT);
    tg_partition_send(tg_optimizer_with_v(&t->optimizer, &t->partition), t->run->moments.v, TG_COLLECT);
    send_mean(t, TG_COLLECT);
}

/* ---- what watches */

/* The passes of a step or an evaluation are equally long. */
static bool report_pass(void *context, double fraction)
{
    const tg_trainer *t = context;

    return tg_watch_report(t->watch, ((double)t->passes_done + fraction) / (double)t->passes);
}

static void begin_passes(tg_trainer *t, size_t passes)
{
    t->passes = passes;
    t->passes_done = 0;
    t->pass_watch = (tg_watch){report_pass, t};
    t->pass.watch = &t->pass_watch; /* here, because the trainer may have been moved */
    t->pass.abandoned = false;
}

/* ---- a step */

/* Windows of T tokens, as many as a pass has. */
static const tg_batches *use_context(tg_trainer *t, size_t T)
{
    t->pass.acts.T = T;
    t->pass.acts.B = t->run->settings.batch * t->batches->T / T;
    return T == t->batches->T ? t->batches : &t->first;
}

/* The tokens of a step for each that it predicts: 1, unless the text has a loss mask. */
static double weight_of_passes(const tg_trainer *t)
{
    const tg_settings *s = &t->run->settings;
    const size_t windows = s->batch * s->accumulate;
    const size_t targets = tg_batches_train_targets(t->batches, (uint64_t)t->run->step * windows, windows);

    return (double)(windows * t->batches->T) / (double)targets;
}

/* Run pass `pass` of the step, in windows of T tokens: add its gradient to grads; returns its mean loss,
 * weighted, so that the mean over all passes is the step's. */
static double run_windows(tg_trainer *t, size_t T, size_t pass, float *grads)
{
    const tg_settings *s = &t->run->settings;
    const tg_batches *b = use_context(t, T);
    const uint64_t number = (uint64_t)t->run->step * s->accumulate + pass;
    const float scale = (float)(t->weight / (double)s->accumulate);

    tg_batches_train(b, &t->windows, number * t->pass.acts.B, t->pass.acts.B);
    t->pass.acts.dropout = (float)s->dropout;
    t->pass.acts.rng = (tg_rng){.seed = s->seed, .step = number};
    return tg_pass_run(&t->pass, t->windows.ids, t->windows.targets, grads, scale) * t->weight;
}

static double run_pass(tg_trainer *t, size_t pass, float *grads)
{
    return run_windows(t, tg_settings_context(&t->run->settings, t->run->step), pass, grads);
}

void tg_trainer_try(tg_trainer *t, size_t T)
{
    t->pass.watch = NULL; /* it is no part of a step */
    t->pass.abandoned = false;
    t->weight = 1;
    t->sum.n = 0;
    (void)run_windows(t, T, t->first_pass, tg_tree_sum_next(&t->sum));
}

/* In the last pass of a team's member the gradients go to their owners as they become final. */
static void send_final(void *context, size_t first)
{
    tg_trainer *t = context;

    t->team->ready(t->team, tg_partition_from(&t->partition, first));
}

static void run_last_of_member(tg_trainer *t, size_t pass)
{
    float *grads = tg_tree_sum_next(&t->sum);
    tg_tree_part *part = &t->sum.part[t->sum.n];

    tg_tree_sum_append(&t->sum, pass, pass + 1, 0);
    t->pass.final_from = send_final;
    t->pass.final_context = t;
    part->loss = run_pass(t, pass, grads);
    t->pass.final_from = NULL;
}

/* Add the gradients of this process's passes.  False: abandoned. */
static bool run_passes(tg_trainer *t)
{
    const bool alone = t->team->size == 1;

    begin_passes(t, t->end_pass - t->first_pass);
    t->weight = weight_of_passes(t);
    t->sum.n = 0;
    for (size_t i = t->first_pass; i < t->end_pass; i++) {
        if (!alone && i + 1 == t->end_pass)
            run_last_of_member(t, i);
        else
            tg_tree_sum_push(&t->sum, i, i + 1, run_pass(t, i, tg_tree_sum_next(&t->sum)));
        if (t->pass.abandoned)
            return false;
        t->passes_done++;
    }
    return true;
}

/* ---- a step of a team */

/* Send the others the losses of this member's parts and the sums of squares of the blocks that it owns, and
 * get theirs: *loss, and t->norm_work.  Returns whether a member has abandoned the step. */
static bool gather_results(tg_trainer *t, bool abandoned, double *loss)
{
    const size_t rank = t->team->rank, size = t->team->size;
    tg_part_result *own = t->part + t->reduction.first[rank];

    for (size_t i = 0; i < t->reduction.own_n; i++)
        own[i] = (tg_part_result){t->sum.part[i].loss, abandoned};
    for (size_t i = 0; i < t->partition.n; i++) {
        const tg_segment *s = &t->partition.segment[i];

        if (s->owner == rank)
            tg_adamw_sum_squares(t->sum.part[0].grads, s->begin, s->end, t->norm_work);
    }
    for (size_t i = t->first_square[rank]; i < t->first_square[rank + 1]; i++)
        t->square[i] = t->norm_work[t->square_block[i]];
    tg_team_allgather_arrays(
        t->team,
        (tg_gather[]){{.all = t->part, .bytes = sizeof *t->part, .first = t->reduction.first},
                      {.all = t->square, .bytes = sizeof *t->square, .first = t->first_square}},
        2);
    for (size_t i = 0; i < t->first_square[size]; i++)
        t->norm_work[t->square_block[i]] = t->square[i];
    *loss = tg_reduction_loss(&t->reduction, t->part);
    for (size_t i = 0; i < t->reduction.n; i++)
        abandoned |= t->part[i].abandoned != 0;
    return abandoned;
}

/* Add up the gradients of all members' passes, at their owners.  An abandoned part is also sent, because the
 * others wait for it; nobody uses it. */
static bool sum_of_team(tg_trainer *t)
{
    const tg_flow *flow = tg_reduction_flow(&t->reduction, &t->partition, &t->sum);
    bool abandoned;
    double loss;

    t->team->begin(t->team, flow);
    abandoned = !run_passes(t);
    t->team->ready(t->team, flow->groups);
    t->team->end(t->team);
    tg_tree_sum_merge_parts(&t->sum);
    abandoned = gather_results(t, abandoned, &loss);
    t->sum.n = 1;
    t->sum.part[0].first = 0;
    t->sum.part[0].end = t->sum.passes;
    t->sum.part[0].loss = loss;
    return !abandoned;
}

/* ---- a step */

/* The step's gradient, summed over its passes, as t->sum.part[0], and its norm.  False: abandoned. */
static bool sum_passes(tg_trainer *t, double *norm)
{
    const tg_params *table = tg_model_trained(&t->run->model);
    const bool alone = t->team->size == 1;

    if (!(alone ? run_passes(t) : sum_of_team(t)))
        return false;
    *norm = alone ? tg_adamw_norm(table, t->sum.part[0].grads, t->norm_work)
                  : tg_adamw_norm_of(table, t->norm_work);
    return true;
}

/* After an update: add the parameters begin .. end - 1 to the mean; after the last one they become it. */
static void average_range(const tg_run *run, size_t begin, size_t end)
{
    float *w = tg_model_trained_values(&run->model).floats;

    tg_average_add(&run->average, w, begin, end, tg_average_steps(&run->settings, run->step));
    if (run->step == run->settings.steps)
        memcpy(w + begin, run->average.mean + begin, (end - begin) * sizeof *w);
}

/* In a team each member averages what it owns. */
static void average(tg_trainer *t)
{
    const tg_run *run = t->run;

    if (tg_average_steps(&run->settings, run->step) == 0)
        return;
    if (t->team->size == 1) {
        average_range(run, 0, tg_model_trained(&run->model)->floats);
        return;
    }
    for (size_t i = 0; i < t->partition.n; i++) {
        const tg_segment *s = &t->partition.segment[i];

        if (s->owner == t->team->rank)
            average_range(run, s->begin, s->end);
    }
    if (run->step == run->settings.steps)
        tg_partition_send(&t->partition, tg_model_trained_values(&run->model), TG_SPREAD);
}

static void update(tg_trainer *t, const tg_step_report *report)
{
    const tg_run *run = t->run;
    const tg_adamw_state state = {tg_model_trained_values(&run->model), run->moments.m, run->moments.v,
                                  t->sum.part[0].grads, run->settings.seed};

    tg_optimizer_update(&t->optimizer, &state, &(tg_optimizer_step){report->grad_norm, report->lr, run->step},
                        &t->pass.matmul, &t->partition);
    average(t);
    tg_model_renew(&run->model, run->step);
}

/* fabs() because the sign of a NaN means nothing. */
static tg_status check_finite(const tg_trainer *t, const tg_step_report *report, tg_err *err)
{
    if (isfinite(report->loss) && isfinite(report->grad_norm))
        return TG_OK;
    return tg_fail(err, TG_EDATA,
                   "step %zu: loss %g, gradient norm %g: they must be finite (learning rate %g)",
                   t->run->step + 1, fabs(report->loss), fabs(report->grad_norm), report->lr);
}

tg_status tg_trainer_step(tg_trainer *t, tg_step_report *report, tg_err *err)
{
    tg_run *run = t->run;
    tg_status status;

    report->abandoned = !sum_passes(t, &report->grad_norm);
    if (report->abandoned)
        return TG_OK;
    report->lr = tg_settings_lr(&run->settings, run->step);
    report->loss = t->sum.part[0].loss / (double)run->settings.accumulate;
    if ((status = tg_model_check_lent(&run->model, err)) || (status = check_finite(t, report, err)))
        return status;
    run->step++;
    update(t, report);
    tg_history_add(&run->history, run->step, report->loss);
    return TG_OK;
}

/* ---- an evaluation */

size_t tg_trainer_val_windows(const tg_batches *batches, size_t tokens)
{
    if (tokens == 0)
        return batches->val_windows;
    return tg_size_min(batches->val_windows, tg_ceil_div(tokens, batches->T));
}

/* The loss of pass number i of an evaluation, summed over its windows, of which each is weighted with its
 * share of predicted tokens. */
static double evaluate_pass(tg_trainer *t, size_t i, size_t windows)
{
    const size_t B = t->run->settings.batch, n = tg_size_min(B, windows - i * B);

    tg_batches_val(t->batches, &t->windows, i * B, n, windows);
    t->pass.acts.B = n;
    return tg_pass_run(&t->pass, t->windows.ids, t->windows.targets, NULL, 1.0f) * (double)n;
}

double tg_trainer_evaluate(tg_trainer *t, size_t windows)
{
    const size_t passes = tg_ceil_div(windows, t->run->settings.batch);
    size_t first, end;
    double sum = 0, targets;

    tg_team_range(t->team, passes, &first, &end);
    t->pass.acts.dropout = 0;
    (void)use_context(t, t->batches->T);
    begin_passes(t, end - first);
    for (size_t i = first; i < end && !t->pass.abandoned; i++) {
        t->val_losses[i] = evaluate_pass(t, i, windows);
        t->passes_done++;
    }
    t->pass.abandoned = tg_team_agree(t->team, t->pass.abandoned) != 0;
    if (t->pass.abandoned)
        return nan("");
    tg_team_allgather(t->team, t->val_losses, passes, sizeof *t->val_losses);
    for (size_t i = 0; i < passes; i++)
        sum += t->val_losses[i];
    targets = (double)tg_batches_val_targets(t->batches, 0, windows, windows);
    return sum / (double)windows * ((double)(windows * t->batches->T) / targets);
}
