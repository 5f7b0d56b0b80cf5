/* Masks of ASCII: each is the bytes that equal a character, or are within a range of them.  So far these are
 * all the kernels of text, so their table is here. */
#include "lib/kernels/isa/isa.h"
#include "lib/kernels/text_kernels.h"

/*
 * A part of 64 bytes: PART of them, in a vector or a word, and the tests on each of its bytes, whose
 * results are the lowest bits of a word:
 *   part_is      equals c
 *   part_within  is one of the n numbers from `first` on, below 0x80
 *   part_folded  the same after capitals have become small letters
 *   part_high    is above 0x7F
 */
#if defined(__AVX512BW__)
#include <immintrin.h>

#define PART 64
typedef __m512i part;

INLINE uint64_t part_is(part x, char c)
{
    return _mm512_cmpeq_epi8_mask(x, _mm512_set1_epi8(c));
}

INLINE uint64_t part_within(part x, char first, char n)
{
    return _mm512_cmplt_epu8_mask(_mm512_sub_epi8(x, _mm512_set1_epi8(first)), _mm512_set1_epi8(n));
}

INLINE uint64_t part_folded(part x, char first, char n)
{
    return part_within(_mm512_or_si512(x, _mm512_set1_epi8(0x20)), first, n);
}

INLINE uint64_t part_high(part x)
{
    return _mm512_movepi8_mask(x);
}

#elif defined(__AVX2__) || (defined(__SSE2__) && !defined(TG_MASKS_OF_WORDS))
#include <immintrin.h>

#ifdef __AVX2__
#define PART 32
#else
#define PART 16
#endif
typedef unsigned char part __attribute__((vector_size(PART)));
typedef signed char signed_part __attribute__((vector_size(PART)));

INLINE uint64_t part_high(part x)
{
#ifdef __AVX2__
    return (uint32_t)_mm256_movemask_epi8((__m256i)x);
#else
    return (uint32_t)_mm_movemask_epi8((__m128i)x);
#endif
}

INLINE uint64_t part_is(part x, char c)
{
    return part_high((part)(x == (unsigned char)c));
}

/* Only signed numbers are compared in one instruction: the range begins at the lowest. */
INLINE uint64_t part_within(part x, char first, char n)
{
    const signed_part moved = (signed_part)(x - (unsigned char)(first - 128));

    return part_high((part)(moved < (signed char)(n - 128)));
}

INLINE uint64_t part_folded(part x, char first, char n)
{
    return part_within(x | 0x20, first, n);
}

#else /* no vectors: words */

#define PART 8
typedef uint64_t part;

#define EACH(byte) (0x0101010101010101 * (uint64_t)(byte))

/* The highest bits of the bytes; the first byte of the text is the lowest of the word. */
INLINE uint64_t part_high(part x)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    x = __builtin_bswap64(x);
#endif
    return (x >> 7 & EACH(1)) * 0x0102040810204080 >> 56;
}

INLINE uint64_t part_is(part x, char c)
{
    const part differs = x ^ EACH(c);

    return part_high(~(((differs & EACH(0x7F)) + EACH(0x7F)) | differs));
}

INLINE uint64_t part_within(part x, char first, char n)
{
    const part low = x & EACH(0x7F);
    const part reaches = low + EACH(0x80 - first), exceeds = low + EACH(0x80 - first - n);

    return part_high(reaches & ~exceeds & ~x);
}

INLINE uint64_t part_folded(part x, char first, char n)
{
    return part_within(x | EACH(0x20), first, n);
}
#endif

/* The 64 results of a test. */
#define ALL(result, test)                                                                                    \
    do {                                                                                                     \
        (result) = 0;                                                                                        \
        for (unsigned at = 0; at < 64; at += PART) {                                                         \
            const part x = parts[at / PART];                                                                 \
                                                                                                             \
            (result) |= (test) << at;                                                                        \
        }                                                                                                    \
    } while (0)

static void masks(tg_masks *masks, const unsigned char *text, size_t words)
{
    for (size_t w = 0; w < words; w++) {
        part parts[64 / PART];
        tg_masks m = {0};
        uint64_t returns, tabs;

        memcpy(parts, text + 64 * w, sizeof parts);
        ALL(m.letter, part_folded(x, 'a', 26));
        ALL(m.upper, part_within(x, 'A', 26));
        ALL(m.number, part_within(x, '0', 10));
        ALL(tabs, part_within(x, '\t', 5)); /* \t \n \v \f \r */
        ALL(m.blank, part_is(x, ' '));
        ALL(m.line, part_is(x, '\n'));
        ALL(returns, part_is(x, '\r'));
        ALL(m.apostrophe, part_is(x, '\''));
        ALL(m.slash, part_is(x, '/'));
        ALL(m.high, part_high(x));
        m.lower = m.letter & ~m.upper;
        m.line |= returns;
        m.space = tabs | m.blank;
        m.other = ~(m.letter | m.number | m.space);
        masks[w] = m;
    }
}

extern const tg_text_kernels ISA_NAME(text_kernels);

const tg_text_kernels ISA_NAME(text_kernels) = {.isa = ISA_TEXT, .masks = masks};
