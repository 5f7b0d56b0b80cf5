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
 * The text is in memory.  Everything read is checked, including skipped values.  The reader is strict:
 * UTF-8, no comments, no trailing commas, no NaN, no byte order mark.  A surrogate (\uD800 to \uDFFF)
 * must be half of a pair.  At most TG_JSON_DEPTH arrays and objects are open at a time.  Nothing is
 * recursive.  The caller checks for duplicate keys.
 *
 * All functions that can fail return TG_EDATA if the text is not as expected; the message gives the
 * line and column (both from 1, the column in characters) and the byte offset (from 0).  After a
 * failure only tg_json_fail() and tg_json_close() are legal.
 */
#ifndef TG_FORMATS_JSON_H
#define TG_FORMATS_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/api.h"
#include "lib/base/status.h"

TG_API_BEGIN

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
    size_t value;              /* offset of the last value or key read */
    size_t depth;              /* number of open arrays and objects */
    bool first;                /* no value of the innermost one has been read yet */
    unsigned char *decoded;    /* [capacity] the last string with an escape; owned */
    size_t capacity;
} tg_json;

/* A string decoded to UTF-8, not NUL-terminated; it may contain NUL.  Valid until the next string
 * is read. */
typedef struct tg_json_text {
    const char *p;
    size_t n;
} tg_json_text;

bool tg_json_is(tg_json_text text, const char *word);

/* Start at the first byte of text, which must outlive the reader. */
void tg_json_open(tg_json *j, const void *text, size_t n);

/*
 * Open a reader for the single value at an offset that j has already passed; close it like j.  To read
 * a value later than it comes: save j->at, call tg_json_skip(), and open the value at that offset later.
 */
void tg_json_open_at(tg_json *value, const tg_json *j, size_t at);

/* Free what it owns.  A zeroed reader is fine. */
void tg_json_close(tg_json *j);

/* The kind of the next value, judged by its first byte. */
TG_MUST_CHECK tg_status tg_json_peek(tg_json *j, tg_json_kind *kind, tg_err *err);

/* Enter the next value, an array or object. */
TG_MUST_CHECK tg_status tg_json_enter(tg_json *j, tg_json_kind kind, tg_err *err);

/* In an object: the next key, whose value is then read; or leave the object, *more = false. */
TG_MUST_CHECK tg_status tg_json_key(tg_json *j, tg_json_text *key, bool *more, tg_err *err);

/* In an array: whether another value follows, which is then read; otherwise leave the array. */
TG_MUST_CHECK tg_status tg_json_element(tg_json *j, bool *more, tg_err *err);

/* The same, but the value is skipped; *at is its offset, for tg_json_open_at(). */
TG_MUST_CHECK tg_status tg_json_element_at(tg_json *j, size_t *at, bool *more, tg_err *err);

/* Read a value of this type.  A size is a non-negative integer without fraction or exponent; a number is
 * finite, and has at most 63 characters.  TG_ENOMEM: only for a string. */
TG_MUST_CHECK tg_status tg_json_get_text(tg_json *j, tg_json_text *text, tg_err *err);
TG_MUST_CHECK tg_status tg_json_get_size(tg_json *j, size_t *size, tg_err *err);
TG_MUST_CHECK tg_status tg_json_get_number(tg_json *j, double *number, tg_err *err);
TG_MUST_CHECK tg_status tg_json_get_bool(tg_json *j, bool *value, tg_err *err);

/* Skip a value of any type; the skipped text of a number is exactly the number. */
TG_MUST_CHECK tg_status tg_json_skip(tg_json *j, tg_err *err);

/* Check that nothing follows the value. */
TG_MUST_CHECK tg_status tg_json_end(tg_json *j, tg_err *err);

/*
 * Skip an object; at[i] is the offset of the value of names[i], for tg_json_open_at(), or 0 if the
 * object has no such key (or its value is null, which means the same in most files).  TG_EDATA: one
 * of these keys occurs twice.
 */
TG_MUST_CHECK tg_status tg_json_members(tg_json *j, const char *const *names, size_t n, size_t *at,
                                        tg_err *err);

/* TG_EDATA, with the position of the value just read or about to be read. */
tg_status tg_json_fail(const tg_json *j, tg_err *err, const char *format, ...) TG_PRINTF(3, 4);

/* Prefix err's message with that position.  Returns err's code. */
tg_status tg_json_err_in(const tg_json *j, tg_err *err);

/*
 * Write one byte of a string, escaped for use between quotes, into out; returns the number of
 * characters.  Quotes, backslashes, control characters and the characters of `also` are escaped;
 * bytes from 0x80 on are copied, so the string must be UTF-8.
 */
#define TG_JSON_ESCAPE_MAX 6
size_t tg_json_escape(char out[TG_JSON_ESCAPE_MAX + 1], unsigned char byte, const char *also);

TG_API_END

#endif
