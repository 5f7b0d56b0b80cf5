#include "cmd/cli/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/archive.h"
#include "formats/format.h"
#include "formats/path.h"
#include "lib/base/choice.h"
#include "lib/models/adapter_file.h"
#include "lib/models/model_archive.h"
#include "lib/text/chat.h"
#include "lib/tokens/tokenizer_read.h"
#include "lib/train/run.h"

/* How to make a model is said only of a name that tg-train would make one under. */
static tg_status no_model(const char *path, const char *remedy, tg_err *err)
{
    const tg_err why = *err; /* PATH: No such file or directory */
    const char *ending = cli_ending(path);
    char command[160] = "";

    if (!ending || strcmp(ending, "npz") != 0)
        return err->code;
    cli_command_add(command, sizeof command, path);
    return tg_fail(err, TG_EIO, "%s; make a model with  tg-tokenize < text | tg-train%s%s%s", why.message,
                   strcmp(path, "model.npz") == 0 ? "" : " -m ",
                   strcmp(path, "model.npz") == 0 ? "" : command, remedy);
}

/* Another project's model that comes from a pipe, else it would have been recognized: say which tool takes
 * it. */
static tg_status from_pipe(tg_err *err)
{
    static const tg_format formats[] = {TG_FORMAT_SAFETENSORS, TG_FORMAT_GGUF, TG_FORMAT_LLMC_MODEL,
                                        TG_FORMAT_LLAMA2C_MODEL};
    const tg_err why = *err;

    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (strstr(why.message, tg_format_text(formats[i])))
            return tg_fail(err, why.code,
                           "%s; from a pipe, only tg-convert - takes it, and passes it on as one",
                           why.message);
    return err->code;
}

static tg_status open_own(cli_model *m, const char *remedy, tg_err *err)
{
    tg_status status;

    if ((status = cli_open_input(&m->fd, m->path, err))) {
        if (err->sys != ENOENT)
            return status;
        return no_model(m->path, remedy, err);
    }
    if (!tg_model_read(&m->model, m->fd, false, NULL, NULL, err))
        return TG_OK;
    cli_close_input(m->fd);
    (void)tg_err_in(err, cli_input_name(m->path));
    return from_pipe(err);
}

/* ---- other projects' */

tg_status cli_model_is_foreign(const char *path, bool *foreign, tg_err *err)
{
    *foreign = false;
    return cli_is_dash(path) ? TG_OK : tg_model_file_is_foreign(path, foreign, err);
}

bool cli_is_adapter(const char *path)
{
    unsigned char first[TG_FORMAT_BYTES];
    size_t n;

    return !cli_is_dash(path) && !tg_path_peek(path, first, sizeof first, &n, NULL) &&
           tg_archive_begins(first, n, "adapter");
}

void cli_say_notes(const char *path, const tg_notes *notes)
{
    for (size_t i = 0; i < notes->n; i++)
        cli_say("%s: %s", path, notes->line[i]);
}

static tg_status copy(tg_model *m, tg_model_file *f, const char *path, bool flat, tg_err *err)
{
    const uint64_t copied = tg_model_file_copied(f);
    const char *kind = f->kind;

    if (tg_model_file_to_model(m, f, flat, err))
        return tg_err_in(err, path);
    if (copied > 0 && !flat)
        cli_note("%s: %s, %s converted in memory", path, kind, cli_bytes(copied));
    return TG_OK;
}

/* Bytes of tensors that are copied at most before the model is used. */
#define COPIED_MAX ((uint64_t)2 << 30)

static tg_status lend(tg_model *m, tg_model_file *f, const char *path, tg_err *err)
{
    const char *kind = f->kind;
    uint64_t bytes = 0;

    for (size_t i = 0; i < f->n_files; i++)
        bytes += f->file[i]->n;
    if (tg_model_file_lend(m, f, err))
        return tg_err_in(err, path);
    cli_note("%s: %s, %s read layer by layer", path, kind, cli_bytes(bytes));
    return TG_OK;
}

/* Of adapters that were trained on conversations in different templates, the first counts. */
static void compare_templates(const tg_model_file *f, const tg_adapter *a, const char *path)
{
    const tg_chat_note first = tg_model_file_chat(f);
    char names[2][TG_CHOICE_SIZE];

    if (a->chat > 0 && a->chat != first)
        cli_say("%s was trained on the template %s, an adapter before it on %s", path,
                tg_choice_name(names[0], TG_CHAT_NAMES, a->chat - 1),
                tg_choice_name(names[1], TG_CHAT_NAMES, first - 1));
}

tg_status cli_adapters_apply(tg_model_file *f, tg_err *err)
{
    tg_status status = TG_OK;

    for (size_t i = 0; i < cli_adapters.n && !status; i++) {
        tg_adapter *a;

        if (!(status = tg_model_file_adapt(f, &a, err)) &&
            !(status = tg_adapter_open(a, cli_adapters.file[i].path, f, err))) {
            a->weight = cli_adapters.file[i].weight;
            compare_templates(f, a, cli_adapters.file[i].path);
        }
    }
    return status;
}

