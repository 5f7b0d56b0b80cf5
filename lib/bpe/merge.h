/*
 * merge: byte pair encoding of one string, exactly as lib/bpe/bpe.h defines it: the adjacent pair of
 * the lowest rank is merged, the leftmost of equals first, until no pair has a merge.
 *
 * Two methods give the same tokens.  For a short string, each merge scans the pairs, most of them in
 * groups.  For a long one, the pairs are kept in a heap: n log n.
 */
#ifndef TG_BPE_MERGE_H
#define TG_BPE_MERGE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/heap.h"
#include "lib/base/status.h"
#include "lib/bpe/pairs.h"

#ifndef TG_MERGE_SHORT
#define TG_MERGE_SHORT 512 /* bytes */
#endif

typedef struct tg_merge_node tg_merge_node;

/* The memory of the method for long strings, which grows with their length; zeroed at first. */
typedef struct tg_merger {
    const tg_pairs *pairs;
    tg_merge_node *nodes; /* [nodes_capacity]: one per byte of text */
    tg_heap heap;         /* [heap_capacity] of ranks and places: two */
    size_t nodes_capacity, heap_capacity;
    uint32_t last; /* the rank of the last merge of the last string; TG_RANK_NONE: it had none */
} tg_merger;

/*
 * Merge text [n]: ids [n] holds the bytes' tokens before, and the string's tokens after.
 * tg_merge_short() takes n <= TG_MERGE_SHORT and returns the number of tokens; tg_merge() takes any n
 * and sets *n_ids.
 */
size_t tg_merge_short(tg_merger *m, int32_t *ids, const unsigned char *text, size_t n);
TG_MUST_CHECK tg_status tg_merge(tg_merger *m, int32_t *ids, const unsigned char *text, size_t n,
                                 size_t *n_ids, tg_err *err);

/* Free its memory and zero it. */
void tg_merger_free(tg_merger *m);

#endif
