/*
 * finite: checks for infinities and NaNs.
 */
#ifndef TG_BASE_FINITE_H
#define TG_BASE_FINITE_H

#include <stddef.h>

#include "lib/base/bf16.h"
#include "lib/base/status.h"

/*
 * The index of the first value in x [n] that is infinite or NaN; n when there is none.
 * Uses several threads when n is large; about as fast as reading memory.
 */
size_t tg_find_not_finite(const float *x, size_t n);

/* The same of bf16. */
size_t tg_find_not_finite16(const tg_bf16 *x, size_t n);

/* The same for doubles, and for doubles once they are rounded to float32. */
size_t tg_find_not_finite64(const double *x, size_t n);
size_t tg_find_not_finite_rounded(const double *x, size_t n);

/* TG_EDATA, "name[at] is x: it must be finite"; if x is finite, "... as float32". */
tg_status tg_fail_not_finite(const char *name, size_t at, double x, tg_err *err);

/* tg_find_not_finite() with that message. */
TG_MUST_CHECK tg_status tg_check_finite(const char *name, const float *x, size_t n, tg_err *err);

#endif
