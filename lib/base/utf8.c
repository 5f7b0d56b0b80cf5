#include "lib/base/utf8.h"

#include <string.h>

size_t tg_utf8_length(unsigned char first)
{
    return first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF8 ? 4 : 1;
}

size_t tg_utf8_decode(uint32_t *code, const void *text, size_t n)
{
    const unsigned char *p = text;

    if (n == 0)
        return 0;
    *code = p[0];
    return p[0] < 0x80 ? 1 : tg_utf8_decode_high(code, p, n);
}

/* A first byte bounds the second one, and bytes after that may be any continuation: if some complete the
 * character, so do the least of them or the greatest. */
bool tg_utf8_is_cut(const void *text, size_t n)
{
    const size_t length = n > 0 ? tg_utf8_length(*(const unsigned char *)text) : 0;
    bool cut = false;

    for (int byte = 0x80; n < length && byte <= 0xBF; byte += 0xBF - 0x80) {
        unsigned char whole[TG_UTF8_MAX];
        uint32_t code;

        memset(whole, byte, sizeof whole);
        memcpy(whole, text, n);
        cut |= tg_utf8_decode(&code, whole, length) == length;
    }
    return cut;
}

size_t tg_utf8_encode(char out[TG_UTF8_MAX], uint32_t code)
{
    static const unsigned char first[TG_UTF8_MAX + 1] = {0, 0, 0xC0, 0xE0, 0xF0};
    const size_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

    for (size_t i = length; i-- > 1; code >>= 6)
        out[i] = (char)(0x80 | (code & 0x3F));
    out[0] = (char)(first[length] | code);
    return length;
}

size_t tg_utf8_decode_last(uint32_t *code, const void *text, size_t n)
{
    const unsigned char *p = text;

    for (size_t length = 1; length <= TG_UTF8_MAX && length <= n; length++)
        if (!tg_utf8_continues(p[n - length]))
            return tg_utf8_decode(code, p + n - length, length) == length ? length : 0;
    return 0;
}

bool tg_utf8_valid(const void *text, size_t n)
{
    const unsigned char *p = text;
    uint32_t code;

    for (size_t at = 0, length; at < n; at += length)
        if ((length = tg_utf8_decode(&code, p + at, n - at)) == 0)
            return false;
    return true;
}

size_t tg_utf8_whole(const void *text, size_t n)
{
    const unsigned char *p = text;

    for (size_t k = 1; k < TG_UTF8_MAX && k <= n; k++)
        if (!tg_utf8_continues(p[n - k]))
            return tg_utf8_length(p[n - k]) > k ? n - k : n;
    return n;
}

size_t tg_utf8_printable(uint32_t *code, const void *text, size_t n)
{
    const size_t length = tg_utf8_decode(code, text, n);

    return length > 0 && *code >= 0x20 && (*code < 0x7F || *code > 0x9F) ? length : 0;
}
