/*
 * base64: bytes as letters, digits, + and /, with = at the end (RFC 4648, section 4).
 */
#ifndef TG_FORMATS_BASE64_H
#define TG_FORMATS_BASE64_H

#include <stddef.h>

/* Characters that encode n bytes. */
#define TG_BASE64_SIZE(n) (((n) + 2) / 3 * 4)

/* Write TG_BASE64_SIZE(n) characters, without a NUL.  Returns that number. */
size_t tg_base64_encode(char *out, const void *data, size_t n);

#endif
