/*
 * object: one object on the heap, for programs that do not place it themselves (lib/tg.h).
 */
#ifndef TG_BASE_OBJECT_H
#define TG_BASE_OBJECT_H

#include <stddef.h>

#include "lib/base/status.h"

/* An object of `bytes` bytes, which are zeroed, to be freed with free().  NULL: TG_ENOMEM, "out of memory: N
 * bytes for WHAT". */
void *tg_object_new(size_t bytes, const char *what, tg_err *err);

/* *object, a pointer, is freed and becomes NULL, if status is a failure, that of what it was filled with.
 * Returns status. */
tg_status tg_object_begun(void *object, tg_status status);

#endif
