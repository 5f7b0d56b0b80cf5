/*
 * ref_split: the rules of lib/split/split.h as regular expressions, matched by backtracking: the
 * definition.  It shares the classes of characters with the library (tests/judges compares those
 * with others'), and nothing else.
 */
#ifndef TG_TESTS_REF_SPLIT_H
#define TG_TESTS_REF_SPLIT_H

#include <stddef.h>
#include <stdint.h>

#include "lib/split/split.h"

/* The starts of text [n], as tg_splitter_mark() marks them in one call; starts is zeroed before. */
void ref_split(uint64_t *starts, tg_split split, const unsigned char *text, size_t n);

#endif
