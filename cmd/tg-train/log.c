#include "cmd/tg-train/log.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cli/cli.h"
#include "formats/format.h"
#include "formats/path.h"
#include "lib/base/size.h"
#include "lib/info/log.h"

static const char titles[] = TG_LOG_TITLES "lr\tgrad_norm\ttokens_per_s\ttime_s\n";

tg_status train_log_failed(const char *path, tg_err *err)
{
    (void)tg_fail_sys(err, "cannot write the log");
    return tg_err_in(err, path);
}

bool train_log_is(const char *path, const char *other)
{
    char *a = tg_path_beside(path, "."), *b = tg_path_beside(other, ".");
    struct stat one, two;
    const bool same = a && b && stat(a, &one) == 0 && stat(b, &two) == 0 && tg_path_same_file(&one, &two) &&
                      strcmp(tg_path_name(path), tg_path_name(other)) == 0;

    free(a);
    free(b);
    return same;
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

/* Remove what follows the last line that is complete.  *last: its step, 0 if it is that of the titles. */
static tg_status mend_end(FILE *log, const char *path, size_t *last, tg_err *err)
{
    char tail[TAIL + 1];
    size_t size, n, end, begin;
    struct stat st;

    *last = 0;
    if (fstat(fileno(log), &st) != 0)
        return train_log_failed(path, err);
    size = (size_t)st.st_size;
    n = tg_size_min(size, TAIL);
    if (pread(fileno(log), tail, n, (off_t)(size - n)) != (ssize_t)n)
        return train_log_failed(path, err);
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
    if (ftruncate(fileno(log), (off_t)(size - n + end)) != 0)
        return train_log_failed(path, err);
    cli_say("%s: its last line was incomplete, and is removed", path);
    return TG_OK;
}

/* A run that was killed has perhaps logged steps that it had not saved. */
static void say_other_step(const char *path, size_t last, size_t step)
{
    if (last != 0 && last != step)
        cli_say("%s: its last step is %s, and this run goes on with step %s: %s", path, cli_count(last),
                cli_count(step + 1), last > step ? "the log has these twice" : "the log lacks those between");
}

/* ---- all of it */

static bool is_empty(FILE *log)
{
    struct stat st;

    return fstat(fileno(log), &st) != 0 || st.st_size == 0; /* a pipe's size is 0 */
}

tg_status train_log_open(FILE **log, const char *path, size_t step, tg_err *err)
{
    struct stat st;
    size_t last;
    bool exists;
    tg_status status = tg_path_examine(path, &st, &exists, err);
    const bool append_only = exists && !S_ISREG(st.st_mode);

    if (!status && exists && !append_only)
        status = check_first(path, err);
    if (status)
        return status;
    *log = fopen(path, append_only ? "a" : "a+");
    if (!*log)
        return train_log_failed(path, err);
    if (!append_only && (status = mend_end(*log, path, &last, err))) {
        fclose(*log);
        *log = NULL;
        return status;
    }
    if (!append_only)
        say_other_step(path, last, step);
    if (is_empty(*log))
        fputs(titles, *log);
    return TG_OK;
}
