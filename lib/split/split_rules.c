#include "lib/split/split_rules.h"

#include "lib/base/utf8.h"

size_t tg_split_last_high(tg_unicode_class *class, const unsigned char *text, size_t n)
{
    uint32_t code;
    const size_t length = tg_utf8_decode_last(&code, text, n);

    *class = length ? tg_unicode_class_of(code) : TG_UNICODE_OTHER;
    return length ? length : 1;
}

size_t tg_split_whole(const unsigned char *text, size_t n)
{
    n = tg_utf8_whole(text, n);
    if (n >= 2 && text[n - 2] == '\'')
        return n - 2;
    return n >= 1 && text[n - 1] == '\'' ? n - 1 : n;
}

/* 'S' becomes 's'; no byte but a capital becomes a letter. */
static unsigned char small(unsigned char byte, bool any_case)
{
    return any_case ? byte | 0x20 : byte;
}

size_t tg_split_contraction(const unsigned char *text, size_t n, bool any_case)
{
    const unsigned char first = n > 1 ? small(text[1], any_case) : 0;
    const unsigned char second = n > 2 ? small(text[2], any_case) : 0;

    switch (first) {
    case 's':
    case 't':
    case 'm':
    case 'd':
        return 2;
    case 'r':
    case 'v':
        return second == 'e' ? 3 : 0;
    case 'l':
        return second == 'l' ? 3 : 0;
    default:
        return any_case && n > 2 && text[1] == 0xC5 && text[2] == 0xBF ? 3 : 0; /* U+017F */
    }
}
