/*
 * spm_merge: merges the characters of one string, exactly as lib/spm/spm.h defines it, or in the order of a
 * list of merges.
 *
 * Of a short string the pairs are scanned for each merge.  Those of a long one are in a heap: n log n.
 */
#ifndef TG_SPM_SPM_MERGE_H
#define TG_SPM_SPM_MERGE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/heap.h"
#include "lib/base/status.h"
#include "lib/bpe/pairs.h"
#include "lib/bpe/token_table.h"
#include "lib/spm/symbols.h"

#ifndef TG_SPM_SHORT
#define TG_SPM_SHORT 24 /* characters of a short string */
#endif

/* A symbol, at the number of its first character. */
typedef struct tg_spm_node {
    uint32_t symbol;
    uint32_t at;             /* where its text begins */
    uint32_t order, made;    /* of its merge with the next; TG_RANK_NONE: they have none */
    uint32_t next, previous; /* the last one's next is the number of characters */
} tg_spm_node;

/*
 * Which symbols merge, and in which order:
 *   pairs, order   a merge's place is that of what it makes, order [symbols]
 *   pairs          its place is its rank
 *   table, order   all that together are a token of the table merge
 */
typedef struct tg_spm_merger {
    const tg_spm_symbols *symbols;
    const tg_pairs *pairs;
    const tg_token_table *table;
    const uint32_t *order;
    uint32_t limit; /* merges of this place and later ones are left out; TG_RANK_NONE: none */

    tg_spm_node *nodes; /* [n] after merging, those that can be reached from 0; owned */
    size_t n;           /* characters */
    tg_heap heap;       /* of orders and nodes; owned */
    size_t nodes_capacity, heap_capacity;
    uint32_t last[2]; /* the halves of the last merge, if there was one */
    uint32_t last_order;
} tg_spm_merger;

/* Merge text [n], n >= 1.  TG_ENOMEM. */
TG_MUST_CHECK tg_status tg_spm_merge(tg_spm_merger *m, const unsigned char *text, size_t n, tg_err *err);

/* Free its memory. */
void tg_spm_merger_free(tg_spm_merger *m);

#endif
