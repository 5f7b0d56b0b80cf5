/*
 * sniff: what a file's first bytes say that it is.
 */
#ifndef TG_FORMATS_SNIFF_H
#define TG_FORMATS_SNIFF_H

#include <stddef.h>

/* Enough bytes to tell. */
#define TG_SNIFF_BYTES 512

/* What p [n], the beginning of an input, looks like ("a GGUF model", "plain text"),
 * as an object of "this is"; NULL when it looks like nothing known. */
const char *tg_sniff(const void *p, size_t n);

#endif
