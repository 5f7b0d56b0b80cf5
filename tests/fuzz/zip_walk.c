#define _GNU_SOURCE /* memmem */
#include "tests/fuzz/zip_walk.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static size_t get(const uint8_t *p, int bytes)
{
    size_t value = 0;

    while (bytes-- > 0)
        value = value << 8 | p[bytes];
    return value;
}

static void put32(uint8_t *p, size_t value)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(value >> 8 * i);
}

static uint32_t sum_of(const uint8_t *p, size_t n)
{
    return (uint32_t)crc32(0, n > 0 ? p : (const uint8_t *)"", (uInt)n);
}

/* A member: where its packed bytes are, and what they make. */
typedef struct member {
    const uint8_t *packed;
    size_t packed_n, size, method, crc;
} member;

/* Inflate into out [*n]; *n is then the number of bytes made, *used that of bytes read. */
static bool unpack(uint8_t *out, size_t *n, const uint8_t *packed, size_t packed_n, size_t *used)
{
    z_stream z = {.next_in = (z_const Bytef *)(uintptr_t)packed,
                  .avail_in = (uInt)packed_n,
                  .next_out = out,
                  .avail_out = (uInt)*n};
    bool ended;

    if (inflateInit2(&z, -MAX_WBITS) != Z_OK)
        abort();
    ended = inflate(&z, Z_FINISH) == Z_STREAM_END;
    *n = z.total_out;
    *used = z.total_in;
    inflateEnd(&z);
    return ended;
}

/* ---- what must hold */

/* The bytes that an array needs by its header [n], or SIZE_MAX: 'descr' ends with the size of an element, and
 * 'shape' has the sizes. */
static size_t needed(const char *head, size_t n)
{
    const char *const descr = memmem(head, n, "descr", 5), *const shape = memmem(head, n, "shape", 5);
    const char *const end = head + n;
    const char *p;
    size_t bytes = 0;

    if (!descr || !shape)
        return SIZE_MAX;
    p = descr + 6;
    while (p < end && !(*p >= '0' && *p <= '9'))
        p++;
    for (; p < end && *p >= '0' && *p <= '9'; p++)
        bytes = bytes * 10 + (size_t)(*p - '0');
    for (p = shape + 6; p < end && *p != ')';) {
        size_t size = 0;

        if (!(*p >= '0' && *p <= '9')) {
            p++;
            continue;
        }
        for (; p < end && *p >= '0' && *p <= '9'; p++)
            size = size * 10 + (size_t)(*p - '0');
        if (__builtin_mul_overflow(bytes, size, &bytes))
            bytes = (size_t)1 << 62; /* more than any input has, unless another size is 0 */
    }
    return bytes;
}

static bool add_array(zip_sum *sum, const uint8_t *p, size_t n)
{
    const size_t wide = n > 12 && p[6] == 2 ? 4 : 2;
    const size_t head = n > 12 ? 8 + wide + get(p + 8, (int)wide) : SIZE_MAX;

    if (head > n || memcmp(p, "\x93NUMPY", 6) != 0 || head - 8 - wide > 10000)
        return false;
    sum->arrays++;
    if (n > head)
        sum->crc = (uint32_t)crc32(sum->crc, p + head, (uInt)(n - head));
    return needed((const char *)p, head) == n - head;
}

static bool add_member(zip_sum *sum, const member *m)
{
    size_t n = m->size, used = m->packed_n;
    uint8_t *content;
    bool sound;

    if (m->size > 1032 * m->packed_n + 64 || (content = malloc(m->size + 1)) == NULL)
        return false;
    if (m->method == 0) {
        memcpy(content, m->packed, m->packed_n);
        sound = m->packed_n == m->size;
    } else {
        n++; /* room for what must not come */
        sound = m->method == 8 && unpack(content, &n, m->packed, m->packed_n, &used);
    }
    sound = sound && n == m->size && used == m->packed_n && sum_of(content, n) == m->crc &&
            add_array(sum, content, n);
    free(content);
    return sound;
}

/* Replace sizes of 0xFFFFFFFF by those of the zip64 field in extra [n]. */
static bool widen(size_t *const value[], size_t values, const uint8_t *extra, size_t n)
{
    while (n >= 4 && get(extra, 2) != 1 && get(extra + 2, 2) <= n - 4) {
        const size_t field = 4 + get(extra + 2, 2);

        extra += field;
        n -= field;
    }
    n = n >= 4 && get(extra, 2) == 1 && get(extra + 2, 2) <= n - 4 ? get(extra + 2, 2) : 0;
    extra += 4;
    for (size_t i = 0; i < values; i++)
        if (*value[i] == 0xFFFFFFFF) {
            if (n < 8)
                return false;
            *value[i] = get(extra, 8);
            extra += 8;
            n -= 8;
        }
    return true;
}

/* Whether a local header states the same, unless it leaves that to a descriptor. */
static bool local_agrees(const uint8_t *p, const member *m)
{
    size_t packed_n = get(p + 18, 4), size = get(p + 22, 4);

    if (get(p + 8, 2) != m->method)
        return false;
    if (p[6] & 8)
        return true;
    return widen((size_t *[]){&size, &packed_n}, 2, p + 30 + get(p + 26, 2), get(p + 28, 2)) &&
           get(p + 14, 4) == m->crc && packed_n == m->packed_n && size == m->size;
}

/* The end record, before a comment of at most 65,535 bytes. */
static const uint8_t *find_end(const uint8_t *data, size_t size)
{
    for (size_t comment = 0; comment <= 65535 && 22 + comment <= size; comment++) {
        const uint8_t *const p = data + size - 22 - comment;

        if (memcmp(p, "PK\5\6", 4) == 0 && get(p + 20, 2) == comment)
            return p;
    }
    return NULL;
}

