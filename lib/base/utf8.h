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

/* The same for text [n], n >= 1, that does not begin with an ASCII character; inline, for loops. */
static inline size_t tg_utf8_decode_high(uint32_t *code, const unsigned char *text, size_t n)
{
    if (text[0] < 0xE0) {
        if (text[0] < 0xC2 || n < 2 || !tg_utf8_continues(text[1]))
            return 0;
        *code = (text[0] & 0x1Fu) << 6 | (text[1] & 0x3Fu);
        return 2;
    }
    if (text[0] < 0xF0) {
        if (n < 3 || !tg_utf8_continues(text[1]) || !tg_utf8_continues(text[2]))
            return 0;
        *code = (text[0] & 0xFu) << 12 | (text[1] & 0x3Fu) << 6 | (text[2] & 0x3Fu);
        return *code < 0x800 || (*code >= 0xD800 && *code <= 0xDFFF) ? 0 : 3;
    }
    if (n < 4 || !tg_utf8_continues(text[1]) || !tg_utf8_continues(text[2]) || !tg_utf8_continues(text[3]))
        return 0;
    *code = (text[0] & 0xFu) << 18 | (text[1] & 0x3Fu) << 12 | (text[2] & 0x3Fu) << 6 | (text[3] & 0x3Fu);
    return *code < 0x10000 || *code > 0x10FFFF ? 0 : 4;
}

/* Decode the character that ends at text + n into *code; returns its bytes.  0, with *code
 * unspecified, when none ends there. */
size_t tg_utf8_decode_last(uint32_t *code, const void *text, size_t n);

/* Whether text [n] is made of valid characters. */
bool tg_utf8_valid(const void *text, size_t n);

/* Whether text [n] is the beginning of a valid character, but not all of it. */
bool tg_utf8_is_cut(const void *text, size_t n);

/* Write the character with this code point, at most U+10FFFF and no surrogate; returns its bytes. */
size_t tg_utf8_encode(char out[TG_UTF8_MAX], uint32_t code);

/* The same as tg_utf8_decode(), but 0 for control characters too (C0, DEL, C1). */
size_t tg_utf8_printable(uint32_t *code, const void *text, size_t n);

/* The bytes of text [n] up to a character that begins before its end and may continue after it. */
size_t tg_utf8_whole(const void *text, size_t n);

#endif
