/*
 * bpe_pieces: from pieces to ids, for the encoder of kind "bpe".
 *
 * Most pieces have been seen recently, so pieces are looked up in a cache, in batches: first all keys
 * are computed and their sets prefetched, then the ids are copied.  A piece that the cache lacks is
 * divided at its borders, and its parts are also looked up.  Parts that the cache lacks are merged.
 */
#ifndef TG_BPE_BPE_PIECES_H
#define TG_BPE_BPE_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/bpe/bpe_state.h"
#include "lib/bpe/long_piece.h"
#include "lib/bpe/merge.h"
#include "lib/bpe/piece_cache.h"

typedef struct tg_bpe_pieces {
    const tg_bpe *bpe;
    tg_id_queue queue; /* their ids, until the caller takes them */
    tg_merger merger;
    tg_long_piece long_piece;
    tg_piece_cache cache;
    bool begun;  /* some of a piece has been encoded, but the piece is not finished */
    size_t seen; /* bytes of its rest that are known to have no border */
} tg_bpe_pieces;

/* TG_ENOMEM; *p can be freed either way. */
TG_MUST_CHECK tg_status tg_bpe_pieces_create(tg_bpe_pieces *p, const tg_bpe *bpe, tg_err *err);

/* A zeroed one is fine. */
void tg_bpe_pieces_free(tg_bpe_pieces *p);

/*
 * Encode a piece [n], or the rest of one that has been begun.  offset: its offset in the text, for
 * messages.  TG_EDATA: the vocabulary lacks a byte.  TG_ENOMEM.
 */
TG_MUST_CHECK tg_status tg_bpe_pieces_encode(tg_bpe_pieces *p, const unsigned char *piece, size_t n,
                                             uint64_t offset, tg_err *err);

/*
 * Encode the pieces of text [n] that end at the marked starts of the next: bit i of
 * starts [TG_SPLIT_WORDS(n_marks)] is set if a piece begins at text[from + i].  The first piece, or the
 * rest of a piece that has been begun, begins at *at; *at becomes the end of the last one.  offset: the
 * offset of text, for messages.  Fails likewise.
 */
TG_MUST_CHECK tg_status tg_bpe_pieces_encode_marked(tg_bpe_pieces *p, const unsigned char *text, size_t n,
                                                    const uint64_t *starts, size_t from, size_t n_marks,
                                                    size_t *at, uint64_t offset, tg_err *err);

/*
 * Encode as much as possible of a piece that begins with text [n] and continues after it; *used: bytes
 * whose ids are final.  Does nothing while n is small.  Fails likewise.
 */
TG_MUST_CHECK tg_status tg_bpe_pieces_encode_begun(tg_bpe_pieces *p, const unsigned char *text, size_t n,
                                                   size_t *used, uint64_t offset, tg_err *err);

#endif
