/*
 * cli_token_texts: the texts of tokens as archives have them.
 */
#ifndef TG_CMD_CLI_TOKEN_TEXT_H
#define TG_CMD_CLI_TOKEN_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/status.h"
#include "lib/text/tokenizer.h"

#define CLI_TOKEN_TEXT_SIZE 1024 /* bytes of a text, with NUL, at most: a longer one is cut */

/* The text of a token, in which every character is visible (tg_label_show_token), in at most `width` columns;
 * size at most CLI_TOKEN_TEXT_SIZE.  Returns its bytes, without NUL. */
size_t cli_token_text(char *out, size_t size, size_t width, const tg_tokenizer *tok, int32_t id);

/* The same without NUL, as dumps want it: the tokenizer is `context`. */
size_t cli_token_text_of(const void *context, char *out, size_t size, int32_t id);

/* Those of ids [n], NUL-padded to *size bytes each, of which the longest ends without NUL.  The caller frees
 * *text.  TG_ENOMEM. */
TG_MUST_CHECK tg_status cli_token_texts(char **text, size_t *size, const tg_tokenizer *tok,
                                        const int32_t *ids, size_t n, tg_err *err);

#endif
