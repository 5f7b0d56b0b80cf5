/*
 * base64: bytes as letters, digits, + and /, with = at the end (RFC 4648, section 4).
 */
#ifndef TG_FORMATS_BASE64_H
#define TG_FORMATS_BASE64_H

#include <stdbool.h>
#include <stddef.h>

/* Characters that encode n bytes. */
#define TG_BASE64_SIZE(n) (((n) + 2) / 3 * 4)

/* Write TG_BASE64_SIZE(n) characters, without a NUL.  Returns that number. */
size_t tg_base64_encode(char *out, const void *data, size_t n);

/* Bytes that n characters encode, at most. */
#define TG_BASE64_BYTES(n) ((n) / 4 * 3)

/*
 * Decode text [n] into out [TG_BASE64_BYTES(n)]; *bytes is their number.  False, with out and *bytes
 * unspecified, unless text is exactly what tg_base64_encode() writes for some bytes: whole groups
 * of four, = only where it pads the last one, and no bits set in what it pads.
 */
bool tg_base64_decode(void *out, size_t *bytes, const char *text, size_t n);

#endif
