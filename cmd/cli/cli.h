/*
 * cli: what all tools share -- options, messages, files, progress, signals.
 * With the tools' own sources, the only code that prints or exits.
 *
 * A tool is parse(argc, argv, &options), free of side effects; then
 * run(&options, &err); then cli_close_stdout().  See any cmd/tg-x/main.c.
 */
#ifndef TG_CMD_CLI_H
#define TG_CMD_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "formats/fields.h"
#include "formats/save.h"
#include "lib/base/status.h"

/* ---- messages.c */

/* Exit codes: tg_status as a shell sees it.  CLI_IO also stands for TG_ENOMEM. */
enum { CLI_OK = 0, CLI_DATA = 1, CLI_USAGE = 2, CLI_IO = 3 };

/*
 * First thing in main: set the tool's name for messages; open a harmless file on standard
 * descriptors that are closed, so that using one is an error and no other file gets its
 * number; make a file that grows beyond a limit an error of the write, not a signal.
 */
void cli_init(const char *tool_name);

/* Print a line to stderr: "tg-x: message". */
void cli_say(const char *format, ...) TG_PRINTF(1, 2);

/* The same with a reference to --help.  Returns CLI_USAGE. */
int cli_usage(const char *format, ...) TG_PRINTF(1, 2);

/* The same for err's message.  Returns the exit code for err->code. */
int cli_report(const tg_err *err);

/* Whether writing to stdout has failed.  To be called right after a write: stdio does not
 * keep the reason, and this does.  Threads may call it one at a time. */
bool cli_stdout_failed(void);

/* Flush and close stdout; report a failure, of this or of an earlier write.  Returns the
 * exit code. */
int cli_close_stdout(void);

/* ---- options.c */

typedef enum cli_type {
    CLI_FLAG,   /* bool: set to true */
    CLI_TEXT,   /* const char *: kept, not copied */
    CLI_SIZE,   /* size_t in [min, max] */
    CLI_U64,    /* uint64_t, any */
    CLI_NUMBER, /* double in [min, max] */
    CLI_CHOICE, /* size_t: index into the choices that metavar lists, "a|b|c" */
    CLI_ENUM,   /* an enum: the same */
    CLI_YES_NO  /* bool: "yes" or "no"; no default is shown */
} cli_type;

/* One option.  The table is the tool's whole interface: parsing, ranges and --help
 * come from it. */
typedef struct cli_option {
    char letter;      /* 'm', or 0 */
    const char *name; /* "model" */
    cli_type type;
    void *value;         /* the default on entry; a value that the option would refuse means none */
    const char *metavar; /* "FILE", or for CLI_CHOICE "text|tsv"; NULL for a flag */
    const char *help;    /* one sentence, lower case, no full stop */
    double min, max;     /* CLI_SIZE and CLI_NUMBER: the range */
    bool *given;         /* set to true when the option is given; may be NULL */
} cli_option;

typedef struct cli_tool {
    const char *name;     /* "tg-sample" */
    const char *usage;    /* "[-m MODEL] [-p TEXT] [OPTION]..." */
    const char *summary;  /* one sentence: what it does */
    const char *examples; /* lines for --help, each "  $ ..."; or NULL */
    cli_option *options;  /* ends with an entry whose name is NULL */
} cli_tool;

/*
 * Parse argv by tool->options, in GNU manner: long names may be abbreviated, "--" ends
 * options, options and operands may mix.  --help and --version print to stdout and exit 0.
 * Operands are moved to the front of argv + 1; returns how many, or -1 after an error has
 * been reported (then: return CLI_USAGE).
 * Errors are also: a number that is malformed or out of range, an empty file name, a
 * second "-" among the operands.
 */
int cli_parse(int argc, char **argv, const cli_tool *tool);

/* Parse a whole number of up to 15 digits at *at, and move *at after it; false: no digit is
 * there. */
bool cli_take_size(const char **at, size_t *value);

/* ---- fields.c */

#define CLI_NAME_SIZE 32 /* bytes of an option's name, with the NUL */

/*
 * The option that sets a member of an object (formats/fields.h), without letter, help and
 * `given`.  Its name is the array's: --min-lr for train/min_lr; it is put into `name`, which
 * must outlive the option.  A choice needs no metavar.  The member holds the default.
 */
cli_option cli_field_option(const tg_field *f, void *object, const char *metavar, char name[CLI_NAME_SIZE]);

/* ---- input.c */

/* -m FILE, else $TG_MODEL, else "model.npz". */
const char *cli_model_path(const char *given);

/* Open a file, or for "-" standard input, to read.  On TG_EIO the message has the file's
 * name, and *fd is -1. */
