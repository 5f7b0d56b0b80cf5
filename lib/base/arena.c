#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "lib/base/arena.h"

#include <assert.h>
#include <stdint.h>
#include <sys/mman.h>

#include "lib/base/size.h"

#ifdef NDEBUG
#error "some assertions of this library stand between a mistake and memory that is not ours: keep them"
#endif

void *tg_arena_take(tg_arena *arena, size_t count, size_t each)
{
    size_t bytes, end;
    void *p;

    if (!tg_size_mul(&bytes, count, each) || !tg_size_add(&bytes, bytes, TG_ALIGN - 1) ||
        !tg_size_add(&end, arena->used, bytes / TG_ALIGN * TG_ALIGN)) {
        assert(!arena->base);
        arena->used = SIZE_MAX;
        return NULL;
    }
    if (!arena->base) {
        arena->used = end;
        return NULL;
    }
    assert(end <= arena->size);
    p = arena->base + arena->used;
    arena->used = end;
    return p;
}

void *tg_arena_take_rows(tg_arena *arena, size_t rows, size_t width, size_t each)
{
    size_t count;

    return tg_arena_take(arena, tg_size_mul(&count, rows, width) ? count : SIZE_MAX, each);
}

tg_status tg_arena_alloc(tg_arena *arena, tg_err *err)
{
    size_t size = tg_size_max(arena->used, TG_ALIGN);
    void *base;

    *arena = (tg_arena){0};
    if (size > SIZE_MAX - TG_ALIGN)
        return tg_fail(err, TG_ENOMEM, "out of memory: the sizes exceed the address space");
    base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED)
        return tg_fail_memory(err, size, "one block");
#ifdef MADV_HUGEPAGE
    (void)madvise(base, size, MADV_HUGEPAGE); /* fewer pages for the processor to look up */
#endif
    *arena = (tg_arena){.base = base, .size = size};
    return TG_OK;
}

void tg_arena_free(tg_arena *arena)
{
    if (arena->base)
        munmap(arena->base, arena->size);
    *arena = (tg_arena){0};
}
