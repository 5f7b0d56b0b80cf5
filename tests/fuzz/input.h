/*
 * input: what the fuzzers share: damaged archives that get past their checksums, and the two
 * ways to read them.
 */
#ifndef TG_TESTS_FUZZ_INPUT_H
#define TG_TESTS_FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>

#define INPUT_MAX 60000 /* bytes: fits in a pipe */

/* What libFuzzer calls, and what it has. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);

/* End the program, unless ok. */
void must(int ok);

/* A file, or the reading end of a pipe, that holds the input, at its beginning.  The file is one
 * for all calls; the pipe is the caller's to close. */
int input_file(const uint8_t *data, size_t size);
int input_pipe(const uint8_t *data, size_t size);

/* What a temporary file holds, cut at `max`. */
size_t input_take(int fd, uint8_t *out, size_t max);

/* Mutate, and repair the checksums of stored members now and then, for they would hide what
 * lies behind them. */
size_t input_mutate(uint8_t *data, size_t size, size_t max, unsigned seed);

#endif