static tg_status open_other(tg_model *m, const char *path, bool once, tg_err *err)
{
    tg_model_file f;
    tg_status status = tg_model_file_open(&f, path, NULL, err);

    if (status)
        return status;
    cli_say_notes(path, &f.notes);
    if ((status = cli_adapters_apply(&f, err))) {
        tg_model_file_close(&f);
        return status;
    }
    if (tg_model_file_copied(&f) > (once ? 0 : COPIED_MAX))
        return lend(m, &f, path, err);
    return copy(m, &f, path, false, err);
}

tg_status cli_model_open(cli_model *m, const char *given, bool once, const char *remedy, tg_err *err)
{
    bool foreign;
    tg_status status;

    *m = (cli_model){.path = cli_model_path(given), .fd = -1};
    if ((status = cli_model_is_foreign(m->path, &foreign, err)))
        return status;
    if (cli_adapters.n > 0 && cli_is_dash(m->path))
        return tg_fail(err, TG_EUSAGE, "--adapter needs the model as a file, not standard input");
    status =
        foreign || cli_adapters.n > 0 ? open_other(&m->model, m->path, once, err) : open_own(m, remedy, err);
    if (status == TG_EDATA && cli_is_adapter(m->path)) {
        const tg_err why = *err;

        (void)tg_fail(err, TG_EDATA, "%s: name it with --adapter, and its model with -m", why.message);
    }
    return status;
}

tg_status cli_model_check(const cli_model *m, tg_err *err)
{
    const tg_status status = tg_model_check_lent(&m->model, err);

    return status ? tg_err_in(err, m->path) : TG_OK;
}

void cli_model_close(cli_model *m)
{
    tg_model_free(&m->model);
    cli_close_input(m->fd);
}

tg_status cli_model_step(const char *path, size_t *step, tg_err *err)
{
    int fd;
    tg_status status = cli_open_input(&fd, path, err);

    *step = 0;
    if (status)
        return err->sys == ENOENT ? TG_OK : status;
    status = tg_run_read_step(step, fd, err);
    cli_close_input(fd);
    return !status || status == TG_EDATA ? TG_OK : tg_err_in(err, path);
}

tg_status cli_model_convert(tg_model *m, const char *path, tg_err *err)
{
    tg_model_file f;
    const tg_status status = tg_model_file_open(&f, path, NULL, err);

    if (status)
        return status;
    cli_say_notes(path, &f.notes);
    return copy(m, &f, path, true, err);
}

/* ---- tokenizers */

tg_status cli_tokenizer_open(const tg_tokenizer **tok, const char *name, const tg_split *split, tg_err *err)
{
    const bool built_in = !name || strcmp(name, "bytes") == 0;
    tg_status status;

    *tok = NULL;
    if (built_in && split)
        return tg_fail(err, TG_EUSAGE, "--pattern goes with a .tiktoken file, not with bytes");
    if (built_in)
        return tg_tokenizer_create(tok, name, err);
    if (strcmp(name, "char") == 0)
        return tg_fail(err, TG_EUSAGE,
                       "tokenizer \"char\" is built from a text: give a FILE that has one, as from "
                       "tg-tokenize -t char text > FILE");
    status = cli_tokenizer_of(tok, name, split, err);
    if (status == TG_EIO && !strpbrk(name, "./") && access(name, F_OK) != 0) { /* meant as a word */
        const tg_err why = *err;

        return tg_fail(err, status, "%s; besides files there are bytes and char", why.message);
    }
    return status;
}

/* A directory has files of a vocabulary, whether or not it is a model's. */
static tg_status has_model(const char *path, bool *model, tg_err *err)
{
    struct stat st;
    bool exists;
    const tg_status status = tg_path_examine(path, &st, &exists, err);

    *model = false;
    return status || S_ISDIR(st.st_mode) ? status : cli_model_is_foreign(path, model, err);
}

tg_status cli_tokenizer_of(const tg_tokenizer **tok, const char *path, const tg_split *split, tg_err *err)
{
    const tg_model_ask ask = {.vocabulary = true};
    tg_model_file f;
    bool model;
    tg_status status = has_model(path, &model, err);

    *tok = NULL;
    if (status)
        return status;
    if (!model)
        return tg_vocab_file_open(tok, path, split, err);
    if (split)
        return tg_fail(err, TG_EUSAGE, "%s: a rule for splitting is only for .tiktoken files", path);
    if ((status = tg_model_file_open(&f, path, &ask, err)))
        return status;
    if (f.tokenizer)
        *tok = tg_tokenizer_ref(f.tokenizer);
    else
        status = tg_fail(err, TG_EDATA, "%s: %s without a tokenizer", path, f.kind);
    tg_model_file_close(&f);
    return status;
}

cli_content cli_vocab_content(tg_vocab_format format)
{
    const bool text = format == TG_VOCAB_TOKENIZER_JSON || format == TG_VOCAB_TIKTOKEN;

    return text ? CLI_OUT_VOCABULARY_TEXT : CLI_OUT_VOCABULARY;
}
