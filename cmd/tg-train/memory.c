/* The memory that a run needs, and, where there is less, the settings with which it would fit. */
#include "cmd/tg-train/setup.h"
#include "lib/base/memory.h"
#include "lib/base/size.h"

/* Floats of the weights, all of which are in memory unless an adapter is trained, and of two moments. */
static size_t floats_of(const tg_model *m)
{
    const size_t trained = tg_model_trained(m)->floats;

    return tg_size_add_sat(m->adapter ? trained : m->table.floats, tg_size_mul_sat(2, trained));
}

/* The weights and moments, what is lent, the text, the trainer's buffers, and what else there is. */
static size_t bytes_of(const train_setup *s, const tg_run *run, size_t more)
{
    const size_t parts[] = {
        tg_size_mul_sat(sizeof(float), floats_of(&run->model)),
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

tg_status train_memory_needed(const train_setup *s, size_t more, size_t *bytes, tg_err *err)
{
    *bytes = bytes_of(s, &s->run, more);
    if (*bytes == SIZE_MAX)
        return tg_fail(err, TG_ENOMEM, "out of memory: the sizes exceed the address space");
    return TG_OK;
}

/* What the run needs with passes of 1/parts of the sequences, of which there are more for a step. */
static size_t bytes_with(const train_setup *s, size_t more, size_t parts, bool recompute)
{
    tg_run run = s->run; /* only read */

    run.recompute = recompute;
    run.settings.batch /= parts;
    run.settings.accumulate *= parts;
    return bytes_of(s, &run, more);
}

/* "--batch 1 --accumulate 4 --recompute" */
static const char *options_of(const train_setup *s, size_t parts, bool recompute, char text[96])
{
    const tg_settings *t = &s->run.settings;

    if (parts > 1)
        snprintf(text, 96, "--batch %zu --accumulate %zu%s", t->batch / parts, t->accumulate * parts,
                 recompute ? " --recompute" : "");
    else
        snprintf(text, 96, "--recompute");
    return text;
}

void train_memory_advise(const train_setup *s, size_t more, size_t bytes)
{
    const size_t available = tg_memory_available(), batch = s->run.settings.batch;
    size_t least = bytes;
    char text[96];

    if (bytes <= available)
        return;
    for (int recompute = s->run.recompute; recompute <= 1; recompute++)
        for (size_t parts = 1; parts <= batch; parts++) {
            if (batch % parts != 0 || (least = bytes_with(s, more, parts, recompute)) > available)
                continue;
            cli_say("%s of memory are available: with %s, the run needs %s", cli_bytes(available),
                    options_of(s, parts, recompute, text), cli_bytes(least));
            return;
        }
    cli_say("%s of memory are available: even with --batch 1 --recompute, the run needs %s%s",
            cli_bytes(available), cli_bytes(least),
            s->run.adapter ? "; a shorter --context needs less"
                           : "; a shorter --context and an adapter (--lora 16) need less");
}
