/* cli: messages, standard descriptors, files, progress and signals. */
#include "cmd/cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <omp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/utf8.h"
#include "lib/kernels/kernels.h"

static const char *tool_name = "tg";
static int stdout_errno; /* why writing to stdout failed, when that was seen */
static bool line_open;   /* a redrawn line stands on the terminal, without its newline */

/* ---- signals: what comes before the rest, which uses it */

#define N_STOPS 3
#define REDRAW_SECONDS 0.1 /* between lines of progress that redraw */
#define LINE_SECONDS 10    /* and those that do not */
#define SAME_REQUEST 1.0 /* seconds in which another stop signal is the same request */

static const int stops[N_STOPS] = {SIGINT, SIGTERM, SIGHUP};
static volatile sig_atomic_t stop_signal;
static double stop_time; /* when that came; for on_stop alone */
static volatile sig_atomic_t status_asked;
static char temporary[8192];                  /* the path of a save under way ... */
static volatile sig_atomic_t temporary_there; /* ... when there is one */

static void stop_set(sigset_t *set)
{
    sigemptyset(set);
    for (size_t i = 0; i < N_STOPS; i++)
        sigaddset(set, stops[i]);
}

/* One stop signal at a time is handled. */
static void set_action(int number, void (*action)(int))
{
    struct sigaction sa = {.sa_handler = action, .sa_flags = SA_RESTART};

    stop_set(&sa.sa_mask);
    sigaction(number, &sa, NULL);
}

/* The signal ends the tool when its handler returns, and leaves no temporary file. */
static void end_at_once(int number)
{
    const int sys = errno;

    if (temporary_there)
        unlink(temporary);
    set_action(number, SIG_DFL);
    raise(number);
    errno = sys;
}

double cli_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void on_stop(int number)
{
    const int sys = errno;
    const double t = cli_now();

    if (!stop_signal) {
        stop_signal = number;
        stop_time = t;
    } else if (t - stop_time > SAME_REQUEST) {
        end_at_once(number);
    }
    errno = sys;
}

static void on_status(int number)
{
    (void)number;
    status_asked = 1;
}

/* What the parent ignores (nohup, a job in the background of a script) stays so; if `mildly`,
 * another handler, too. */
static void catch_signal(int number, void (*action)(int), bool mildly)
{
    struct sigaction old;

    if (sigaction(number, NULL, &old) == 0 && old.sa_handler != SIG_IGN &&
        (!mildly || old.sa_handler == SIG_DFL))
        set_action(number, action);
}

/* ---- start, messages, end of stdout */

/* Put /dev/null on `fd` if that is closed.  The lowest free descriptor is what
 * open() takes, so this goes upwards from 0. */
static void fill_descriptor(int fd, int flags)
{
    if (fcntl(fd, F_GETFD) == -1 && errno == EBADF)
        (void)!open("/dev/null", flags);
}

void cli_init(const char *name)
{
    tool_name = name;
    fill_descriptor(STDIN_FILENO, O_WRONLY); /* reading it fails with EBADF, as it should */
    fill_descriptor(STDOUT_FILENO, O_RDONLY);
    fill_descriptor(STDERR_FILENO, O_WRONLY);
    set_action(SIGXFSZ, SIG_IGN);
}

/* One line, whatever a file or an argument put into it. */
TG_PRINTF(1, 0)
static void say(const char *format, va_list ap, const char *tail)
{
    char text[2048], shown[4096];

    if (vsnprintf(text, sizeof text, format, ap) < 0)
        return;
    cli_escape(shown, sizeof shown, (const unsigned char *)text, strlen(text));
    cli_progress_end();
    fprintf(stderr, "%s: %s%s\n", tool_name, shown, tail);
}

void cli_say(const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    say(format, ap, "");
    va_end(ap);
}

int cli_usage(const char *format, ...)
{
    char hint[64];
    va_list ap;

    snprintf(hint, sizeof hint, " (see %s --help)", tool_name);
    va_start(ap, format);
    say(format, ap, hint);
    va_end(ap);
    return CLI_USAGE;
}

