/* ways: bytes as a file and as a pipe. */
#ifndef TG_TESTS_DAMAGE_WAYS_H
#define TG_TESTS_DAMAGE_WAYS_H

#include <stdbool.h>
#include <stddef.h>

/* Unless ok, say what failed and end the program. */
void must(bool ok, const char *what);

/* The reading end of a pipe with bytes p [n]; closed by the caller. */
int as_pipe(const unsigned char *p, size_t n);

/* damage -m (damage.c): read all cases from standard input with the reader of that name.  Returns the exit
 * status. */
int try_cases(const char *name);

#endif
