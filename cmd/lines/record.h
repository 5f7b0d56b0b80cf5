/*
 * record: a line of named values, one after another: tab-separated, or a JSON object.  For lines with as many
 * values as options ask for; table.h has lines with a fixed few, also aligned.
 *
 *     r.what = RECORD_TITLES, then RECORD_TSV or RECORD_JSON for each line, with the same calls:
 *     record_size(&r, "t", 0, 5); record_real(&r, "logprob", 2, -1.5); record_end(&r);
 *
 * prints `t logprob_2` and `5 -1.5`, or {"t":5,"logprob_2":-1.5}.
 */
#ifndef TG_CMD_LINES_RECORD_H
#define TG_CMD_LINES_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/status.h"
#include "lib/text/tokenizer.h"

typedef enum record_what { RECORD_TITLES, RECORD_TSV, RECORD_JSON } record_what;

typedef struct record {
    record_what what;
    bool begun; /* the line has a value */
    const tg_tokenizer *tok;
    char *shown; /* [shown_size] a token's text; owned */
    size_t shown_size;
} record;

void record_free(record *r); /* accepts a zeroed one */

/* A value by its name, followed by _k unless k is 0. */
void record_size(record *r, const char *name, size_t k, uint64_t value);
void record_real(record *r, const char *name, size_t k, double value); /* nine digits */
void record_word(record *r, const char *name, const char *value);      /* printable, without quotes */
void record_missing(record *r, const char *name, size_t k);            /* empty, in JSON null */

/* The text of a token, however long it is.  TG_ENOMEM. */
TG_MUST_CHECK tg_status record_token(record *r, const char *name, size_t k, int32_t id, tg_err *err);

void record_end(record *r);

#endif
