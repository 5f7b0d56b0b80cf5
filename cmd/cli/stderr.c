/* cli: standard error, below messages, progress and signals: under which name the tool speaks there, whether
 * it speaks at all, and the redrawn line on which the cursor may be. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cli/cli.h"
#include "cmd/cli/private.h"

static const char *tool_name = "tg";
static volatile sig_atomic_t muted;
static volatile sig_atomic_t line_open; /* the cursor is at the end of a redrawn line */
static bool quiet;

const cli_option cli_quiet_option =
    CLI_FLAG_OPTION('q', "quiet", &quiet, "print no notes and no progress; errors and warnings stay");

void cli_set_tool_name(const char *name)
{
    tool_name = name;
}

const char *cli_tool_name(void)
{
    return tool_name;
}

void cli_mute(bool mute)
{
    muted = mute;
}

bool cli_is_muted(void)
{
    return muted;
}

bool cli_is_quiet(void)
{
    return quiet;
}

void cli_redraw_line(const char *line, size_t n)
{
    line_open = 1; /* first: cli_say_at_once() may come in between */
    fprintf(stderr, "\r%.*s\033[K", (int)n, line);
}

void cli_progress_end(void)
{
    if (line_open)
        fputc('\n', stderr);
    line_open = 0;
}

void cli_say_at_once(const char *line)
{
    const size_t n = strlen(line);

    if (cli_is_muted())
        return;
    if (line_open)
        (void)!write(STDERR_FILENO, "\n", 1);
    line_open = 0;
    (void)!write(STDERR_FILENO, line, n);
}
