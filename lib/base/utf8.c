#include "lib/base/utf8.h"

#include <string.h>

typedef struct range {
    uint32_t first, last;
} range;

static const range wide[] = {
    {0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0xA4CF},   {0xA960, 0xA97F}, {0xAC00, 0xD7A3},
    {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6}, {0x1F300, 0x1F64F},
    {0x1F680, 0x1F6FF}, {0x1F900, 0x1FAFF}, {0x20000, 0x3FFFD},
};

static const range combining[] = {
    {0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x064B, 0x065F},
    {0x0E31, 0x0E31}, {0x0E34, 0x0E3A}, {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF},
    {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F},
};

static bool within(uint32_t code, const range *ranges, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (code >= ranges[i].first && code <= ranges[i].last)
            return true;
    return false;
}

size_t tg_utf8_length(unsigned char first)
{
    return first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF8 ? 4 : 1;
}

size_t tg_utf8_decode(uint32_t *code, const void *text, size_t n)
{
    static const uint32_t least[TG_UTF8_MAX + 1] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *p = text;
    size_t length;

    if (n == 0)
        return 0;
    *code = p[0];
    length = tg_utf8_length(p[0]);
    if (length == 1)
        return p[0] < 0x80;
    if (length > n)
        return 0;
    *code &= 0xFFu >> (length + 1);
    for (size_t i = 1; i < length; i++) {
        if (!tg_utf8_continues(p[i]))
            return 0;
        *code = *code << 6 | (p[i] & 0x3Fu);
    }
    if (*code < least[length] || *code > 0x10FFFF || (*code >= 0xD800 && *code <= 0xDFFF))
        return 0;
    return length;
}

/* RFC 3629, section 4: which second bytes may follow a first one. */
static bool may_follow(unsigned char first, unsigned char second)
{
    switch (first) {
    case 0xE0:
        return second >= 0xA0;
    case 0xED:
        return second < 0xA0;
    case 0xF0:
        return second >= 0x90;
    case 0xF4:
        return second < 0x90;
    default:
        return true;
    }
}

bool tg_utf8_is_cut(const void *text, size_t n)
{
    const unsigned char *p = text;

    if (n == 0 || n >= tg_utf8_length(p[0]) || p[0] < 0xC2 || p[0] > 0xF4)
        return false;
    for (size_t i = 1; i < n; i++)
        if (!tg_utf8_continues(p[i]))
            return false;
    return n == 1 || may_follow(p[0], p[1]);
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

size_t tg_utf8_width(const char *text)
{
    size_t n = strlen(text), columns = 0;

    while (n > 0) {
        uint32_t code;
        const size_t length = tg_utf8_decode(&code, text, n), taken = length > 0 ? length : 1;

        columns += length > 0 ? tg_utf8_columns(code) : 1;
        text += taken;
        n -= taken;
    }
    return columns;
}

unsigned tg_utf8_columns(uint32_t code)
{
    if (within(code, wide, sizeof wide / sizeof wide[0]))
        return 2;
    return !within(code, combining, sizeof combining / sizeof combining[0]);
}
