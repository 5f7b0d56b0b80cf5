#include "lib/unicode/unicode.h"

#include <utf8proc.h>

#include "lib/base/size.h"

size_t tg_unicode_decompose(uint32_t *parts, uint32_t code)
{
    int boundary = UTF8PROC_BOUNDCLASS_START; /* of no interest */
    const utf8proc_ssize_t n = utf8proc_decompose_char((utf8proc_int32_t)code, (utf8proc_int32_t *)parts,
                                                       TG_UNICODE_PARTS, UTF8PROC_DECOMPOSE, &boundary);

    return tg_size_min((size_t)n, TG_UNICODE_PARTS);
}

/* utf8proc 2.8 takes U+11A7, the code point before Hangul's final consonants, for one of them, which adds
 * nothing to a syllable; the pair remains. */
uint32_t tg_unicode_compose(uint32_t first, uint32_t second)
{
    utf8proc_int32_t pair[2] = {(utf8proc_int32_t)first, (utf8proc_int32_t)second};
    const utf8proc_ssize_t n = utf8proc_normalize_utf32(pair, 2, UTF8PROC_COMPOSE | UTF8PROC_STABLE);
    const uint32_t whole = (uint32_t)pair[0];

    return n == 1 && whole != first ? whole : 0;
}

static unsigned char order_of(uint32_t code)
{
    return (unsigned char)utf8proc_get_property((utf8proc_int32_t)code)->combining_class;
}

static bool is_second(uint32_t code)
{
    size_t low = 0, high = tg_unicode_seconds_n;

    while (low < high) {
        const size_t middle = (low + high) / 2;

        if (tg_unicode_seconds[middle].last < code)
            low = middle + 1;
        else
            high = middle;
    }
    return low < tg_unicode_seconds_n && tg_unicode_seconds[low].first <= code;
}

tg_unicode_form tg_unicode_form_of(uint32_t code)
{
    uint32_t parts[TG_UNICODE_PARTS], whole;
    const size_t n = tg_unicode_decompose(parts, code);
    const bool second = is_second(parts[0]);

    whole = parts[0];
    for (size_t i = 1; i < n; i++)
        whole = tg_unicode_compose(whole, parts[i]);
    return (tg_unicode_form){.order = order_of(code),
                             .changes = second || whole != code,
                             .starts = order_of(parts[0]) == 0 && !second};
}
