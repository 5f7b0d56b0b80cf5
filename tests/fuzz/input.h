/*
 * input: shared by the fuzzers: the two ways to read an input, and mutations that keep checksums right.
 *
 * The programs are linked so that mmap() and read() of an input come here (FUZZ_LDFLAGS in the Makefile).
 * A file is "mapped" into a heap block of exactly its size, and what a stream's buffer has beyond the bytes
 * that were read is poisoned: the address sanitizer sees any access beyond either.
 */
#ifndef TG_TESTS_FUZZ_INPUT_H
#define TG_TESTS_FUZZ_INPUT_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INPUT_MAX 60000 /* bytes of the longest input: less than half of a source's buffer */

/* Called by libFuzzer; provided by it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);

/* End the program, unless ok; where a call has failed on purpose (failing_after), go on at input_abandoned.
 */
void must(int ok);
extern jmp_buf input_abandoned;

/* Forget what is mapped. */
void input_forget(void);

/* A file with the input, at its start.  All calls share one file. */
int input_file(const uint8_t *data, size_t size);

/* A descriptor, of no regular file, that gives the input in pieces of many sizes, and sometimes EINTR.
 * All calls share it, and data must stay until the next. */
int input_stream(const uint8_t *data, size_t size);

/* The path of a descriptor. */
const char *input_path(char path[32], int fd);

/* Copy a file's content, cut at `max`, to out.  Returns its size. */
size_t input_take(int fd, uint8_t *out, size_t max);

/* Begin from a text, cut at `max`.  Returns its size. */
size_t input_seed(uint8_t *data, size_t max, const char *text);

/* Mutate, and mostly repair the checksums of zip members, so that mutations get past them. */
size_t input_mutate(uint8_t *data, size_t size, size_t max, unsigned seed);

#endif
