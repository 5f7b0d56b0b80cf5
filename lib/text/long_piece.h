/*
 * long_piece: byte pair encoding of a piece of any length in bounded memory, in time linear in it.
 *
 * The vocabulary is proper (lib/text/bpe_state.h).  Then merging does all merges of the lowest rank,
 * from left to right, then all of the next rank, and so on, as a merge makes no pair of its own
 * rank or of a lower one.  enc(s): the encoding of a string s.
 *
 * (1) Any tokens in a row in enc(s) are the encoding of their bytes.  No merge crossed their borders,
 *     so those within them were the lowest and leftmost there too.
 *
 * (2) Tokens t1 ... tn are enc(t1 ... tn) if each ti is enc(ti) and each two neighbours are
 *     enc(ti ti+1).
 *     Proof.  Assume that no merge of a rank below r crosses a border between two of them, and that
 *     the first one of rank r does, between ti and ti+1: of a pair (x, y), where x ends what has
 *     become of ti, and y begins what has become of ti+1.  enc(ti ti+1) comes to the same x and y and
 *     does not merge them.  So there x is taken when the pass arrives at the border, by the x before
 *     it: x equals y, and an even number of x precedes the border, in ti.  In the whole string more
 *     of them may precede those, in ti-1 and so on; but by the same argument each token adds an even
 *     number.  So x is taken there too: a contradiction.
 *
 * A piece goes on after a block of it, text [0..n), has been encoded.  Which of its tokens are final?
 * Let i be the last border of tokens, in the encoding of the whole piece, that is not after n.  If it
 * is not n, a token begins with text [i..n) and goes on: so only some i come into question, mostly
 * few, close to n (lib/text/prefix_filter.h).  By (1), what precedes i is enc(text [0..i)).
 *
 * Take a token of the block, u, which begins at b, before each such i.  If enc(text [b..i)) begins with
 * u for each of them, then enc(text [0..i)) has the block's tokens before b, by (2): each two neighbours
 * up to u are neighbours in the block, and the others are in enc(text [b..i)).  So these tokens are
 * final, whichever i it is.  The next block begins at b.  If they do not all begin with u, a token
 * further back is tried; if that fails too, the block was too short to show what its end depends
 * on, and is doubled.
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
    size_t block;  /* bytes of a block; 0: at the start of a piece */
    int32_t *ids;  /* [capacity] the encoding of a block; owned */
    int32_t *part; /* [capacity] that of its end up to some place; owned */
    size_t *ends;  /* [capacity] such places; owned */
    size_t capacity;

    /* The last block that was encoded: text repeats itself. */
    unsigned char *text; /* [capacity]; owned */
    size_t n_final;      /* its final tokens, `ids`; 0: there is no such block */
    size_t step;         /* their bytes */
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
