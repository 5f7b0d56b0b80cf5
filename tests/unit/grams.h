/*
 * grams: a second kind of tokenizer, for tests: what holds for bytes alone shows here.
 *
 * A vocabulary is all 256 bytes, then strings of 2 or 3 bytes in the order of their bytes; a text
 * is divided from left to right into the longest strings that the vocabulary has.  So ids lag
 * the text by up to 2 bytes, and need 1, 2 or 4 bytes.
 *
 * grams.c also defines tg_tokenizer_kinds: a program that links it, before the library, knows
 * "grams", its default, and "bytes".
 */
#ifndef TG_TESTS_GRAMS_H
#define TG_TESTS_GRAMS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/status.h"
#include "lib/text/tokenizer.h"

#define GRAM_MAX 3 /* bytes of a token */

/* A vocabulary of n ids, 256 <= n <= 70000: the first n of the bytes, the pairs and the triples of
 * letters.  n = 0: all pairs of letters and spaces, which is the default. */
const tg_tokenizer *grams_create(size_t n);

/* The same number of ids, but not the same tokens: the last string is another one. */
const tg_tokenizer *grams_create_other(size_t n);

/* The definition, for a text that is in memory as a whole; ids [n]; returns how many. */
size_t grams_encode(const tg_tokenizer *tok, int32_t *ids, const unsigned char *text, size_t n);

/* Text of n bytes with many strings of the vocabulary in it; the caller frees it. */
unsigned char *grams_text(size_t n);

#endif
