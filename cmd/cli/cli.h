/*
 * cli: what every tool needs: options, messages, files, progress, signals.
 * Only this folder and the tools themselves print or exit.
 *
 * A tool's main calls parse(argc, argv, &options), which has no side effects; then
 * run(&options, &err); then cli_close_stdout().  cmd/tg-init/main.c is an example.
 */
#ifndef TG_CMD_CLI_H
#define TG_CMD_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "formats/fields.h"
#include "formats/lock.h"
#include "formats/save.h"
#include "formats/sink.h"
#include "lib/base/status.h"
#include "lib/base/watch.h"

/* ---- messages.c */

/* Exit codes: tg_status as the shell sees it.  TG_ENOMEM also exits with CLI_IO. */
enum { CLI_OK = 0, CLI_DATA = 1, CLI_USAGE = 2, CLI_IO = 3 };

/*
 * Call this first in main.  It sets the tool's name for messages.  It opens /dev/null on each standard
 * descriptor that is closed, so that no other file takes its number; reading standard input or writing
 * standard output then fails.  It ignores SIGXFSZ, so that a write beyond the file size limit fails
 * with an error, and SIGBUS, so that a mapped file that becomes shorter ends the tool with a message and
 * CLI_IO.
 */
void cli_init(const char *tool_name);

/* Print a line to stderr: "tg-x: message": an error, or a warning that the result is not what was asked for.
 */
void cli_say(const char *format, ...) TG_PRINTF(1, 2);

/* The same for a note: what a tool has done or is about to do.  --quiet leaves it out. */
void cli_note(const char *format, ...) TG_PRINTF(1, 2);

/* Like cli_say(), with a reference to --help.  Returns CLI_USAGE. */
int cli_usage(const char *format, ...) TG_PRINTF(1, 2);

/* Print err's message.  Returns the exit code for err->code. */
int cli_report(const tg_err *err);

/* Whether writing to stdout has failed.  Call it right after a write: it saves errno, which stdio does
 * not.  Threads must not call it at the same time. */
bool cli_stdout_failed(void);

/* Have a standard descriptor read or write, as `flags` of open() say, nothing. */
void cli_to_null(int fd, int flags);

/* Flush and close stdout, and report a failure of this or any earlier write.  Returns the exit code.  If
 * nothing was written there, this does nothing. */
int cli_close_stdout(void);

/* ---- stderr.c */

/* Whether nothing is printed to stderr from now on: of several processes, one speaks. */
void cli_mute(bool mute);

/* End the redrawn line, if one is shown, so that later output starts on a new line.  cli_say() and
 * cli_report() do this themselves. */
void cli_progress_end(void);

/* ---- options.c */

typedef enum cli_type {
    CLI_FLAG,     /* bool: set to true */
    CLI_TEXT,     /* const char *, pointing into argv */
    CLI_INPUT,    /* likewise, a file that is read */
    CLI_MODEL,    /* likewise, a model or tokenizer, perhaps of several files; NULL: cli_model_path() */
    CLI_OUTPUT,   /* likewise, a file that is replaced */
    CLI_APPEND,   /* likewise, a file that grows */
    CLI_ADAPTERS, /* adapters, in cli_adapters; may be given several times */
    CLI_TEXTS,    /* cli_texts: may be given several times; --help shows no default */
    CLI_SIZE,     /* size_t in [min, max]; also 1e3, 10k, 1.5M */
    CLI_U64,      /* uint64_t, any */
    CLI_NUMBER,   /* double in [min, max] */
    CLI_CHOICE,   /* size_t: index into the choices that metavar lists, "a|b|c" */
    CLI_ENUM,     /* an enum, likewise */
    CLI_YES_NO    /* bool: "yes" or "no", also true, false, on, off; --help shows no default */
} cli_type;

#define CLI_TEXTS_MAX 64

/* The values of an option that may be given several times, pointing into argv. */
typedef struct cli_texts {
    const char *text[CLI_TEXTS_MAX];
    size_t n;
} cli_texts;

/* Take the factor X off a text "NAME*X": what follows the last asterisk; 1 without one.  Returns the bytes of
 * the name; 0: there is none, or no number follows the asterisk. */
size_t cli_take_factor(const char *text, size_t n, double *factor);

