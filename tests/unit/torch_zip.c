#include "tests/unit/torch_zip.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "formats/zip.h"

#define OD "ccollections\nOrderedDict\n)R"
#define TENSOR(type, key, count, rest)                                                                       \
    "ctorch._utils\n_rebuild_tensor_v2\n((X\7\0\0\0storagectorch\n" type "\nX\1\0\0\0" key                   \
    "X\3\0\0\0cpu" count "tQ" rest "\x89" OD "tR"

const char torch_zip_pickle[] =
    "\x80\2}(X\5\0\0\0model" OD "(X\1\0\0\0w" TENSOR("FloatStorage", "0", "K\6", "K\0K\2K\3\x86K\3K\1\x86") //
    "X\1\0\0\0t" TENSOR("FloatStorage", "0", "K\6", "K\0K\3K\2\x86K\1K\3\x86")                              //
    "X\1\0\0\0v" TENSOR("FloatStorage", "2", "K\6", "K\4K\2\x85K\1\x85")                                    //
    "X\1\0\0\0b" TENSOR("BFloat16Storage", "1", "K\2", "K\0K\2\x85K\1\x85")                                 //
    "u}X\x09\0\0\0_metadata}sbX\x0A\0\0\0model_args}(X\6\0\0\0n_headK\2X\4\0\0\0bias\x89uu.";
const size_t torch_zip_pickle_n = sizeof torch_zip_pickle - 1;

static void put(torch_zip *z, const void *bytes, size_t n)
{
    if (n > TORCH_ZIP_MAX - z->n)
        abort();
    memcpy(z->bytes + z->n, bytes, n);
    z->n += n;
}

static void put_number(torch_zip *z, uint64_t number, size_t width)
{
    for (size_t i = 0; i < width; i++, number >>= 8)
        put(z, &(unsigned char){(unsigned char)(number & 0xFF)}, 1);
}

/* From the flags to the sizes, as in both headers. */
static void put_common(torch_zip *z, size_t i, bool sizes, bool wide)
{
    put_number(z, z->sized ? 0x0800 : 0x0808, 2);
    put_number(z, 0, 2 + 2 + 2);
    put_number(z, sizes ? z->member[i].crc : 0, 4);
    put_number(z, wide ? 0xFFFFFFFF : sizes ? z->member[i].size : 0, 4);
    put_number(z, wide ? 0xFFFFFFFF : sizes ? z->member[i].size : 0, 4);
    put_number(z, strlen(z->member[i].name), 2);
}

void torch_zip_put(torch_zip *z, const char *name, const void *data, size_t n)
{
    const size_t i = z->members++;
    size_t pad;

    if (i == TORCH_ZIP_MEMBERS)
        abort();
    strcpy(z->member[i].name, name);
    z->member[i].header = z->n;
    z->member[i].size = n;
    z->member[i].crc = (uint32_t)crc32(0, data, (uInt)n);
    put(z, "PK\3\4\0\0", 6);
    put_common(z, i, z->sized, false);
    pad = (128 - (z->n + 2 + strlen(name) + 4) % 64) % 64;
    put_number(z, 4 + pad, 2);
    put(z, name, strlen(name));
    put(z, "FB", 2);
    put_number(z, pad, 2);
    while (pad-- > 0)
        put(z, "Z", 1);
    z->member[i].data = z->n;
    put(z, data, n);
    if (z->sized)
        return;
    put(z, "PK\7\10", 4);
    put_number(z, z->member[i].crc, 4);
    put_number(z, n, z->wide ? 8 : 4);
    put_number(z, n, z->wide ? 8 : 4);
}

static void put_central(torch_zip *z, size_t i)
{
    put(z, "PK\1\2\0\0\0\0", 8);
    put_common(z, i, true, z->wide);
    put_number(z, z->wide ? 28 : 0, 2);
    put_number(z, 0, 2 + 2 + 2);
    put_number(z, 0, 4);
    put_number(z, z->wide ? 0xFFFFFFFF : z->member[i].header, 4);
    put(z, z->member[i].name, strlen(z->member[i].name));
    if (z->wide) {
        put(z, "\1\0\30\0", 4);
        put_number(z, z->member[i].size, 8);
        put_number(z, z->member[i].size, 8);
        put_number(z, z->member[i].header, 8);
    }
}

static void put_end64(torch_zip *z, size_t size)
{
    const size_t end = z->n;

    put(z, "PK\6\6", 4);
    put_number(z, 44, 8);
    put_number(z, 45 | 45 << 16, 4);
    put_number(z, 0, 8);
    put_number(z, z->members, 8);
    put_number(z, z->members, 8);
    put_number(z, size, 8);
    put_number(z, z->directory, 8);
    put(z, "PK\6\7\0\0\0\0", 8);
    put_number(z, end, 8);
    put_number(z, 1, 4);
}

void torch_zip_end(torch_zip *z)
{
    size_t size;

    z->directory = z->n;
    for (size_t i = 0; i < z->members; i++)
        put_central(z, i);
    size = z->n - z->directory;
    if (z->wide)
        put_end64(z, size);
    put(z, "PK\5\6\0\0\0\0", 8);
    put_number(z, z->wide ? 0xFFFF : z->members, 2);
    put_number(z, z->wide ? 0xFFFF : z->members, 2);
    put_number(z, z->wide ? 0xFFFFFFFF : size, 4);
    put_number(z, z->wide ? 0xFFFFFFFF : z->directory, 4);
    put_number(z, 0, 2);
}

void torch_zip_begin(torch_zip *z, const void *pickle, size_t n)
{
    torch_zip_put(z, "ckpt/data.pkl", pickle, n);
    torch_zip_put(z, "ckpt/byteorder", "little", 6);
    torch_zip_put(z, "ckpt/version", "3\n", 2);
}

/* Correct the checksum in the entry p of the directory; a header beyond the file stays as it is. */
static void repair(unsigned char *p, const unsigned char *bytes, size_t n)
{
    const size_t header = tg_get32(p + 42), size = tg_get32(p + 24);
    size_t data;
    uint32_t crc;

    if (header > n || n - header < 30)
        return;
    data = header + 30 + tg_get16(bytes + header + 26) + tg_get16(bytes + header + 28);
    if (data > n || size > n - data)
        return;
    crc = (uint32_t)crc32(0, bytes + data, (uInt)size);
    for (size_t i = 0; i < 4; i++, crc >>= 8)
        p[16 + i] = (unsigned char)(crc & 0xFF);
}

void torch_zip_repair(unsigned char *bytes, size_t n)
{
    size_t at;

    if (n < 22)
        return;
    at = tg_get32(bytes + n - 22 + 16);
    while (at < n && n - at >= 46 && memcmp(bytes + at, "PK\1\2", 4) == 0) {
        repair(bytes + at, bytes, n);
        at += 46 + (size_t)tg_get16(bytes + at + 28) + tg_get16(bytes + at + 30) + tg_get16(bytes + at + 32);
    }
}
