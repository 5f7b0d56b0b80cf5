/*
 * input: shared by the fuzzers: damaged archives whose checksums are right, and the two ways
 * to read them.
 */
#ifndef TG_TESTS_FUZZ_INPUT_H
#define TG_TESTS_FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>

#define INPUT_MAX 60000 /* bytes: fits in a pipe */

/* Called by libFuzzer; provided by it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);

/* End the program, unless ok. */
void must(int ok);

/* A file, or the reading end of a pipe, with the input, at its start.  All calls share one file;
 * the caller closes the pipe. */
int input_file(const uint8_t *data, size_t size);
int input_pipe(const uint8_t *data, size_t size);

/* Copy a file's content, cut at `max`, to out.  Returns its size. */
size_t input_take(int fd, uint8_t *out, size_t max);

/* Begin from a text, cut at `max`.  Returns its size. */
size_t input_seed(uint8_t *data, size_t max, const char *text);

/* Mutate, and sometimes repair the checksums of stored members, so that mutations get past them. */
size_t input_mutate(uint8_t *data, size_t size, size_t max, unsigned seed);

#endif
