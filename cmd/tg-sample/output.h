/*
 * sample_output: the texts of tg-sample on their way to standard output: one after the
 * other, although they are generated together.
 *
 * The text whose turn it is is written as it comes; those behind it wait in memory.
 * Between texts is a line of three dashes, or behind each a byte 0.
 */
#ifndef TG_CMD_SAMPLE_OUTPUT_H
#define TG_CMD_SAMPLE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/status.h"

typedef struct sample_text {
    unsigned char *bytes; /* those that wait; owned */
    size_t n, room;
    unsigned char *held; /* the last ones, which may turn out to begin `stop` */
    size_t n_held;
    bool done;
} sample_text;

typedef struct sample_output {
    bool terminal, zero;        /* zero: a byte 0 behind each text */
    const char *stop;           /* or NULL */
    size_t stop_length;
    sample_text *text;          /* [count] */
    size_t count, turn;         /* turn: the text that is being written */
    bool begun;                 /* of it, the prompt is */
    sample_text prompt;         /* at the beginning of every text */
    unsigned char last;         /* byte written */
    unsigned char character[4]; /* for a terminal: the one that its bytes are coming of */
    size_t n_character;
} sample_output;

/* For `count` >= 1 texts, each of which ends before `stop` (NULL: before nothing), which is
 * not empty and stays the caller's.  TG_ENOMEM.  To be freed, after a failure too. */
TG_MUST_CHECK tg_status sample_output_begin(sample_output *out, size_t count, const char *stop, bool zero,
                                            tg_err *err);

/* Append to what every text begins with, in which `stop` does not count; before anything is
 * written.  TG_ENOMEM. */
TG_MUST_CHECK tg_status sample_output_prompt(sample_output *out, const unsigned char *text, size_t n,
                                             tg_err *err);

/* Append n bytes to text number i < count, unless it is done.  It is when `stop` has come.
 * TG_ENOMEM. */
TG_MUST_CHECK tg_status sample_output_add(sample_output *out, size_t i, const unsigned char *text, size_t n,
                                          tg_err *err);

/* Write what can be written: the text whose turn it is as far as it has come, and those
 * behind it when it is done.  TG_EIO, with the name of standard output. */
TG_MUST_CHECK tg_status sample_output_flush(sample_output *out, tg_err *err);

/* Whether `stop` has come in all texts. */
bool sample_output_all_done(const sample_output *out);

/* All has come: write the rest, for cli_close_stdout() to check. */
void sample_output_end(sample_output *out);

/* Give the memory back.  Texts that were not ended are broken off where they are, without
 * what is put between texts: nobody takes them for whole ones.  Only a terminal's line is ended. */
void sample_output_free(sample_output *out);

#endif
