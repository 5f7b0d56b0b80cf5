/* cli: start-up, messages, and closing standard output. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "cmd/cli/private.h"

static int stdout_errno; /* of a failed write to stdout, if known */
bool cli_stdout_used;

/* Open /dev/null on `fd` if that is closed, so that the tool does not open one of its files there.  open()
 * returns the lowest free descriptor, so the caller must go upwards from 0. */
static void fill_descriptor(int fd, int flags)
{
    if (fcntl(fd, F_GETFD) != -1 || errno != EBADF || open("/dev/null", flags) == fd)
        return;
    cli_say("descriptor %d is closed, and /dev/null cannot be opened there: %s", fd, strerror(errno));
    _exit(CLI_IO);
}

void cli_init(const char *name)
{
    cli_stderr.tool = name;
    fill_descriptor(STDIN_FILENO, O_WRONLY); /* reading it fails with EBADF, as if it were closed */
    fill_descriptor(STDOUT_FILENO, O_RDONLY);
    fill_descriptor(STDERR_FILENO, O_WRONLY);
    cli_begin_signals();
}

/* Print one line.  Bytes from files and arguments are escaped, so that they cannot break it. */
TG_PRINTF(1, 0)
static void say(const char *format, va_list ap, const char *tail)
{
    char text[2048], shown[4096];

    if (cli_stderr.muted || vsnprintf(text, sizeof text, format, ap) < 0)
        return;
    cli_escape(shown, sizeof shown, (const unsigned char *)text, strlen(text));
    cli_progress_end();
    fprintf(stderr, "%s: %s%s\n", cli_stderr.tool, shown, tail);
}

void cli_say(const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    say(format, ap, "");
    va_end(ap);
}

void cli_note(const char *format, ...)
{
    va_list ap;

    if (cli_stderr.quiet)
        return;
    va_start(ap, format);
    say(format, ap, "");
    va_end(ap);
}

int cli_usage(const char *format, ...)
{
    char hint[64];
    va_list ap;

    snprintf(hint, sizeof hint, " (see %s --help)", cli_stderr.tool);
    va_start(ap, format);
    say(format, ap, hint);
    va_end(ap);
    return CLI_USAGE;
}

int cli_report(const tg_err *err)
{
    cli_say("%s", err->message);
    return err->code == TG_ENOMEM ? CLI_IO : (int)err->code;
}

void cli_to_null(int fd, int flags)
{
    const int null = open("/dev/null", flags | O_CLOEXEC);

    if (null < 0)
        return;
    (void)dup2(null, fd);
    close(null);
}

bool cli_stdout_failed(void)
{
    if (!ferror(stdout))
        return false;
    if (!stdout_errno) {
        stdout_errno = errno;
        cli_to_null(STDOUT_FILENO, O_WRONLY); /* nothing more goes out: it would follow a gap */
    }
    return true;
}

int cli_close_stdout(void)
{
    /* it has no orientation before its first use */
    if (!cli_stdout_used && fwide(stdout, 0) == 0)
        return CLI_OK;
    if (ferror(stdout) && !stdout_errno)
        cli_to_null(STDOUT_FILENO, O_WRONLY);
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout) && (fclose(stdout) == 0 || errno == EINTR)) /* it is closed */
        return CLI_OK;
    /* stdio remembers that an earlier write failed, but not its errno */
    if (!errno)
        errno = stdout_errno;
    cli_say("standard output: %s", errno ? strerror(errno) : "write error");
    return CLI_IO;
}
