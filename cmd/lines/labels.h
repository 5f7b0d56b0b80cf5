/*
 * labels: the tokens' texts, as lines and records show them.
 *
 * Every character is visible (tg_label_show_token).  In lines a text is quoted, follows its id,
 * and is cut to few columns; ids are left out where the text tells them, as with bytes.
 */
#ifndef TG_CMD_LINES_LABELS_H
#define TG_CMD_LINES_LABELS_H

#include <stdint.h>

#include "cmd/lines/columns.h"
#include "lib/base/status.h"
#include "lib/text/tokenizer.h"

#define LABEL_COLUMNS 20 /* of a token's text in lines, with quotes */
#define LABEL_SIZE 64    /* the same in bytes, with NUL */

/* The labels of tokens ids [T].  TG_ENOMEM. */
TG_MUST_CHECK tg_status labels_make(token_labels *labels, const tg_tokenizer *tok, const int32_t *ids,
                                    size_t T, tg_err *err);

/* The same as TSV or JSON writes their texts, without ids.  TG_ENOMEM. */
TG_MUST_CHECK tg_status labels_make_values(token_labels *labels, table_format format, const tg_tokenizer *tok,
                                           const int32_t *ids, size_t T, tg_err *err);
void labels_free(token_labels *labels); /* accepts a zeroed one */

/* The quoted text of token t, without its id. */
const char *labels_quoted(const token_labels *labels, size_t t);

/* The text of the token `id`, quoted, in at most `width` columns; a longer one is cut and ends with "…".
 * size > 5.  Returns its bytes. */
size_t label_quote(char *out, size_t size, size_t width, const tg_tokenizer *tok, int32_t id);

#endif
