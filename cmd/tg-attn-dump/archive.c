/* --output: attention as an archive, for NumPy and for tg-attn-view. */
#include <stdio.h>
#include <stdlib.h>

#include "cmd/tg-attn-dump/example.h"
#include "cmd/tg-attn-dump/input.h"
#include "lib/base/choice.h"
#include "lib/dump/dump_read.h"
#include "lib/dump/dump_write.h"

static const char *output; /* the file; "-": standard output */

/* What names the input, for the command that tg-attn-view's page copies.  NULL: nothing does so later
 * (standard input), or the name is too long to keep. */
static const char *source_of(char text[TG_DUMP_SOURCE_SIZE], const attn_input *in, const attn_options *o)
{
    char name[TG_CHOICE_SIZE];

    if (o->example != NOT_GIVEN)
        return tg_dump_source(text, "--example", tg_choice_name(name, EXAMPLES, o->example));
    return in->path && cli_is_dash(in->path) ? NULL : tg_dump_source(text, o->qkv ? "--qkv" : "-m", in->path);
}

static tg_status show(attn_input *in, const attn_options *o, tg_err *err)
{
    cli_output out = {0};
    tg_dump_settings dump = {.stages = o->stage == TG_ATTN_EVERY ? TG_DUMP_EVERY : TG_DUMP_BIT(o->stage),
                             .mask = o->mask,
                             .ids = in->layers.ids};
    token_labels text = {0};
    char source[TG_DUMP_SOURCE_SIZE];
    tg_status status = input_check_stage(in, o, err);

    if (status || (in->has_model && (status = cli_check_output_differs_model(output, in->model.path, err))) ||
        (o->qkv && (status = cli_check_output_differs(output, o->qkv, err))) ||
        (status = cli_check_output_differs(output, "-", err)) || /* the text */
        (status = input_pack_text(&text, in, err)))
        return status;
    dump.text = text.text;
    dump.text_size = text.size;
    dump.source = source_of(source, in, o);
    if (!cli_is_dash(output))
        input_watch(in);
    if (!(status = cli_output_begin(&out, output, CLI_OUT_DUMP, err)) &&
        (status = tg_dump_write(out.fd, &in->layers, &dump, err)) == TG_EIO)
        (void)tg_err_in(err, out.name);
    if (!status)
        status = cli_output_commit(&out, err);
    cli_output_abort(&out);
    labels_free(&text);
    return status;
}

static tg_status run(const attn_options *o, tg_err *err)
{
    const tg_status status = cli_is_dash(output) ? TG_OK : cli_check_dump_name("-o", output, err);

    return status ? status : input_run(&archive_job, o, err);
}

/* ---- the job */

static const cli_option own[] = {
    CLI_OUTPUT_OPTION(
        'o', "output", &output, "FILE",
        "write a dump, an archive (.npz) of whole arrays, instead of lines; '-' is standard output"),
    CLI_FORCE(0),
};

const job archive_job = {
    .options = own,
    .n_options = sizeof own / sizeof own[0],
    .about = "writes whole arrays, so that every offset stays valid",
    .accepts = "model|prompt|example|qkv|layer|heads|stage|layout|mask|threads",
    .show = show,
    .run = run,
};
