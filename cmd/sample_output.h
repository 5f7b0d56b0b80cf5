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
    size_t count, turn;
    unsigned char last;         /* byte written */
    unsigned char character[4]; /* for a terminal: the one that its bytes are coming of */
    size_t n_character;
} sample_output;

/* For `count` texts, each of which ends before `stop`.  TG_ENOMEM; to be ended all the
 * same. */
TG_MUST_CHECK tg_status sample_output_begin(sample_output *out, size_t count, const char *stop, bool zero,
                                            tg_err *err);

/* Append to text number i what does not count as generated.  TG_ENOMEM. */
TG_MUST_CHECK tg_status sample_output_put(sample_output *out, size_t i, const unsigned char *text, size_t n,
                                          tg_err *err);

/* Append to text number i, unless it is done.  It is when `stop` has come.  TG_ENOMEM. */
TG_MUST_CHECK tg_status sample_output_add(sample_output *out, size_t i, const unsigned char *text, size_t n,
                                          tg_err *err);

/* Write what can be written.  TG_EIO. */
TG_MUST_CHECK tg_status sample_output_flush(sample_output *out, tg_err *err);

/* Whether `stop` has come in all texts. */
bool sample_output_all_done(const sample_output *out);

/* No more is to come: write the rest, and give the memory back. */
void sample_output_end(sample_output *out);

#endif
