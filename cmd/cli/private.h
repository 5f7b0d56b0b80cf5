/*
 * private: what the parts of cli use of each other.
 */
#ifndef TG_CMD_CLI_PRIVATE_H
#define TG_CMD_CLI_PRIVATE_H

#include <signal.h>
#include <stdbool.h>

#include "cmd/cli/cli.h"

/* ---- options and help */

/* Whether a number is in the option's range. */
bool cli_in_range(const cli_option *o, double value);

/* The tool's own option of that letter, or NULL. */
const cli_option *cli_find_letter(const cli_tool *tool, char letter);

/* Print to standard output, close it, and exit. */
void cli_show_help(const cli_tool *tool);
void cli_show_version(const cli_tool *tool);

/* ---- messages and signals */

/* The name that cli_init() was given. */
const char *cli_tool_name(void);

/* Block SIGINT, SIGTERM and SIGHUP until cli_release_stops() is given *old. */
void cli_hold_stops(sigset_t *old);
void cli_release_stops(const sigset_t *old);

/* From now on those signals remove the file `path` before they end the tool, if nothing else
 * handles them; one file at a time.  A path that is too long is left alone. */
void cli_keep_temporary(const char *path);
void cli_forget_temporary(void);

/* Writing beyond a limit on file sizes is an error of the write, not a signal. */
void cli_ignore_file_limit(void);

#endif
