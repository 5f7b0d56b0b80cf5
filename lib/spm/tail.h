/*
 * tail: the merges of the lowest score of a vocabulary, in a string whose other merges are done, from left to
 * right and in bounded memory.
 *
 * No other merge starts from what these make, so they come after all others, and of them always the leftmost.
 * Let the symbols up to some place have no such merge among them.  Then the leftmost is that of the last of
 * them with the next symbol, if they have one; what it makes may merge with the symbol before, and so on.
 * A symbol is final if as many symbols follow it as the longest piece has bytes.
 */
#ifndef TG_SPM_TAIL_H
#define TG_SPM_TAIL_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/status.h"
#include "lib/spm/spm_ids.h"

typedef struct tg_spm_tail {
    uint32_t *symbols; /* [n] among which there is no merge; owned */
    size_t n, capacity;
} tg_spm_tail;

/* Take the next symbol, with text [n], and append the ids of those that are final to the queue.
 * TG_EDATA, TG_ENOMEM. */
TG_MUST_CHECK tg_status tg_spm_tail_push(tg_spm_tail *t, tg_spm_ids *p, uint32_t symbol,
                                         const unsigned char *text, size_t n, tg_err *err);

/* After the last symbol, append the ids of the rest. */
TG_MUST_CHECK tg_status tg_spm_tail_finish(tg_spm_tail *t, tg_spm_ids *p, tg_err *err);

/* Free its memory and zero it. */
void tg_spm_tail_free(tg_spm_tail *t);

#endif
