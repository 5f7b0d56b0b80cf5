#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "lib/base/arena.h"

#include <assert.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/size.h"

#ifdef NDEBUG
#error "build without NDEBUG: assertions keep bugs from writing outside the library's memory"
#endif

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ASAN 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__ /* gcc */
#define ASAN 1
#endif

#ifdef ASAN
#include <sanitizer/asan_interface.h>
#define REDZONE ((size_t)TG_ALIGN) /* bytes after each block's padding */
#else
#define REDZONE ((size_t)0)
#define ASAN_POISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#endif

void *tg_arena_take(tg_arena *arena, size_t count, size_t each)
{
    size_t bytes, padded, used;
    void *block = NULL;

    if (!tg_size_mul(&bytes, count, each) || !tg_size_add(&padded, bytes, TG_ALIGN - 1) ||
        !tg_size_add(&used, arena->used, padded / TG_ALIGN * TG_ALIGN)) {
        assert(!arena->base);
        arena->used = SIZE_MAX;
        return NULL;
    }
    if (arena->base) {
        assert(used + arena->redzones + REDZONE <= arena->size);
        block = arena->base + arena->used + arena->redzones;
        ASAN_UNPOISON_MEMORY_REGION(block, bytes);
    }
    arena->used = used;
    arena->redzones += REDZONE;
    return block;
}

void *tg_arena_take_rows(tg_arena *arena, size_t rows, size_t width, size_t each)
{
    return tg_arena_take(arena, tg_size_mul_sat(rows, width), each);
}

tg_status tg_arena_alloc(tg_arena *arena, tg_err *err)
{
    const size_t size = tg_size_max(tg_size_add_sat(arena->used, arena->redzones), TG_ALIGN);
    void *base;

    *arena = (tg_arena){0};
    if (size > SIZE_MAX - TG_ALIGN)
        return tg_fail(err, TG_ENOMEM, "out of memory: the sizes exceed the address space");
    base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED)
        return tg_fail_memory(err, size, "buffers");
#ifdef MADV_HUGEPAGE
    (void)madvise(base, size, MADV_HUGEPAGE); /* fewer TLB misses */
#endif
    ASAN_POISON_MEMORY_REGION(base, size);
    *arena = (tg_arena){.base = base, .size = size};
    return TG_OK;
}

tg_status tg_arena_build(tg_arena *arena, tg_arena_place *place, void *context, tg_err *err)
{
    size_t used;
    tg_status status;

    *arena = (tg_arena){0};
    place(arena, context);
    used = arena->used;
    if ((status = tg_arena_alloc(arena, err)))
        return status;
    place(arena, context);
    assert(arena->used == used);
    return TG_OK;
}

void tg_arena_release(const tg_arena *arena, void *at, size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), before = (size_t)((unsigned char *)at - arena->base);
    const size_t begin = tg_round_up(before, page), end = (before + bytes) / page * page;

    assert(before + bytes <= arena->size);
    if (begin < end)
        (void)madvise(arena->base + begin, end - begin, MADV_DONTNEED);
}

void tg_arena_free(tg_arena *arena)
{
    if (arena->base) {
        ASAN_UNPOISON_MEMORY_REGION(arena->base, arena->size); /* another mapping may reuse these addresses */
        munmap(arena->base, arena->size);
    }
    *arena = (tg_arena){0};
}
