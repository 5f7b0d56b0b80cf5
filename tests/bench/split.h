/*
 * split: marking the pieces of a text that looks like English.
 */
#ifndef TG_BENCH_SPLIT_H
#define TG_BENCH_SPLIT_H

#include "lib/split/split.h"

/* A text, and the rule.  Exits without memory. */
struct split;
struct split *split_open(tg_split rule);

/* For the bench's turns: bytes of text marked; context is a struct split. */
double split_run(void *context);

/* Words of letters as frequent as in English, most of them short, with punctuation, numbers,
 * contractions and line ends; the same every time. */
void split_text(unsigned char *text, size_t n);

#endif
