/*
 * sink: bytes to a descriptor.
 */
#ifndef TG_FORMATS_SINK_H
#define TG_FORMATS_SINK_H

#include <stddef.h>

#include "lib/base/status.h"

/* Write all n bytes, in as many pieces as it takes.  TG_EIO, with how many of them
 * went out; a device that takes none counts as full. */
TG_MUST_CHECK tg_status tg_write_all(int fd, const void *data, size_t n, tg_err *err);

/* The same for bytes that nobody changes from here on, not even when this has returned,
 * as those of a mapped file: a pipe gets their pages, not copies of them.  Unmapping them
 * is no change; free() is one. */
TG_MUST_CHECK tg_status tg_write_zero_copy(int fd, const void *data, size_t n, tg_err *err);

/* If fd is a pipe, ask the system to let it hold more: its two ends then wait for each
 * other less often.  A pipe that stays as it was does as well. */
void tg_pipe_grow(int fd);

#endif
