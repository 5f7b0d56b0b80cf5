/* cli: standard output, or a file that is replaced whole. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cli/private.h"
#include "formats/path.h"
#include "lib/base/choice.h"

/* Check that standard output can be written.  (If it was closed, cli_init() has opened a read-only file
 * there.) */
static tg_status check_stdout(tg_err *err)
{
    const int flags = fcntl(STDOUT_FILENO, F_GETFL);

    if (flags != -1 && (flags & O_ACCMODE) != O_RDONLY)
        return TG_OK;
    errno = EBADF;
    return tg_fail_sys(err, "cannot write");
}

/* Block stop signals from the creation of the temporary file to its registration.  A pipe has no
 * temporary file, and opening one may block forever, so signals stay enabled. */
static tg_status begin_save(tg_save *save, const char *path, tg_err *err)
{
    sigset_t old;
    tg_status status;

    if (cli_output_is_stream(path))
        return tg_save_begin(save, path, err);
    cli_hold_ends(&old);
    if (!(status = tg_save_begin(save, path, err)) && save->temp)
        cli_keep_file(CLI_TEMPORARY_FILE, save->temp);
    cli_release_ends(&old);
    return status;
}

static bool is_binary(cli_content content)
{
    return content != CLI_OUT_VOCABULARY_TEXT && content != CLI_OUT_SVG && content != CLI_OUT_PAGE &&
           content != CLI_OUT_TEXT;
}

tg_status cli_output_begin(cli_output *out, const char *path, cli_content content, tg_err *err)
{
    const char *name;
    tg_status status;

    *out = (cli_output){.fd = STDOUT_FILENO, .name = "standard output"};
    /* what tg-train replaces is its own, which it examines and locks once, and then replaces many times */
    if (content != CLI_OUT_RUN && (status = cli_output_may_replace(path, content, err)))
        return status;
    if (!path || cli_is_dash(path)) {
        cli_stdout_used = true;
        status = check_stdout(err);
    } else {
        out->name = path;
        status = begin_save(&out->save, path, err);
        out->file = status == TG_OK;
        out->fd = out->save.fd;
    }
    if (!status && is_binary(content) && isatty(out->fd))
        status = tg_fail(err, TG_EUSAGE,
                         "the data is binary, and this is a terminal: use -o FILE, > FILE or a pipe");
    if (!status)
        return TG_OK;
    name = out->name;
    cli_output_abort(out);
    return tg_err_in(err, name);
}

tg_status cli_check_dump_name(const char *option, const char *path, tg_err *err)
{
    const char *ending = cli_ending(path);
    size_t number;

    if (ending && tg_choice_find(&number, "png|html|svg", ending))
        return tg_fail(err, TG_EUSAGE,
                       "%s: %s writes an archive (.npz), of which tg-attn-view makes pictures", path, option);
    if (ending && tg_choice_find(&number, "txt|tsv|csv|json|jsonl", ending))
        return tg_fail(err, TG_EUSAGE, "%s: %s writes an archive (.npz); lines are printed: > FILE", path,
                       option);
    return TG_OK;
}

tg_status cli_output_commit(cli_output *out, tg_err *err)
{
    tg_status status = TG_OK;

    if (out->file && tg_save_commit(&out->save, err))
        status = tg_err_in(err, out->name);
    cli_forget_file(CLI_TEMPORARY_FILE);
    *out = (cli_output){0};
    return status;
}

void cli_output_abort(cli_output *out)
{
    if (out->file) {
        tg_save_abort(&out->save);
        cli_forget_file(CLI_TEMPORARY_FILE);
    }
    *out = (cli_output){0};
}

tg_status cli_output_check(const char *path, size_t bytes, tg_err *err)
{
    cli_output out;
    struct stat st = {0};
    uint64_t room;
    bool exists;
    tg_status status;

    if (path && !cli_is_dash(path) && (status = tg_path_examine(path, &st, &exists, err)))
        return status;
    /* opening and closing a pipe would end its reader */
    if (S_ISFIFO(st.st_mode)) {
        if (access(path, W_OK) == 0)
            return TG_OK;
        (void)tg_fail_sys(err, "cannot write");
        return tg_err_in(err, path);
    }
    status = cli_output_begin(&out, path, CLI_OUT_RUN, err);
    if (!status && bytes > 0 && tg_save_room(&out.save, &room) && room < bytes) {
        errno = ENOSPC;
        (void)tg_fail_sys(err, "a save needs %s, %s are free", cli_bytes(bytes), cli_bytes(room));
        status = tg_err_in(err, path);
    }
    cli_output_abort(&out);
    return status;
}

/* ---- the lock of a file that is replaced again and again */

/* What keeps the lock file from being made usually also keeps the tool from saving. */
static tg_status explain(const tg_lock *lock, const char *path, const char *work, tg_err *err)
{
    tg_err why = *err;

    if (err->sys == EWOULDBLOCK)
        return cli_in_use(path, lock->holder, work, err);
    if (cli_output_check(path, 0, err))
        return err->code;
    return tg_fail(err, why.code, "%s: %s; --no-lock runs without it", path, why.message);
}

tg_status cli_lock(tg_lock *lock, const char *path, const char *work, tg_err *err)
{
    struct stat st;
    sigset_t old;
    bool exists;
    tg_status status;

    *lock = (tg_lock){.fd = -1};
    if (cli_is_dash(path))
        return TG_OK;
    if ((status = tg_path_examine(path, &st, &exists, err)))
        return status;
    if (exists && !S_ISREG(st.st_mode)) /* a device, a pipe or a directory is not replaced */
        return TG_OK;
    cli_hold_ends(&old);
    if (!(status = tg_lock_take(lock, path, err)))
        cli_keep_file(CLI_LOCK_FILE, lock->path);
    cli_release_ends(&old);
    return status ? explain(lock, path, work, err) : TG_OK;
}

