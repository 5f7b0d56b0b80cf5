#include "formats/png.h"

#include <stdint.h>
#include <string.h>

#define ZLIB_CONST /* declares zlib's input as const */
#include <zlib.h>

#include "formats/crc.h"
#include "formats/sink.h"

#define CHUNK 65536 /* bytes per IDAT */
#define COLORS_MAX 256

static void put_u32(unsigned char out[4], uint32_t x)
{
    for (size_t i = 0; i < 4; i++)
        out[i] = (unsigned char)(x >> (24 - 8 * i));
}

/* Length, type, data, and the checksum of type and data. */
static void put_chunk(tg_sink *sink, const char *type, const unsigned char *data, size_t n)
{
    unsigned char head[8], tail[4];

    put_u32(head, (uint32_t)n);
    memcpy(head + 4, type, 4);
    put_u32(tail, tg_crc32(tg_crc32(0, head + 4, 4), data, n));
    tg_sink_put(sink, head, sizeof head);
    tg_sink_put(sink, data, n);
    tg_sink_put(sink, tail, sizeof tail);
}

/* Compress n more bytes and write full chunks; with flush = Z_FINISH, also the last one. */
static void put_data(tg_sink *sink, z_stream *z, unsigned char *chunk, const unsigned char *data, size_t n,
                     int flush)
{
    int end = Z_OK;

    z->next_in = data;
    z->avail_in = (uInt)n;
    while (z->avail_in > 0 || (flush == Z_FINISH && end != Z_STREAM_END)) {
        end = deflate(z, flush);
        if (z->avail_out == 0 || end == Z_STREAM_END) {
            put_chunk(sink, "IDAT", chunk, CHUNK - z->avail_out);
            z->next_out = chunk;
            z->avail_out = CHUNK;
        }
    }
}

static tg_status put_rows(tg_sink *sink, const unsigned char *pixel, size_t width, size_t height, tg_err *err)
{
    static const unsigned char no_filter[1] = {0};
    unsigned char chunk[CHUNK];
    z_stream z = {0};

    if (deflateInit(&z, Z_DEFAULT_COMPRESSION) != Z_OK)
        return tg_fail_memory(err, 1u << 18, "zlib");
    z.next_out = chunk;
    z.avail_out = sizeof chunk;
    for (size_t y = 0; !sink->err.code && y < height; y++) {
        put_data(sink, &z, chunk, no_filter, 1, Z_NO_FLUSH);
        put_data(sink, &z, chunk, pixel + y * width, width, Z_NO_FLUSH);
    }
    put_data(sink, &z, chunk, NULL, 0, Z_FINISH);
    deflateEnd(&z);
    return TG_OK;
}

tg_status tg_png_write(int fd, const unsigned char *pixel, size_t width, size_t height,
                       const unsigned char (*palette)[3], size_t colors, tg_err *err)
{
    static const unsigned char signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    unsigned char header[13] = {0}, flat[3 * COLORS_MAX];
    tg_sink sink = {.fd = fd};
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
    tg_sink_put(&sink, signature, sizeof signature);
    put_chunk(&sink, "IHDR", header, sizeof header);
    put_chunk(&sink, "PLTE", flat, 3 * colors);
    if ((status = put_rows(&sink, pixel, width, height, err)))
        return status;
    put_chunk(&sink, "IEND", header, 0);
    return tg_sink_flush(&sink, err);
}
