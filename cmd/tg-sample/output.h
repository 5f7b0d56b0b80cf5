/*
 * sample_output: the texts of tg-sample, printed one after the other although they are
 * generated together.
 *
 * One text is current, and written as it is generated; later ones wait in memory.  A line of
 * three dashes separates texts, or a NUL ends each.
 */
#ifndef TG_CMD_SAMPLE_OUTPUT_H
#define TG_CMD_SAMPLE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/status.h"

typedef struct sample_text {
    unsigned char *bytes; /* [n] not yet written; owned */
    size_t n, capacity;
    unsigned char *held; /* [n_held] after those: a prefix of `stop` so far; owned */
    size_t n_held;
    bool done; /* `stop` has been generated */
} sample_text;

typedef struct sample_output {
    bool terminal, zero; /* zero: texts end with a NUL */
    const char *stop;    /* or NULL */
    size_t stop_length;
    sample_text *text;          /* [count] */
    size_t count, current;      /* current: index of the text that is being written */
    bool begun;                 /* the current text's prompt is written */
    sample_text prompt;         /* at the beginning of every text */
    unsigned char last;         /* byte that was written last */
    unsigned char character[4]; /* terminal only: bytes of a UTF-8 character still incomplete */
    size_t n_character;
} sample_output;

/* For `count` >= 1 texts.  Each ends before `stop`, which is not empty and stays the
 * caller's; NULL: none.  TG_ENOMEM.  To be freed, also after a failure. */
TG_MUST_CHECK tg_status sample_output_begin(sample_output *out, size_t count, const char *stop, bool zero,
                                            tg_err *err);

/* Append to the beginning of every text, in which `stop` has no effect.  To be called before
 * anything is written.  TG_ENOMEM. */
TG_MUST_CHECK tg_status sample_output_prompt(sample_output *out, const unsigned char *text, size_t n,
                                             tg_err *err);

/* Append n bytes to text number i < count, up to `stop`, which makes it done; later bytes are
 * ignored.  TG_ENOMEM. */
TG_MUST_CHECK tg_status sample_output_add(sample_output *out, size_t i, const unsigned char *text, size_t n,
                                          tg_err *err);

/* Write the bytes that are due: the current text's, and the next one's when it is done.
 * TG_EIO, with the name of standard output. */
TG_MUST_CHECK tg_status sample_output_flush(sample_output *out, tg_err *err);

/* Whether all texts are done. */
bool sample_output_all_done(const sample_output *out);

/* All tokens are generated: write the rest; cli_close_stdout() checks it. */
void sample_output_end(sample_output *out);

/* Free the memory.  Texts that were not ended stop where they are, without a separator, so that
 * nobody takes them for whole ones; only a terminal's line is ended. */
void sample_output_free(sample_output *out);

#endif