/* The adapters of --adapter FILE[*X]: their files, and the weights of their changes, 1 unless given. */
#define CLI_ADAPTERS_MAX 8
typedef struct cli_adapter_files {
    struct {
        char path[4096];
        double weight;
    } file[CLI_ADAPTERS_MAX];
    size_t n;
} cli_adapter_files;
extern cli_adapter_files cli_adapters;

/* One option.  Parsing, range checks and --help all follow the table of options. */
typedef struct cli_option {
    char letter;      /* 'm', or 0 */
    const char *name; /* "model" */
    cli_type type;
    void *value;         /* holds the default; --help omits one that is out of range */
    const char *metavar; /* "FILE", or for CLI_CHOICE "text|tsv"; NULL for a flag */
    const char *help;    /* one sentence, lower case, no full stop */
    double min, max;     /* CLI_SIZE and CLI_NUMBER: the range */
    bool *given;         /* set to true when the option is given; may be NULL */
} cli_option;

/*
 * A row of the table, by its type.  The letter is 0 for none.  After the help may come  .given = &x.  A value
 * of another C type than the option's is a compiler's warning, except of an enum.
 */
#define CLI_FLAG_OPTION(letter, name, value, ...)                                                            \
    CLI_OPTION(CLI_FLAG, letter, name, CLI_VALUE(bool, value), NULL, 0, 0, __VA_ARGS__)
#define CLI_TEXT_OPTION(letter, name, value, metavar, ...)                                                   \
    CLI_OPTION(CLI_TEXT, letter, name, CLI_VALUE(const char *, value), metavar, 0, 0, __VA_ARGS__)
#define CLI_INPUT_OPTION(letter, name, value, metavar, ...)                                                  \
    CLI_OPTION(CLI_INPUT, letter, name, CLI_VALUE(const char *, value), metavar, 0, 0, __VA_ARGS__)
#define CLI_MODEL_OPTION(letter, name, value, metavar, ...)                                                  \
    CLI_OPTION(CLI_MODEL, letter, name, CLI_VALUE(const char *, value), metavar, 0, 0, __VA_ARGS__)
#define CLI_OUTPUT_OPTION(letter, name, value, metavar, ...)                                                 \
    CLI_OPTION(CLI_OUTPUT, letter, name, CLI_VALUE(const char *, value), metavar, 0, 0, __VA_ARGS__)
#define CLI_APPEND_OPTION(letter, name, value, metavar, ...)                                                 \
    CLI_OPTION(CLI_APPEND, letter, name, CLI_VALUE(const char *, value), metavar, 0, 0, __VA_ARGS__)
#define CLI_TEXTS_OPTION(letter, name, value, metavar, ...)                                                  \
    CLI_OPTION(CLI_TEXTS, letter, name, CLI_VALUE(cli_texts, value), metavar, 0, 0, __VA_ARGS__)
#define CLI_ADAPTERS_OPTION(what, ...)                                                                       \
    CLI_OPTION(CLI_ADAPTERS, 0, "adapter", &cli_adapters, what, 0, 0, __VA_ARGS__)
#define CLI_SIZE_OPTION(letter, name, value, metavar, min, max, ...)                                         \
    CLI_OPTION(CLI_SIZE, letter, name, CLI_VALUE(size_t, value), metavar, min, max, __VA_ARGS__)
#define CLI_U64_OPTION(letter, name, value, metavar, ...)                                                    \
    CLI_OPTION(CLI_U64, letter, name, CLI_VALUE(uint64_t, value), metavar, 0, 0, __VA_ARGS__)
#define CLI_NUMBER_OPTION(letter, name, value, metavar, min, max, ...)                                       \
    CLI_OPTION(CLI_NUMBER, letter, name, CLI_VALUE(double, value), metavar, min, max, __VA_ARGS__)
#define CLI_CHOICE_OPTION(letter, name, value, choices, ...)                                                 \
    CLI_OPTION(CLI_CHOICE, letter, name, CLI_VALUE(size_t, value), choices, 0, 0, __VA_ARGS__)
#define CLI_ENUM_OPTION(letter, name, value, choices, ...)                                                   \
    CLI_OPTION(CLI_ENUM, letter, name, value, choices, 0, 0, __VA_ARGS__)

/* What these are made of. */
#define CLI_OPTION(kind, key, word, at, what, from, to, ...)                                                 \
    {                                                                                                        \
        .letter = key, .name = word, .type = kind, .value = at, .metavar = what, .min = from, .max = to,     \
        .help = __VA_ARGS__                                                                                  \
    }
