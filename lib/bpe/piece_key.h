/*
 * piece_key: a short piece as two words, for tables of pieces.  Equal keys are equal pieces.
 */
#ifndef TG_BPE_PIECE_KEY_H
#define TG_BPE_PIECE_KEY_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TG_PIECE_MAX ((size_t)15) /* bytes of a piece that has a key */

/* A piece: its bytes, zeros, and in the last byte its length, or a number above TG_PIECE_MAX: what a user
 * of keys says about other pieces. */
typedef struct tg_piece_key {
    uint64_t half[2];
} tg_piece_key;

/* The key of a piece with 16 readable bytes; for n > TG_PIECE_MAX one that no shorter piece has. */
static inline tg_piece_key tg_piece_key_near(const unsigned char *piece, size_t n)
{
    /* At ones + 16 - n, n bytes are 0xFF, and the rest are 0. */
    static const unsigned char ones[32] = {
        0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
    };
    /* unreached: a longer piece in lib/learn, which asks for short ones only */
    const size_t length = n <= TG_PIECE_MAX ? n : TG_PIECE_MAX + 1;
    tg_piece_key key, mask;

    memcpy(key.half, piece, sizeof key.half);
    memcpy(mask.half, ones + 16 - length, sizeof mask.half);
    key.half[0] &= mask.half[0];
    key.half[1] = (key.half[1] & mask.half[1]) | (uint64_t)length << 56;
    return key;
}

/* The same, n <= TG_PIECE_MAX, if no other bytes can be read. */
static inline tg_piece_key tg_piece_key_of(const unsigned char *piece, size_t n)
{
    unsigned char bytes[16] = {0};

    assert(n <= TG_PIECE_MAX);
    memcpy(bytes, piece, n);
    return tg_piece_key_near(bytes, n);
}

/* The key of a piece's part, which may differ from a piece with the same bytes. */
static inline tg_piece_key tg_piece_key_part(tg_piece_key key)
{
    key.half[1] |= (uint64_t)1 << 63;
    return key;
}

static inline bool tg_piece_same(tg_piece_key a, tg_piece_key b)
{
    return ((a.half[0] ^ b.half[0]) | (a.half[1] ^ b.half[1])) == 0;
}

/* The last byte. */
static inline unsigned tg_piece_key_end(tg_piece_key key)
{
    return (unsigned)(key.half[1] >> 56);
}

#endif
