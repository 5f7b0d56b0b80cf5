/* --output: attention as an archive, for NumPy and for tg-attn-view. */
#include <stdio.h>
#include <stdlib.h>

#include "cmd/cli/token_text.h"
#include "cmd/tg-attn-dump/ablate.h"
#include "cmd/tg-attn-dump/example.h"
#include "cmd/tg-attn-dump/input.h"
#include "lib/base/choice.h"
#include "lib/dump/dump_read.h"
#include "lib/dump/dump_write.h"
#include "lib/heads/vectors.h"

static const char *output; /* the file; "-": standard output */
static bool losses;        /* also the change in loss without each head */
static bool mean;          /* instead, vectors: the means of the residual stream */

/* What names the input, for the command that tg-attn-view's page copies.  NULL: nothing does so later
 * (standard input), an adapter changes it, or the name is too long to keep. */
static const char *source_of(char text[TG_DUMP_SOURCE_SIZE], const attn_input *in, const attn_options *o)
{
    char name[TG_CHOICE_SIZE];

    if (o->example != NOT_GIVEN)
        return tg_dump_source(text, "--example", tg_choice_name(name, EXAMPLES, o->example));
    if ((in->path && cli_is_dash(in->path)) || cli_adapters.n > 0)
        return NULL;
    return tg_dump_source(text, o->qkv ? "--qkv" : "-m", in->path);
}

/* ---- what there is besides the stages */

/* A gradient goes with any stage, the rest with all of them. */
static tg_status add_extras(tg_dump_settings *dump, const attn_input *in, const attn_options *o, tg_err *err)
{
    const tg_model *model = in->layers.model;
    size_t target = 0, weights;
    tg_status status = TG_OK;

    if ((options_have_target(o) || losses) && !model)
        return tg_fail(err, TG_EUSAGE, "--%s needs a model", losses ? "losses" : "target");
    if (options_have_target(o) && (status = input_find_target(&target, o, model, err)))
        return status;
    if (options_have_target(o) && target >= model->config.vocab_size)
        return tg_fail(err, TG_EUSAGE, "target %zu is out of range: expected 0 to %zu", target,
                       model->config.vocab_size - 1);
    dump->gradient = options_have_target(o);
    dump->target = (int32_t)target;
    if (!model || o->stage != TG_ATTN_EVERY)
        return TG_OK;
    tg_dump_add_extras(dump, &in->layers, cli_token_text_of, &weights);
    if (!dump->weights)
        cli_note("without the output projections, which are %s: -l chooses a layer", cli_bytes(weights));
    return TG_OK;
}

/* ---- all of it */

static tg_status show(attn_input *in, const attn_options *o, tg_err *err)
{
    cli_output out = {0};
    tg_dump_settings dump = {.stages = o->stage == TG_ATTN_EVERY ? TG_DUMP_EVERY : TG_DUMP_BIT(o->stage),
                             .mask = o->mask,
                             .ids = in->layers.ids};
    token_labels text = {0};
    double *changes = NULL;
    char source[TG_DUMP_SOURCE_SIZE];
    tg_status status = input_check_stage(in, o, err);

    if (status || (status = add_extras(&dump, in, o, err)) ||
        (in->has_model && (status = cli_check_output_differs_model(output, in->model.path, err))) ||
        (o->qkv && (status = cli_check_output_differs(output, o->qkv, err))) ||
        (status = cli_check_output_differs(output, "-", err)) || /* the text */
        (status = input_pack_text(&text, in, err)))
        return status;
    dump.text = text.text;
    dump.text_size = text.size;
    dump.source = source_of(source, in, o);
    if (losses)
        status = ablate_changes(&changes, in, err);
    dump.changes = changes;
    if (!cli_is_dash(output))
        input_watch(in);
    if (!status && !(status = cli_output_begin(&out, output, CLI_OUT_DUMP, err)) &&
        (status = tg_dump_write(out.fd, &in->layers, &dump, err)) == TG_EIO)
        (void)tg_err_in(err, out.name);
    if (!status)
        status = cli_output_commit(&out, err);
    cli_output_abort(&out);
    labels_free(&text);
    free(changes);
    return status;
}

/* ---- --mean */

static tg_status show_means(attn_input *in, tg_err *err)
{
    cli_output out = {0};
    tg_status status;

    if (!in->has_model)
        return tg_fail(err, TG_EUSAGE, "--mean needs a model: arrays have no residual stream");
    if ((status = cli_check_output_differs_model(output, in->model.path, err)) ||
        (status = cli_check_output_differs(output, "-", err)))
        return status;
    if (!(status = cli_output_begin(&out, output, CLI_OUT_VECTORS, err)) &&
        (status = tg_vectors_write(out.fd, &in->layers, err)) == TG_EIO)
        (void)tg_err_in(err, out.name);
    if (!status)
        status = cli_output_commit(&out, err);
    cli_output_abort(&out);
    return status;
}

static tg_status show_either(attn_input *in, const attn_options *o, tg_err *err)
{
    return mean ? show_means(in, err) : show(in, o, err);
}

static int check(const attn_options *o)
{
    if (!mean)
        return CLI_OK;
    if (o->stage != TG_ATTN_RESID)
        return cli_usage("--mean goes with --stage resid, the residual stream");
    if (losses || options_have_target(o))
        return cli_usage("--%s does not go with --mean", losses ? "losses" : "target");
    return CLI_OK;
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
    CLI_FLAG_OPTION(0, "losses", &losses,
                    "with -o: also how the loss changes without each head, as --ablate all has it"),
    CLI_FLAG_OPTION(
        0, "mean", &mean,
        "with -o and --stage resid: only the mean of the residual stream over all tokens, a vector "
        "for each layer, for tg-sample --add"),
};

const job archive_job = {
    .options = own,
    .n_options = sizeof own / sizeof own[0],
    .about = "writes whole arrays, so that every offset stays valid",
    .accepts = "model|prompt|example|qkv|layer|heads|stage|layout|mask|target|threads",
    .check = check,
    .show = show_either,
    .run = run,
};
