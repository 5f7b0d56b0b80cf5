/* cli: the files that a tool reads. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cli/private.h"
#include "formats/lines.h"
#include "formats/path.h"
#include "formats/source.h"

bool cli_is_dash(const char *path)
{
    return strcmp(path, "-") == 0;
}

const char *cli_ending(const char *path)
{
    const char *name = tg_path_name(path);
    const char *dot = strrchr(name, '.');

    return dot && dot > name && dot[1] != '\0' ? dot + 1 : NULL;
}

bool cli_is_json_lines(const char *path)
{
    const char *ending = cli_ending(path);

    return ending && strcmp(ending, "jsonl") == 0;
}

void cli_note_json_lines(char *const *path, size_t n, const char *instead)
{
    for (size_t i = 0; i < n; i++)
        if (cli_is_json_lines(path[i])) {
            cli_note("%s is read as text; %s", path[i], instead);
            return;
        }
}

bool cli_is_one_of(const char *name, const char *const *names)
{
    while (*names && strcmp(name, *names) != 0)
        names++;
    return *names != NULL;
}

const char *cli_model_path(const char *given)
{
    const char *path = given ? given : getenv("TG_MODEL");

    return path && *path != '\0' ? path : "model.npz";
}

cli_files cli_files_of(char **argv, int operands)
{
    static char *standard_input[] = {"-"};

    return operands > 0 ? (cli_files){argv + 1, (size_t)operands} : (cli_files){standard_input, 1};
}

const char *cli_files_name(const cli_files *files)
{
    return files->n == 1 ? cli_input_name(files->path[0]) : "all files";
}

tg_status cli_open_input(int *fd, const char *path, tg_err *err)
{
    struct stat st;
    int sys = 0;

    *fd = cli_is_dash(path) ? STDIN_FILENO : tg_path_open(path);
    if (*fd < 0 || fstat(*fd, &st))
        sys = errno;
    else if (S_ISDIR(st.st_mode))
        sys = EISDIR; /* read() would fail with this too, but later */
    if (!sys)
        return TG_OK;
    cli_close_input(*fd);
    *fd = -1;
    (void)tg_fail(err, TG_EIO, "%s", strerror(sys));
    err->sys = sys;
    return tg_err_in(err, cli_input_name(path));
}

const char *cli_input_name(const char *path)
{
    return cli_is_dash(path) ? "standard input" : path;
}

void cli_close_input(int fd)
{
    if (fd > STDERR_FILENO)
        close(fd);
}

static tg_status take_lines(tg_source *source, cli_take_line *take, void *context, tg_err *err)
{
    tg_lines lines = {.source = source};
    bool any = true;
    tg_status status = TG_OK;

    while (!status && any)
        if (!(status = tg_lines_next(&lines, &any, err)) && any)
            status = take(context, lines.text, lines.n, lines.number, err);
    tg_lines_free(&lines);
    return status;
}

tg_status cli_each_line(const char *path, cli_take_line *take, void *context, tg_err *err)
{
    tg_source source;
    int fd;
    tg_status status = cli_open_input(&fd, path, err);

    if (status)
        return status;
    if (!(status = tg_source_open_unmapped(&source, fd, err))) {
        status = take_lines(&source, take, context, err);
        tg_source_close(&source);
    }
    cli_close_input(fd);
    return status ? tg_err_in(err, cli_input_name(path)) : TG_OK;
}

bool cli_stdin_has_data(void)
{
    struct stat in, null;

    if (fstat(STDIN_FILENO, &in) || !S_ISCHR(in.st_mode))
        return true; /* if in doubt, reading will tell */
    if (isatty(STDIN_FILENO))
        return false;
    return stat("/dev/null", &null) != 0 || in.st_rdev != null.st_rdev;
}
