/*
 * long_piece: byte pair encoding of a piece of any length, in bounded memory and linear time.
 *
 * The vocabulary is proper (lib/bpe/bpe_state.h), so a merge creates no pair of its own rank or of a
 * lower one.  Hence merging performs all merges of the lowest rank, from left to right, then all
 * merges of the next rank, and so on.  enc(s) is the encoding of a string s.
 *
 * (1) Any consecutive tokens of enc(s) are the encoding of their own bytes.  No merge crossed their
 *     borders, so the merges within them were the lowest and leftmost there too.
 *
 * (2) Tokens t1 ... tn are enc(t1 ... tn) if each ti is enc(ti) and each two neighbours are
 *     enc(ti ti+1).
 *     Proof.  Assume that no merge of a rank below r crosses a border between two of them, and that
 *     the first merge of rank r that crosses one does so between ti and ti+1.  It merges a pair (x, y),
 *     where x is then the last part of ti, and y the first part of ti+1.  enc(ti ti+1) reaches the same
 *     x and y and does not merge them.  So in that encoding x has already been merged, with the x
 *     before it, when the pass reaches the border: x equals y, and an even number of x precedes the
 *     border in ti.  In the whole string more x may precede those, in ti-1 and so on; but by the same
 *     argument each token adds an even number.  So x has been merged there too: a contradiction.
 *
 * Suppose that a block of a piece, text [0..n), has been encoded, and that the piece continues.  Which
 * of the block's tokens are final?  Let i be the last token border at or before n in the encoding of
 * the whole piece.  If i < n, some token begins with text [i..n) and continues after it.  So there are
 * only a few candidates for i, mostly close to n (lib/bpe/prefix_filter.h).  By (1), the tokens
 * before i are enc(text [0..i)).
 *
 * Take a token u of the block that begins at b, before every candidate i.  If enc(text [b..i)) begins
 * with u for each i, then by (2) enc(text [0..i)) starts with the block's tokens before b: any two
 * neighbours up to u are neighbours in the block, and the others are in enc(text [b..i)).  So these
 * tokens are final, whichever i is the right one.  The next block begins at b.  If some encoding does
 * not begin with u, a token further back is tried; if that fails too, the block is too short to show
 * what its end depends on, and its size is doubled.
 */
#ifndef TG_BPE_LONG_PIECE_H
#define TG_BPE_LONG_PIECE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/bpe/id_queue.h"
#include "lib/base/status.h"
#include "lib/bpe/bpe_state.h"
#include "lib/bpe/merge.h"

/* Size of the first block in bytes; longer pieces are encoded here. */
#ifndef TG_LONG_PIECE_BLOCK
#define TG_LONG_PIECE_BLOCK ((size_t)512)
#endif

/* Number of queued ids after which a piece is left for later. */
#ifndef TG_LONG_PIECE_IDS
#define TG_LONG_PIECE_IDS ((size_t)4096)
#endif

/* Between pieces it is zeroed, except for its memory. */
typedef struct tg_long_piece {
    size_t block;  /* bytes of a block; 0: at the start of a piece */
    int32_t *ids;  /* [capacity] the encoding of a block; owned */
    int32_t *part; /* [capacity] the encoding of text [b..i) for a candidate i; owned */
    size_t *ends;  /* [capacity] the candidates; owned */
    size_t capacity;

    /* The last block that was encoded, because text often repeats itself. */
    unsigned char *text; /* [capacity]; owned */
    size_t n_final;      /* number of its final tokens, in `ids`; 0: there is no such block */
    size_t step;         /* their bytes */
} tg_long_piece;

/*
 * Encode as much as possible of text [n], the next part of a piece, and append the ids to the queue.
 *   complete  whether the piece ends at text + n; then all of it is encoded
 *   offset    the offset of text, for messages
 *   *used     bytes whose ids are final; the next call's text begins after them
 *   queue     has room for n ids
 * Of an incomplete piece the rest is left for later once TG_LONG_PIECE_IDS ids are queued.  If the
 * vocabulary is not proper, nothing is encoded before the piece is complete: it is merged as a whole.
 * TG_EDATA: the vocabulary lacks a byte.  TG_ENOMEM.
 */
TG_MUST_CHECK tg_status tg_long_piece_encode(tg_long_piece *l, const tg_bpe *b, tg_merger *merger,
                                             const unsigned char *text, size_t n, bool complete,
                                             uint64_t offset, size_t *used, tg_id_queue *queue, tg_err *err);

/* Free its memory and zero it. */
void tg_long_piece_free(tg_long_piece *l);

#endif
