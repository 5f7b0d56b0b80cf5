/*
 * cli: what all tools share -- options, messages, progress, the end of stdout.
 * With the tools' own mains, the only code that prints or exits.
 *
 * A tool is parse(argc, argv, &options), free of side effects; then
 * run(&options, &err); then cli_close_stdout().  See any tg-*.c.
 */
#ifndef TG_CMD_CLI_H
#define TG_CMD_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "formats/save.h"
#include "lib/base/status.h"

/* Exit codes: tg_status, as a shell sees it; without memory it is CLI_IO, too. */
enum { CLI_OK = 0, CLI_DATA = 1, CLI_USAGE = 2, CLI_IO = 3 };

typedef enum cli_type {
    CLI_FLAG,   /* bool: set to true */
    CLI_TEXT,   /* const char *: kept, not copied */
    CLI_SIZE,   /* size_t in [min, max] */
    CLI_U64,    /* uint64_t, any */
    CLI_NUMBER, /* double in [min, max] */
    CLI_CHOICE  /* size_t: index into the choices that metavar lists, "a|b|c" */
} cli_type;

/* One option.  The table is the tool's whole interface: parsing, ranges and --help
 * come from it. */
typedef struct cli_option {
    char letter;      /* 'm', or 0 */
    const char *name; /* "model" */
    cli_type type;
    void *value;         /* where the value goes; holds the default before parsing, or
                          * what the option itself would refuse when there is none */
    const char *metavar; /* "FILE", or for CLI_CHOICE "text|tsv"; NULL for a flag */
    const char *help;    /* one sentence, lower case, no full stop */
    double min, max;     /* CLI_SIZE and CLI_NUMBER: the range */
    bool *given;         /* set when the option was there; may be NULL */
} cli_option;

typedef struct cli_tool {
    const char *name;     /* "tg-sample" */
    const char *usage;    /* "[-m MODEL] [-p TEXT] [OPTION]..." */
    const char *summary;  /* one sentence: what it does */
    const char *examples; /* lines for --help, each "  $ ..."; or NULL */
    cli_option *options;  /* ends with an entry whose name is NULL */
} cli_tool;

/*
 * First thing in main: remember the tool's name for messages, put a harmless file
 * on standard descriptors that are closed (so that using one gives an error, and
 * opening a file does not land there), let a file that grows too large be an error of
 * the write, not a signal.
 */
void cli_init(const char *tool_name);

/*
 * Parse argv by tool->options (GNU manner: long names may be abbreviated, "--"
 * ends options, options and operands may mix).  --help and --version print to
 * stdout and exit 0.  Operands are moved to the front of argv + 1; returns how many,
 * or -1 after an error has been reported (then: return CLI_USAGE).
 * A number that is malformed or out of range is an error that names the range; an empty
 * name of a file, and a second "-" among the operands, are errors too.
 */
int cli_parse(int argc, char **argv, const cli_tool *tool);

/* Take a whole number of up to 15 digits from the text at *at, which is then behind it; false:
 * there is none. */
bool cli_take_size(const char **at, size_t *value);

/* "tg-x: message" and a hint at --help, on stderr; returns CLI_USAGE. */
int cli_usage(const char *format, ...) TG_PRINTF(1, 2);

/* "tg-x: message" on stderr; returns the exit code for err->code. */
int cli_report(const tg_err *err);

/* A line on stderr, "tg-x: ...". */
void cli_say(const char *format, ...) TG_PRINTF(1, 2);

/* Whether writing to stdout has failed; right after a write, so that the reason, which
 * stdio does not keep, is still there to be remembered.  For any thread, one at a time. */
bool cli_stdout_failed(void);

/* Flush and close stdout; a failure, now or before, is reported.  Returns the exit code. */
int cli_close_stdout(void);

/* ---- files */

/* -m FILE, else $TG_MODEL, else "model.npz". */
const char *cli_model_path(const char *given);

/* Open for reading; "-" is standard input.  TG_EIO, with the file's name in the message:
 * *fd is then -1. */
TG_MUST_CHECK tg_status cli_open_input(int *fd, const char *path, tg_err *err);
const char *cli_input_name(const char *path); /* path, or "standard input" */
void cli_close_input(int fd);                 /* leaves standard input open; -1 is fine */

/* Whether a path is "-": standard input or output. */
bool cli_is_dash(const char *path);

