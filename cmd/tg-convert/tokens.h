/* tokens: streams of tokens, between this project's archives, llm.c's files and bare 16-bit numbers. */
#ifndef TG_CMD_CONVERT_TOKENS_H
#define TG_CMD_CONVERT_TOKENS_H

#include <stdbool.h>

#include "lib/base/status.h"
#include "lib/checkpoint/token_file.h"

struct token_options {
    const char *source;
    const char *target; /* NULL: standard output */
    tg_token_format to;
    bool raw; /* the source has nothing but ids */
    tg_token_ask ask;
};

/* Whether the source is a file of tokens; standard input is always one. */
bool tokens_are_in(const char *source);

TG_MUST_CHECK tg_status tokens_convert(const struct token_options *o, tg_err *err);

#endif
