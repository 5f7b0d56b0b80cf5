/*
 * json: reads a JSON text (RFC 8259) value by value, and writes its strings.
 *
 *     tg_json_open(&j, text, n)
 *     tg_json_enter(&j, TG_JSON_OBJECT, &err)
 *     while (!(status = tg_json_key(&j, &key, &more, &err)) && more)
 *         if (tg_json_is(key, "n_layer"))
 *             status = tg_json_get_size(&j, &n_layer, &err)
 *         else
 *             status = tg_json_skip(&j, &err)
 *     tg_json_end(&j, &err)
 *     tg_json_close(&j)
 *
 * The text is in memory, and all of it that is passed is checked: also what is skipped.  Strict:
 * UTF-8, no comments, no trailing commas, no NaN, no byte order mark.  A surrogate (\uD800 to \uDFFF)
 * must be half of a pair.  At most TG_JSON_DEPTH arrays and objects are open at a time.  Nothing is
 * recursive.  Whether an object's keys differ is the caller's matter.
 *
 * All functions that can fail return TG_EDATA for a text that is not as expected; the message has
 * line, column (both from 1, the column in characters) and byte (from 0).  After a failure only
 * tg_json_fail() and tg_json_close() are legal.
 */
#ifndef TG_FORMATS_JSON_H
#define TG_FORMATS_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/status.h"

#define TG_JSON_DEPTH 64

typedef enum tg_json_kind {
    TG_JSON_NULL,
    TG_JSON_BOOL,
    TG_JSON_NUMBER,
    TG_JSON_STRING,
    TG_JSON_ARRAY,
    TG_JSON_OBJECT
} tg_json_kind;

typedef struct tg_json {
    const unsigned char *text; /* [n] the caller's */
    size_t n, at;              /* at: offset of the next byte */
    size_t value;              /* offset of the value, or key, that was read last */
    size_t depth;              /* arrays and objects that are open */
    bool first;                /* no value of the innermost one has been read yet */
    unsigned char *decoded;    /* [capacity] the last string with an escape; owned */
    size_t capacity;
} tg_json;

/* A string, decoded to UTF-8, not terminated; it may contain NUL.  Valid until the next string is
 * read. */
typedef struct tg_json_text {
    const char *p;
    size_t n;
} tg_json_text;

bool tg_json_is(tg_json_text text, const char *word);

/* A reader at the first byte of the text, which the caller keeps. */
void tg_json_open(tg_json *j, const void *text, size_t n);

/*
 * A reader of the one value at an offset of j's text, which j has passed; to be closed like j.  To
 * read something that comes too early: keep j->at before tg_json_skip(), and return to it later.
 */
void tg_json_open_at(tg_json *value, const tg_json *j, size_t at);

/* Free what it owns.  A zeroed reader is fine. */
void tg_json_close(tg_json *j);

/* What the next value is, by its first byte. */
TG_MUST_CHECK tg_status tg_json_peek(tg_json *j, tg_json_kind *kind, tg_err *err);

/* Enter the array or object that comes next. */
TG_MUST_CHECK tg_status tg_json_enter(tg_json *j, tg_json_kind kind, tg_err *err);

/* In an object: the next key, whose value is then read; or leave the object, *more = false. */
TG_MUST_CHECK tg_status tg_json_key(tg_json *j, tg_json_text *key, bool *more, tg_err *err);

/* In an array: whether another value follows, which is then read; otherwise leave the array. */
TG_MUST_CHECK tg_status tg_json_element(tg_json *j, bool *more, tg_err *err);

/* Read a value of this type.  A size is an integer from 0 without fraction and exponent.
 * TG_ENOMEM: for a string. */
TG_MUST_CHECK tg_status tg_json_get_text(tg_json *j, tg_json_text *text, tg_err *err);
TG_MUST_CHECK tg_status tg_json_get_size(tg_json *j, size_t *size, tg_err *err);
TG_MUST_CHECK tg_status tg_json_get_bool(tg_json *j, bool *value, tg_err *err);

/* Pass a value of any type; the text of a number is then what has been passed. */
TG_MUST_CHECK tg_status tg_json_skip(tg_json *j, tg_err *err);

/* Check that nothing follows the value. */
TG_MUST_CHECK tg_status tg_json_end(tg_json *j, tg_err *err);

/*
 * Pass an object; at[i] is the offset of the value of names[i], for tg_json_open_at(); 0 where the
 * object has no such key (or the value is null, which means the same in most files).  TG_EDATA: one
 * of these keys comes twice.
 */
TG_MUST_CHECK tg_status tg_json_members(tg_json *j, const char *const *names, size_t n, size_t *at,
                                        tg_err *err);

/* TG_EDATA, with the place of the value that was read last, or is to be read. */
tg_status tg_json_fail(const tg_json *j, tg_err *err, const char *format, ...) TG_PRINTF(3, 4);

/* Prefix err's message with that place.  Returns err's code. */
tg_status tg_json_err_in(const tg_json *j, tg_err *err);

/*
 * Writing: one byte of a string as it stands between quotes, into out; returns the number of
 * characters.  Quote, backslash and control characters are escaped, and what `also` contains; bytes
 * from 0x80 on are written as they are: the string must be UTF-8.
 */
#define TG_JSON_ESCAPE_MAX 6
size_t tg_json_escape(char out[TG_JSON_ESCAPE_MAX + 1], unsigned char byte, const char *also);

#endif