TG_MUST_CHECK tg_status cli_open_input(int *fd, const char *path, tg_err *err);
const char *cli_input_name(const char *path); /* path, or "standard input" */
void cli_close_input(int fd);                 /* leaves standard input open; -1 is fine */

/* Whether a path is "-": standard input or output. */
bool cli_is_dash(const char *path);

/* Whether standard input can hold data: a file, a pipe or a socket, not a terminal or
 * /dev/null. */
bool cli_stdin_has_data(void);

/* ---- output.c */

/*
 * The destination of a result: stdout (path NULL or "-"), or a file that is replaced whole
 * by the commit.  Binary data does not go to a terminal: TG_EUSAGE, with the remedy.
 * Error messages name the file; errors of the caller's own writes are for `name`.
 * At most one output is open at a time.  SIGINT, SIGTERM and SIGHUP remove its temporary
 * file before they end the tool; SIGKILL leaves it.
 */
typedef struct cli_output {
    int fd;           /* to write to */
    const char *name; /* the path, or "standard output" */
    bool file;        /* `save` is open */
    tg_save save;
} cli_output;
TG_MUST_CHECK tg_status cli_output_begin(cli_output *out, const char *path, bool binary, tg_err *err);
TG_MUST_CHECK tg_status cli_output_commit(cli_output *out, tg_err *err);
void cli_output_abort(cli_output *out); /* harmless after commit, and on a zeroed one */

/* Whether cli_output_begin() for binary data would succeed.  Leaves no trace. */
TG_MUST_CHECK tg_status cli_output_check(const char *path, tg_err *err);

/* Whether a path is standard output, a pipe or a device: data written there cannot be
 * replaced later. */
bool cli_output_is_stream(const char *path);

/* ---- progress.c */

/* Whether a descriptor interprets escape sequences: it is a terminal, TERM is not "dumb" and
 * NO_COLOR is not set.  Its width in columns; 0: it is no terminal. */
bool cli_takes_escapes(int fd);
size_t cli_terminal_width(int fd);

/* cli_takes_escapes() of stderr: a line of progress can be redrawn there. */
bool cli_redraws(void);

/* Whether a new line is due: 0.1 s after *shown where it is redrawn, otherwise 10 s.  If so,
 * *shown (seconds of cli_now(), below 0 for never) becomes the present. */
bool cli_progress_due(double *shown);

/* Seconds since some moment in the past. */
double cli_now(void);

/* Show `line` on stderr: redrawn in place, cut at the terminal's width, when cli_redraws();
 * otherwise printed as a line of its own. */
void cli_progress(const char *line);

/* End the redrawn line, if one is shown, so that what follows starts on a new line.
 * cli_say() and cli_report() do so themselves. */
void cli_progress_end(void);

/* ---- signals.c */

/* From now on SIGUSR1 sets a flag. */
void cli_catch_status(void);

/* From now on the first SIGINT, SIGTERM or SIGHUP is stored and does not end the tool.
 * Another one ends it at once, except within a second of the first: some programs send the
 * same request twice. */
void cli_catch_stop(void);

int cli_stop_signal(void);   /* the signal, or 0 */
bool cli_status_asked(void); /* whether SIGUSR1 came since the last call */

/* Die of signal `number` as if it had never been caught: exit status 128 + number. */
void cli_raise(int number);

/* ---- words.c */

/* The ending of a noun after a number: "s", or "" after 1. */
const char *cli_plural(uint64_t n);

/* "12,345"; "1.3 GiB"; "2m05s".  The result is in one of 8 buffers, used in turn. */
const char *cli_count(uint64_t n);
const char *cli_bytes(uint64_t bytes);
const char *cli_duration(double seconds);

/* Text as a terminal can show it: control characters, and bytes that are not part of valid
 * UTF-8, become \n \t \xNN.  Into out [size], cut to fit, always terminated. */
void cli_escape(char *out, size_t size, const unsigned char *text, size_t n);

/* ---- compute.c */

/*
 * For a tool that computes, after cli_init(): make threads that wait for each other sleep
 * after some microseconds, not spin for milliseconds.  Where other programs want the
 * processors too, training gets several times faster; elsewhere there is no measurable cost.
 * OpenMP's libraries read this setting from the environment when they are loaded, so the
 * tool executes itself once more with it.  A setting of the user's is left alone.
 */
void cli_init_threads(char **argv);

/*
 * Before the first computation: set the number of threads (0: OpenMP's default) and the
 * instruction set: $TG_ISA, else the best one.  Its kernels are tested on a tiny case; on a
 * mismatch this is said, and the portable ones are used.  TG_EUSAGE: more than 8 threads per
 * processor, or an instruction set that the processor lacks.
 */
TG_MUST_CHECK tg_status cli_begin_compute(size_t threads, tg_err *err);

#endif