#define CLI_VALUE(ctype, value) (true ? (value) : (ctype *)NULL)

typedef struct cli_tool {
    const char *name;     /* "tg-sample" */
    const char *usage;    /* "[-m MODEL] [-p TEXT] [OPTION]..." */
    const char *summary;  /* one sentence: what it does */
    const char *examples; /* for --help: lines, each "  $ ...", the last one without a newline; or NULL */
    cli_option *options;  /* ends with an entry whose name is NULL */
    bool files;           /* its operands are files that are read */
    bool models;          /* which may be models, as for CLI_MODEL */
} cli_tool;

/*
 * Parse argv as GNU tools do: long names may be abbreviated, "--" ends the options, and options and
 * operands may be mixed.  --help and --version print to stdout and exit with 0.
 * Operands are moved to argv[1] and up; returns their number.  Returns -1 after reporting an error; the
 * caller then returns CLI_USAGE.  A malformed or out-of-range number, an empty file name and a second
 * "-" among the operands are errors.
 */
int cli_parse(int argc, char **argv, const cli_tool *tool);

/* Parse a whole number of up to 15 digits at *at and advance *at past it.  False: *at does not start
 * with a digit. */
bool cli_take_size(const char **at, size_t *value);

/* Parse LAYER.HEAD, or LAYER and a word such as "*", for which *head becomes SIZE_MAX, and the comma after it
 * unless it is the last, at *at, and advance past them.  False: it is no such item. */
bool cli_take_head(const char **at, size_t *layer, size_t *head, const char *word);

/* ---- sandbox.c */

/*
 * Give up, for good, what the tool does not need: call this after the options are parsed and before a file is
 * read.  Where the kernel can (Linux: Landlock and seccomp), from then on no file can be opened except those
 * that options and operands name, with the other files of a model of several files; files can be made and
 * replaced only below the directories of outputs; no program or process can be started, no other process
 * traced or sent a signal, no socket opened, no memory made executable.  What is open stays so.
 * --sandbox, or TG_SANDBOX, chooses: auto, what there is; require, all of it, otherwise TG_EIO; off.
 * TG_EIO also if memory or descriptors are short.  TG_EUSAGE: TG_SANDBOX is none of these.
 */
TG_MUST_CHECK tg_status cli_confine(tg_err *err);

/* Instead, for work that a sandbox does not allow: `why` it is not.  TG_EIO: --sandbox=require asks for
 * one.  TG_EUSAGE: TG_SANDBOX is wrong. */
TG_MUST_CHECK tg_status cli_stay_free(const char *why, tg_err *err);

/* Also allow the tool to write a file, or NULL.  The path must stay until cli_confine(), which this precedes.
 */
void cli_may_write(const char *path);
void cli_may_read(const char *path); /* the same for a file that it reads */

/* ---- option_table.c */

#define CLI_NAME_SIZE 32 /* bytes of an option's name, including the NUL */

/*
 * Make the option that sets a member of an object (formats/fields.h).  Its name is derived from the
 * array's (--min-lr from train/min_lr) and stored in `name`, which must outlive the option.  Its
 * default is the member's value.  A choice and a yes/no option bring their own metavar.
 */
cli_option cli_field_option(const tg_field *f, void *object, char name[CLI_NAME_SIZE], bool *given,
                            const char *metavar, const char *help);

/* ---- input.c */

/* Whether a path is "-": standard input or output. */
bool cli_is_dash(const char *path);

/* The ending of a file's name, without its dot: "png"; NULL: it has none. */
const char *cli_ending(const char *path);

/* -m FILE, else $TG_MODEL, else "model.npz". */
const char *cli_model_path(const char *given);

/* Open a file for reading; "-" is standard input.  TG_EIO: the message names the file, and *fd is -1. */
TG_MUST_CHECK tg_status cli_open_input(int *fd, const char *path, tg_err *err);
const char *cli_input_name(const char *path); /* path, or "standard input" */
void cli_close_input(int fd);                 /* leaves standard input open; accepts -1 */

/* Take a line of a file, without its line feed: n bytes and a NUL, which may be changed.  A failure ends
 * cli_each_line(), which returns it. */
typedef tg_status cli_take_line(void *context, char *line, size_t n, size_t number, tg_err *err);

