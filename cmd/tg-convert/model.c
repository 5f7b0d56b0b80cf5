/* Models, from one project's files to another's. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cli/cli.h"
#include "cmd/cli/model.h"
#include "cmd/tg-convert/convert.h"
#include "formats/path.h"
#include "lib/gpt/family.h"
#include "lib/models/hf_settings.h"
#include "lib/models/model_format.h"

/* ---- what must not be replaced */

tg_status convert_check_output(const convert_options *o, const char *path, tg_err *err)
{
    /* Float32 holds what the model has in memory, so a directory may be converted onto itself. */
    const bool onto_itself = o->format && o->format->part[0].name && o->write.type == TG_WRITE_F32 &&
                             !o->write.lossy && cli_adapters.n == 0;
    tg_status status =
        (onto_itself ? cli_check_output_differs : cli_check_output_differs_model)(path, o->source, err);

    if (!status && o->tokenizer)
        status = cli_check_output_differs_model(path, o->tokenizer, err);
    if (!status && o->ask.map)
        status = cli_check_output_differs(path, o->ask.map, err);
    if (!status && o->chat)
        status = cli_check_output_differs_model(path, o->chat, err);
    return status;
}

/* ---- progress */

typedef struct convert_progress {
    double begun, shown; /* by cli_now(); shown < 0: not yet */
} convert_progress;

static void show(void *context, uint64_t done, uint64_t total)
{
    convert_progress *p = context;
    char line[96];

    if (!cli_progress_wanted(p->begun, &p->shown))
        return;
    snprintf(line, sizeof line, "%s of %s", cli_bytes(done), cli_bytes(total));
    cli_progress(line);
}

/* ---- writing */

static cli_content content_of(const convert_options *o)
{
    return strcmp(o->format->name, "npz") == 0 ? CLI_OUT_MODEL : CLI_OUT_WEIGHTS;
}

/* What has been written. */
struct written {
    size_t files;
    uint64_t bytes; /* of those whose size is known: of no pipe */
};

/* The size of a file; 0: it has none. */
static uint64_t size_of(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
}

static tg_status write_part(struct written *w, const convert_options *o, const tg_model_file *f,
                            const tg_model_part *part, const char *path, tg_err *err)
{
    convert_progress progress = {cli_now(), -1};
    tg_write_options how = o->write;
    cli_output out;
    tg_status status = cli_output_begin(&out, path, content_of(o), err);
    uint64_t before;

    if (status)
        return status;
    before = size_of(out.fd); /* a shell may append */
    how.progress = show;
    how.context = &progress;
    if ((status = part->write(out.fd, f, &how, err)))
        status = tg_err_in(err, status == TG_EDATA ? cli_input_name(o->source) : out.name);
    if (!status) {
        w->files++;
        w->bytes += size_of(out.fd) - before;
        status = cli_output_commit(&out, err);
    }
    cli_output_abort(&out);
    return status;
}

/* "tuned.gguf: gguf, 268,098,176 parameters, 512.1 MiB" */
static void note_written(const convert_options *o, const tg_model_file *f, const struct written *w)
{
    const bool adapter = strcmp(o->format->name, "peft") == 0;
    const tg_params *table = adapter ? &f->adapter[0]->table : &f->table;
    char files[64] = "", bytes[64] = "";

    if (w->files > 1)
        snprintf(files, sizeof files, " in %s files", cli_count(w->files));
    if (w->bytes > 0)
        snprintf(bytes, sizeof bytes, ", %s", cli_bytes(w->bytes));
    cli_note("%s: %s%s, %s parameters%s",
             cli_is_dash(o->target ? o->target : "-") ? "standard output" : o->target, o->format->name, files,
             cli_count(table->count), bytes);
}

/* The path of a part, NULL: standard output; the caller frees it. */
static tg_status part_path(char **path, const convert_options *o, const tg_model_part *part, tg_err *err)
{
    *path = NULL;
    if (!o->target)
        return TG_OK;
    *path = part->name ? tg_path_in(o->target, part->name) : strdup(o->target);
    return *path ? TG_OK : tg_fail_memory(err, strlen(o->target), "a path");
}

