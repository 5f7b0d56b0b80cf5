#include "lib/unicode/unicode.h"

/* Hangul syllables: a leading consonant, a vowel and a final consonant or none, by arithmetic
 * (The Unicode Standard, section 3.12). */
enum {
    LEADING = 0x1100,
    VOWEL = 0x1161,
    FINAL = 0x11A7, /* stands for none */
    SYLLABLE = 0xAC00,
    LEADINGS = 19,
    VOWELS = 21,
    FINALS = 28,
    SYLLABLES = LEADINGS * VOWELS * FINALS
};

static size_t decompose_syllable(uint32_t *parts, uint32_t index)
{
    parts[0] = LEADING + index / (VOWELS * FINALS);
    parts[1] = VOWEL + index / FINALS % VOWELS;
    parts[2] = FINAL + index % FINALS;
    return parts[2] == FINAL ? 2 : 3;
}

/* Offsets before the first wrap round, and are beyond the last. */
static uint32_t compose_syllable(uint32_t first, uint32_t second)
{
    const uint32_t leading = first - LEADING, vowel = second - VOWEL;
    const uint32_t syllable = first - SYLLABLE, final = second - FINAL;

    if (leading < LEADINGS && vowel < VOWELS)
        return SYLLABLE + (leading * VOWELS + vowel) * FINALS;
    if (syllable < SYLLABLES && syllable % FINALS == 0 && final > 0 && final < FINALS)
        return first + final;
    return 0;
}

size_t tg_unicode_decompose(uint32_t *parts, uint32_t code)
{
    size_t low = 0, high = tg_unicode_wholes_n;

    if (code - SYLLABLE < SYLLABLES)
        return decompose_syllable(parts, code - SYLLABLE);
    while (low < high) {
        const size_t middle = (low + high) / 2;

        if (tg_unicode_wholes[middle].code < code)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < tg_unicode_wholes_n && tg_unicode_wholes[low].code == code) {
        const size_t offset = tg_unicode_wholes[low].offset, n = tg_unicode_wholes[low + 1].offset - offset;

        for (size_t i = 0; i < n; i++)
            parts[i] = tg_unicode_parts[offset + i];
        return n;
    }
    parts[0] = code;
    return 1;
}

uint32_t tg_unicode_compose(uint32_t first, uint32_t second)
{
    size_t low = 0, high = tg_unicode_pairs_n;
    const uint32_t syllable = compose_syllable(first, second);

    if (syllable)
        return syllable;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        const tg_unicode_pair *p = &tg_unicode_pairs[middle];

        if (p->first < first || (p->first == first && p->second < second))
            low = middle + 1;
        else
            high = middle;
    }
    if (low < tg_unicode_pairs_n && tg_unicode_pairs[low].first == first &&
        tg_unicode_pairs[low].second == second)
        return tg_unicode_pairs[low].whole;
    return 0;
}
