#include "lib/vocab/byte_map.h"

#include <stdint.h>

#include "lib/base/utf8.h"

/* The bytes that do not stand for themselves, 68 of them. */
#define SHIFT 0x100
#define N_SHIFTED 68

static unsigned char shifted(size_t i)
{
    return (unsigned char)(i < 0x21 ? i : i < 0x43 ? 0x7F + i - 0x21 : 0xAD);
}

/* The index of a byte among them; N_SHIFTED: it stands for itself. */
static size_t shifted_number(unsigned char byte)
{
    if (byte < 0x21)
        return byte;
    if (byte >= 0x7F && byte <= 0xA0)
        return (size_t)byte - 0x7F + 0x21;
    return byte == 0xAD ? N_SHIFTED - 1 : N_SHIFTED;
}

size_t tg_byte_map_put(char out[TG_BYTE_MAP_MAX], unsigned char byte)
{
    const size_t number = shifted_number(byte);
    const uint32_t code = number < N_SHIFTED ? SHIFT + (uint32_t)number : byte;

    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    out[0] = (char)(0xC0 | code >> 6);
    out[1] = (char)(0x80 | (code & 0x3F));
    return 2;
}

bool tg_byte_map_read(unsigned char *out, size_t *bytes, const char *text, size_t n)
{
    size_t at = 0, count = 0;

    while (at < n) {
        uint32_t code;
        const size_t length = tg_utf8_decode(&code, text + at, n - at);

        if (length == 0 || code >= SHIFT + N_SHIFTED ||
            (code < SHIFT && shifted_number((unsigned char)code) < N_SHIFTED))
            return false;
        out[count++] = code < SHIFT ? (unsigned char)code : shifted(code - SHIFT);
        at += length;
    }
    *bytes = count;
    return true;
}

unsigned char tg_byte_map_order(size_t i)
{
    const size_t themselves = 256 - N_SHIFTED;

    if (i >= themselves)
        return shifted(i - themselves);
    return (unsigned char)(i < 94 ? 0x21 + i : i < 106 ? 0xA1 + (i - 94) : 0xAE + (i - 106));
}
