#define _GNU_SOURCE /* memfd_create, madvise */
#include "tests/fuzz/input.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>
#include <zlib.h>

#include "tests/fuzz/zip_walk.h"
#include "tests/unit/failing.h"

#if defined __SANITIZE_ADDRESS__
#define POISONS
#elif defined __has_feature
#if __has_feature(address_sanitizer)
#define POISONS
#endif
#endif
#ifdef POISONS
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#endif

/* Freed blocks of 128 KiB and more need no long quarantine. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "quarantine_size_mb=8:malloc_context_size=8";
}

jmp_buf input_abandoned;

void must(int ok)
{
    if (!ok && failing_failed())
        longjmp(input_abandoned, 1);
    if (!ok)
        abort();
}

/* ---- files */

int input_file(const uint8_t *data, size_t size)
{
    static int fd = -1;

    if (fd < 0)
        fd = memfd_create("input", 0);
    must(ftruncate(fd, 0) == 0 && (size == 0 || pwrite(fd, data, size, 0) == (ssize_t)size) &&
         lseek(fd, 0, SEEK_SET) == 0);
    return fd;
}

const char *input_path(char path[32], int fd)
{
    snprintf(path, 32, "/proc/self/fd/%d", fd);
    return path;
}

size_t input_take(int fd, uint8_t *out, size_t max)
{
    const ssize_t n = pread(fd, out, max, 0);

    return n < 0 ? 0 : (size_t)n;
}

/* Blocks that stand for mappings. */
static struct block {
    char *at;
    size_t n;
} blocks[16];

void input_forget(void)
{
    memset(blocks, 0, sizeof blocks);
}

static struct block *find_block(const void *at)
{
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++)
        if (blocks[i].at ? (const char *)at >= blocks[i].at && (const char *)at < blocks[i].at + blocks[i].n
                         : !at)
            return &blocks[i];
    return NULL;
}

void *__real_mmap(void *at, size_t n, int prot, int flags, int fd, off_t from);
int __real_munmap(void *at, size_t n);
int __real_madvise(void *at, size_t n, int advice);
void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t from);
int __wrap_munmap(void *at, size_t n);
int __wrap_madvise(void *at, size_t n, int advice);

void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t from)
{
    struct block *const b = find_block(NULL);
    void *p = NULL;

    if (fd < 0)
        return __real_mmap(at, n, prot, flags, fd, from);
    if (failing_now()) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    must(b && posix_memalign(&p, 64, n) == 0 && pread(fd, p, n, from) == (ssize_t)n);
    *b = (struct block){p, n};
    return p;
}

int __wrap_munmap(void *at, size_t n)
{
    struct block *const b = find_block(at);

    if (!b)
        return __real_munmap(at, n);
    must(b->at == at && b->n == n);
    *b = (struct block){NULL, 0};
    free(at);
    return 0;
}

/* What is left out of memory here would not come back from a file. */
int __wrap_madvise(void *at, size_t n, int advice)
{
    return advice == MADV_DONTNEED ? 0 : __real_madvise(at, n, advice);
}

/* ---- streams */

static struct stream {
    int fd;
    const uint8_t *next;
    size_t left, longest; /* bytes of a piece */
    uint32_t random;
} stream = {.fd = -1};

int input_stream(const uint8_t *data, size_t size)
{
    if (stream.fd < 0)
        must((stream.fd = open("/dev/null", O_RDONLY)) >= 0);
    stream.next = data;
    stream.left = size;
    stream.random = (uint32_t)crc32(0, size > 0 ? data : (const uint8_t *)"", (uInt)size);
    stream.longest = (size_t)8 << stream.random % 11;
    return stream.fd;
}

ssize_t __real_read(int fd, void *to, size_t n);
ssize_t __wrap_read(int fd, void *to, size_t n);
ssize_t __wrap___read_chk(int fd, void *to, size_t n, size_t room);

/* One call of 32 is interrupted. */
ssize_t __wrap_read(int fd, void *to, size_t n)
{
    size_t piece;

    if (fd != stream.fd || fd < 0)
        return __real_read(fd, to, n);
    if (failing_now()) {
        errno = EIO;
        return -1;
    }
    stream.random = stream.random * 1664525u + 1013904223u;
    if (stream.random >> 27 == 0) {
        errno = EINTR;
        return -1;
    }
    piece = 1 + (stream.random >> 8) % stream.longest;
    piece = piece < n ? piece : n;
    piece = piece < stream.left ? piece : stream.left;
    ASAN_UNPOISON_MEMORY_REGION(to, n);
    memcpy(to, stream.next, piece);
    if (n > INPUT_MAX) /* a source's buffer, which nothing else writes */
        ASAN_POISON_MEMORY_REGION((uint8_t *)to + piece, n - piece);
    stream.next += piece;
    stream.left -= piece;
    return (ssize_t)piece;
}

/* What read() becomes with FORTIFY. */
ssize_t __wrap___read_chk(int fd, void *to, size_t n, size_t room)
{
    must(n <= room);
    return __wrap_read(fd, to, n);
}

/* ---- mutations */

size_t input_seed(uint8_t *data, size_t max, const char *text)
{
    const size_t n = strlen(text) < max ? strlen(text) : max;

    memcpy(data, text, n);
    return n;
}

/* Replace a number below 256 of 4 or 8 bytes, as sizes and counts are, by another. */
static void change_number(uint8_t *data, size_t size, unsigned seed)
{
    const unsigned value = seed & 15;

    if (size < 4)
        return;
    for (size_t n = 0, i = (seed >> 4) * 2654435761u % (size - 3); n < size;
         n++, i = i + 4 < size ? i + 1 : 0)
        if (data[i] > 0 && data[i + 1] == 0 && data[i + 2] == 0 && data[i + 3] == 0) {
            data[i] = (uint8_t)(value < 12 ? value : data[i] + value - 13);
            return;
        }
}

size_t input_mutate(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    const unsigned how = seed >> 4;

    if (seed % 4 == 1)
        change_number(data, size, how);
    else if (seed % 4 != 2 || !zip_change(data, size, how))
        size = LLVMFuzzerMutate(data, size, max);
    if (seed % 8 != 0)
        zip_repair(data, size);
    return size;
}
