/*
 * What the library's allocations become for the driver that replays inputs: the Makefile renames them in a
 * copy of the library (libtg-failing.a), so that those of the fuzzers themselves do not fail.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/unit/failing.h"

void *failing_malloc(size_t n);
void *failing_calloc(size_t n, size_t each);
void *failing_realloc(void *p, size_t n);
void *failing_aligned_alloc(size_t alignment, size_t n);
char *failing_strdup(const char *text);

void *failing_malloc(size_t n)
{
    return failing_now() ? NULL : malloc(n);
}

void *failing_calloc(size_t n, size_t each)
{
    return failing_now() ? NULL : calloc(n, each);
}

void *failing_realloc(void *p, size_t n)
{
    return failing_now() ? NULL : realloc(p, n);
}

void *failing_aligned_alloc(size_t alignment, size_t n)
{
    return failing_now() ? NULL : aligned_alloc(alignment, n);
}

char *failing_strdup(const char *text)
{
    return failing_now() ? NULL : strdup(text);
}
