/*
 * sample_output: print the texts of tg-sample one after another, although they are generated together.
 *
 * The current text is written as it is generated; later texts wait in memory.  Each ends its last
 * line, and texts are separated by a line of three dashes; or each ends with a NUL; or a single one is left
 * as it is.
 *
 * UTF-8 characters are written whole: the bytes of one wait until it is complete, and those of one that
 * the text's end cuts are not written.  Bytes that are no part of a character are written as they are.
 */
#ifndef TG_CMD_SAMPLE_OUTPUT_H
#define TG_CMD_SAMPLE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/cli/cli.h"
#include "lib/base/status.h"
#include "lib/text/decoder.h"

typedef struct sample_text {
    unsigned char *bytes; /* [n] not yet written; owned */
    size_t n, capacity;
    unsigned char *held; /* [n_held] the bytes after those, a prefix of `stop`; owned */
    size_t n_held;
    bool done; /* `stop` has been generated */
    tg_decoder decoder;
} sample_text;

/* How a text ends: with its last line, with a NUL, or, of a single text that does not go to a terminal, with
 * its last character. */
typedef enum sample_ending { SAMPLE_LINE, SAMPLE_NUL, SAMPLE_OPEN } sample_ending;

typedef struct sample_output {
    bool terminal;
    bool silent; /* nothing is written: the texts are followed until they are done; set by the caller */
    sample_ending ending;
    const char *stop; /* or NULL */
    size_t stop_length;
    sample_text *text;     /* [count] */
    size_t count, current; /* current: index of the text being written */
    bool begun;            /* the current text's prompt has been written */
    sample_text prompt;    /* at the beginning of every text */
    unsigned char last;    /* last byte written */
    cli_shown waiting;     /* the bytes of an incomplete UTF-8 character, which wait for its end */
} sample_output;

/* Begin `count` >= 1 texts of a tokenizer's tokens.  Each ends before `stop`, a nonempty string that the
 * caller keeps, as it keeps tok; NULL: none.  TG_ENOMEM.  The caller frees *out, also after a failure. */
TG_MUST_CHECK tg_status sample_output_begin(sample_output *out, const tg_tokenizer *tok, size_t count,
                                            const char *stop, sample_ending ending, tg_err *err);

/*
 * Append a token to text number i < count, or to the prompt, which begins every text.  The text is done when
 * `stop` has been generated; later tokens are ignored.  `stop` has no effect in the prompt, which comes
 * before anything is written.  TG_ENOMEM.
 */
#define SAMPLE_PROMPT SIZE_MAX
TG_MUST_CHECK tg_status sample_output_add(sample_output *out, size_t i, int32_t id, tg_err *err);

/* Before any text: their first tokens come after the token `id`, whether or not that is printed. */
void sample_output_follow(sample_output *out, int32_t id);

/* Write the bytes that are ready: the current text's and, once it is done, the next one's.  TG_EIO: the
 * message names standard output. */
TG_MUST_CHECK tg_status sample_output_flush(sample_output *out, tg_err *err);

/* Flush standard output.  TG_EIO: the message names it. */
TG_MUST_CHECK tg_status sample_output_flush_lines(tg_err *err);

/* Whether all texts are done. */
bool sample_output_all_done(const sample_output *out);

/* After the last token: write the rest.  cli_close_stdout() checks for errors. */
void sample_output_end(sample_output *out);

/* Free the memory.  Texts that have not ended get no separator, so that nobody mistakes them for
 * complete ones; on a terminal only the line is ended. */
void sample_output_free(sample_output *out);

#endif
