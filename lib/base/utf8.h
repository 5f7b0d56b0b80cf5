/*
 * utf8: characters in UTF-8 text (RFC 3629).
 */
#ifndef TG_BASE_UTF8_H
#define TG_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TG_UTF8_MAX 4 /* bytes per character */

/* Bytes of the character that begins with the byte `first`; 1 if none can. */
size_t tg_utf8_length(unsigned char first);

/* Whether this is a continuation byte. */
static inline bool tg_utf8_continues(unsigned char byte)
{
    return (byte & 0xC0) == 0x80;
}

/* Decode the character at the start of text [n] into *code; returns its bytes.  0, with
 * *code unspecified, when text does not start with a valid character: n = 0, a stray or
 * missing continuation byte, an overlong form, a surrogate, or a code point beyond U+10FFFF. */
size_t tg_utf8_decode(uint32_t *code, const void *text, size_t n);

/* Whether text [n] is the beginning of a valid character, but not all of it. */
bool tg_utf8_is_cut(const void *text, size_t n);

/* Write the character with this code point, at most U+10FFFF and no surrogate; returns its bytes. */
size_t tg_utf8_encode(char out[TG_UTF8_MAX], uint32_t code);

/* The same as tg_utf8_decode(), but 0 for control characters too (C0, DEL, C1). */
size_t tg_utf8_printable(uint32_t *code, const void *text, size_t n);

/* The bytes of text [n] up to a character that begins before its end and may go on after it. */
size_t tg_utf8_whole(const void *text, size_t n);

/* Columns that a terminal uses for a printable character: 2 for East Asian wide characters
 * and emoji, 0 for combining marks, else 1.  Approximate: decided by blocks of Unicode 15. */
unsigned tg_utf8_columns(uint32_t code);

/* The same of a text that ends with NUL; a byte that is no part of a character counts as 1. */
size_t tg_utf8_width(const char *text);

#endif
