/*
 * A library for LD_PRELOAD: another program that replaces a file just before the tool confines itself, when
 * Landlock has been told of the file that was there.
 *
 *   REPLACE_BY, REPLACE    the new file, which is renamed to the other path
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { RESTRICT_SELF = 446 };

long syscall(long number, ...)
{
    long (*next)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    long a[4];
    va_list args;

    va_start(args, number);
    for (int i = 0; i < 4; i++)
        a[i] = va_arg(args, long);
    va_end(args);
    if (number == RESTRICT_SELF && rename(getenv("REPLACE_BY"), getenv("REPLACE")) != 0)
        abort();
    return next(number, a[0], a[1], a[2], a[3]);
}
