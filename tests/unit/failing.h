/*
 * failing: memory that fails on demand.  A test that is linked with it, and with --wrap for malloc,
 * calloc and realloc (unit.mk), counts allocations and makes one of them fail.
 */
#ifndef TG_TESTS_FAILING_H
#define TG_TESTS_FAILING_H

#include <stdbool.h>

/* Let `n` more allocations succeed, and none after them; -1: all succeed. */
void failing_after(long n);

/* Count an allocation; whether it must fail, with errno set.  For other functions that allocate. */
bool failing_now(void);

#endif
