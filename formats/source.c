#define _DEFAULT_SOURCE /* madvise */
#include "formats/source.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/size.h"

/* Map the file from fd's position on, if that is possible. */
static tg_status try_map(tg_source *s, tg_err *err)
{
    struct stat st;
    off_t from;
    size_t lead, size;
    long page = sysconf(_SC_PAGESIZE);

    if (fstat(s->fd, &st) != 0)
        return tg_fail_sys(err, "cannot be examined");
    /* unreached: page <= 0: Linux knows its page size */
    if (page <= 0 || !S_ISREG(st.st_mode))
        return TG_OK;
    if ((from = lseek(s->fd, 0, SEEK_CUR)) < 0)
        return tg_fail_sys(err, "cannot be examined");
    lead = (size_t)(from % page);
    /* unreached: a size > SIZE_MAX, where a size_t has 64 bits */
    if (from >= st.st_size || (uint64_t)(st.st_size - from) > SIZE_MAX - lead)
        return TG_OK;
    size = (size_t)(st.st_size - from);
    s->map = mmap(NULL, size + lead, PROT_READ, MAP_PRIVATE, s->fd, from - (off_t)lead);
    if (s->map == MAP_FAILED) {
        s->map = NULL;
        return TG_OK;
    }
    s->map_size = size + lead;
    s->next = (const unsigned char *)s->map + lead;
    s->ready = size;
    return TG_OK;
}

tg_status tg_source_open(tg_source *s, int fd, tg_err *err)
{
    tg_status status;

    *s = (tg_source){.fd = fd};
    if ((status = try_map(s, err)))
        return status;
    return s->map ? TG_OK : tg_source_open_unmapped(s, fd, err);
}

tg_status tg_source_open_unmapped(tg_source *s, int fd, tg_err *err)
{
    *s = (tg_source){.fd = fd};
    s->buffer = malloc(TG_SOURCE_PEEK);
    if (!s->buffer)
        return tg_fail_memory(err, TG_SOURCE_PEEK, "the input buffer");
    s->capacity = TG_SOURCE_PEEK;
    s->next = s->buffer;
    return TG_OK;
}

/* One read() of at most n bytes; *got = 0 at the end. */
static tg_status read_some(tg_source *s, void *dst, size_t n, size_t *got, tg_err *err)
{
    ssize_t r;

    do
        r = read(s->fd, dst, tg_size_min(n, (size_t)1 << 30));
    while (r < 0 && errno == EINTR);
    if (r < 0)
        return tg_fail_sys(err, "cannot read at offset %llu", (unsigned long long)(s->at + s->ready));
    *got = (size_t)r;
    return TG_OK;
}

/* Make the buffer larger, for at most max bytes. */
static tg_status grow(tg_source *s, size_t max, tg_err *err)
{
    const size_t capacity = tg_size_min(2 * s->capacity, max);
    unsigned char *buffer = realloc(s->buffer, capacity);

    if (!buffer)
        return tg_fail_memory(err, capacity, "the input");
    s->buffer = buffer;
    s->next = buffer;
    s->capacity = capacity;
    return TG_OK;
}

/* Read ahead until s->ready >= n or the input ends, into a buffer that grows to n bytes at most. */
static tg_status fill(tg_source *s, size_t n, tg_err *err)
{
    size_t got = 1;

    if (s->map || s->ready >= n)
        return TG_OK;
    memmove(s->buffer, s->next, s->ready);
    s->next = s->buffer;
    while (s->ready < n && got > 0) {
        tg_status status = s->ready == s->capacity ? grow(s, n, err) : TG_OK;

        if (status || (status = read_some(s, s->buffer + s->ready, s->capacity - s->ready, &got, err)))
            return status;
        s->ready += got;
    }
    return TG_OK;
}

tg_status tg_source_peek(tg_source *s, size_t n, tg_err *err)
{
    assert(n <= TG_SOURCE_PEEK);
    return fill(s, n, err);
}

tg_status tg_source_all(tg_source *s, size_t max, tg_err *err)
{
    const tg_status status = fill(s, tg_size_add_sat(max, 1), err);

    if (!status && s->ready > max)
        return tg_fail(err, TG_EDATA, "the input has %s%zu bytes, expected at most %zu",
                       s->map ? "" : "more than ", s->map ? s->ready : max, max);
    return status;
}

static tg_status truncated(tg_source *s, size_t expected, size_t got, const char *what, tg_err *err)
{
    return tg_fail(err, TG_EDATA, "truncated: expected %zu bytes of %s at offset %llu, got %zu", expected,
                   what, (unsigned long long)s->at, got);
}

tg_status tg_source_need(tg_source *s, size_t n, const char *what, tg_err *err)
{
    tg_status status = tg_source_peek(s, n, err);

    if (!status && s->ready < n)
        status = truncated(s, n, s->ready, what, err);
    return status;
}

void tg_source_skip(tg_source *s, size_t n)
{
    s->next += n;
    s->ready -= n;
    s->at += n;
}

void tg_source_forget(const tg_source *s)
{
    const long page = sysconf(_SC_PAGESIZE);

    /* unreached: page <= 0, as above */
    if (s->map && page > 0 && s->next > (const unsigned char *)s->map + page)
        (void)madvise(s->map, (size_t)(s->next - (const unsigned char *)s->map) / (size_t)page * (size_t)page,
                      MADV_DONTNEED);
}

tg_status tg_source_read(tg_source *s, void *dst, size_t n, const char *what, tg_err *err)
{
    unsigned char *to = dst;
    size_t done = tg_size_min(n, s->ready);
    uint64_t begin = s->at;
    size_t got = 1;

    if (done > 0)
        memcpy(to, s->next, done);
    tg_source_skip(s, done);
    while (done < n && !s->map && got > 0) {
        tg_status status = read_some(s, to + done, n - done, &got, err);

        if (status)
            return status;
        done += got;
        s->at += got;
    }
    if (done < n) {
        s->at = begin;
        return truncated(s, n, done, what, err);
    }
    return TG_OK;
}

void tg_source_close(tg_source *s)
{
    if (s->map)
        munmap(s->map, s->map_size);
    free(s->buffer);
    *s = (tg_source){.fd = -1};
}
