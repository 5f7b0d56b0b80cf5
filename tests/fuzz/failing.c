#define _POSIX_C_SOURCE 200809L /* strdup */
#include "tests/fuzz/failing.h"

#include <stdlib.h>
#include <string.h>

static struct {
    size_t left; /* calls until one fails; 0: none does */
    bool all, failed, rest;
} calls;

void failing_begin(size_t n, bool all)
{
    calls.left = n;
    calls.all = all;
    calls.failed = calls.rest = false;
}

void failing_rest(bool rest)
{
    calls.rest = rest;
}

bool failing_call(void)
{
    if (calls.rest)
        return false;
    if (calls.left > 1) {
        calls.left--;
        return false;
    }
    if (calls.left == 0 && !(calls.all && calls.failed))
        return false;
    calls.left = 0;
    calls.failed = true;
    return true;
}

bool failing_failed(void)
{
    return calls.failed;
}

/* ---- what the library's allocations become */

void *failing_malloc(size_t n);
void *failing_calloc(size_t n, size_t size);
void *failing_realloc(void *p, size_t n);
void *failing_aligned_alloc(size_t alignment, size_t n);
char *failing_strdup(const char *text);

void *failing_malloc(size_t n)
{
    return failing_call() ? NULL : malloc(n);
}

void *failing_calloc(size_t n, size_t size)
{
    return failing_call() ? NULL : calloc(n, size);
}

void *failing_realloc(void *p, size_t n)
{
    return failing_call() ? NULL : realloc(p, n);
}

void *failing_aligned_alloc(size_t alignment, size_t n)
{
    return failing_call() ? NULL : aligned_alloc(alignment, n);
}

char *failing_strdup(const char *text)
{
    return failing_call() ? NULL : strdup(text);
}
