/*
 * failing: calls of the library that fail: the n-th allocation, mapping or read of an input.
 *
 * For the driver that replays inputs.  There the library's allocations come here under other names (the
 * Makefile renames them in a copy of it), so that those of the fuzzers themselves do not fail.
 */
#ifndef TG_TESTS_FUZZ_FAILING_H
#define TG_TESTS_FUZZ_FAILING_H

#include <stdbool.h>
#include <stddef.h>

/* From now on the n-th call fails, or all from it on; 0: none does. */
void failing_begin(size_t n, bool all);

/* Count a call, and say whether it has to fail. */
bool failing_call(void);

/* Until failing_rest(false), no call fails or is counted: for checks that use the library themselves. */
void failing_rest(bool rest);

/* Whether one has failed since failing_begin(). */
bool failing_failed(void);

#endif
