#include "lib/train/tree_sum.h"

#include <assert.h>
#include <stdbool.h>

#include "lib/base/size.h"
#include "lib/nn/elementwise.h"

/* Whether two adjacent parts are the halves of a node: the left one has 2^k passes from a
 * multiple of 2^(k+1) on, the right one the rest of the node. */
static bool are_halves(const tg_tree_part *left, const tg_tree_part *right, size_t passes)
{
    const size_t n = left->end - left->first;

    return (n & (n - 1)) == 0 && left->first % (2 * n) == 0 &&
           right->end == tg_size_min(left->first + 2 * n, passes);
}

float *tg_tree_sum_next(tg_tree_sum *s)
{
    assert(s->n < s->buffers);
    return s->part[s->n].grads;
}

void tg_tree_sum_append(tg_tree_sum *s, size_t first, size_t end, double loss)
{
    tg_tree_part *part = &s->part[s->n];

    assert(s->n < s->buffers && first < end && (s->n == 0 || part[-1].end == first));
    part->first = first;
    part->end = end;
    part->loss = loss;
    s->n++;
}

void tg_tree_sum_merge_floats(const tg_tree_sum *s, size_t begin, size_t end)
{
    tg_tree_part last; /* as it grows */

    if (s->n == 0)
        return;
    last = s->part[s->n - 1];
    for (size_t n = s->n; n > 1 && are_halves(&s->part[n - 2], &last, s->passes); n--) {
        const tg_tree_part *left = &s->part[n - 2];

        tg_add(left->grads + begin, left->grads + begin, last.grads + begin, end - begin);
        last.first = left->first;
        last.grads = left->grads;
    }
}

void tg_tree_sum_merge_parts(tg_tree_sum *s)
{
    while (s->n > 1 && are_halves(&s->part[s->n - 2], &s->part[s->n - 1], s->passes)) {
        tg_tree_part *left = &s->part[s->n - 2];

        left->loss += s->part[s->n - 1].loss;
        left->end = s->part[s->n - 1].end;
        s->n--;
    }
}

void tg_tree_sum_push(tg_tree_sum *s, size_t first, size_t end, double loss)
{
    tg_tree_sum_append(s, first, end, loss);
    if (s->floats > 0)
        tg_tree_sum_merge_floats(s, 0, s->floats);
    tg_tree_sum_merge_parts(s);
}

size_t tg_tree_sum_buffers(size_t passes, size_t first, size_t end)
{
    tg_tree_sum s = {.passes = passes, .buffers = TG_TREE_PARTS_MAX};
    size_t buffers = 0;

    for (size_t i = first; i < end; i++) {
        buffers = tg_size_max(buffers, s.n + 1);
        tg_tree_sum_push(&s, i, i + 1, 0);
    }
    return buffers;
}

void tg_tree_sum_place(tg_arena *arena, tg_tree_sum *s, size_t floats, size_t passes, size_t first,
                       size_t end)
{
    *s =
        (tg_tree_sum){.passes = passes, .floats = floats, .buffers = tg_tree_sum_buffers(passes, first, end)};
    for (size_t i = 0; i < s->buffers; i++)
        s->part[i].grads = tg_arena_take(arena, floats, sizeof(float));
}
