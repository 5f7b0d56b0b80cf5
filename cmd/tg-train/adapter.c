/* The setup of a run that trains an adapter, and not the model. */
#include <string.h>

#include "cmd/cli/model.h"
#include "cmd/tg-train/setup.h"

tg_status train_adapter_open_base(train_setup *s, tg_err *err)
{
    const char *path = cli_model_path(s->options->model);
    tg_status status;

    if (cli_is_dash(path))
        return tg_fail(err, TG_EUSAGE, "an adapter's model is a file, not standard input");
    if ((status = cli_check_output_differs_model(s->target, path, err)) ||
        (status = tg_model_file_open(&s->base, path, NULL, err)))
        return status;
    if (s->team->rank == 0)
        cli_say_notes(path, &s->base.notes);
    return TG_OK;
}

/* The matrices that are asked for; PEFT's name for all is understood. */
static tg_status find_targets(uint64_t *targets, const train_options *o, const tg_params *model, tg_err *err)
{
    *targets = tg_adapter_all_targets(model);
    if (!o->lora_targets || strcmp(o->lora_targets, "all-linear") == 0)
        return TG_OK;
    return tg_adapter_find_targets(targets, model, o->lora_targets, err);
}

/* What is asked of an adapter that is continued must be what it has. */
static tg_status check_shape(const train_setup *s, tg_err *err)
{
    const train_options *o = s->options;
    const tg_adapter_shape *has = &s->run.adapter->shape;
    uint64_t targets = has->targets;
    tg_status status = TG_OK;

    if (o->lora_targets)
        status = find_targets(&targets, o, &s->run.model.table, err);
    if (status || o->lora.rank == 0 ||
        (o->lora.rank == has->rank && (o->lora_alpha == 0 || o->lora_alpha == has->alpha) &&
         targets == has->targets && (!o->lora.rank_stabilized || has->rank_stabilized)))
        return status;
    return tg_fail(err, TG_EUSAGE,
                   "%s: an adapter of rank %zu and alpha %g, which a run cannot change; another name with -o "
                   "begins a new one",
                   s->target, has->rank, has->alpha);
}

static tg_status new_adapter(train_setup *s, tg_err *err)
{
    const train_options *o = s->options;
    tg_adapter_shape shape = o->lora;
    tg_status status;

    if (o->adapter)
        return tg_run_begin_from_adapter(&s->run, &s->base, o->adapter, err);
    status = find_targets(&shape.targets, o, &s->base.table, err);
    return status ? status : tg_run_begin_adapter(&s->run, &s->base, &shape, o->asked.seed, err);
}

tg_status train_adapter_load(train_setup *s, tg_err *err)
{
    int fd;
    tg_status status;

    if (!s->continued)
        return new_adapter(s, err);
    if ((status = cli_open_input(&fd, s->target, err)))
        return status;
    status = tg_run_read_adapter(&s->run, &s->base, fd, err);
    cli_close_input(fd);
    return status ? tg_err_in(err, s->target) : check_shape(s, err);
}
