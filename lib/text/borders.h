/*
 * borders: places in a text that no token spans.
 *
 * If no token contains byte a followed by byte b, no merge ever joins them.  So a piece may be divided
 * between them, and its parts encoded separately.  GPT-2's 50,256 tokens contain 2,689 of the 65,536
 * pairs of bytes: its parts of English text have 3 bytes on average, of Chinese and random bytes 1.
 * Likewise, a text may be cut between two bytes that no special or added token contains.
 */
#ifndef TG_TEXT_BORDERS_H
#define TG_TEXT_BORDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tg_borders {
    uint64_t joined[256][4]; /* bit b of row a: some token contains a followed by b; zeroed at first */
} tg_borders;

/* Add a token [n]. */
static inline void tg_borders_add(tg_borders *borders, const unsigned char *token, size_t n)
{
    for (size_t i = 0; i + 1 < n; i++)
        borders->joined[token[i]][token[i + 1] / 64] |= UINT64_C(1) << token[i + 1] % 64;
}

/* Whether no token contains a followed by b. */
static inline bool tg_borders_between(const tg_borders *borders, unsigned char a, unsigned char b)
{
    return !(borders->joined[a][b / 64] >> b % 64 & 1);
}

/* The first border at or after text [n]'s place `from`, which is at least 1; n: there is none. */
static inline size_t tg_borders_next(const tg_borders *borders, const unsigned char *text, size_t from,
                                     size_t n)
{
    while (from < n && !tg_borders_between(borders, text[from - 1], text[from]))
        from++;
    return from;
}

#endif
