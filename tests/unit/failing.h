/*
 * failing: calls that fail on demand.  A counter says which; the calls themselves are other functions that
 * ask it: failing_wrap.c for the C tests, tests/fuzz/failing_alloc.c for the fuzzers.
 */
#ifndef TG_TESTS_FAILING_H
#define TG_TESTS_FAILING_H

#include <stdbool.h>

/* Let `n` more calls succeed, and none after them, or all but the next; -1: all succeed. */
void failing_after(long n);
void failing_once_after(long n);

/* Until failing_rest(false), no call fails or is counted. */
void failing_rest(bool rest);

/* Count a call; whether it must fail, with errno set to ENOMEM. */
bool failing_now(void);

/* Whether one has failed since failing_after() or failing_once_after(). */
bool failing_failed(void);

#endif