bool zip_walk(zip_sum *sum, const uint8_t *data, size_t size)
{
    const uint8_t *const end = find_end(data, size);
    size_t at, count;

    *sum = (zip_sum){0};
    if (!end)
        return false;
    at = get(end + 16, 4);
    count = get(end + 10, 2);
    if (at == 0xFFFFFFFF && end >= data + 76)
        at = get(end - 76 + 48, 8);
    if (count == 0xFFFF && end >= data + 76)
        count = get(end - 76 + 32, 8);
    for (size_t i = 0; i < count; i++) {
        const uint8_t *const p = data + at;
        member m;
        size_t from, name, extra;

        if (at > size || size - at < 46 || memcmp(p, "PK\1\2", 4) != 0)
            return false;
        m = (member){NULL, get(p + 20, 4), get(p + 24, 4), get(p + 10, 2), get(p + 16, 4)};
        from = get(p + 42, 4);
        name = get(p + 28, 2);
        extra = get(p + 30, 2);
        if (size - at - 46 < name + extra + get(p + 32, 2) ||
            !widen((size_t *[]){&m.size, &m.packed_n, &from}, 3, p + 46 + name, extra))
            return false;
        at += 46 + name + extra + get(p + 32, 2);
        if (from > size || size - from < 30 || memcmp(data + from, "PK\3\4", 4) != 0 ||
            get(data + from + 26, 2) != name || size - from - 30 < name + get(data + from + 28, 2) ||
            memcmp(data + from + 30, p + 46, name) != 0)
            return false;
        if (!local_agrees(data + from, &m))
            return false;
        from += 30 + name + get(data + from + 28, 2);
        if (m.packed_n > size - from)
            return false;
        m.packed = data + from;
        if (!add_member(sum, &m))
            return false;
    }
    return data + at <= end;
}

/* ---- repair */

#define MEMBERS_MAX 64
#define CONTENT_MAX ((size_t)1 << 20)

/* The CRC-32 of a member's content, packed at p in at most n bytes; *used: how many it has. */
static uint32_t content_crc(const uint8_t *p, size_t n, size_t method, size_t *used)
{
    static uint8_t out[CONTENT_MAX];
    size_t made = sizeof out;

    *used = n;
    if (method != 8)
        return sum_of(p, n);
    (void)unpack(out, &made, p, n, used);
    return sum_of(out, made);
}

/* The bytes of a stored array, by its own header, at p in at most n bytes. */
static size_t array_bytes(const uint8_t *p, size_t n)
{
    const size_t head = n > 12 ? 10 + get(p + 8, 2) : n;
    const size_t bytes = head < n ? needed((const char *)p, head) : 0;

    return head < n && bytes <= n - head ? head + bytes : n;
}

void zip_repair(uint8_t *p, size_t size)
{
    size_t at = 0, count = 0;
    uint32_t crc[MEMBERS_MAX];

    while (count < MEMBERS_MAX && at + 30 <= size && memcmp(p + at, "PK\3\4", 4) == 0) {
        uint8_t *const h = p + at;
        const size_t name = get(h + 26, 2), extra = get(h + 28, 2), method = get(h + 8, 2);
        const bool later = h[6] & 8;
        size_t n = get(h + 18, 4), used;

        at += 30 + name + extra;
        if (at > size)
            return;
        if (n == 0xFFFFFFFF && extra >= 20)
            n = get(h + 30 + name + 12, 8);
        if (later)
            n = method == 8 ? size - at : array_bytes(p + at, size - at);
        if (n > size - at)
            return;
        crc[count] = content_crc(p + at, n, method, &used);
        if (!later)
            put32(h + 14, crc[count]);
        if (extra >= 12 && memcmp(h + 30 + name + 4, "npz1", 4) == 0)
            put32(h + 30 + name + 8, sum_of(p + at, n));
        at += later ? used : n;
        if (later && at + 16 <= size && memcmp(p + at, "PK\7\10", 4) == 0) {
            put32(p + at + 4, crc[count]);
            at += extra >= 20 && get(h + 30 + name, 2) == 1 ? 24 : 16;
        }
        count++;
    }
    for (size_t i = 0; i < count && at + 46 <= size && memcmp(p + at, "PK\1\2", 4) == 0; i++) {
        put32(p + at + 16, crc[i]);
        at += 46u + get(p + at + 28, 2) + get(p + at + 30, 2) + get(p + at + 32, 2);
    }
}

bool zip_change(uint8_t *p, size_t size, unsigned seed)
{
    size_t at = 0, count = 0, end[MEMBERS_MAX], bytes[MEMBERS_MAX], n;
    uint8_t *byte;

    while (count < MEMBERS_MAX && at + 30 <= size && memcmp(p + at, "PK\3\4", 4) == 0) {
        bytes[count] = get(p + at + 18, 4);
        at += 30 + get(p + at + 26, 2) + get(p + at + 28, 2);
        if (at > size || bytes[count] > size - at)
            break;
        at += bytes[count];
        end[count++] = at;
    }
    if (count == 0)
        return false;
    n = bytes[seed % count] < 32 ? bytes[seed % count] : 32;
    if (n == 0)
        return false;
    /* half of the changes are in the lowest byte of a scalar <i8 */
    byte = p + end[seed % count] - 1 - (seed >> 7 & 1 && n >= 8 ? 7 : (seed >> 8) % n);
    *byte = (uint8_t)(seed >> 13 & 1 ? seed >> 16 : *byte + (seed >> 16) % 9 - 4);
    return true;
}
