/*
 * tree_sum: the sum of a step's gradients and losses over its passes, in a fixed order.
 *
 * The passes 0 .. n-1 are the leaves of a binary tree, in order.  A node is a block of
 * 2^k passes that begins at a multiple of 2^k, cut off at n.  Its sum is its left half's
 * plus its right half's, or the left half's alone when the right one is empty:
 *
 *     n = 5    ((0 + 1) + (2 + 3)) + 4
 *     n = 7    ((0 + 1) + (2 + 3)) + ((4 + 5) + 6)
 *
 * The order depends only on n.  So the members of a team (lib/base/team.h) may divide the
 * passes into ranges: each adds up the nodes inside its own range, its parts; pushing all
 * parts in order gives the same bits, whichever member computed them.
 *
 *     s->n = 0
 *     for each pass of the range, in order
 *         loss = gradient into tg_tree_sum_next(s)
 *         tg_tree_sum_push(s, i, i + 1, loss)
 */
#ifndef TG_TRAIN_TREE_SUM_H
#define TG_TRAIN_TREE_SUM_H

#include <stddef.h>

#include "lib/base/arena.h"

/* The maximum number of parts of a range of fewer than 2^40 passes. */
#define TG_TREE_PARTS_MAX 82

/* The sum over the passes first .. end - 1, which are one node. */
typedef struct tg_tree_part {
    size_t first, end;
    double loss;
    float *grads; /* [floats] */
} tg_tree_part;

typedef struct tg_tree_sum {
    size_t passes; /* n: leaves of the tree */
    size_t floats; /* in a gradient */
    size_t n;      /* parts at present; the caller begins with 0 */
    size_t buffers;
    tg_tree_part part[TG_TREE_PARTS_MAX]; /* [n] in order; grads: [buffers] */
} tg_tree_sum;

/* Gradients held at once while passes first .. end - 1 of `passes` are added up:
 * floor(log2(end)) + 1 when first is 0.  O(end - first). */
size_t tg_tree_sum_buffers(size_t passes, size_t first, size_t end);

/* Place that many gradients of `floats` elements in an arena (see arena.h). */
void tg_tree_sum_place(tg_arena *arena, tg_tree_sum *s, size_t floats, size_t passes, size_t first,
                       size_t end);

/* The buffer [floats] of the next part, which may hold anything. */
float *tg_tree_sum_next(tg_tree_sum *s);

/* Append the gradient in that buffer, with its loss, as the sum over passes first .. end - 1, a
 * node that begins where the last part ends; merge the parts that now make a larger node. */
void tg_tree_sum_push(tg_tree_sum *s, size_t first, size_t end, double loss);

/* The same in steps, so that a gradient can be added up while it is computed: append the part; merge
 * floats begin .. end - 1, each once; when all are merged, the parts. */
void tg_tree_sum_append(tg_tree_sum *s, size_t first, size_t end, double loss);
void tg_tree_sum_merge_floats(const tg_tree_sum *s, size_t begin, size_t end);
void tg_tree_sum_merge_parts(tg_tree_sum *s);

#endif
