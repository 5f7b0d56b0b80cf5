/* What allocations become in a test that is linked with --wrap for malloc, calloc and realloc (unit.mk). */
#include <stddef.h>

#include "tests/unit/failing.h"

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
