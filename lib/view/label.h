/*
 * label: the text of a token, as terminals, pages and images show it: every character visible, columns
 * counted, and cut where a reader would cut it.
 *
 * Labels are made from what tg_label_show_token() returns, but any text is safe.
 */
#ifndef TG_VIEW_LABEL_H
#define TG_VIEW_LABEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TG_LABEL_CUT "\xE2\x80\xA6"           /* "…", at the end of a label that is cut; one column */
#define TG_LABEL_ESCAPE sizeof("\\U0010FFFF") /* bytes of the longest escape, with NUL */

/* Columns of a character in a terminal: 2 for wide ones, 0 for marks, which are drawn over the character
 * before them, otherwise 1.  Source: Unicode, EastAsianWidth and general categories. */
unsigned tg_label_columns(uint32_t code);

/* Whether a character can only be shown by an escape, whatever precedes it: it is a control character, a
 * space other than U+0020, or has no sign. */
bool tg_label_hides(uint32_t code);

/*
 * Copy text [n] to out [size] so that a terminal or a browser shows all of it, on one line, in as many
 * columns as tg_label_width() says.  These become escapes, \xNN, \uNNNN or \UNNNNNNNN:
 *
 *   control characters, and bytes of no character
 *   spaces other than U+0020, and characters without any sign: joiners, directions, selectors
 *   a mark without a character under it, or the fifth on one; an emoji's skin colour after another
 *   character, because terminals disagree on whether it is then drawn by itself
 *
 * What does not fit is left out, whole characters and escapes at a time; out is always a string.
 * Returns the bytes of all of it, without NUL: at least size if something was left out.
 */
size_t tg_label_show(char *out, size_t size, const char *text, size_t n);

/* The same with every character beyond ASCII as an escape. */
size_t tg_label_show_ascii(char *out, size_t size, const char *text, size_t n);

/*
 * The same for the text of a token as it is, in which a backslash is no escape: \n and \t are written so, a
 * backslash is doubled unless it is the whole token, so that two tokens never look alike.
 */
size_t tg_label_show_token(char *out, size_t size, const unsigned char *text, size_t n);

/* The bytes that a token's label [n] stands for, out of tg_label_show_token().  out has room for n bytes.
 * Returns the bytes written; no NUL follows. */
size_t tg_label_bytes(unsigned char *out, const char *label, size_t n);

/*
 * Make a label [n] a value of tab-separated text: a '"' becomes \x22, so that no reader of CSV takes it for
 * quoting. In a token's text that is no other token's, because backslashes are doubled there.  out has room
 * for 4 n bytes, and may be `label`.  Returns the bytes written; no NUL follows.
 */
size_t tg_label_field(char *out, const char *label, size_t n);

/* The first part of a label that is never divided: an escape, or a character with its marks.  Its bytes,
 * at least 1 unless the label is empty, and in *columns its columns. */
size_t tg_label_next(const char *label, size_t *columns);

/* The same, but letters of an escape one at a time. */
size_t tg_label_next_letter(const char *label, size_t *columns);

/* Columns of a label. */
size_t tg_label_width(const char *label);

/* The bytes of the longest beginning of a label that takes at most `columns`; those that it takes are in
 * *used. */
size_t tg_label_fit(const char *label, size_t columns, size_t *used);

/* Copy a label to out [size], size > 3, in at most `columns` >= 1; if it is longer in either measure, it is
 * cut, and ends with TG_LABEL_CUT. */
void tg_label_copy(char *out, size_t size, size_t columns, const char *label);

/* Tables in ascending order (label_tables.c). */
typedef struct tg_label_range {
    uint32_t first, last;
} tg_label_range;

extern const tg_label_range tg_label_wide[], tg_label_marks[], tg_label_hidden[];
extern const size_t tg_label_wide_n, tg_label_marks_n, tg_label_hidden_n;

#endif
