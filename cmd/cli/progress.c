/* cli: the terminal, and the progress line on it. */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cmd/cli/private.h"
#include "lib/base/utf8.h"

#define REDRAW_SECONDS 0.1 /* between updates of a redrawn line */
#define LINE_SECONDS 10    /* between lines that are not redrawn */
#define QUIET_SECONDS 1    /* a job that takes no longer shows no progress */

double cli_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool takes_escapes(int fd)
{
    const char *term = getenv("TERM");

    return isatty(fd) && term && *term != '\0' && strcmp(term, "dumb") != 0;
}

bool cli_takes_color(int fd)
{
    const char *no_color = getenv("NO_COLOR");

    return takes_escapes(fd) && !(no_color && *no_color != '\0');
}

size_t cli_terminal_width(int fd)
{
    struct winsize size;

    return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

bool cli_redraws(void)
{
    return takes_escapes(STDERR_FILENO);
}

bool cli_progress_due(double *shown)
{
    const double t = cli_now();

    if (*shown >= 0 && t - *shown < (cli_redraws() ? REDRAW_SECONDS : LINE_SECONDS))
        return false;
    *shown = t;
    return true;
}

bool cli_progress_wanted(double begun, double *shown)
{
    return cli_redraws() && cli_now() - begun >= QUIET_SECONDS && cli_progress_due(shown);
}

/* The bytes of `line` that fit into `columns`, at one column per character. */
static size_t fitting(const char *line, size_t columns)
{
    size_t n = 0;

    for (size_t seen = 0; line[n] != '\0'; n++)
        if (!tg_utf8_continues((unsigned char)line[n]) && ++seen > columns)
            break;
    return n;
}

void cli_progress(const char *line)
{
    const size_t width = cli_terminal_width(STDERR_FILENO);

    if (cli_stderr.muted || cli_stderr.quiet)
        return;
    if (!cli_redraws()) {
        fprintf(stderr, "%s\n", line);
        return;
    }
    cli_stderr.line_open = 1; /* first: cli_say_at_once() may come in between */
    /* the last column stays free: some terminals wrap after writing to it */
    fprintf(stderr, "\r%.*s\033[K", (int)fitting(line, (width < 2 ? 80 : width) - 1), line);
}

static bool show_job(void *context, double fraction)
{
    cli_job *job = context;
    char line[128];

    if (!cli_progress_wanted(job->begun, &job->shown))
        return true;
    snprintf(line, sizeof line, "%s: %.0f%%, %s left", job->what, 100 * fraction,
             fraction > 0 ? cli_duration((job->shown - job->begun) / fraction * (1 - fraction)) : "?");
    cli_progress(line);
    return true;
}

const tg_watch *cli_job_begin(cli_job *job, const char *what)
{
    const double now = cli_now();

    *job = (cli_job){what, now, now, {show_job, job}};
    return &job->watch;
}
