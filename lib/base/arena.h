/*
 * arena: one block of memory, sized by a dry run, then handed out in order.
 *
 * Write the placement once, as a function that calls tg_arena_take() for each
 * buffer.  Run it on a zeroed arena first: nothing is handed out (every pointer
 * is NULL), and `used` ends as the size needed.  Announce it, tg_arena_alloc() it,
 * run the same function again.
 *
 *     tg_arena arena = {0};
 *     place(&arena, &buffers);                       dry run
 *     if (tg_arena_alloc(&arena, &err)) ...
 *     place(&arena, &buffers);                       for real
 */
#ifndef TG_BASE_ARENA_H
#define TG_BASE_ARENA_H

#include <stddef.h>

#include "lib/base/status.h"

#define TG_ALIGN 64 /* bytes; every buffer starts on such a boundary */

typedef struct tg_arena {
    unsigned char *base; /* NULL during the dry run */
    size_t size;         /* bytes behind base */
    size_t used;         /* bytes taken; SIZE_MAX once a size overflowed */
} tg_arena;

/* count elements of `each` bytes.  NULL in a dry run.  Cannot fail after one: taking
 * more than it asked for is a mistake of the program's (asserted). */
void *tg_arena_take(tg_arena *arena, size_t count, size_t each);

/* rows * width elements; a product beyond size_t is remembered like any size that overflows:
 * tg_arena_alloc() is going to fail. */
void *tg_arena_take_rows(tg_arena *arena, size_t rows, size_t width, size_t each);

/* Memory for `used` bytes; then used = 0.  It reads as zeros, and the system provides a
 * page of it when that is first written, so that room which is never used costs nothing.
 * TG_ENOMEM when there is none: the arena is then empty. */
TG_MUST_CHECK tg_status tg_arena_alloc(tg_arena *arena, tg_err *err);

/* Give the memory back and empty the arena.  An empty arena is fine. */
void tg_arena_free(tg_arena *arena);

#endif