/* Give each line of a file to take(); they are numbered from 1.  Messages name the file. */
TG_MUST_CHECK tg_status cli_each_line(const char *path, cli_take_line *take, void *context, tg_err *err);

/* Whether a file's name says that it has JSON lines: "talk.jsonl". */
bool cli_is_json_lines(const char *path);

/* Note that the first such file of paths [n] is read as text, and what reads examples: `instead`. */
void cli_note_json_lines(char *const *path, size_t n, const char *instead);

/* What to do where a context is too short. */
#define CLI_LONGER_CONTEXT "tg-init --n-ctx makes models with a longer one"

/* The files that a tool's operands name; "-", standard input, if there are no operands. */
typedef struct cli_files {
    char **path; /* [n], n >= 1 */
    size_t n;
} cli_files;
cli_files cli_files_of(char **argv, int operands);  /* operands: as cli_parse() returned it, not negative */
const char *cli_files_name(const cli_files *files); /* for messages: of the only file, or "all files" */

/* Whether standard input can supply data: it is a file, a pipe or a socket, not a terminal or
 * /dev/null. */
bool cli_stdin_has_data(void);

/* ---- output.c */

/* What an output is. */
typedef enum cli_content {
    CLI_OUT_MODEL = 2,       /* one that is not trained; 0 and 1 are none, which a bool might be */
    CLI_OUT_RUN,             /* tg-train's: a trained model, or an adapter */
    CLI_OUT_WEIGHTS,         /* a model, or a part of one, in another project's format */
    CLI_OUT_TOKENS,          /* an archive of them */
    CLI_OUT_LLMC_TOKENS,     /* llm.c's */
    CLI_OUT_IDS,             /* numbers and nothing else, which no first bytes tell */
    CLI_OUT_VOCABULARY,      /* a tokenizer, in bytes */
    CLI_OUT_VOCABULARY_TEXT, /* or in characters */
    CLI_OUT_DUMP,            /* of attention */
    CLI_OUT_LOGITS,
    CLI_OUT_VECTORS,
    CLI_OUT_LENS,  /* predictions after each layer, or the parts of a logit */
    CLI_OUT_PATCH, /* effects of patches */
    CLI_OUT_CIRCUIT,
    CLI_OUT_PNG,
    CLI_OUT_SVG,
    CLI_OUT_PAGE, /* HTML */
    CLI_OUT_TEXT,
    CLI_OUT_KINDS
} cli_content;

/* --force, which each tool with an output has: it replaces whatever is there. */
extern bool cli_force;
#define CLI_FORCE(letter)                                                                                    \
    CLI_FLAG_OPTION(letter, "force", &cli_force,                                                             \
                    "replace the output's FILE even if it is a trained model, or of another kind")

/*
 * Check that an output of this content may replace what is at `path`, or --force says so.  An empty file is
 * replaced, and one of the same content; a trained model, another project's weights, and any other file:
 * TG_EUSAGE, with what it is.  TG_EIO, TG_ENOMEM: that cannot be told.  Only its beginning is read.
 * TG_EIO also, with --force too: tg-train has its lock, which CLI_OUT_RUN takes itself.
 */
TG_MUST_CHECK tg_status cli_output_may_replace(const char *path, cli_content content, tg_err *err);

/*
 * The destination of a result: stdout (path NULL or "-"), or a file that cli_output_commit() replaces
 * as a whole.  Binary content for a terminal is refused: TG_EUSAGE, with the remedy; so is a file that
 * must not be replaced, as by cli_output_may_replace().
 * Error messages name the file; the caller adds `name` to errors of its own writes.
 * At most one output may be open at a time.  A signal that ends the tool, those of cli_hold_ends()
 * (private.h), removes its temporary file first; SIGKILL leaves it.
 */
typedef struct cli_output {
    int fd;           /* write here */
    const char *name; /* the path, or "standard output" */
    bool file;        /* `save` is open */
    tg_save save;
} cli_output;
TG_MUST_CHECK tg_status cli_output_begin(cli_output *out, const char *path, cli_content content, tg_err *err);
TG_MUST_CHECK tg_status cli_output_commit(cli_output *out, tg_err *err);
void cli_output_abort(cli_output *out); /* no effect after a commit, or on a zeroed one */

/* Make a directory for outputs, unless there is something of that name; made may be NULL.  TG_EIO, with the
 * path. */
TG_MUST_CHECK tg_status cli_make_directory(const char *path, bool *made, tg_err *err);

