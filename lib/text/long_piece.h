/*
 * long_piece: byte pair encoding of a piece of any length in bounded memory, in time linear in it.
 *
 * The vocabulary is proper (lib/text/bpe_state.h).  Then merging does all merges of the lowest rank,
 * from left to right, then all of the next rank, and so on, as a merge makes no pair of its own
 * rank or of a lower one.  Hence:
 *
 *   Tokens t1 ... tn are the encoding of their text if each is the encoding of its own bytes and
 *   each two neighbours are the encoding of the bytes of both.
 *
 *   Proof.  Assume that no merge of a rank below r crosses a border between two of them, and that
 *   the first one of rank r does, between ti and ti+1: of a pair (x, y), where x ends what has
 *   become of ti's bytes and y begins what has become of those of ti+1.  Merging the bytes of ti and
 *   ti+1 alone comes to the same x and y, and does not merge them.  So there x is already taken
 *   when the pass arrives at the border, by a merge with the token before it: x equals y, and an even
 *   number of x stands before the border, in ti.  In the whole text more of them may stand before
 *   those, in ti-1 and so on; but by the same argument each adds an even number.  So x is taken there
 *   too: a contradiction.
 *
 *   Conversely, in the encoding of a text, any tokens in a row are the encoding of their bytes: no
 *   merge crossed their borders, so those within them were the lowest and leftmost there too.
 *
 * So encodings of overlapping blocks can be joined.  A block of text is encoded; near its end one of
 * its tokens is chosen, and the next block is encoded from that token's first byte.  If that begins
 * with the same token, each two neighbours of the joined row have been neighbours in one of the two
 * encodings, and the tokens before the join are final.  Otherwise a token further back is tried; if
 * that fails too, the block was too small to show what its end depends on, and is doubled.
 */
#ifndef TG_TEXT_LONG_PIECE_H
#define TG_TEXT_LONG_PIECE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/status.h"
#include "lib/text/bpe_state.h"
#include "lib/text/id_queue.h"
#include "lib/text/merge.h"

/* Bytes of the first block; longer pieces are encoded here. */
#ifndef TG_LONG_PIECE_BLOCK
#define TG_LONG_PIECE_BLOCK ((size_t)512)
#endif

/* Ids that wait before a piece is left for later. */
#ifndef TG_LONG_PIECE_IDS
#define TG_LONG_PIECE_IDS ((size_t)4096)
#endif

/* Between pieces it is zeroed, but for the memory. */
typedef struct tg_long_piece {
    size_t block;    /* bytes of the next block; 0: at the start of a piece */
    size_t width;    /* bytes of the current block, which begins where the text does; 0: none yet */
    int32_t *ids[2]; /* its encoding, and the next one's; owned */
    size_t n_ids, capacity;
} tg_long_piece;

/*
 * Encode what can be of text [n], the next part of a piece, and append the ids to the queue.
 *   complete  whether the piece ends at text + n; then all of it is encoded
 *   offset    where text begins, for messages
 *   *used     bytes whose ids are final; the next call's text begins after them
 * An incomplete part is left for later once TG_LONG_PIECE_IDS ids wait.  With a vocabulary that is
 * not proper nothing happens before the piece is complete: it is merged in memory as a whole.
 * TG_EDATA: the vocabulary lacks a byte.  TG_ENOMEM.
 */
TG_MUST_CHECK tg_status tg_long_piece_encode(tg_long_piece *l, const tg_bpe *b, tg_merger *merger,
                                             const unsigned char *text, size_t n, bool complete,
                                             uint64_t offset, size_t *used, tg_id_queue *queue, tg_err *err);

/* Free its memory and zero it. */
void tg_long_piece_free(tg_long_piece *l);

#endif
