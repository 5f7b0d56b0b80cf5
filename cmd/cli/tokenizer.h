/*
 * cli_tokenizer: the tokenizer that a tool's options name.
 */
#ifndef TG_CMD_CLI_TOKENIZER_H
#define TG_CMD_CLI_TOKENIZER_H

#include "cmd/cli/cli.h"
#include "lib/vocab/vocab_file.h"
#include "lib/split/split.h"
#include "lib/text/tokenizer.h"

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