/* Check that no file in the target directory would be read as the part that this model lacks. */
static tg_status check_lacking(const convert_options *o, const tg_model_part *part, tg_err *err)
{
    const char *name = NULL;
    const tg_status status = part->instead ? tg_path_find(&name, o->target, part->instead, err) : TG_OK;

    if (status || !name)
        return status;
    return tg_fail(err, TG_EUSAGE,
                   "%s/%s would be read as this model's %s, but none is written: remove that file, or name "
                   "another directory",
                   o->target, name, part->what);
}

static tg_status check_target(const convert_options *o, const char *path, tg_err *err)
{
    const tg_status status = convert_check_output(o, path, err);

    return status ? status : cli_output_may_replace(path, content_of(o), err);
}

#define PARTS_MAX 8

/* Before the first part is written, find out which parts this model has, and check that none replaces an
 * input. */
static tg_status check_parts(bool wanted[PARTS_MAX], const convert_options *o, const tg_model_file *f,
                             tg_err *err)
{
    tg_status status = TG_OK;

    assert(o->format->n_parts <= PARTS_MAX);
    for (size_t i = 0; i < o->format->n_parts && !status; i++) {
        const tg_model_part *part = &o->format->part[i];
        char *path = NULL;

        wanted[i] = true;
        if (part->wanted && (status = part->wanted(&wanted[i], f, err)))
            return status;
        if (!wanted[i])
            status = check_lacking(o, part, err);
        else if (!(status = part_path(&path, o, part, err)))
            status = check_target(o, path, err);
        free(path);
    }
    return status;
}

static tg_status write_parts(const convert_options *o, const tg_model_file *f, tg_err *err)
{
    bool wanted[PARTS_MAX], made = false;
    struct written w = {0};
    tg_status status = check_parts(wanted, o, f, err);

    if (status || (o->format->part[0].name && (status = cli_make_directory(o->target, &made, err))))
        return status;
    for (size_t i = 0; i < o->format->n_parts && !status; i++) {
        const tg_model_part *part = &o->format->part[i];
        char *path = NULL;

        if (wanted[i] && !(status = part_path(&path, o, part, err)))
            status = write_part(&w, o, f, part, path, err);
        free(path);
    }
    if (status && made)
        (void)rmdir(o->target); /* unless parts are in it */
    if (!status)
        note_written(o, f, &w);
    return status;
}

static tg_status write_model(const convert_options *o, tg_model_file *f, tg_err *err)
{
    tg_notes notes = {0};
    tg_status status;

    cli_say_notes(cli_input_name(o->source), &f->notes);
    status = o->format->check(f, &o->write, &notes, err);
    if (status)
        status = tg_err_in(err, cli_input_name(o->source));
    else
        cli_say_notes(o->target ? o->target : "standard output", &notes);
    tg_notes_free(&notes);
    return status ? status : write_parts(o, f, err);
}

static tg_status refuse_fusing(const char *name, const tg_config *config, tg_err *err)
{
    (void)tg_fail(err, TG_EUSAGE, "--fuse-qkv is for GPT-2's, this is of the family %s",
                  tg_config_family(config)->name);
    return tg_err_in(err, name);
}

/* What is asked of the source for this target. */
static tg_model_ask ask_of(const convert_options *o)
{
    tg_model_ask ask = o->ask;

    ask.chat_template = convert_has_template(o) && !o->chat;
    ask.hf_settings = o->format && strcmp(o->format->name, "hf") == 0 && !o->tokenizer;
    return ask;
}

tg_status convert_model(const convert_options *o, tg_source *input, const tg_tokenizer *tok, tg_err *err)
{
    const char *name = cli_input_name(o->source);
    const tg_model_ask ask = ask_of(o);
    tg_model_file f;
    tg_status status = input ? tg_model_file_open_source(&f, input, name, &ask, err)
                             : tg_model_file_open(&f, o->source, &ask, err);

    if (status)
        return status;
    if (o->ask.fuse_qkv && f.config.family > 0)
        status = refuse_fusing(name, &f.config, err);
    else if (tok && tg_model_file_set_tokenizer(&f, tok, err))
        status = tg_err_in(err, o->tokenizer);
    else if (!(status = cli_adapters_apply(&f, err)) && !(status = convert_settle_template(o, &f, err)))
        status = write_model(o, &f, err);
    tg_model_file_close(&f);
    return status;
}
