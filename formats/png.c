#include "formats/png.h"

#include <stdint.h>
#include <string.h>

#define ZLIB_CONST /* declares zlib's input as const */
#include <zlib.h>

#include "formats/crc.h"
#include "formats/sink.h"
#include "lib/base/size.h"

#define CHUNK 65536 /* bytes per IDAT */
#define COLORS_MAX 256

static void put_u32(unsigned char out[4], uint32_t x)
{
    for (size_t i = 0; i < 4; i++)
        out[i] = (unsigned char)(x >> (24 - 8 * i));
}

/* Length, type, data, and the checksum of type and data. */
static tg_status put_chunk(int fd, const char *type, const unsigned char *data, size_t n, tg_err *err)
{
    unsigned char head[8], tail[4];
    tg_status status;

    put_u32(head, (uint32_t)n);
    memcpy(head + 4, type, 4);
    put_u32(tail, tg_crc32(tg_crc32(0, head + 4, 4), data, n));
    if ((status = tg_write_all(fd, head, sizeof head, err)) || (status = tg_write_all(fd, data, n, err)))
        return status;
    return tg_write_all(fd, tail, sizeof tail, err);
}

/* Compress n more bytes and write full chunks; with flush = Z_FINISH, also the last one. */
static tg_status put_data(int fd, z_stream *z, unsigned char *chunk, const unsigned char *data, size_t n,
                          int flush, tg_err *err)
{
    tg_status status = TG_OK;
    int end = Z_OK;

    z->next_in = data;
    z->avail_in = (uInt)n;
    while (!status && (z->avail_in > 0 || (flush == Z_FINISH && end != Z_STREAM_END))) {
        end = deflate(z, flush);
        if (z->avail_out == 0 || end == Z_STREAM_END) {
            status = put_chunk(fd, "IDAT", chunk, CHUNK - z->avail_out, err);
            z->next_out = chunk;
            z->avail_out = CHUNK;
        }
    }
    return status;
}

static tg_status put_rows(int fd, const unsigned char *pixel, size_t width, size_t height, tg_err *err)
{
    static const unsigned char no_filter[1] = {0};
    unsigned char chunk[CHUNK];
    z_stream z = {0};
    tg_status status = TG_OK;

    if (deflateInit(&z, Z_DEFAULT_COMPRESSION) != Z_OK)
        return tg_fail_memory(err, 1u << 18, "zlib");
    z.next_out = chunk;
    z.avail_out = sizeof chunk;
    for (size_t y = 0; !status && y < height; y++) {
        status = put_data(fd, &z, chunk, no_filter, 1, Z_NO_FLUSH, err);
        /* unreached: a chunk that is full, and cannot be written, after this one byte */
        if (!status)
            status = put_data(fd, &z, chunk, pixel + y * width, width, Z_NO_FLUSH, err);
    }
    if (!status)
        status = put_data(fd, &z, chunk, NULL, 0, Z_FINISH, err);
    deflateEnd(&z);
    return status;
}

tg_status tg_png_write(int fd, const unsigned char *pixel, size_t width, size_t height,
                       const unsigned char (*palette)[3], size_t colors, tg_err *err)
{
    static const unsigned char signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    unsigned char header[13] = {0}, flat[3 * COLORS_MAX];
    tg_status status;

    if (width == 0 || height == 0 || width > TG_PNG_SIDE_MAX || height > TG_PNG_SIDE_MAX || colors == 0 ||
        colors > COLORS_MAX)
        return tg_fail(
            err, TG_EUSAGE,
            "image of %zu x %zu pixels in %zu colours, expected sides of 1 to %d and at most %d colours",
            width, height, colors, TG_PNG_SIDE_MAX, COLORS_MAX);
    put_u32(header, (uint32_t)width);
    put_u32(header + 4, (uint32_t)height);
    header[8] = 8; /* bits per pixel */
    header[9] = 3; /* colour type: palette */
    memcpy(flat, palette, 3 * colors);
    if ((status = tg_write_all(fd, signature, sizeof signature, err)) ||
        (status = put_chunk(fd, "IHDR", header, sizeof header, err)) ||
        (status = put_chunk(fd, "PLTE", flat, 3 * colors, err)) ||
        (status = put_rows(fd, pixel, width, height, err)))
        return status;
    return put_chunk(fd, "IEND", header, 0, err);
}
