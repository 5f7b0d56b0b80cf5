/*
 * source: reading from a descriptor, front to back.
 *
 * A regular file is mapped, from the descriptor's position on; anything else is
 * read through a buffer.  Either way tg_source_peek() shows the next bytes in place,
 * tg_source_skip() consumes them, and tg_source_read() copies them out.  Offsets
 * count from the position where reading began.
 *
 * A mapped file must stay as it is while it is read: what another process writes to it may
 * appear in bytes that have been checked, and accessing pages beyond a new end raises SIGBUS.
 * tg_source_open_unmapped() is for files that may change.
 */
#ifndef TG_FORMATS_SOURCE_H
#define TG_FORMATS_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/status.h"

#define TG_SOURCE_PEEK ((size_t)128 << 10) /* max bytes to peek */

typedef struct tg_source {
    int fd;                    /* the caller's */
    const unsigned char *next; /* [ready] the next bytes */
    size_t ready;              /* when mapped, all of the rest */
    uint64_t at;               /* offset of *next */
    unsigned char *buffer;     /* [capacity]; NULL when mapped */
    size_t capacity;           /* TG_SOURCE_PEEK; more after tg_source_all() */
    void *map;                 /* NULL when not mapped */
    size_t map_size;
} tg_source;

/* Open a source at fd's position.  TG_EIO, TG_ENOMEM: *s then needs no close. */
TG_MUST_CHECK tg_status tg_source_open(tg_source *s, int fd, tg_err *err);

/* The same, but a regular file is also read, not mapped.  What has been read stays as it is, whatever happens
 * to the file. */
TG_MUST_CHECK tg_status tg_source_open_unmapped(tg_source *s, int fd, tg_err *err);

/* Read ahead until s->ready >= n, n <= TG_SOURCE_PEEK (asserted), or to the end of the
 * input.  TG_EIO. */
TG_MUST_CHECK tg_status tg_source_peek(tg_source *s, size_t n, tg_err *err);

/* The same; TG_EDATA, `what` is truncated, if fewer than n bytes are left. */
TG_MUST_CHECK tg_status tg_source_need(tg_source *s, size_t n, const char *what, tg_err *err);

/* Read ahead to the end of the input: s->next [ready] is then all the rest.  TG_EDATA: it has more
 * than max bytes; reading stops soon after that many.  TG_EIO, TG_ENOMEM. */
TG_MUST_CHECK tg_status tg_source_all(tg_source *s, size_t max, tg_err *err);

/* Consume n <= ready bytes. */
void tg_source_skip(tg_source *s, size_t n);

/* The bytes before s->next may be needed again: they stay mapped, but leave memory. */
void tg_source_forget(const tg_source *s);

/* Copy exactly n bytes into dst and consume them; those not yet read bypass the buffer.
 * TG_EDATA, `what` is truncated, if fewer are left; TG_EIO. */
TG_MUST_CHECK tg_status tg_source_read(tg_source *s, void *dst, size_t n, const char *what, tg_err *err);

/* Unmap or free; fd stays open.  A zeroed source is fine. */
void tg_source_close(tg_source *s);

#endif
