/*
 * private: what the files of cli share with each other, but not with the tools.
 */
#ifndef TG_CMD_CLI_PRIVATE_H
#define TG_CMD_CLI_PRIVATE_H

#include <signal.h>
#include <stdbool.h>

#include "cmd/cli/cli.h"

/* ---- options and help */

/* Whether a number is in the option's range. */
bool cli_in_range(const cli_option *o, double value);

/* Set an option's value; NULL for a flag.  CLI_USAGE, after a message: the option does not take it. */
int cli_set_value(const cli_option *o, const char *text);

/* Report an option that the tool lacks, typed [n] without its dashes, and what was probably meant. */
void cli_report_unknown(const cli_tool *tool, const char *typed, size_t n);

/* The tool's options, by number: its own, then those that all tools have; then NULL. */
const cli_option *cli_get_option(const cli_tool *tool, size_t number);

/* The tool's own option with this name, or NULL. */
const cli_option *cli_own_option(const cli_tool *tool, const char *name);

/* The value of --format that an option of cli_get_option() stands for: --json, --tsv.  NULL: it is another
 * one. */
const char *cli_format_meant(const cli_option *o);

/* Print to standard output, close it, and exit. */
void cli_show_help(const cli_tool *tool);
int cli_show_completions(const cli_tool *tool, const char *shell); /* CLI_USAGE: no such shell */
void cli_show_version(const cli_tool *tool);

/* ---- the sandbox */

extern const cli_option cli_sandbox_option;

/* Note the files that the tool's options and its n operands, from argv[1] on, name. */
void cli_note_files(const cli_tool *tool, char **argv, int n);

/* Filter the system calls of this process from now on.  0, or -1 and errno: there is no such filter. */
int cli_filter_calls(void);

/* ---- names of files, and locks */

/* Whether a list, ended by NULL, has a name. */
bool cli_is_one_of(const char *name, const char *const *names);

/* The files of Hugging Face's: weights, of which a model's directory has one, and what is read with them. */
extern const char *const cli_weights[], *const cli_around[];

/* Returns TG_EIO, with "PATH: process 1234 is `work` it"; holder <= 0: the process is not known. */
TG_MUST_CHECK tg_status cli_in_use(const char *path, long holder, const char *work, tg_err *err);

/* ---- messages and signals */

/* What may be said on standard error, and how. */
extern struct cli_stderr {
    const char *tool;                /* who speaks: the name given to cli_init() */
    bool quiet;                      /* --quiet: no notes and no progress */
    volatile sig_atomic_t muted;     /* nothing at all (cli_mute()) */
    volatile sig_atomic_t line_open; /* the cursor is at the end of a redrawn line */
} cli_stderr;
extern const cli_option cli_quiet_option;

/* Standard output is written to, other than by stdio: cli_close_stdout() will close it. */
extern bool cli_stdout_used;

/* Print `line`, which ends with a newline, on a separate line.  Signal handlers may call this. */
void cli_say_at_once(const char *line);

/* Called once, by the main thread.  A write beyond the file size limit then fails with an error (SIGXFSZ is
 * ignored), and a mapped file that becomes shorter is an error: a message, no temporary file, CLI_IO. */
void cli_begin_signals(void);

/* Put off the signals that end a tool (SIGTERM, SIGPIPE, SIGUSR1 and so on: `ends` in signals.c) until
 * cli_release_ends(): the main thread, which calls this, blocks them; other threads leave them to it.  *old:
 * its mask before. */
void cli_hold_ends(sigset_t *old);
void cli_release_ends(const sigset_t *old);

/* Register a file, while those signals are put off: if one of them ends the tool, the file is removed first.
 * One of each kind at a time; a path that is too long is not registered. */
typedef enum cli_kept { CLI_TEMPORARY_FILE, CLI_LOCK_FILE, CLI_KEPT_FILES } cli_kept;
void cli_keep_file(cli_kept kind, const char *path);
void cli_forget_file(cli_kept kind);

#endif
