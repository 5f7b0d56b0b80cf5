/*
 * dump: scores as lines of text, and the same lines from numbers computed before.
 */
#ifndef TG_BENCH_DUMP_H
#define TG_BENCH_DUMP_H

#include <stddef.h>

/* Heads of one layer of T tokens: q, k and v made up, buffers placed.  Exits without memory. */
struct dump;
struct dump *dump_open(size_t T, size_t H, size_t D);

/* For the bench's turns: bytes of text made of all rows, by all threads; context is a
 * struct dump.  dump_rows computes the rows, dump_text has only one of each thread's. */
double dump_rows(void *context);
double dump_text(void *context);

#endif
