/*
 * symbols: from characters to symbols, and which two adjacent characters may be in one piece.
 *
 * A symbol is what merging starts from or makes: the id of a piece, or a number above all ids for a
 * character that occurs in pieces but is none itself.
 */
#ifndef TG_SPM_SYMBOLS_H
#define TG_SPM_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/status.h"

#define TG_SPM_NO_SYMBOL UINT32_MAX /* a character that occurs in no piece */
#define TG_SPM_CODES 0x110000u
#define TG_SPM_BYTE_CODE TG_SPM_CODES /* plus b: the byte b, which is part of no valid character */
#define TG_SPM_SPACE_CODE 0x2581u

#define TG_SPM_PAGE 256u

typedef struct tg_spm_symbols {
    uint32_t ascii[128];
    uint32_t (*page)[TG_SPM_PAGE]; /* [n_pages]; owned */
    uint16_t page_of[TG_SPM_CODES / TG_SPM_PAGE];
    size_t n_pages, capacity; /* page 0 has no symbols */

    /* Bit b of row a: bytes a and b, adjacent in a text, need a closer look: one is not ASCII, or a border
     * may be between them. */
    uint64_t stop[256][4];
    uint64_t *joined; /* a bit by the hash of two characters, if they are adjacent in a piece; owned */
    unsigned shift;   /* from a hash to the bit's index */
} tg_spm_symbols;

/* TG_ENOMEM; *s can be freed either way. */
TG_MUST_CHECK tg_status tg_spm_symbols_create(tg_spm_symbols *s, tg_err *err);

/* Set the symbol of a character.  TG_ENOMEM. */
TG_MUST_CHECK tg_status tg_spm_symbols_set(tg_spm_symbols *s, uint32_t code, uint32_t symbol, tg_err *err);

/* Make room for n pairs of characters, then add them.  TG_ENOMEM. */
TG_MUST_CHECK tg_status tg_spm_joined_create(tg_spm_symbols *s, size_t n, tg_err *err);
void tg_spm_joined_add(tg_spm_symbols *s, uint32_t left, uint32_t right);

/* Stop before each byte with which a user-defined piece begins. */
void tg_spm_stop_before(tg_spm_symbols *s, unsigned char byte);

/* A zeroed one is fine. */
void tg_spm_symbols_free(tg_spm_symbols *s);

/* The symbol of a character. */
static inline uint32_t tg_spm_symbol(const tg_spm_symbols *s, uint32_t code)
{
    if (code < 128)
        return s->ascii[code];
    return code < TG_SPM_CODES ? s->page[s->page_of[code / TG_SPM_PAGE]][code % TG_SPM_PAGE]
                               : TG_SPM_NO_SYMBOL;
}

/* Whether a border may be between bytes a and b. */
static inline bool tg_spm_stops(const tg_spm_symbols *s, unsigned char a, unsigned char b)
{
    return s->stop[a][b / 64] >> b % 64 & 1;
}

static inline uint64_t tg_spm_pair_hash(uint32_t left, uint32_t right)
{
    return ((uint64_t)left << 32 | right) * UINT64_C(0x9E3779B97F4A7C15);
}

/* Whether two adjacent characters may be in one piece: "no" is certain. */
static inline bool tg_spm_joined(const tg_spm_symbols *s, uint32_t left, uint32_t right)
{
    const uint64_t bit = tg_spm_pair_hash(left, right) >> s->shift;

    return s->joined[bit / 64] >> bit % 64 & 1;
}

/*
 * The character that text [n] begins with, n >= 1, in *code; returns its bytes.  A byte that begins no valid
 * character is one by itself.  U+2581 is a space.
 */
size_t tg_spm_decode(uint32_t *code, const unsigned char *text, size_t n);

/* The character that ends at text + n, n >= 1, likewise; text begins with a character. */
uint32_t tg_spm_decode_last(const unsigned char *text, size_t n);

#endif