void cli_unlock(tg_lock *lock)
{
    sigset_t old;

    cli_hold_ends(&old);
    tg_lock_release(lock);
    cli_forget_file(CLI_LOCK_FILE);
    cli_release_ends(&old);
}

/* ---- outputs that are read */

/* Examine the file at a path, or of the descriptor that "-" stands for; *exists: whether there is one. */
static tg_status examine(struct stat *st, bool *exists, const char *path, int dash, tg_err *err)
{
    if (path && !cli_is_dash(path))
        return tg_path_examine(path, st, exists, err);
    *exists = fstat(dash, st) == 0;
    if (*exists)
        return TG_OK;
    return tg_fail_sys(err, dash == STDIN_FILENO ? "standard input" : "standard output");
}

tg_status cli_check_output_differs(const char *output, const char *input, tg_err *err)
{
    struct stat in, out;
    bool reads, replaces;
    tg_status status;

    if ((status = examine(&in, &reads, input, STDIN_FILENO, err)) ||
        (status = examine(&out, &replaces, output, STDOUT_FILENO, err)))
        return status;
    if (!reads || !replaces || !S_ISREG(in.st_mode) || !tg_path_same_file(&in, &out))
        return TG_OK;
    return tg_fail(err, TG_EUSAGE,
                   "%s is read, and the output would replace it: name another file for the output",
                   cli_input_name(input));
}

/* ---- models and tokenizers of several files, by their names */

static bool is_shard(const char *name, const char *begin, const char *end)
{
    const char *ending = cli_ending(name);

    return strncmp(name, begin, strlen(begin)) == 0 && ending && strcmp(ending, end) == 0;
}

static bool is_weights(const char *name)
{
    return cli_is_one_of(name, cli_weights) || is_shard(name, "model-", "safetensors") ||
           is_shard(name, "pytorch_model-", "bin");
}

/* Whether a file with this name is read together with `input`.  NULL: the model is the whole directory. */
static bool is_read_with(const char *input, const char *name)
{
    static const char *const pairs[][2] = {{"vocab.json", "merges.txt"},
                                           {"encoder.json", "vocab.bpe"},
                                           {"merges.txt", "vocab.json"},
                                           {"vocab.bpe", "encoder.json"}};
    static const char *const endings[] = {"safetensors", "bin", "pt", "pth", NULL};
    const char *ending = input ? cli_ending(input) : NULL;

    for (size_t i = 0; input && i < sizeof pairs / sizeof pairs[0]; i++)
        if (strcmp(input, pairs[i][0]) == 0)
            return strcmp(name, pairs[i][1]) == 0;
    if (!input || is_weights(input))
        return cli_is_one_of(name, cli_around) || is_weights(name);
    return ending && cli_is_one_of(ending, endings) && cli_is_one_of(name, cli_around);
}

/* The directory that a path is in, or is. */
static tg_status examine_directory(struct stat *st, const char *path, bool itself, tg_err *err)
{
    char *directory = itself ? strdup(path) : tg_path_sibling(path, ".");
    bool exists;
    tg_status status = directory ? tg_path_examine(directory, st, &exists, err)
                                 : tg_fail_memory(err, strlen(path), "a path");

    free(directory);
    return status;
}

/* Check the names; the output is there, and a regular file. */
static tg_status check_parts_differ(const char *output, const char *model, tg_err *err)
{
    struct stat in, in_place, out_place;
    bool reads, directory;
    tg_status status = tg_path_examine(model, &in, &reads, err);

    directory = S_ISDIR(in.st_mode);
    if (status || !reads || !is_read_with(directory ? NULL : tg_path_name(model), tg_path_name(output)))
        return status;
    if ((status = examine_directory(&in_place, model, directory, err)) ||
        (status = examine_directory(&out_place, output, false, err)))
        return status;
    if (!tg_path_same_file(&in_place, &out_place))
        return TG_OK;
    return tg_fail(err, TG_EUSAGE, "%s belongs to %s, which is read: name another file for the output",
                   output, model);
}

tg_status cli_check_output_differs_model(const char *output, const char *model, tg_err *err)
{
    struct stat st;
    bool replaces;
    char *target;
    tg_status status = cli_check_output_differs(output, model, err);

    if (status || !output || cli_is_dash(output) || !model || cli_is_dash(model) ||
        (status = tg_path_examine(output, &st, &replaces, err)) || !replaces || !S_ISREG(st.st_mode) ||
        (status = check_parts_differ(output, model, err)) || (status = tg_save_target(&target, output, err)))
        return status;
    status = check_parts_differ(target, model, err); /* a link may lead to a part */
    free(target);
    return status;
}

bool cli_output_is_stream(const char *path)
{
    struct stat st;

    return !path || cli_is_dash(path) ||
           (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode));
}

/* ---- directories */

tg_status cli_make_directory(const char *path, bool *made, tg_err *err)
{
    bool is_new;

    do
        is_new = mkdir(path, 0777) == 0;
    while (!is_new && errno == EINTR);
    if (made)
        *made = is_new;
    if (is_new || errno == EEXIST)
        return TG_OK;
    (void)tg_fail_sys(err, "cannot make the directory");
    return tg_err_in(err, path);
}