/* Check that cli_output_begin() would succeed for CLI_OUT_RUN, and that the file system of a file that will
 * be replaced has room for so many bytes; where that cannot be told, it has.  Leaves no trace. */
TG_MUST_CHECK tg_status cli_output_check(const char *path, size_t bytes, tg_err *err);

/* Check that writing to `output` (NULL or "-": standard output) leaves `input` as it is.  TG_EUSAGE: both are
 * the same regular file. */
TG_MUST_CHECK tg_status cli_check_output_differs(const char *output, const char *input, tg_err *err);

/* The same for a model or tokenizer that may be a directory, or one file of several.
 * TG_EUSAGE: the output would replace one of these files.  TG_EIO, TG_ENOMEM. */
TG_MUST_CHECK tg_status cli_check_output_differs_model(const char *output, const char *model, tg_err *err);

/* Check that an option's file, which will be a dump of attention, is not named like a picture or like lines:
 * that is a mistake, TG_EUSAGE. */
TG_MUST_CHECK tg_status cli_check_dump_name(const char *option, const char *path, tg_err *err);

/* Check that an archive of results may be written to -o's file: it is not named like a picture or like lines,
 * it is neither the model nor standard input, and may be replaced.  TG_EUSAGE; TG_EIO, TG_ENOMEM. */
TG_MUST_CHECK tg_status cli_archive_check(const char *path, const char *model, cli_content content,
                                          tg_err *err);

/* Write it: `put` writes to fd.  Fails as cli_output_begin(), `put` and cli_output_commit(). */
typedef tg_status (*cli_archive_put)(void *context, int fd, tg_err *err);
TG_MUST_CHECK tg_status cli_archive_write(const char *path, cli_content content, cli_archive_put put,
                                          void *context, tg_err *err);

/* Whether a path is standard output, a pipe or a device: data written there cannot be
 * replaced later. */
bool cli_output_is_stream(const char *path);

/*
 * Take the lock of a file that the tool replaces (formats/lock.h), unless `path` is no file.  TG_EIO: another
 * process has it, which the message names: "FILE: process 1234 is `work` it"; or there can be no lock.
 * The lock file is removed before a signal ends the tool (those of cli_hold_ends(), private.h).  One lock at
 * a time.
 */
TG_MUST_CHECK tg_status cli_lock(tg_lock *lock, const char *path, const char *work, tg_err *err);
void cli_unlock(tg_lock *lock); /* harmless when none is held ({.fd = -1}) */

/* ---- progress.c */

/* Whether a descriptor is a terminal that interprets escape sequences (TERM is neither empty nor "dumb"), and
 * NO_COLOR is unset or empty. */
bool cli_takes_color(int fd);

/* The terminal's width in columns; 0: not a terminal. */
size_t cli_terminal_width(int fd);

/* Whether stderr takes escape sequences, so that a progress line can be redrawn there. */
bool cli_redraws(void);

/* Whether a progress line is due: 0.1 s after the last one if it is redrawn, otherwise 10 s.  *shown is
 * the time of the last one by cli_now(), negative for none; if a line is due, it becomes the current
 * time. */
bool cli_progress_due(double *shown);

/* Whether the progress of a job that began at `begun` is due: only if it can be redrawn, so that nothing is
 * left of it, and not in the job's first second; then as by cli_progress_due(). */
bool cli_progress_wanted(double begun, double *shown);

/* Seconds on a monotonic clock. */
double cli_now(void);

/* Show `line` on stderr: if cli_redraws(), in place and cut to the terminal's width; otherwise as a
 * line of its own. */
void cli_progress(const char *line);

/* The progress of a job whose fraction is known, as "what: 45%, 12s left", by cli_progress_wanted(). */
typedef struct cli_job {
    const char *what;
    double begun, shown;
    tg_watch watch;
} cli_job;

/* Begin one; the watch, which is job's, never abandons. */
const tg_watch *cli_job_begin(cli_job *job, const char *what);

/* ---- signals.c */

/* Catch SIGUSR1; cli_status_asked() tells whether it came. */
void cli_catch_status(void);

/*
 * Catch SIGINT, SIGTERM and SIGHUP.  Each is answered at once with a line on stderr.
 * The first one is kept for cli_stop_signal(); its line is `finishing`, which may begin with a newline, to
 * end a line of the terminal.  The next one, after cli_let_abandon(true), is kept for cli_abandon_asked();
 * its line is `abandoning`.  Otherwise, and after that, another one ends the tool at once.  One within a
 * second of the last is taken for the same request: some programs send it twice.
 */
