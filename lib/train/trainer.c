#include "lib/train/trainer.h"

#include <math.h>

#include "lib/base/size.h"

struct placement {
    tg_trainer *t;
    const tg_checkpoint *run;
    const tg_batches *batches;
    const tg_team *team;
};

static void place(tg_arena *arena, void *context)
{
    const struct placement *p = context;
    const size_t B = p->run->settings.batch, T = p->batches->T, passes = p->run->settings.accumulate;
    const tg_params *table = &p->run->model.table;
    tg_trainer *t = p->t;

    tg_team_range(p->team, passes, &t->first_pass, &t->end_pass);
    tg_pass_place(
        arena, &t->pass, &p->run->model,
        &(tg_pass_size){.B = B, .T = T, .gradients = true, .precision = p->run->settings.precision});
    tg_tree_sum_place(arena, &t->sum, table->floats, passes, t->first_pass, t->end_pass);
    t->norm_work = tg_arena_take(arena, tg_adamw_work(table), sizeof(double));
    t->ids = tg_arena_take_rows(arena, B, T, sizeof(int32_t));
    t->targets = tg_arena_take_rows(arena, B, T, sizeof(int32_t));
}

size_t tg_trainer_bytes(const tg_checkpoint *run, const tg_batches *batches, const tg_team *team)
{
    tg_trainer t = {0};

    place(&t.arena, &(struct placement){&t, run, batches, team});
    return t.arena.used;
}

tg_status tg_trainer_open(tg_trainer *t, tg_checkpoint *run, const tg_batches *batches, const tg_team *team,
                          tg_err *err)
{
    const tg_settings *s = &run->settings;
    tg_status status;

    *t = (tg_trainer){.run = run, .batches = batches, .team = team};
    if ((status = tg_arena_build(&t->arena, place, &(struct placement){t, run, batches, team}, err)))
        return status;
    t->optimizer = (tg_adamw){
        .beta1 = s->beta1,
        .beta2 = s->beta2,
        .epsilon = 1e-8,
        .weight_decay = s->weight_decay,
        .clip = s->clip,
    };
    return TG_OK;
}

void tg_trainer_close(tg_trainer *t)
{
    tg_arena_free(&t->arena);
}

/* ---- what watches */

/* The passes of a step or an evaluation are equally long. */
static bool tell_pass(void *context, double share)
{
    const tg_trainer *t = context;

    return tg_watch_tell(t->watch, ((double)t->passes_done + share) / (double)t->passes);
}

static void begin_passes(tg_trainer *t, size_t passes)
{
    t->passes = passes;
    t->passes_done = 0;
    t->pass_watch = (tg_watch){tell_pass, t};
    t->pass.watch = &t->pass_watch; /* here, because the trainer may have been moved */
    t->pass.abandoned = false;
}

/* ---- a step */

/* Run pass `pass` of the step: add its gradient to grads; returns its mean loss. */
static double run_pass(tg_trainer *t, size_t pass, float *grads)
{
    const tg_settings *s = &t->run->settings;
    const uint64_t number = (uint64_t)t->run->step * s->accumulate + pass;

    tg_batches_train(t->batches, t->ids, t->targets, number * s->batch, s->batch);
    t->pass.acts.dropout = (float)s->dropout;
    t->pass.acts.rng = (tg_rng){.seed = s->seed, .step = number};
    return tg_pass_run(&t->pass, t->ids, t->targets, grads, 1.0f / (float)s->accumulate);
}

/* Add the gradients of this process's passes.  False: abandoned. */
static bool run_passes(tg_trainer *t)
{
    begin_passes(t, t->end_pass - t->first_pass);
    tg_tree_sum_begin(&t->sum);
    for (size_t i = t->first_pass; i < t->end_pass; i++) {
        const double loss = run_pass(t, i, tg_tree_sum_next(&t->sum));

        if (t->pass.abandoned)
            return false;
        tg_tree_sum_push(&t->sum, i, i + 1, loss);
        t->passes_done++;
    }
    return true;
}

/* The step's gradient, summed over its passes, as t->sum.part[0]. */
static tg_status sum_passes(tg_trainer *t, bool *abandoned, tg_err *err)
{
    *abandoned = t->team->agree(t->team, !run_passes(t)) != 0;
    return *abandoned ? TG_OK : t->team->sum(t->team, &t->sum, err);
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
    tg_checkpoint *run = t->run;
    const tg_params *table = &run->model.table;
    const tg_tree_part *total = &t->sum.part[0];
    tg_status status = sum_passes(t, &report->abandoned, err);

    if (status || report->abandoned)
        return status;
    report->lr = tg_settings_lr(&run->settings, run->step);
    report->loss = total->loss / (double)run->settings.accumulate;
    report->grad_norm = tg_adamw_norm(table, total->grads, t->norm_work);
    if ((status = check_finite(t, report, err)))
        return status;
    run->step++;
    tg_adamw_update(&t->optimizer, table, &(tg_adamw_state){run->model.params, run->m, run->v, total->grads},
                    report->grad_norm, report->lr, run->step);
    tg_history_add(&run->history, run->step, report->loss);
    return TG_OK;
}

size_t tg_trainer_val_windows(const tg_batches *batches, size_t tokens)
{
    if (tokens == 0)
        return batches->val_windows;
    return tg_size_min(batches->val_windows, tg_ceil_div(tokens, batches->T));
}

double tg_trainer_evaluate(tg_trainer *t, size_t windows)
{
    const size_t B = t->run->settings.batch;
    double sum = 0;

    t->pass.acts.dropout = 0;
    begin_passes(t, tg_ceil_div(windows, B));
    for (size_t i = 0; i < windows && !t->pass.abandoned; i += B) {
        size_t n = tg_size_min(B, windows - i);

        tg_batches_val(t->batches, t->ids, t->targets, i, n, windows);
        t->pass.acts.B = n;
        sum += tg_pass_run(&t->pass, t->ids, t->targets, NULL, 1.0f) * (double)n;
        t->passes_done++;
    }
    t->pass.acts.B = B;
    return sum / (double)windows;
}
