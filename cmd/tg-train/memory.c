/* The memory that a run needs, and, where there is less, the settings with which it would fit. */
#include "cmd/tg-train/setup.h"
#include "lib/base/memory.h"
#include "lib/base/size.h"

size_t train_values_kept(const tg_run *run)
{
    const tg_model *m = &run->model;
    const tg_params *trained = tg_model_trained(m);
    const size_t weights = m->adapter ? trained->floats : m->table.floats, mean = run->settings.average > 0;

    return tg_size_add_sat(weights, tg_size_mul_sat(2 + mean, trained->floats));
}

/* The weights, moments and mean, a lent model's values, the text, the trainer's buffers, and what else there
 * is. */
static size_t bytes_of(const train_setup *s, const tg_run *run, size_t more)
{
    const size_t parts[] = {
        tg_size_mul_sat(tg_flat_each(run->moments.m), train_values_kept(run)),
        run->model.lent_bytes,
        tg_size_mul_sat(s->tokens.count, s->tokens.width),
        tg_size_mul_sat(s->val.count, s->val.width),
        tg_trainer_bytes(run, &s->batches, s->team),
        more,
    };
    size_t bytes = 0;

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        bytes = tg_size_add_sat(bytes, parts[i]);
    return bytes;
}

size_t train_memory_available(const train_setup *s)
{
    const size_t more = tg_memory_addresses(), all = bytes_of(s, &s->run, 0),
                 later = tg_trainer_bytes(&s->run, &s->batches, s->team);

    /* what is there has its addresses; others are taken by files, and kept for what is converted */
    return tg_size_min(s->options->available, tg_size_add_sat(more, all - tg_size_min(all, later)));
}

tg_status train_memory_needed(const train_setup *s, size_t more, size_t *bytes, tg_err *err)
{
    *bytes = bytes_of(s, &s->run, more);
    if (*bytes == SIZE_MAX)
        return tg_fail(err, TG_ENOMEM, "out of memory: the sizes exceed the address space");
    return TG_OK;
}

/* ---- advice */

/* Settings with which a step reads the same text in other passes. */
struct way {
    size_t batch, accumulate;
    bool recompute;
    size_t bytes;
};

static struct way way_of(const train_setup *s, size_t more, size_t batch, bool recompute)
{
    tg_run run = s->run; /* only read */

    run.settings.accumulate *= run.settings.batch / batch;
    run.settings.batch = batch;
    run.recompute = recompute;
    return (struct way){batch, run.settings.accumulate, recompute, bytes_of(s, &run, more)};
}

/* The first way that fits, or the one that needs least: with smaller batches, which cost least time, then
 * with recomputation. */
static struct way find_way(const train_setup *s, size_t more, size_t available)
{
    const tg_settings *now = &s->run.settings;
    struct way least = way_of(s, more, now->batch, s->run.recompute);

    for (int recompute = s->run.recompute; recompute <= 1; recompute++)
        for (size_t batch = now->batch; batch > 0; batch--) {
            struct way w;

            if (now->batch % batch != 0 || now->batch / batch > TG_ACCUMULATE_MAX / now->accumulate)
                continue;
            w = way_of(s, more, batch, recompute);
            if (w.bytes < least.bytes)
                least = w;
            if (least.bytes <= available)
                return least;
        }
    return least;
}

/* The options of a way that is not the run's own: "--batch 1 --accumulate 4 --recompute". */
static void name_way(char *text, size_t size, const struct way *w, const train_setup *s)
{
    size_t n = 0;

    if (w->batch != s->run.settings.batch)
        n += (size_t)snprintf(text, size, "--batch %zu --accumulate %zu", w->batch, w->accumulate);
    if (w->recompute && !s->run.recompute)
        snprintf(text + n, size - n, "%s--recompute", n > 0 ? " " : "");
}

static const char *what_needs_less(const tg_run *run)
{
    if (run->adapter)
        return "a shorter --context needs less";
    if (run->step > 0 || run->model.halves || run->settings.optimizer != TG_OPTIMIZER_ADAMW)
        return "a shorter --context, --freeze and an adapter (--lora 16) need less";
    return "a shorter --context, --master bf16, --freeze and an adapter (--lora 16) need less";
}

void train_memory_advise(const train_setup *s, size_t more, size_t bytes)
{
    const size_t available = train_memory_available(s);
    const char *fewer = what_needs_less(&s->run);
    struct way w;
    char text[96] = "";

    if (bytes <= available)
        return;
    w = find_way(s, more, available);
    name_way(text, sizeof text, &w, s);
    if (w.bytes <= available)
        cli_say("%s of memory is available: with %s, the run needs %s", cli_bytes(available), text,
                cli_bytes(w.bytes));
    else if (w.bytes < bytes)
        cli_say("%s of memory is available: even with %s, the run needs %s; %s", cli_bytes(available), text,
                cli_bytes(w.bytes), fewer);
    else
        cli_say("%s of memory is available: %s", cli_bytes(available), fewer);
}
