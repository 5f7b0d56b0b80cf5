/*
 * refusing: system calls that fail on demand, as they rarely do.  A test that is linked with it, and with
 * --wrap for these calls (unit.mk), says which call fails next:
 *
 *   open close stat fstat readlink lseek fsync flock read write pwrite mmap munmap sysconf
 *   fstatvfs getxattr fsetxattr fremovexattr
 */
#ifndef TG_TESTS_REFUSING_H
#define TG_TESTS_REFUSING_H

#include <stdbool.h>

/* The nth call of `name` from now on, n >= 1, fails once: with errno = error, or, where error is 0, by
 * writing nothing.  Two calls at most may be waited for. */
void refuse(const char *name, int nth, int error);

/* Before the nth call of `name` does its work, another process does something. */
void refuse_meanwhile(const char *name, int nth, void (*meanwhile)(void));

/* Whether all that was asked for has happened; nothing is waited for any more. */
bool refused_all(void);

#endif
