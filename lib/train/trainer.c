#include "lib/train/trainer.h"

#include <math.h>
#include <string.h>

#include "lib/base/size.h"

static void place(tg_arena *arena, tg_trainer *t, const tg_checkpoint *run, const tg_batches *batches)
{
    const size_t B = run->settings.batch, T = batches->T;
    const tg_params *table = &run->model.table;

    tg_pass_place(arena, &t->pass, &run->model, B, T, true);
    t->grads = tg_arena_take(arena, table->floats, sizeof(float));
    t->norm_work = tg_arena_take(arena, tg_adamw_work(table), sizeof(double));
    t->ids = tg_arena_take_rows(arena, B, T, sizeof(int32_t));
    t->targets = tg_arena_take_rows(arena, B, T, sizeof(int32_t));
}

size_t tg_trainer_bytes(const tg_checkpoint *run, const tg_batches *batches)
{
    tg_trainer t = {0};

    place(&t.arena, &t, run, batches);
    return t.arena.used;
}

tg_status tg_trainer_open(tg_trainer *t, tg_checkpoint *run, const tg_batches *batches, tg_err *err)
{
    const tg_settings *s = &run->settings;
    tg_status status;

    *t = (tg_trainer){.run = run, .batches = batches};
    place(&t->arena, t, run, batches);
    if ((status = tg_arena_alloc(&t->arena, err)))
        return status;
    place(&t->arena, t, run, batches);
    t->pass.matmul.precision = (tg_precision)s->precision;
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

static void zero_gradients(tg_trainer *t)
{
    const size_t n = t->run->model.table.floats, piece = (size_t)1 << 16;

    #pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i += piece)
        memset(t->grads + i, 0, tg_size_min(piece, n - i) * sizeof *t->grads);
}

/* The step's gradients, summed over its passes; returns the mean loss. */
static double gradients(tg_trainer *t)
{
    const tg_settings *s = &t->run->settings;
    double loss = 0;

    zero_gradients(t);
    for (size_t i = 0; i < s->accumulate; i++) {
        uint64_t number = (uint64_t)t->run->step * s->accumulate + i;

        tg_batches_train(t->batches, t->ids, t->targets, number * s->batch, s->batch);
        t->pass.acts.dropout = (float)s->dropout;
        t->pass.acts.rng = (tg_rng){.seed = s->seed, .step = number};
        loss += tg_pass_run(&t->pass, t->ids, t->targets, t->grads, 1.0f / (float)s->accumulate);
    }
    return loss / (double)s->accumulate;
}

tg_status tg_trainer_step(tg_trainer *t, tg_step_report *report, tg_err *err)
{
    tg_checkpoint *run = t->run;
    const tg_params *table = &run->model.table;

    report->lr = tg_settings_lr(&run->settings, run->step);
    report->loss = gradients(t);
    report->grad_norm = tg_adamw_norm(table, t->grads, t->norm_work);
    /* fabs: a NaN has a sign, and would show it */
    if (!isfinite(report->loss) || !isfinite(report->grad_norm))
        return tg_fail(err, TG_EDATA,
                       "step %zu: the loss is %g and the gradient's norm %g at learning rate %g",
                       run->step + 1, fabs(report->loss), fabs(report->grad_norm), report->lr);
    run->step++;
    tg_adamw_update(&t->optimizer, table, run->model.params, run->m, run->v, t->grads, report->grad_norm,
                    report->lr, run->step);
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
    for (size_t i = 0; i < windows; i += B) {
        size_t n = tg_size_min(B, windows - i);

        tg_batches_val(t->batches, t->ids, t->targets, i, n, windows);
        t->pass.acts.B = n;
        sum += tg_pass_run(&t->pass, t->ids, t->targets, NULL, 1.0f) * (double)n;
    }
    t->pass.acts.B = B;
    return sum / (double)windows;
}