int cli_report(const tg_err *err)
{
    cli_say("%s", err->message);
    switch (err->code) {
    case TG_OK:
        return CLI_OK;
    case TG_EDATA:
        return CLI_DATA;
    case TG_EUSAGE:
        return CLI_USAGE;
    case TG_EIO:
    case TG_ENOMEM:
        break;
    }
    return CLI_IO;
}

bool cli_stdout_failed(void)
{
    if (!ferror(stdout))
        return false;
    if (!stdout_errno)
        stdout_errno = errno;
    return true;
}

int cli_close_stdout(void)
{
    bool failed;

    errno = 0;
    failed = fflush(stdout) != 0 || ferror(stdout);
    if (!failed)
        failed = fclose(stdout) != 0;
    if (!failed)
        return CLI_OK;
    /* A write that failed earlier has left its mark, but no errno of its own. */
    if (!errno)
        errno = stdout_errno;
    cli_say("standard output: %s", errno ? strerror(errno) : "write error");
    return CLI_IO;
}

/* ---- files */

const char *cli_model_path(const char *given)
{
    const char *path = given ? given : getenv("TG_MODEL");

    return path && *path != '\0' ? path : "model.npz";
}

bool cli_is_dash(const char *path)
{
    return strcmp(path, "-") == 0;
}

tg_status cli_open_input(int *fd, const char *path, tg_err *err)
{
    struct stat st;
    int sys = 0;

    *fd = cli_is_dash(path) ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (*fd < 0 || fstat(*fd, &st))
        sys = errno;
    else if (S_ISDIR(st.st_mode))
        sys = EISDIR; /* what reading it would say, said before anything is written */
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

/* Standard output can be written to.  (What cli_init put there when it was closed cannot.) */
static tg_status check_stdout(tg_err *err)
{
    const int flags = fcntl(STDOUT_FILENO, F_GETFL);

    if (flags != -1 && (flags & O_ACCMODE) != O_RDONLY)
        return TG_OK;
    errno = EBADF;
    return tg_fail_sys(err, "cannot be written");
}

/* Remember the temporary file for end_at_once(). */
static void keep_temporary(const tg_save *save)
{
    const size_t n = save->temp ? strlen(save->temp) + 1 : 0;

    if (n == 0 || n > sizeof temporary)
        return;
    memcpy(temporary, save->temp, n);
    temporary_there = 1;
    for (size_t i = 0; i < N_STOPS; i++)
        catch_signal(stops[i], end_at_once, true);
}

/* No signal shall come between making the temporary file and remembering it.  (But opening a
 * pipe can take any time, and makes none.) */
static tg_status begin_save(tg_save *save, const char *path, tg_err *err)
{
    sigset_t set, old;
    tg_status status;

    if (cli_output_is_stream(path))
        return tg_save_begin(save, path, err);
    stop_set(&set);
    sigprocmask(SIG_BLOCK, &set, &old);
    if (!(status = tg_save_begin(save, path, err)))
        keep_temporary(save);
    sigprocmask(SIG_SETMASK, &old, NULL);
    return status;
}

tg_status cli_output_begin(cli_output *out, const char *path, bool binary, tg_err *err)
{
    const char *name;
    tg_status status;

    *out = (cli_output){.fd = STDOUT_FILENO, .name = "standard output"};
    if (!path || cli_is_dash(path)) {
        status = check_stdout(err);
    } else {
        out->name = path;
        status = begin_save(&out->save, path, err);
        out->file = status == TG_OK;
        out->fd = out->save.fd;
    }
    if (!status && binary && isatty(out->fd))
        status = tg_fail(err, TG_EUSAGE,
                         "an archive is binary, and this is a terminal: use -o FILE, > FILE or a pipe");
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
    temporary_there = 0;
    *out = (cli_output){0};
    return status;
}

void cli_output_abort(cli_output *out)
{
    if (out->file) {
        tg_save_abort(&out->save);
        temporary_there = 0;
    }
    *out = (cli_output){0};
}

tg_status cli_output_check(const char *path, tg_err *err)
{
    cli_output out;
    struct stat st;
    tg_status status;

    /* Opening a pipe and closing it again would end its reader. */
    if (path && !cli_is_dash(path) && stat(path, &st) == 0 && S_ISFIFO(st.st_mode)) {
        if (access(path, W_OK) == 0)
            return TG_OK;
        (void)tg_fail_sys(err, "cannot be written");
        return tg_err_in(err, path);
    }
    status = cli_output_begin(&out, path, true, err);
    cli_output_abort(&out);
    return status;
}

bool cli_output_is_stream(const char *path)
{
    struct stat st;

    return !path || cli_is_dash(path) ||
           (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode));
}

