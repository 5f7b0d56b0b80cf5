/*
 * token_index: finds tokens by their bytes, or by a hash that can be put together from those of
 * the token's parts.
 *
 * Tokens are sorted by hash: finding one takes time n log n for n tokens together even if they
 * were made to collide.
 */
#ifndef TG_TEXT_TOKEN_INDEX_H
#define TG_TEXT_TOKEN_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/status.h"

#define TG_NO_TOKEN UINT32_MAX

typedef struct tg_token_index {
    const uint32_t *ends;        /* the caller's, as in lib/text/bpe.h; */
    const unsigned char *tokens; /* they stay as long as the index */
    struct tg_token_key {
        uint64_t key; /* a bijection of the hash */
        uint32_t id;
    } * keys;        /* [n] ascending */
    size_t n;        /* the tokens that are not empty and not special */
    uint32_t *start; /* [2^bits + 1] keys[start[i]] is the first key with upper bits i or more */
    unsigned bits;
} tg_token_index;

/*
 * Index the n tokens that are not empty, except the special ones, ascending.  TG_EDATA: two are
 * equal, with their ids; or have the same hash, which happens by intent only.  TG_ENOMEM.  After a
 * failure *index needs no free.
 */
TG_MUST_CHECK tg_status tg_token_index_create(tg_token_index *index, size_t n, const uint32_t *ends,
                                              const unsigned char *tokens, size_t n_special,
                                              const uint32_t *special, tg_err *err);

/* A zeroed index is fine. */
void tg_token_index_free(tg_token_index *index);

/* The id of the token that is text [n], or TG_NO_TOKEN. */
uint32_t tg_token_find(const tg_token_index *index, const void *text, size_t n);

/* The same where the text's hash is known.  Of a long text the hash decides, and the beginning is
 * compared, so that the time does not depend on the length. */
uint32_t tg_token_find_hash(const tg_token_index *index, uint64_t hash, const void *text, size_t n);

/* The first byte that is no token by itself; -1: all are. */
int tg_token_missing_byte(const tg_token_index *index);

/* The hash of text [n], that of a byte after what has `hash` (0: nothing), and that of two parts,
 * where scale = tg_token_hash_scale(bytes of the second). */
uint64_t tg_token_hash(const void *text, size_t n);
uint64_t tg_token_hash_byte(uint64_t hash, unsigned char byte);
uint64_t tg_token_hash_join(uint64_t first, uint64_t second, uint64_t scale);

/* scale[i], i <= n, for a second part of i bytes. */
void tg_token_hash_scales(uint64_t *scale, size_t n);

/* A token's bytes for a message: printable ASCII as it is, other bytes as \xNN, cut with "..." */
#define TG_TOKEN_SHOWN 64
const char *tg_token_shown(char out[TG_TOKEN_SHOWN], const void *text, size_t n);

#endif
