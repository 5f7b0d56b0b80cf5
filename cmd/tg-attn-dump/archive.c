/* --output: attention as an archive, for NumPy and for tg-attn-view. */
#include <stdlib.h>

#include "cmd/tg-attn-dump/stage.h"
#include "lib/dump/dump_write.h"

static const char *output; /* the file; "-": standard output */

static tg_status write_dump(const cli_output *out, attn_input *in, const tg_dump_settings *dump, tg_err *err)
{
    const tg_status status = tg_dump_write(out->fd, &in->layers, dump, err);

    return status == TG_EIO ? tg_err_in(err, out->name) : status;
}

static tg_status show(attn_input *in, const attn_options *o, tg_err *err)
{
    cli_output out = {0};
    tg_dump_settings dump = {
        .stage = (tg_attn_stage)o->stage, .mask = (tg_attn_mask)o->mask, .ids = in->layers.ids};
    char *text = NULL;
    tg_status status = check_stage(in, o, err);

    if (status || (status = input_pack_text(&text, &dump.text_size, in, err)))
        return status;
    dump.text = text;
    if (!cli_is_dash(output))
        input_watch(in);
    if ((status = cli_output_begin(&out, output, true, err)) || (status = write_dump(&out, in, &dump, err)))
        goto done;
    status = cli_output_commit(&out, err);

done:
    cli_output_abort(&out);
    free(text);
    return status;
}

static tg_status run(const attn_options *o, tg_err *err)
{
    return input_run(show, o, err);
}

/* ---- the job */

static const cli_option own[] = {
    {'o', "output", CLI_TEXT, &output, "FILE",
     "write a dump, an archive (.npz) of whole arrays, instead of lines; '-' is standard output", 0, 0, NULL},
};
static const char *const accepts[] = {"model", "prompt", "example", "qkv",     "layer", "heads",
                                      "stage", "layout", "mask",    "threads", NULL};

const job archive_job = {
    .options = own,
    .n_options = sizeof own / sizeof own[0],
    .about = "writes whole arrays, so that every offset stays valid",
    .accepts = accepts,
    .run = run,
};
