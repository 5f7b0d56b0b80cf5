/*
 * sha256: the hash that identifies a page's inline script and style in its security policy.
 * Source: FIPS 180-4.
 */
#ifndef TG_FORMATS_SHA256_H
#define TG_FORMATS_SHA256_H

#include <stddef.h>

#define TG_SHA256_SIZE 32

/* Hash n bytes of data. */
void tg_sha256(unsigned char hash[TG_SHA256_SIZE], const void *data, size_t n);

#endif
