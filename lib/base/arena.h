/*
 * arena: one allocation for many buffers ("blocks"), sized by a dry run.
 *
 * A placement is a function that calls tg_arena_take() for each block.  It runs
 * twice: on a zeroed arena it is a dry run, where every pointer is NULL and only
 * `used` counts; after tg_arena_alloc() the same calls return memory.
 *
 *     static void place(tg_arena *arena, void *context)
 *     {
 *         struct buffers *b = context;
 *
 *         b->x = tg_arena_take(arena, b->n, sizeof *b->x);
 *         b->y = tg_arena_take_rows(arena, b->n, b->width, sizeof *b->y);
 *     }
 *
 *     tg_arena_build(&arena, place, &buffers, &err)      both runs
 *     tg_arena_free(&arena)
 *
 * To announce the size before allocating it, make only the dry run and read `used`.
 *
 * Under AddressSanitizer the bytes between blocks are poisoned, so that an access
 * beyond a block is reported; `used` does not count the redzones added for that.
 */
#ifndef TG_BASE_ARENA_H
#define TG_BASE_ARENA_H

#include <stddef.h>

#include "lib/base/status.h"

#define TG_ALIGN 64 /* bytes; every block starts on such a boundary */

typedef struct tg_arena {
    unsigned char *base; /* a mapping, initially zeros; NULL in a dry run */
    size_t size;         /* bytes at base */
    size_t used;         /* bytes taken, padding included; SIZE_MAX once a size overflowed */
    size_t redzones;     /* bytes of redzones between them; 0 without AddressSanitizer */
} tg_arena;

typedef void tg_arena_place(tg_arena *arena, void *context);

/* A block of count elements of `each` bytes, NULL in a dry run.  If a size overflows in the
 * dry run, tg_arena_alloc() fails.  In the real run this cannot fail: taking more than the
 * dry run did is a bug (asserted). */
void *tg_arena_take(tg_arena *arena, size_t count, size_t each);

/* The same for rows * width elements. */
void *tg_arena_take_rows(tg_arena *arena, size_t rows, size_t width, size_t each);

/* Allocate what the dry run took, and set `used` to 0.  The memory reads as zeros; the
 * system provides each page when it is first written, so unused capacity costs nothing.
 * TG_ENOMEM: the arena is then empty. */
TG_MUST_CHECK tg_status tg_arena_alloc(tg_arena *arena, tg_err *err);

/* Dry run, allocation, real run, on an arena that owns no memory.  TG_ENOMEM: the arena
 * is then empty, and the pointers that `place` sets are NULL. */
TG_MUST_CHECK tg_status tg_arena_build(tg_arena *arena, tg_arena_place *place, void *context, tg_err *err);

/* Give the pages that lie wholly within these bytes of the arena back to the system: they read as zeros. */
void tg_arena_release(const tg_arena *arena, void *at, size_t bytes);

/* Free the memory and empty the arena.  An empty arena is fine. */
void tg_arena_free(tg_arena *arena);

#endif
