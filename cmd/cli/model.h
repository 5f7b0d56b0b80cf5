/*
 * cli_model: the model, or the tokenizer, that a tool works on.
 */
#ifndef TG_CMD_CLI_MODEL_H
#define TG_CMD_CLI_MODEL_H

#include "cmd/cli/cli.h"
#include "lib/gpt/model.h"
#include "lib/models/model_file.h"
#include "lib/split/split.h"
#include "lib/vocab/vocab_file.h"

typedef struct cli_model {
    tg_model model;
    const char *path; /* "-": standard input */
    int fd;           /* stays open as long as the model, if it is mapped from it; -1: it is not */
} cli_model;

/* The option of tools that take a model with adapters. */
#define CLI_ADAPTER_OPTION                                                                                   \
    CLI_ADAPTERS_OPTION("FILE[*X]",                                                                          \
                        "change the model by an adapter of tg-train --lora's or PEFT's, times X; "           \
                        "repeat to add up several")

/* Change the model in f by the adapters of cli_adapters.  Errors name the file. */
TG_MUST_CHECK tg_status cli_adapters_apply(tg_model_file *f, tg_err *err);

/* Read the model from `given`, the FILE of -m, or NULL: a model of tg's from any input, or one of another
 * project (cli_model_convert()).  If the file does not exist, and could be one of tg-train's, the
 * message says how to make it, then `remedy`, or "".  Errors name
 * the file and leave nothing to close.  Tensors of another project's model that would be copied are lent
 * (tg_model_file_lend()) if they are many, or if `once` says that each is used once: the caller calls
 * cli_model_check() after each pass, and when it has failed. */
TG_MUST_CHECK tg_status cli_model_open(cli_model *m, const char *given, bool once, const char *remedy,
                                       tg_err *err);
void cli_model_close(cli_model *m);

/* Whether all that has been used of the model is finite: TG_EDATA, with the file's name. */
TG_MUST_CHECK tg_status cli_model_check(const cli_model *m, tg_err *err);

/* Whether a path is a model of another project: a directory, or a file that begins like one.  TG_EIO: it
 * cannot be read; the message names it. */
TG_MUST_CHECK tg_status cli_model_is_foreign(const char *path, bool *foreign, tg_err *err);

/* Whether a file is an adapter of ours. */
bool cli_is_adapter(const char *path);

/* Read another project's model, flat (tg_model_file_to_model()); say what is worth knowing about it. */
TG_MUST_CHECK tg_status cli_model_convert(tg_model *m, const char *path, tg_err *err);

/* How many steps the model in a file has been trained for; 0 also if there is none, or another file.
 * TG_EIO, TG_ENOMEM: that cannot be told; the message names the file. */
TG_MUST_CHECK tg_status cli_model_step(const char *path, size_t *step, tg_err *err);

/* Print the notes of a conversion: gaps filled, defaults assumed, tensors dropped. */
void cli_say_notes(const char *path, const tg_notes *notes);

/* ---- tokenizers */

/*
 * Open the tokenizer that `name`, the argument of -t, names, to be freed: NULL is the default of all
 * tools; "bytes" is that kind; anything else is a file, as for cli_tokenizer_of().  split: of --pattern, or
 * NULL.  Fails like tg_vocab_file_open(); TG_EUSAGE also for "char", which has no file.
 */
TG_MUST_CHECK tg_status cli_tokenizer_open(const tg_tokenizer **tok, const char *name, const tg_split *split,
                                           tg_err *err);

/* The tokenizer in a file or directory of any kind, a model of another project included. */
TG_MUST_CHECK tg_status cli_tokenizer_of(const tg_tokenizer **tok, const char *path, const tg_split *split,
                                         tg_err *err);

/* What a tokenizer's file is. */
cli_content cli_vocab_content(tg_vocab_format format);

#endif
