/* cli: standard error, below messages, progress and signals. */
#include <string.h>
#include <unistd.h>

#include "cmd/cli/private.h"

struct cli_stderr cli_stderr = {.tool = "tg"};

const cli_option cli_quiet_option = CLI_FLAG_OPTION(
    'q', "quiet", &cli_stderr.quiet, "print no notes and no progress; errors and warnings stay");

void cli_mute(bool mute)
{
    cli_stderr.muted = mute;
}

void cli_progress_end(void)
{
    if (cli_stderr.line_open)
        fputc('\n', stderr);
    cli_stderr.line_open = 0;
}

void cli_say_at_once(const char *line)
{
    const size_t n = strlen(line);

    if (cli_stderr.muted)
        return;
    if (cli_stderr.line_open)
        (void)!write(STDERR_FILENO, "\n", 1);
    cli_stderr.line_open = 0;
    (void)!write(STDERR_FILENO, line, n);
}
