/*
 * sha256: the checksum by which a page's security policy names its own script and style.
 * Source: FIPS 180-4.
 */
#ifndef TG_FORMATS_SHA256_H
#define TG_FORMATS_SHA256_H

#include <stddef.h>

#define TG_SHA256_SIZE 32

/* The hash of n bytes of data. */
void tg_sha256(unsigned char hash[TG_SHA256_SIZE], const void *data, size_t n);

#endif
