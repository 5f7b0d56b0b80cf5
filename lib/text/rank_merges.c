#include "lib/text/rank_merges.h"

#include <stdbool.h>
#include <stdlib.h>

#include "lib/base/size.h"

/* A part of the token that is being encoded, stored at its first byte. */
struct part {
    uint64_t hash;
    uint32_t id;
    uint32_t before, after; /* the first bytes of its neighbours; after = end: none follows */
};

/* Two neighbours that together are a token. */
struct candidate {
    uint32_t id;         /* the token */
    uint32_t begin, end; /* its bytes */
};

struct work {
    const tg_token_index *index;
    uint64_t *scale;        /* [longest + 1] */
    struct part *part;      /* [longest] */
    struct candidate *heap; /* [3 * longest] a binary heap, the first candidate at the top */
    size_t n_heap;
    const unsigned char *text; /* [n] the token */
    uint32_t n;
};

/* ---- the heap */

static bool comes_before(const struct candidate *a, const struct candidate *b)
{
    return a->id != b->id ? a->id < b->id : a->begin < b->begin;
}

static void push(struct work *w, struct candidate c)
{
    size_t i = w->n_heap++;

    for (; i > 0 && comes_before(&c, &w->heap[(i - 1) / 2]); i = (i - 1) / 2)
        w->heap[i] = w->heap[(i - 1) / 2];
    w->heap[i] = c;
}

static struct candidate pop(struct work *w)
{
    const struct candidate top = w->heap[0], last = w->heap[--w->n_heap];
    size_t i = 0;

    for (size_t child = 1; child < w->n_heap; child = 2 * i + 1) {
        child += child + 1 < w->n_heap && comes_before(&w->heap[child + 1], &w->heap[child]);
        if (!comes_before(&w->heap[child], &last))
            break;
        w->heap[i] = w->heap[child];
        i = child;
    }
    w->heap[i] = last;
    return top;
}

/* ---- one token */

/* Add the part at `begin` and its right neighbour to the heap if they are a token together. */
static void consider(struct work *w, uint32_t begin)
{
    const struct part *left = &w->part[begin], *right;
    uint32_t end, id;
    uint64_t hash;

    if (left->after == w->n)
        return;
    right = &w->part[left->after];
    end = right->after;
    hash = tg_token_hash_join(left->hash, right->hash, w->scale[end - left->after]);
    id = tg_token_find_hash(w->index, hash, w->text + begin, end - begin);
    if (id != TG_NO_TOKEN)
        push(w, (struct candidate){id, begin, end});
}

/* Whether a candidate is still two parts that are neighbours. */
static bool is_current(const struct work *w, const struct candidate *c)
{
    const struct part *left = &w->part[c->begin];

    return left->id != TG_NO_TOKEN && left->after < c->end && w->part[left->after].after == c->end;
}

static void merge(struct work *w, const struct candidate *c)
{
    struct part *left = &w->part[c->begin], *right = &w->part[left->after];

    left->hash = tg_token_hash_join(left->hash, right->hash, w->scale[c->end - left->after]);
    left->id = c->id;
    right->id = TG_NO_TOKEN;
    left->after = c->end;
    if (c->end < w->n)
        w->part[c->end].before = c->begin;
    consider(w, c->begin);
    if (c->begin > 0)
        consider(w, left->before);
}

/* Encode a token's bytes.  The last merge, if it makes the whole: its halves, and true. */
static bool find_merge(struct work *w, uint32_t halves[2])
{
    w->n_heap = 0;
    for (uint32_t i = 0; i < w->n; i++) {
        const uint64_t hash = tg_token_hash_byte(0, w->text[i]);

        w->part[i] = (struct part){hash, tg_token_find_hash(w->index, hash, w->text + i, 1), i - 1, i + 1};
    }
    for (uint32_t i = 0; i < w->n; i++)
        consider(w, i);
    while (w->n_heap > 0) {
        const struct candidate c = pop(w);

        if (!is_current(w, &c))
            continue;
        if (c.begin == 0 && c.end == w->n) {
            halves[0] = w->part[0].id;
            halves[1] = w->part[w->part[0].after].id;
            return true;
        }
        merge(w, &c);
    }
    return false;
}

/* ---- all tokens */

static uint32_t length_of(const tg_token_index *index, size_t id)
{
    return index->ends[id] - (id > 0 ? index->ends[id - 1] : 0);
}

static tg_status allocate(struct work *w, size_t longest, tg_err *err)
{
    w->scale = malloc((longest + 1) * sizeof *w->scale);
    w->part = malloc(longest * sizeof *w->part);
    w->heap = malloc(3 * longest * sizeof *w->heap);
    if (!w->scale || !w->part || !w->heap)
        return tg_fail_memory(err, longest * (sizeof *w->scale + sizeof *w->part + 3 * sizeof *w->heap),
                              "finding merges");
    tg_token_hash_scales(w->scale, longest);
    return TG_OK;
}

tg_status tg_rank_merges(uint32_t (**merges)[2], size_t *n_merges, const tg_token_index *index, size_t n,
                         tg_err *err)
{
    struct work w = {.index = index};
    size_t longest = 1, count = 0;
    unsigned char *ordinary = calloc(n, 1);
    tg_status status;

    *merges = malloc(tg_size_max(index->n, 1) * sizeof **merges);
    *n_merges = 0;
    for (size_t i = 0; i < index->n; i++)
        longest = tg_size_max(longest, length_of(index, index->keys[i].id));
    status = *merges && ordinary ? allocate(&w, longest, err)
                                 : tg_fail_memory(err, n + index->n * sizeof **merges, "merges");
    if (status)
        goto done;
    for (size_t i = 0; i < index->n; i++)
        ordinary[index->keys[i].id] = 1;
    for (size_t id = 0; id < n; id++) {
        w.n = length_of(index, id);
        w.text = index->tokens + index->ends[id] - w.n;
        if (ordinary[id] && w.n > 1 && find_merge(&w, (*merges)[count]))
            count++;
    }
    *n_merges = count;

done:
    if (status) {
        free(*merges);
        *merges = NULL;
    }
    free(ordinary);
    free(w.scale);
    free(w.part);
    free(w.heap);
    return status;
}
