#include "tests/fuzz/input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "formats/zip.h"

void must(int ok)
{
    if (!ok)
        abort();
}

int input_file(const uint8_t *data, size_t size)
{
    static FILE *f;

    if (!f)
        f = tmpfile();
    must(f && ftruncate(fileno(f), 0) == 0 && pwrite(fileno(f), data, size, 0) == (ssize_t)size &&
         lseek(fileno(f), 0, SEEK_SET) == 0);
    return fileno(f);
}

int input_pipe(const uint8_t *data, size_t size)
{
    int ends[2];

    must(pipe(ends) == 0 && (size == 0 || write(ends[1], data, size) == (ssize_t)size));
    close(ends[1]);
    return ends[0];
}

size_t input_take(int fd, uint8_t *out, size_t max)
{
    const ssize_t n = pread(fd, out, max, 0);

    return n < 0 ? 0 : (size_t)n;
}

size_t input_seed(uint8_t *data, size_t max, const char *text)
{
    const size_t n = strlen(text) < max ? strlen(text) : max;

    memcpy(data, text, n);
    return n;
}

static void set32(uint8_t *p, uint32_t value)
{
    for (int i = 0; i < 4; i++, value >>= 8)
        p[i] = (uint8_t)value;
}

/* Correct the CRC-32 in the headers of stored members and in the directory. */
static void repair(uint8_t *p, size_t size)
{
    size_t at = 0, count = 0;
    uint32_t crc[64];

    while (count < 64 && at + 30 <= size && memcmp(p + at, "PK\3\4", 4) == 0) {
        size_t name = tg_get16(p + at + 26), extra = tg_get16(p + at + 28), n = tg_get32(p + at + 18);
        uint8_t *h = p + at;

        at += 30 + name + extra;
        if (at > size || n > size - at)
            return;
        crc[count] = tg_get32(h + 14);
        if (tg_get16(h + 8) == TG_ZIP_STORED) {
            crc[count] = (uint32_t)crc32(0, p + at, (uInt)n);
            set32(h + 14, crc[count]);
        }
        if (tg_zip_is_canonical_extra(h + 30 + name, extra) && extra >= 12)
            set32(h + 30 + name + 8, (uint32_t)crc32(0, p + at, (uInt)n));
        at += n;
        count++;
    }
    for (size_t i = 0; i < count && at + 46 <= size && memcmp(p + at, "PK\1\2", 4) == 0; i++) {
        set32(p + at + 16, crc[i]);
        at += 46u + tg_get16(p + at + 28) + tg_get16(p + at + 30);
    }
}

size_t input_mutate(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    size = LLVMFuzzerMutate(data, size, max);
    if (seed % 4 != 0)
        repair(data, size);
    return size;
}