bool cli_stdin_has_data(void)
{
    struct stat in, null;

    if (fstat(STDIN_FILENO, &in) || !S_ISCHR(in.st_mode))
        return true; /* when it cannot be told, reading it will */
    if (isatty(STDIN_FILENO))
        return false;
    return stat("/dev/null", &null) != 0 || in.st_rdev != null.st_rdev;
}

/* ---- progress */

bool cli_takes_escapes(int fd)
{
    const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");

    if (no_color && *no_color != '\0')
        return false;
    return isatty(fd) && term && *term != '\0' && strcmp(term, "dumb") != 0;
}

size_t cli_terminal_width(int fd)
{
    struct winsize size;

    return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

bool cli_redraws(void)
{
    return cli_takes_escapes(STDERR_FILENO);
}

bool cli_progress_due(double *shown)
{
    const double t = cli_now();

    if (*shown >= 0 && t - *shown < (cli_redraws() ? REDRAW_SECONDS : LINE_SECONDS))
        return false;
    *shown = t;
    return true;
}

/* Bytes of `line` that fit into `columns`, counting a character as one column. */
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

    if (!cli_redraws()) {
        fprintf(stderr, "%s\n", line);
        return;
    }
    /* One column stays free: writing the last one makes some terminals wrap. */
    fprintf(stderr, "\r%.*s\033[K", (int)fitting(line, (width < 2 ? 80 : width) - 1), line);
    line_open = true;
}

void cli_progress_end(void)
{
    if (line_open)
        fputc('\n', stderr);
    line_open = false;
}

/* ---- signals */

void cli_catch_status(void)
{
    catch_signal(SIGUSR1, on_status, false);
}

void cli_catch_stop(void)
{
    for (size_t i = 0; i < N_STOPS; i++)
        catch_signal(stops[i], on_stop, false);
}

int cli_stop_signal(void)
{
    return stop_signal;
}

bool cli_status_asked(void)
{
    const bool asked = status_asked != 0;

    status_asked = 0;
    return asked;
}

void cli_raise(int number)
{
    sigset_t set;

    cli_progress_end();
    set_action(number, SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, number);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    raise(number);
    _exit(128 + number);
}

/* ---- threads */

#define THREADS_EACH 8 /* processors are not helped by more */

void cli_init_threads(char **argv)
{
    char self[4096];
    const char *name;
    ssize_t n;

    if (getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT") || getenv("KMP_BLOCKTIME"))
        return;
    n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0)
        return;
    self[n] = '\0';
    /* When a loader was told to run the tool, this is the loader: it would take argv for its own. */
    name = strrchr(self, '/');
    if (!name || strcmp(name + 1, tool_name) != 0)
        return;
    if (setenv("GOMP_SPINCOUNT", "3000", 1) == 0 && setenv("KMP_BLOCKTIME", "0", 1) == 0)
        execv(self, argv); /* when it fails, this process does the work as it is */
}

static tg_status set_threads(size_t n, tg_err *err)
{
    const size_t processors = (size_t)omp_get_num_procs();

    if (n > THREADS_EACH * processors)
        return tg_fail(err, TG_EUSAGE,
                       "--threads must be at most %zu, %d for each of %zu processor%s, got %zu",
                       THREADS_EACH * processors, THREADS_EACH, processors, cli_plural(processors), n);
    if (n > 0)
        omp_set_num_threads((int)n);
    return TG_OK;
}

tg_status cli_begin_compute(size_t threads, tg_err *err)
{
    tg_status status;

    if ((status = set_threads(threads, err)))
        return status;
    status = tg_kernels_choose(getenv("TG_ISA"), err);
    if (status == TG_EUSAGE)
        return tg_err_in(err, "$TG_ISA");
    if (status)
        cli_say("%s", err->message);
    return TG_OK;
}
