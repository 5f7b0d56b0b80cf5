#include "tests/unit/failing.h"

#include <errno.h>

static struct {
    long left; /* calls that succeed; -1: all */
    bool once, failed, rest;
} calls = {.left = -1};

void failing_after(long n)
{
    calls.left = n;
    calls.once = calls.failed = calls.rest = false;
}

void failing_once_after(long n)
{
    failing_after(n);
    calls.once = true;
}

void failing_rest(bool rest)
{
    calls.rest = rest;
}

bool failing_now(void)
{
    if (calls.rest || calls.left < 0)
        return false;
    if (calls.left > 0) {
        calls.left--;
        return false;
    }
    if (calls.once)
        calls.left = -1;
    calls.failed = true;
    errno = ENOMEM;
    return true;
}

bool failing_failed(void)
{
    return calls.failed;
}
