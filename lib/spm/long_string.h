/*
 * long_string: merging a string of any length, in bounded memory and linear time.
 *
 * lib/bpe/long_piece.h has the method and its proof, for merges of distinct ranks that come after the merges
 * of their halves.  Here the merges of one score have one rank.  The proof needs only that the symbol x
 * before a border, if a merge (w, x) of that rank takes it before (x, y) could, has w = x = y; so no symbol
 * may be the right half of one merge and the left half of another of the same score
 * (lib/spm/spm_prepare.c).  Characters take the place of bytes, and a block ends with a character.  Where
 * only the merges of the lowest score are not so, as those of Llama's runs of spaces, they are left to the
 * end (tail.h).
 */
#ifndef TG_SPM_LONG_STRING_H
#define TG_SPM_LONG_STRING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/status.h"
#include "lib/spm/spm_ids.h"
#include "lib/spm/spm_merge.h"
#include "lib/spm/tail.h"

/* Size of the first block in bytes; longer strings are encoded here. */
#ifndef TG_SPM_BLOCK
#define TG_SPM_BLOCK ((size_t)512)
#endif

/* A symbol of a block. */
typedef struct tg_spm_span {
    uint32_t symbol, at; /* where it begins */
} tg_spm_span;

/* Between strings it is zeroed, except for its memory. */
typedef struct tg_spm_long {
    size_t block;        /* bytes of a block; 0: at the start of a string */
    tg_spm_span *spans;  /* [capacity] the symbols of a block; owned */
    size_t *ends;        /* [capacity] where a piece that continues after the block may begin; owned */
    unsigned char *text; /* [capacity] the last block, because text often repeats itself; owned */
    size_t capacity;
    size_t n_text;  /* bytes of that block */
    size_t n_final; /* number of its final symbols, in `spans`; 0: there is no such block */
    size_t step;    /* their bytes */
    tg_spm_tail tail;
} tg_spm_long;

/*
 * Append to p's queue the ids of as much as possible of text [n], n >= 1, the next part of a string without
 * borders.
 *   complete  whether the string ends at text + n; then all of it is encoded
 *   *used     bytes whose ids are final; the next call's text begins after them
 * If long strings cannot be encoded in blocks, nothing is encoded before the string is complete.
 * Fails like tg_spm_ids_put_symbol().  TG_ENOMEM.
 */
TG_MUST_CHECK tg_status tg_spm_long_encode(tg_spm_long *l, tg_spm_ids *p, tg_spm_merger *merger,
                                           const unsigned char *text, size_t n, bool complete, size_t *used,
                                           tg_err *err);

/* Append the ids of text [n], n >= 1, as a whole; the queue has room. */
TG_MUST_CHECK tg_status tg_spm_whole_encode(tg_spm_ids *p, tg_spm_merger *merger, const unsigned char *text,
                                            size_t n, tg_err *err);

/* Free its memory and zero it. */
void tg_spm_long_free(tg_spm_long *l);

#endif