void cli_catch_stop(const char *finishing, const char *abandoning);

/* After the work that a caught SIGINT was to end: forget it.  From now on such signals end the tool again;
 * other ones are kept. */
void cli_release_stop(void);

/* Ignore SIGPIPE: a write to a pipe without a reader then fails with EPIPE.  Messages that cannot be written
 * are lost. */
void cli_ignore_sigpipe(void);

int cli_stop_signal(void);      /* the first signal caught, or 0 */
void cli_note_stop(int number); /* one that another process has caught; kept unless this one has its own */
void cli_let_abandon(bool can); /* whether the current work can be abandoned */
bool cli_abandon_asked(void);
bool cli_status_asked(void); /* whether SIGUSR1 came since the last call */

/* Remove a save's temporary file and the lock file, as a signal that ends the tool does. */
void cli_drop_files(void);

/* Die of signal `number` as if it had never been caught: exit status 128 + number. */
void cli_raise(int number);

/* ---- words.c */

/* The ending of a noun after n: "s", or "" if n is 1. */
const char *cli_plural(uint64_t n);

/* "12,345"; "1.3 GiB"; "2m05s".  The result is in one of 8 static buffers, reused in turn. */
const char *cli_count(uint64_t n);
const char *cli_bytes(uint64_t bytes);
const char *cli_duration(double seconds);

/* Copy text to out [size] so that a terminal can show it safely, on one line: control characters, characters
 * without a sign (which may hide others or turn them around) and bytes that are not valid UTF-8 become \n,
 * \t, \xNN, \uNNNN or \UNNNNNNNN.  The result is cut to fit and NUL-terminated. */
void cli_escape(char *out, size_t size, const unsigned char *text, size_t n);

/* Print a visible text as a value of tab-separated text (tg_label_field()). */
void cli_put_field(const char *text);

/* Put a label (lib/view/label.h) as text of XML. */
void cli_put_xml(tg_sink *sink, const char *label);

/* Print a visible text as a string of JSON, with quotes; a number, or null if JSON has none like it. */
void cli_put_json(const char *text);
void cli_put_json_number(double x);

/*
 * Text for a terminal, byte by byte: control characters except newlines and tabs, and bytes that are not
 * valid UTF-8, become \xNN.  Each call writes what is to be shown to `out`, without NUL, and returns its
 * bytes: the beginning of a character waits for its end, or for cli_show_end().
 */
#define CLI_SHOWN_MAX 32
typedef struct cli_shown {
    unsigned char character[4]; /* [n] the bytes that wait */
    size_t n;
} cli_shown;
size_t cli_show_byte(cli_shown *s, char out[CLI_SHOWN_MAX], unsigned char byte);
size_t cli_show_end(cli_shown *s, char out[CLI_SHOWN_MAX]);

/* ---- shell.c */

/*
 * Append a word to a command that a message suggests, quoted so that a shell reads it as it is: printable
 * words in '...' where they need it, others in $'...'.  command [size], size >= 8, begins as "".  If the
 * word does not fit, the command ends with " ..." and takes no more words.
 */
void cli_command_add(char *command, size_t size, const char *word);

/* ---- begin.c */

/* A tool's option for the number of threads, on which `what` does not depend. */
#define CLI_THREADS(value, what)                                                                             \
    CLI_SIZE_OPTION(0, "threads", value, "N", 0, 1024,                                                       \
                    "number of threads, which does not change " what "; 0 for one per processor")

/*
 * Call this before the first computation of a model.  Set the number of threads (0: what OMP_NUM_THREADS
 * says, or one per processor) and choose the instruction set: $TG_ISA, or the best one.  Its kernels are
 * tested on a tiny case; if they fail, a message says so, and the portable ones are used.  TG_EUSAGE: more
 * than 8 threads per processor, OMP_NUM_THREADS is no such number, or an instruction set that is unknown or
 * that the processor lacks.  TG_ENOMEM.
 */
TG_MUST_CHECK tg_status cli_begin_compute(size_t threads, tg_err *err);

/* The same for a tool that has no model to compute, and splits a text. */
TG_MUST_CHECK tg_status cli_begin_text(size_t threads, tg_err *err);

#endif