/*
 * Where a result goes: to stdout (path NULL or "-") or to a file that is replaced whole
 * on commit.  What is binary does not go to a terminal: TG_EUSAGE, with the remedy.
 * All errors name the file; for those of the caller's own writing there is `name`.
 * One output at a time is under way; SIGINT, SIGTERM and SIGHUP take its temporary file
 * away before they end the tool.  What is left of a tool that was killed stays.
 */
typedef struct cli_output {
    int fd;           /* write here */
    const char *name; /* the path, or "standard output" */
    bool file;        /* `save` is under way */
    tg_save save;
} cli_output;
TG_MUST_CHECK tg_status cli_output_begin(cli_output *out, const char *path, bool binary, tg_err *err);
TG_MUST_CHECK tg_status cli_output_commit(cli_output *out, tg_err *err);
void cli_output_abort(cli_output *out); /* harmless after commit, and on a zeroed one */

/* Whether cli_output_begin() for something binary is going to work; leaves no trace. */
TG_MUST_CHECK tg_status cli_output_check(const char *path, tg_err *err);

/* Whether a path is standard output, a pipe or a device: what is written there cannot
 * be replaced later. */
bool cli_output_is_stream(const char *path);

/* Whether standard input is something to read: a file, a pipe or a socket; not a
 * terminal and not /dev/null. */
bool cli_stdin_has_data(void);

/* ---- progress on stderr */

/* Whether a descriptor takes escape sequences: a terminal, TERM is not "dumb", NO_COLOR is
 * not set; and its columns, 0 when it is no terminal. */
bool cli_takes_escapes(int fd);
size_t cli_terminal_width(int fd);

/* Whether stderr takes a line that redraws: a terminal, TERM is not "dumb", NO_COLOR is
 * not set (whoever sets it wants no escape sequences). */
bool cli_redraws(void);

/* Whether a new line is due: 0.1 s after *shown where it redraws, else 10 s; *shown (seconds of
 * cli_now(), or below 0 for never) is then the present. */
bool cli_progress_due(double *shown);

/* Seconds since some moment in the past. */
double cli_now(void);

/* Show `line` on stderr: redrawn in place (cut at the terminal's width) when
 * cli_redraws(), else printed as a line of its own. */
void cli_progress(const char *line);

/* End the redrawn line, if there is one, so that what follows starts a new line.
 * cli_say and cli_report do so themselves. */
void cli_progress_end(void);

/* ---- signals */

/* From now on SIGUSR1 is remembered. */
void cli_catch_status(void);

/* From now on SIGINT, SIGTERM and SIGHUP are remembered instead of ending the tool at
 * once; another one ends it, unless it comes within a second of the first: some programs
 * send the same request twice. */
void cli_catch_stop(void);

int cli_stop_signal(void);   /* 0, or SIGINT, SIGTERM or SIGHUP */
bool cli_status_asked(void); /* SIGUSR1 came since the last call */

/* Die of signal `number` as if it had never been caught: exit status 128 + number. */
void cli_raise(int number);

/* ---- words */

/* What makes a word a plural: "s", or nothing where n is 1. */
const char *cli_plural(uint64_t n);

/* "12,345"; "1.3 GiB"; "2m05s".  Each call has room in a ring of 8. */
const char *cli_count(uint64_t n);
const char *cli_bytes(uint64_t bytes);
const char *cli_duration(double seconds);

/* Text as a terminal can show it: control characters, and bytes that are not part
 * of valid UTF-8, as \n \t \xNN.  Into out [size], cut to fit, always terminated. */
void cli_escape(char *out, size_t size, const unsigned char *text, size_t n);

/*
 * For a tool that computes: threads that wait for each other shall sleep soon, not
 * spin for milliseconds.  Where another program wants the processors too, that makes
 * training several times faster, and elsewhere it costs nothing that can be measured.
 * OpenMP's libraries read this setting from the environment when they are loaded, so
 * the tool starts itself once more with it; a setting of the user's own is left alone.
 * After cli_init().
 */
void cli_init_threads(char **argv);

/*
 * Before the first computation: the threads (0 = what OpenMP takes by itself), and the
 * instruction set, $TG_ISA or the best one, whose kernels are tested on a tiny case; when
 * that fails it is said, and the portable ones are used.  TG_EUSAGE: more than 8 threads a
 * processor, or an instruction set that is not here.
 */
TG_MUST_CHECK tg_status cli_begin_compute(size_t threads, tg_err *err);

#endif
