/* tg-convert: a model from one project's files to another's. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/cli/cli.h"
#include "cmd/cli/model.h"
#include "lib/base/choice.h"
#include "lib/checkpoint/model_file.h"
#include "lib/checkpoint/model_format.h"

struct options {
    const char *source;
    const char *target;            /* NULL: standard output */
    const tg_model_format *format; /* of the target */
    size_t to;                     /* its number in the choices; beyond them: not given */
    tg_model_ask ask;
    size_t activation; /* likewise */
    tg_write_options write;
};

static const char *const activations[] = {"gelu_new", "gelu"};

/* The format of a choice that has been made. */
static const tg_model_format *chosen(const char *names, size_t number)
{
    char name[TG_CHOICE_SIZE];

    return tg_model_format_named(tg_choice_name(name, names, number));
}

static int check_target(struct options *o, const char *names)
{
    o->format = o->to == SIZE_MAX ? tg_model_format_named("npz") : chosen(names, o->to);
    if (o->format->part[0].name && (!o->target || cli_is_dash(o->target)))
        return cli_usage("--to %s writes a directory: name it with -o DIR", o->format->name);
    return CLI_OK;
}

static int parse(int argc, char **argv, struct options *o)
{
    char names[128];
    cli_option options[] = {
        {'o', "output", CLI_TEXT, &o->target, "FILE",
         "write to FILE instead of standard output; a directory, if the format is one", 0, 0, NULL},
        {'t', "to", CLI_CHOICE, &o->to, tg_model_format_names(names, sizeof names),
         "the format to write (default: npz, tg's own)", 0, 0, NULL},
        {0, "dtype", CLI_ENUM, &o->write.type, TG_WRITE_TYPE_NAMES, "the type of the values that are written",
         0, 0, NULL},
        {0, "heads", CLI_SIZE, &o->ask.heads, "H", "the number of heads, for files that do not tell it", 1,
         TG_SIZE_LIMIT, NULL},
        {0, "activation", CLI_CHOICE, &o->activation, "gelu_new|gelu",
         "tanh or exact GELU, for files that do not tell it", 0, 0, NULL},
        {0, "map", CLI_TEXT, &o->ask.map, "FILE",
         "take the tensors' names from FILE: THEIRS OURS [transposed] in each line", 0, 0, NULL},
        {0, "fuse-qkv", CLI_FLAG, &o->ask.fuse_qkv, NULL, "join separate matrices q, k and v", 0, 0, NULL},
        {0, "split-qkv", CLI_FLAG, &o->write.split_qkv, NULL, "write q, k and v as separate matrices", 0, 0,
         NULL},
        {0, "lossy", CLI_FLAG, &o->ask.lossy, NULL,
         "leave out what the target cannot hold, and say so, instead of refusing", 0, 0, NULL},
        {0},
    };
    const cli_tool tool = {
        .name = "tg-convert",
        .usage = "SOURCE [-o TARGET] [--to FORMAT] [OPTION]...",
        .summary = "Convert a model between the files of this project and of others.",
        .examples = "  $ tg-convert gpt2 -o model.npz\n"
                    "  $ tg-convert model.npz --to hf -o directory\n"
                    "  $ tg-convert model.npz --to safetensors --dtype bf16 -o model.safetensors",
        .options = options,
    };
    const int n = cli_parse(argc, argv, &tool);

    if (n < 0)
        return CLI_USAGE;
    if (n != 1)
        return n == 0 ? cli_usage("no SOURCE: name a model's file or directory")
                      : cli_usage("unexpected operand '%s': the target is named with -o", argv[2]);
    o->source = argv[1];
    o->write.lossy = o->ask.lossy;
    if (o->activation < 2)
        o->ask.activation = activations[o->activation];
    return check_target(o, names);
}

/* ---- progress */

struct progress {
    double shown;
};

static void show(void *context, uint64_t done, uint64_t total)
{
    struct progress *p = context;
    char line[96];

    if (!cli_progress_due(&p->shown))
        return;
    snprintf(line, sizeof line, "%s of %s", cli_bytes(done), cli_bytes(total));
    cli_progress(line);
}

/* ---- writing */

static tg_status write_part(const struct options *o, const tg_model_file *f, const tg_model_part *part,
                            const char *path, tg_err *err)
{
    cli_output out;
    tg_status status = cli_output_begin(&out, path, true, err);

    if (status)
        return status;
    if ((status = part->write(out.fd, f, &o->write, err)))
        status = tg_err_in(err, status == TG_EDATA ? o->source : out.name);
    else
        status = cli_output_commit(&out, err);
    cli_output_abort(&out);
    return status;
}

static tg_status make_directory(const char *path, tg_err *err)
{
    if (mkdir(path, 0777) == 0 || errno == EEXIST)
        return TG_OK;
    (void)tg_fail_sys(err, "cannot make the directory");
    return tg_err_in(err, path);
}

static tg_status write_parts(const struct options *o, const tg_model_file *f, tg_err *err)
{
    tg_status status = TG_OK;

    if (o->format->part[0].name && (status = make_directory(o->target, err)))
        return status;
    for (size_t i = 0; i < o->format->n_parts && !status; i++) {
        const tg_model_part *part = &o->format->part[i];
        char *path = part->name ? tg_path_in(o->target, part->name) : NULL;

        if (part->name && !path)
            status = tg_fail_memory(err, strlen(o->target), "a path");
        else if (!part->wanted || part->wanted(f))
            status = write_part(o, f, part, path ? path : o->target, err);
        free(path);
    }
    return status;
}

/* What comes out is what went in: nothing to do, and training state would be lost. */
static tg_status convert(const struct options *o, tg_model_file *f, tg_err *err)
{
    tg_notes notes = {0};
    tg_status status;

    cli_say_notes(o->source, &f->notes);
    status = o->format->check(f, &o->write, &notes, err);
    if (status)
        status = tg_err_in(err, o->source);
    else
        cli_say_notes(o->target ? o->target : "standard output", &notes);
    tg_notes_free(&notes);
    return status ? status : write_parts(o, f, err);
}

static tg_status run(const struct options *o, tg_err *err)
{
    tg_model_file f;
    tg_status status = tg_model_file_open(&f, o->source, &o->ask, err);

    if (status)
        return status;
    status = convert(o, &f, err);
    tg_model_file_close(&f);
    return status;
}

int main(int argc, char **argv)
{
    struct progress progress = {.shown = cli_now()};
    struct options o = {
        .to = SIZE_MAX, .activation = SIZE_MAX, .write = {.progress = show, .context = &progress}};
    tg_err err = {0};

    cli_init("tg-convert");
    cli_init_threads(argv);
    if (parse(argc, argv, &o))
        return CLI_USAGE;
    if (run(&o, &err))
        return cli_report(&err);
    cli_progress_end();
    return cli_close_stdout();
}
