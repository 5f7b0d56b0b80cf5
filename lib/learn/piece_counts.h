/*
 * piece_counts: how often each distinct piece occurs, for learn.c and vocab_learner.c.
 *
 * A hash table with linear probing.  Pieces of up to 15 bytes are stored in the table itself,
 * longer ones in a buffer.  The hash is seeded, so that nobody can prepare a text whose pieces
 * collide.  The order in which pieces are visited depends on the seed, so no result may depend on it.
 */
#ifndef TG_LEARN_PIECE_COUNTS_H
#define TG_LEARN_PIECE_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/status.h"
#include "lib/bpe/piece_key.h"

#define TG_PIECE_SLACK ((size_t)16) /* readable bytes after a piece that is being counted */
#define TG_PIECE_QUEUE ((size_t)32) /* pieces whose slots are fetched at the same time */

typedef struct tg_piece_slot {
    tg_piece_key key; /* of a longer piece: its hash, its offset in `longer`, and 255 in the last byte */
    uint64_t count;   /* 0: the slot is free */
} tg_piece_slot;

typedef struct tg_piece {
    const unsigned char *text;
    size_t n; /* bytes */
    uint64_t count;
} tg_piece;

typedef struct tg_piece_counts {
    uint64_t seed[2];
    tg_piece_slot *slots;  /* [capacity], a power of two */
    size_t capacity, used; /* at most half are used */
    unsigned char *longer; /* for each long piece its length in 8 bytes, then the piece */
    size_t n_longer, longer_capacity;
    size_t distinct_bytes;
    uint64_t pieces;                /* number of pieces counted */
    tg_piece queue[TG_PIECE_QUEUE]; /* not in the table yet */
    size_t queued;
} tg_piece_counts;

/* Start with no pieces.  Tables to be merged must have the same seed.  Allocates nothing. */
void tg_piece_counts_init(tg_piece_counts *c, const uint64_t seed[2]);

/* Enter the queue into the table.  TG_ENOMEM: only tg_piece_counts_free() is legal. */
TG_MUST_CHECK tg_status tg_piece_counts_flush(tg_piece_counts *c, tg_err *err);

/* Count a piece, n >= 1, with TG_PIECE_SLACK readable bytes from its end on or, if it is short, from its
 * start.  The text must remain valid until the next tg_piece_counts_flush(). */
TG_MUST_CHECK static inline tg_status tg_piece_counts_add(tg_piece_counts *c, tg_piece piece, tg_err *err)
{
    c->queue[c->queued++] = piece;
    return c->queued < TG_PIECE_QUEUE ? TG_OK : tg_piece_counts_flush(c, err);
}

/* Add the counts of `from`, which has the same seed.  Both queues must be empty.  TG_ENOMEM. */
TG_MUST_CHECK tg_status tg_piece_counts_merge(tg_piece_counts *c, const tg_piece_counts *from, tg_err *err);

/* Visit all pieces: *at is 0 before the first one; false after the last one.  A piece's text is
 * valid until the table changes. */
bool tg_piece_counts_next(const tg_piece_counts *c, size_t *at, tg_piece *piece);

/* Bytes of memory in use. */
size_t tg_piece_counts_memory(const tg_piece_counts *c);

/* Free what it owns, and return to the state after tg_piece_counts_init(). */
void tg_piece_counts_free(tg_piece_counts *c);

#endif
