#include "tests/unit/failing.h"

#include <errno.h>
#include <stddef.h>

static long left = -1; /* allocations that succeed; -1: all */

void failing_after(long n)
{
    left = n;
}

bool failing_now(void)
{
    if (left < 0)
        return false;
    if (left == 0) {
        errno = ENOMEM;
        return true;
    }
    left--;
    return false;
}

/* The linker sends allocations here. */
void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t each);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t each);
void *__wrap_realloc(void *p, size_t n);

void *__wrap_malloc(size_t n)
{
    return failing_now() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t each)
{
    return failing_now() ? NULL : __real_calloc(n, each);
}

void *__wrap_realloc(void *p, size_t n)
{
    return failing_now() ? NULL : __real_realloc(p, n);
}
