/*
 * source: bytes from a descriptor, front to back.
 *
 * A regular file is mapped, from the descriptor's position on; anything else is
 * read through a buffer.  Either way the next bytes are looked at in place with
 * tg_source_peek() and consumed with tg_source_skip(), or copied out with
 * tg_source_read().  Offsets count from where reading began.
 *
 * A mapped file must not be shortened by others meanwhile: the kernel would kill
 * the process (SIGBUS) on touching what is gone.  What tg-tokenize passes on into a pipe is
 * the file's until it is read: who changes the file before that makes the checksum wrong.
 */
#ifndef TG_FORMATS_SOURCE_H
#define TG_FORMATS_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/status.h"

#define TG_SOURCE_PEEK ((size_t)128 << 10) /* the most that can be looked at */

typedef struct tg_source {
    int fd;                    /* the caller's */
    const unsigned char *next; /* the bytes at hand ... */
    size_t ready;              /* ... and how many there are */
    uint64_t at;               /* offset of *next */
    unsigned char *buffer;     /* [TG_SOURCE_PEEK]; NULL when mapped */
    void *map;                 /* NULL when not mapped */
    size_t map_size;
} tg_source;

/* Start at fd's position.  TG_ENOMEM; the source then needs no close. */
TG_MUST_CHECK tg_status tg_source_open(tg_source *s, int fd, tg_err *err);

/* Make `ready` at least n <= TG_SOURCE_PEEK (asserted), unless the input ends before.  What a
 * mapped source has at hand is all that there is.  TG_EIO. */
TG_MUST_CHECK tg_status tg_source_peek(tg_source *s, size_t n, tg_err *err);

/* The same, but fewer than n bytes are a truncated `what`: TG_EDATA. */
TG_MUST_CHECK tg_status tg_source_need(tg_source *s, size_t n, const char *what, tg_err *err);

/* Consume n <= ready bytes. */
void tg_source_skip(tg_source *s, size_t n);

/* Consume exactly n bytes into dst, past the buffer when there are many.  TG_EDATA
 * (fewer than n bytes of `what`), TG_EIO. */
TG_MUST_CHECK tg_status tg_source_read(tg_source *s, void *dst, size_t n, const char *what, tg_err *err);

/* Unmap or free; fd stays open.  A zeroed source is fine. */
void tg_source_close(tg_source *s);

#endif
