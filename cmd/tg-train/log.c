#include "cmd/tg-train/report.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cli/cli.h"
#include "formats/format.h"
#include "formats/path.h"
#include "formats/sink.h"
#include "lib/base/size.h"
#include "lib/info/log.h"

static const char titles[] = TG_LOG_TITLES "lr\tgrad_norm\ttokens_per_s\ttime_s\n";

static tg_status log_failed(const char *path, tg_err *err)
{
    (void)tg_fail_sys(err, "cannot write the log");
    return tg_err_in(err, path);
}

tg_status train_log_is(bool *same, const char *path, const char *other, tg_err *err)
{
    char *a = tg_path_sibling(path, "."), *b = tg_path_sibling(other, ".");
    struct stat one = {0}, two = {0};
    bool has_one = false, has_two = false;
    tg_status status;

    if (!a || !b)
        status = tg_fail_memory(err, strlen(path) + strlen(other), "a file name");
    else if (!(status = tg_path_examine(a, &one, &has_one, err)))
        status = tg_path_examine(b, &two, &has_two, err);
    *same = !status && has_one && has_two && tg_path_same_file(&one, &two) &&
            strcmp(tg_path_name(path), tg_path_name(other)) == 0;
    free(a);
    free(b);
    return status;
}

/* Lines are appended to nothing but a log: in a text or at the end of an archive they would be damage.  One
 * that ends within the titles was cut there. */
static tg_status check_first(const char *path, tg_err *err)
{
    unsigned char first[TG_FORMAT_BYTES];
    size_t n;
    tg_format format;
    const tg_status status = tg_path_peek(path, first, sizeof first, &n, err);

    if (status || memcmp(first, titles, tg_size_min(n, sizeof titles - 1)) == 0)
        return status;
    format = tg_format_recognize(first, n);
    if (format == TG_FORMAT_TEXT)
        return tg_fail(err, TG_EUSAGE,
                       "%s: its first line is not a log's; expected a log, or a new file for it", path);
    return tg_fail(err, TG_EUSAGE, "%s: this is %s, expected a log, or a new file for it", path,
                   tg_format_text(format) ? tg_format_text(format) : "no text");
}

/* ---- the last line */

enum { TAIL = 1024 }; /* more bytes than a line has */

/* Where the line that ends before p[n] begins. */
static size_t line_begin(const char *p, size_t n)
{
    while (n > 0 && p[n - 1] != '\n')
        n--;
    return n;
}

/* The step of a line; SIZE_MAX: it is none of a log. */
static size_t step_of(const char *line)
{
    char *end;
    const unsigned long long step = strtoull(line, &end, 10);

    return *line >= '1' && *line <= '9' && *end == '\t' && step < SIZE_MAX ? (size_t)step : SIZE_MAX;
}

static tg_status read_end(char *tail, size_t n, int log, off_t at, tg_err *err)
{
    for (size_t done = 0; done < n;) {
        const ssize_t got = pread(log, tail + done, n - done, at + (off_t)done);

        if (got == 0)
            return tg_fail(err, TG_EIO, "the log has become shorter while it was read");
        if (got < 0 && errno != EINTR)
            return tg_fail_sys(err, "cannot read the log");
        done += got > 0 ? (size_t)got : 0;
    }
    return TG_OK;
}

/* Remove what follows the last line that is complete.  *last: its step, 0 if it is that of the titles. */
static tg_status mend_end(int log, const char *path, size_t *last, tg_err *err)
{
    char tail[TAIL + 1];
    size_t size, n, end, begin;
    struct stat st;

    *last = 0;
    if (fstat(log, &st) != 0)
        return log_failed(path, err);
    size = (size_t)st.st_size;
    n = tg_size_min(size, TAIL);
    if (read_end(tail, n, log, (off_t)(size - n), err))
        return tg_err_in(err, path);
    tail[n] = '\0';
    end = line_begin(tail, n);
    begin = end > 0 ? line_begin(tail, end - 1) : 0;
    if (end > 0 && size - n + begin > 0)
        *last = step_of(tail + begin);
    if (*last == SIZE_MAX || (end == 0 && size > n))
        return tg_fail(err, TG_EUSAGE,
                       "%s: its last line is not a log's; expected a log, or a new file for it", path);
    if (end == n)
        return TG_OK;
    while (ftruncate(log, (off_t)(size - n + end)) != 0)
        if (errno != EINTR)
            return log_failed(path, err);
    cli_say("%s: its last line was incomplete, and is removed", path);
    return TG_OK;
}

/* A run that was killed has perhaps logged steps that it had not saved. */
static void say_other_step(const char *path, size_t last, size_t step)
{
    if (last != 0 && last != step)
        cli_say("%s: its last step is %s, and this run continues with step %s: %s", path, cli_count(last),
                cli_count(step + 1), last > step ? "the log has these twice" : "the log lacks those between");
}

/* ---- all of it */

static bool is_empty(int log)
{
    struct stat st;

    return fstat(log, &st) != 0 || st.st_size == 0; /* a pipe's size is 0 */
}

static int open_file(const char *path, bool append_only)
{
    const int flags = (append_only ? O_WRONLY : O_RDWR) | O_APPEND | O_CREAT | O_NOCTTY | O_CLOEXEC;
    int fd;

    do
        fd = open(path, flags, 0666);
    while (fd < 0 && errno == EINTR);
    return fd;
}

tg_status train_log_open(train_log *log, const char *path, size_t step, tg_err *err)
{
    struct stat st;
    size_t last = 0;
    bool exists;
    tg_status status = tg_path_examine(path, &st, &exists, err);
    const bool append_only = exists && !S_ISREG(st.st_mode);

    *log = (train_log){.fd = -1};
    if (!status && exists && !append_only)
        status = check_first(path, err);
    if (status)
        return status;
    if ((log->fd = open_file(path, append_only)) < 0)
        return log_failed(path, err);
    if (!append_only && (status = mend_end(log->fd, path, &last, err))) {
        close(log->fd);
        log->fd = -1;
        return status;
    }
    say_other_step(path, last, step);
    log->path = path;
    log->begins = is_empty(log->fd);
    return TG_OK;
}

tg_status train_log_write(train_log *log, const char *line, size_t n, tg_err *err)
{
    char text[sizeof titles + TRAIN_LOG_LINE];
    const size_t before = log->begins ? sizeof titles - 1 : 0;
    tg_err why;

    assert(n <= TRAIN_LOG_LINE);
    memcpy(text, titles, before);
    memcpy(text + before, line, n);
    log->begins = false;
    if (!tg_write_all(log->fd, text, before + n, &why))
        return TG_OK;
    errno = why.sys;
    return log_failed(log->path, err);
}

tg_status train_log_close(train_log *log, tg_err *err)
{
    const train_log closed = *log;
    tg_status status = TG_OK;

    if (!closed.path)
        return TG_OK;
    if (closed.begins)
        status = train_log_write(log, "", 0, err);
    *log = (train_log){.fd = -1};
    if (close(closed.fd) != 0 && errno != EINTR && !status)
        status = log_failed(closed.path, err);
    return status;
}
