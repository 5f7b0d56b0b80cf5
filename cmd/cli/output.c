/* cli: standard output, or a file that is replaced whole. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cli/cli.h"
#include "cmd/cli/private.h"
#include "formats/path.h"

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
    cli_hold_stops(&old);
    if (!(status = tg_save_begin(save, path, err)) && save->temp)
        cli_keep_file(CLI_TEMPORARY_FILE, save->temp);
    cli_release_stops(&old);
    return status;
}

tg_status cli_output_begin(cli_output *out, const char *path, bool binary, tg_err *err)
{
    const char *name;
    tg_status status;

    *out = (cli_output){.fd = STDOUT_FILENO, .name = "standard output"};
    if (!path || cli_is_dash(path)) {
        cli_uses_stdout();
        status = check_stdout(err);
    } else {
        out->name = path;
        status = begin_save(&out->save, path, err);
        out->file = status == TG_OK;
        out->fd = out->save.fd;
    }
    if (!status && binary && isatty(out->fd))
        status = tg_fail(err, TG_EUSAGE,
                         "the data is binary, and this is a terminal: use -o FILE, > FILE or a pipe");
    if (!status)
        return TG_OK;
    name = out->name;
    cli_output_abort(out);
    return tg_err_in(err, name);
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

tg_status cli_output_check(const char *path, tg_err *err)
{
    cli_output out;
    struct stat st;
    tg_status status;

    /* opening and closing a pipe would end its reader */
    if (path && !cli_is_dash(path) && stat(path, &st) == 0 && S_ISFIFO(st.st_mode)) {
        if (access(path, W_OK) == 0)
            return TG_OK;
        (void)tg_fail_sys(err, "cannot write");
        return tg_err_in(err, path);
    }
    status = cli_output_begin(&out, path, true, err);
    cli_output_abort(&out);
    return status;
}

/* Examine the file at a path, or behind the descriptor that "-" stands for; *exists: whether there is one. */
static tg_status examine(struct stat *st, bool *exists, const char *path, int dash, tg_err *err)
{
    if (path && !cli_is_dash(path))
        return tg_path_examine(path, st, exists, err);
    *exists = fstat(dash, st) == 0;
    if (*exists)
        return TG_OK;
    return tg_fail_sys(err, dash == STDIN_FILENO ? "standard input" : "standard output");
}

tg_status cli_output_spares(const char *output, const char *input, tg_err *err)
{
    struct stat in, out;
    bool reads, replaces;
    tg_status status;

    if ((status = examine(&in, &reads, input, STDIN_FILENO, err)) ||
        (status = examine(&out, &replaces, output, STDOUT_FILENO, err)))
        return status;
    if (!reads || !replaces || !S_ISREG(in.st_mode) || !tg_path_same_file(&in, &out))
        return TG_OK;
    return tg_fail(err, TG_EUSAGE, "%s is read, and the output would replace it: name another file for that",
                   cli_input_name(input));
}

const char *cli_ending(const char *path)
{
    const char *name = tg_path_name(path);
    const char *dot = strrchr(name, '.');

    return dot && dot > name && dot[1] != '\0' ? dot + 1 : NULL;
}

bool cli_output_is_stream(const char *path)
{
    struct stat st;

    return !path || cli_is_dash(path) ||
           (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode));
}
