/*
 * utf8: characters in UTF-8 text (RFC 3629).
 */
#ifndef TG_BASE_UTF8_H
#define TG_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TG_UTF8_MAX 4 /* bytes per character */

/* Bytes of the character that begins with the byte `first`; 1 when no character does. */
size_t tg_utf8_length(unsigned char first);

/* Whether the byte continues a character, that is, begins none. */
static inline bool tg_utf8_continues(unsigned char byte)
{
    return (byte & 0xC0) == 0x80;
}

/* Bytes of the character at the start of text [n], and in *code its code point.  0, and
 * *code unspecified, when text starts with no valid character: n = 0, a stray or missing
 * continuation byte, an overlong form, a surrogate, or a code point beyond U+10FFFF. */
size_t tg_utf8_decode(uint32_t *code, const void *text, size_t n);

/* The same for a character that is no control character (C0, DEL, C1). */
size_t tg_utf8_printable(uint32_t *code, const void *text, size_t n);

/* Columns that a terminal uses for a printable character: 2 for East Asian wide characters
 * and emoji, 0 for combining marks, else 1.  By blocks of Unicode 15, so approximate. */
unsigned tg_utf8_columns(uint32_t code);

#endif
