/*
 * json: reads a JSON text (RFC 8259) value by value, and writes its strings.
 *
 *     tg_json_open(&j, text, n, &err)
 *     tg_json_enter(&j, TG_JSON_OBJECT)
 *     while (tg_json_key(&j, &key))
 *         if (tg_span_is(key, "n_layer"))
 *             n_layer = tg_json_get_size(&j)
 *         else
 *             tg_json_skip(&j)
 *     tg_json_end(&j)
 *     status = tg_json_close(&j)
 *
 * The text is in memory.  Everything read is checked, including skipped values.  The reader is strict:
 * UTF-8, no comments, no trailing commas, no NaN, no byte order mark.  A surrogate (\uD800 to \uDFFF)
 * must be half of a pair.  At most TG_JSON_DEPTH arrays and objects are open at a time.  Nothing is
 * recursive.  The caller checks for duplicate keys.
 *
 * The reader keeps its first failure in j->status and *j->err: TG_EDATA if the text is not as expected;
 * the message gives the line and column (both from 1, the column in characters) and the byte offset (from
 * 0).  After it all functions do nothing and return zeros: no key, no element, "", 0, false.  So the caller
 * asks once, before it uses what it has read, or at the end.
 */
#ifndef TG_FORMATS_JSON_H
#define TG_FORMATS_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/sink.h"
#include "formats/span.h"
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
    size_t value;              /* offset of the last value or key read */
    size_t depth;              /* number of open arrays and objects */
    bool first;                /* no value of the innermost one has been read yet */
    const char *member; /* the caller's: the name that tg_json_find() has gone to, for messages; or NULL */
    size_t line;        /* the number of the text's first line in messages: 1, unless the caller changes it */
    unsigned char *decoded; /* [capacity] the last string with an escape; owned */
    size_t capacity;
    tg_status status; /* of the first failure; a caller may set it to that of a failure of its own */
    tg_err *err;      /* the caller's; may be NULL */
} tg_json;

/* Texts are spans of UTF-8, which may contain NUL; valid until the next string is read. */

/* Start at the first byte of text, which must outlive the reader. */
void tg_json_open(tg_json *j, const void *text, size_t n, tg_err *err);

/* Free what it owns, and return its status.  A zeroed reader is fine. */
TG_MUST_CHECK tg_status tg_json_close(tg_json *j);

/*
 * Go to the value at an offset that has been passed; returns the offset where the reader was.  To read a
 * value later than it comes: save j->at, call tg_json_skip(), and go there later.  Once the value has been
 * read as a whole, the reader may go back to where it was.
 */
size_t tg_json_go(tg_json *j, size_t at);

/* The kind of the next value, judged by its first byte. */
tg_json_kind tg_json_peek(tg_json *j);

/* Enter the next value, an array or object. */
void tg_json_enter(tg_json *j, tg_json_kind kind);

/* In an object: the next key, whose value is then read; false: the object has been left.  key may be NULL. */
bool tg_json_key(tg_json *j, tg_span *key);

/* In an array: whether another value follows, which is then read; false: the array has been left. */
bool tg_json_element(tg_json *j);

/* The same, but the value is skipped; *at is its offset. */
bool tg_json_element_at(tg_json *j, size_t *at);

/* Read a value of this type.  A size is a non-negative integer without fraction or exponent; a number is
 * finite, and has at most 63 characters.  TG_ENOMEM: only for a string. */
tg_span tg_json_get_text(tg_json *j);
size_t tg_json_get_size(tg_json *j);
double tg_json_get_number(tg_json *j);
bool tg_json_get_bool(tg_json *j);

/* Skip a value of any type; the skipped text of a number is exactly the number. */
void tg_json_skip(tg_json *j);

/* Check that nothing follows the value. */
void tg_json_end(tg_json *j);

/*
 * Skip an object; at[i] is the offset of the value of names[i], or 0 if the object has no such key (or its
 * value is null, which means the same in most files).  TG_EDATA: one of these keys occurs twice.
 */
void tg_json_members(tg_json *j, const char *const *names, size_t n, size_t *at);

/* Go to the value of `name` in the object at an offset, which is read as a whole.  False: it has none, or
 * null.  Until the reader goes elsewhere, messages about a value of the wrong type begin with the name, which
 * must stay. */
bool tg_json_find(tg_json *j, size_t object, const char *name);

/* Go to a member of this kind: JSON that need not be as expected. */
bool tg_json_find_kind(tg_json *j, size_t object, const char *name, tg_json_kind kind);

/* The offsets of the objects in an array that is a member of an object: their number, at most max; the others
 * are not looked at. */
size_t tg_json_find_objects(tg_json *j, size_t object, const char *name, size_t *at, size_t max);

/* Whether it has one, which may be null. */
bool tg_json_has(tg_json *j, size_t object, const char *name);

/* TG_EDATA, with the position of the value just read or about to be read; returns j->status. */
tg_status tg_json_fail(tg_json *j, const char *format, ...) TG_PRINTF(2, 3);

/* Something else has failed with j->err: prefix its message with that position.  Returns j->status. */
tg_status tg_json_err_in(tg_json *j);

/*
 * Write one byte of a string, escaped for use between quotes, into out; returns the number of
 * characters.  Quotes, backslashes, control characters and the characters of `also` are escaped;
 * bytes from 0x80 on are copied, so the string must be UTF-8.
 */
#define TG_JSON_ESCAPE_MAX 6
size_t tg_json_escape(char out[TG_JSON_ESCAPE_MAX + 1], unsigned char byte, const char *also);

/* Put the n bytes of a text, escaped so. */
void tg_json_put(tg_sink *sink, const void *text, size_t n);

#endif
