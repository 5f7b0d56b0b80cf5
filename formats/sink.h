/*
 * sink: writing to a descriptor.
 */
#ifndef TG_FORMATS_SINK_H
#define TG_FORMATS_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/status.h"

/* Write all n bytes, in as many calls as it takes.  TG_EIO, with the number of bytes written;
 * a write of 0 bytes counts as a full device. */
TG_MUST_CHECK tg_status tg_write_all(int fd, const void *data, size_t n, tg_err *err);

/*
 * Small writes, collected:
 *
 *     tg_sink sink = {.fd = fd}
 *     tg_sink_put(&sink, data, n) ...
 *     tg_sink_flush(&sink, &err)
 *
 * After a failure the rest is dropped; tg_sink_flush() reports the failure.
 */
typedef struct tg_sink {
    int fd;        /* the caller's */
    bool dry;      /* bytes are counted, not written */
    tg_err err;    /* of the first failure; code TG_OK: none */
    uint64_t done; /* bytes written; those that wait come after them */
    size_t n;
    unsigned char waiting[1 << 16];
} tg_sink;

void tg_sink_put(tg_sink *sink, const void *data, size_t n);
void tg_sink_puts(tg_sink *sink, const char *text);
void tg_sink_put_size(tg_sink *sink, size_t value);                         /* in decimal digits */
void tg_sink_print(tg_sink *sink, const char *format, ...) TG_PRINTF(2, 3); /* up to 1023 bytes */
TG_MUST_CHECK tg_status tg_sink_flush(tg_sink *sink, tg_err *err);

/* If fd is a pipe, ask the system for a larger buffer, so that its two ends wait for each
 * other less often.  Failure does no harm and is not reported. */
void tg_pipe_grow(int fd);

#endif
