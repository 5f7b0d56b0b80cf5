/*
 * prefix_filter: whether some token may begin with a string and be longer.
 *
 * A Bloom filter of all proper prefixes of all tokens: "no" is certain, "yes" is wrong for about one
 * string in 400.
 */
#ifndef TG_BPE_PREFIX_FILTER_H
#define TG_BPE_PREFIX_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/status.h"

typedef struct tg_prefix_filter {
    uint64_t *bits; /* owned */
    unsigned shift; /* from a hash to a bit's index */
} tg_prefix_filter;

/* TG_ENOMEM; *f can be freed either way.  prefixes: how many will be added at most. */
TG_MUST_CHECK tg_status tg_prefix_filter_create(tg_prefix_filter *f, size_t prefixes, tg_err *err);

/* Add the proper prefixes of token [n]. */
void tg_prefix_filter_add(tg_prefix_filter *f, const unsigned char *token, size_t n);

/* A string that grows to the left; zeroed, it is empty. */
typedef struct tg_prefix_string {
    uint64_t hash, power;
} tg_prefix_string;

/* Prepend a byte to the string; returns whether some token may begin with the string and be longer. */
bool tg_prefix_filter_extend(const tg_prefix_filter *f, tg_prefix_string *s, unsigned char byte);

/* A zeroed one is fine. */
void tg_prefix_filter_free(tg_prefix_filter *f);

#endif
