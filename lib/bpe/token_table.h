/*
 * token_table: from the bytes of a token to its id.
 *
 * The hash of a string is a polynomial with its bytes as coefficients, modulo 2^61 - 1, so the hash of
 * two concatenated strings follows from theirs.  The point at which the polynomial is evaluated must
 * be unknown to whoever chose the strings, so that they cannot be chosen to collide.
 */
#ifndef TG_BPE_TOKEN_TABLE_H
#define TG_BPE_TOKEN_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/status.h"

#define TG_TOKEN_NONE UINT32_MAX

/* The text of a token, [*n] bytes, among those of a vocabulary (lib/bpe/bpe.h). */
static inline const unsigned char *tg_token_text(const uint32_t *ends, const unsigned char *tokens, size_t id,
                                                 size_t *n)
{
    const size_t from = id > 0 ? ends[id - 1] : 0;

    *n = ends[id] - from;
    return tokens + from;
}

typedef struct tg_token_table {
    const uint32_t *ends;        /* [n], the caller's, as in lib/bpe/bpe.h */
    const unsigned char *tokens; /* the caller's */
    uint64_t key, mix;
    uint64_t *hashes; /* [n]; owned */
    uint64_t *powers; /* [longest + 1] of the key; owned */
    uint32_t *slots;  /* 0, or id + 1; owned */
    size_t last;      /* the index of the last slot */
    unsigned shift;
} tg_token_table;

/*
 * An empty table for n tokens of at most `longest` bytes.  secret: two random numbers.
 * TG_ENOMEM; *t can be freed either way.
 */
TG_MUST_CHECK tg_status tg_token_table_create(tg_token_table *t, const uint32_t *ends,
                                              const unsigned char *tokens, size_t n, size_t longest,
                                              const uint64_t secret[2], tg_err *err);

/* Add a token; returns its id, or that of an equal token already in the table. */
uint32_t tg_token_table_add(tg_token_table *t, uint32_t id);

/* The token that equals text [n], or the concatenation of tokens a and b; TG_TOKEN_NONE: none does. */
uint32_t tg_token_table_find(const tg_token_table *t, const unsigned char *text, size_t n);
uint32_t tg_token_table_find_joined(const tg_token_table *t, uint32_t a, uint32_t b);

/* A zeroed one is fine. */
void tg_token_table_free(tg_token_table *t);

#endif
