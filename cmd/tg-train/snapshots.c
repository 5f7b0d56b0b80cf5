#include "cmd/tg-train/snapshots.h"

#include <stdlib.h>

#include "cmd/cli/token_text.h"

/* ---- the text */

static tg_status check_length(const tg_tokens_prompt *p, const tg_model *model, tg_err *err)
{
    if (p->n <= model->config.n_ctx)
        return TG_OK;
    return tg_fail(err, TG_EUSAGE,
                   "--probe has %s tokens, which exceeds the model's context of %s: shorten it",
                   cli_count(p->n), cli_count(model->config.n_ctx));
}

static tg_status read_text(train_snapshots *s, const train_options *o, tg_err *err)
{
    const tg_model *model = &s->run->model;
    tg_status status;

    if ((status = cli_text_option(&o->probe, &s->prompt, model, err)) ||
        (status = check_length(&s->prompt, model, err)) || !tg_tokenizer_has_text(model->tokenizer))
        return status;
    return cli_token_texts(&s->text, &s->dump.text_size, model->tokenizer, s->prompt.ids, s->prompt.n, err);
}

/* ---- all of them */

static void place(tg_arena *arena, void *context)
{
    train_snapshots *s = context;

    tg_dump_place(arena, &s->buffers, &s->layers, s->dump.stages);
}

static tg_status take_memory(train_snapshots *s, tg_err *err)
{
    const tg_status status =
        tg_attn_layers_model(&s->layers, &s->run->model, s->prompt.ids, s->prompt.n, err);

    return status ? status : tg_arena_build(&s->arena, place, s, err);
}

tg_status train_snapshots_open(train_snapshots *s, const train_setup *setup, size_t *bytes, tg_err *err)
{
    const train_options *o = setup->options;
    size_t weights;
    tg_status status;

    *s = (train_snapshots){.run = &setup->run, .dump = {.stages = TG_DUMP_EVERY, .text_size = 1}};
    if (setup->stream && !o->probe_dir)
        return tg_fail(err, TG_EUSAGE,
                       "--probe needs a place for its snapshots, as the model is not saved to a file: give "
                       "one with --probe-dir");
    if ((status = read_text(s, o, err)) || (status = take_memory(s, err)) ||
        (status = cli_make_directory(o->snapshots, NULL, err)))
        return status;
    tg_dump_add_extras(&s->dump, &s->layers, cli_token_text_of, &weights);
    s->dump.ids = s->prompt.ids;
    s->dump.text = s->text;
    s->directory = o->snapshots;
    *bytes = s->layers.arena.used + s->arena.used;
    return TG_OK;
}

void train_snapshots_say(const train_snapshots *s)
{
    if (s->directory)
        cli_note("snapshots of %s token%s: %s/", cli_count(s->prompt.n), cli_plural(s->prompt.n),
                 s->directory);
}

void train_snapshots_close(train_snapshots *s)
{
    tg_attn_layers_close(&s->layers);
    tg_arena_free(&s->arena);
    tg_tokens_prompt_free(&s->prompt);
    free(s->text);
    *s = (train_snapshots){0};
}

static tg_status write_file(train_snapshots *s, const char *path, tg_err *err)
{
    cli_output out;
    tg_status status = cli_output_begin(&out, path, CLI_OUT_DUMP, err);

    if (status == TG_EUSAGE) /* --force would also begin the run anew */
        return tg_fail(err, TG_EUSAGE,
                       "%s: a file that is no snapshot: remove it, or choose another --probe-dir", path);
    if (status)
        return status;
    tg_attn_layers_rewind(&s->layers);
    if (tg_dump_write_in(&s->buffers, out.fd, &s->layers, &s->dump, err))
        status = tg_err_in(err, out.name);
    else
        status = cli_output_commit(&out, err);
    cli_output_abort(&out);
    return status;
}

tg_status train_snapshots_write(train_snapshots *s, tg_err *err)
{
    char path[TRAIN_SNAPSHOT_SIZE];

    if (!s->directory)
        return TG_OK;
    snprintf(path, sizeof path, "%s/%06zu.npz", s->directory, s->run->step);
    return write_file(s, path, err);
}
