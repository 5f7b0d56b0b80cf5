#include "lib/bpe/merge.h"

#include <stdbool.h>
#include <stdlib.h>

#include "lib/base/grow.h"
#include "lib/base/size.h"

#define NONE UINT32_MAX
#define LONG_MAX_BYTES ((size_t)1 << 31) /* places fit 32 bits, also twice their number */

/* The method for short strings: bits of a place, below the rank; places scanned at once. */
#define PLACE_BITS (32 - TG_RANK_BITS)
#define PLACE_MASK ((1u << PLACE_BITS) - 1)
#define GROUP 16
#define GROUPS ((TG_MERGE_SHORT + 4 * GROUP - 1) / (4 * GROUP) * 4)

_Static_assert(TG_MERGE_SHORT <= PLACE_MASK, "an entry has room for a place");

/* ---- short */

/*
 * An entry is a rank and, in its lower bits, the place of the pair's first byte: the lowest entry is the
 * pair to be merged.  Places are in groups, and the lowest entry of each group is known, so that a
 * merge looks at a few groups and at one entry of each other.
 */
struct entries {
    uint32_t entry[GROUPS * GROUP]; /* a multiple of groups */
    uint32_t lowest[GROUPS];        /* of a group */
};

/* The least of x [n], n a multiple of 4: four independent minima, so that no comparison waits for the
 * previous one. */
static inline uint32_t lowest_of(const uint32_t *x, size_t n)
{
    uint32_t low[4] = {x[0], x[1], x[2], x[3]};

    for (size_t i = 4; i < n; i += 4)
        for (size_t k = 0; k < 4; k++)
            low[k] = x[i + k] < low[k] ? x[i + k] : low[k];
    low[0] = low[1] < low[0] ? low[1] : low[0];
    low[2] = low[3] < low[2] ? low[3] : low[2];
    return low[2] < low[0] ? low[2] : low[0];
}

/* A pair's entry; a pair without a rank has one above all others. */
static uint32_t entry_of(uint32_t rank, size_t place)
{
    return rank == TG_RANK_NONE ? TG_RANK_NONE : rank << PLACE_BITS | (uint32_t)place;
}

static inline void update_group(struct entries *e, size_t group)
{
    e->lowest[group] = lowest_of(e->entry + group * GROUP, GROUP);
}

/* Set the entries of the byte pairs of text [n]; returns the number of groups, rounded up to a multiple
 * of 4; the last ones may be empty. */
static size_t fill_entries(struct entries *e, const tg_pairs *p, const unsigned char *text, size_t n)
{
    const size_t groups = tg_ceil_div(n, GROUP), rounded = tg_round_up(groups, 4);
    uint32_t *entry = e->entry;

    for (size_t i = 0; i + 1 < n; i++)
        entry[i] = entry_of(p->bytes[(size_t)text[i] << 8 | text[i + 1]], i);
    for (size_t i = n - 1; i < groups * GROUP; i++)
        entry[i] = TG_RANK_NONE;
    for (size_t g = 0; n > GROUP && g < groups; g++)
        update_group(e, g);
    for (size_t g = groups; g < rounded; g++)
        e->lowest[g] = TG_RANK_NONE;
    return rounded;
}

/* The guessed entry of the pair of tokens a and b; prefetches the merge, which is soon needed. */
static inline uint32_t guess_entry(const tg_pairs *p, uint32_t a, uint32_t b, size_t place)
{
    const uint32_t rank = tg_pairs_guess(p, a, b);

    if (rank != TG_RANK_NONE)
        __builtin_prefetch(&p->pairs[rank]);
    return entry_of(rank, place);
}

/* The tokens of a short string: each at the place of its first byte, with the places of its
 * neighbours. */
struct tokens {
    int32_t *ids;
    size_t n;
    uint16_t next[TG_MERGE_SHORT + 1], previous[TG_MERGE_SHORT + 1];
};

/* Perform the merge of an entry; *before and *gone: places whose entries it also changed. */
static inline void merge_entry(struct tokens *t, struct entries *e, const tg_pairs *p, size_t at, uint32_t id,
                               size_t *before, size_t *gone)
{
    const size_t after = t->next[ *gone = t->next[at]];

    t->ids[at] = (int32_t)id;
    t->next[at] = (uint16_t)after;
    t->previous[after] = (uint16_t)at;
    e->entry[*gone] = TG_RANK_NONE;
    e->entry[at] = after < t->n ? guess_entry(p, id, (uint32_t)t->ids[after], at) : TG_RANK_NONE;
    *before = at;
    if (at > 0) {
        *before = t->previous[at];
        e->entry[*before] = guess_entry(p, (uint32_t)t->ids[*before], id, *before);
    }
}

/* one_group: n <= GROUP. */
static inline void merge_all(tg_merger *m, struct tokens *t, struct entries *e, size_t groups, bool one_group)
{
    const tg_pairs *p = m->pairs;
    size_t before, gone;
    uint32_t low;

    while ((low = one_group ? lowest_of(e->entry, GROUP) : lowest_of(e->lowest, groups)) != TG_RANK_NONE) {
        const size_t at = low & PLACE_MASK, group = at / GROUP;
        const tg_pair *pair = &p->pairs[low >> PLACE_BITS];
        const uint32_t a = (uint32_t)t->ids[at], b = (uint32_t)t->ids[t->next[at]];

        if (pair->left != a || pair->right != b) { /* the guess was wrong */
            e->entry[at] = entry_of(tg_pairs_rank(p, a, b), at);
            update_group(e, group);
            continue;
        }
        m->last = low >> PLACE_BITS;
        merge_entry(t, e, p, at, pair->made, &before, &gone);
        if (one_group)
            continue;
        update_group(e, group);
        if (before / GROUP != group)
            update_group(e, before / GROUP);
        if (gone / GROUP != group)
            update_group(e, gone / GROUP);
    }
}

size_t tg_merge_short(tg_merger *m, int32_t *ids, const unsigned char *text, size_t n)
{
    struct tokens t;
    struct entries e;
    size_t groups, count = 0;

    m->last = TG_RANK_NONE;
    if (n < 2)
        return n;
    t.ids = ids;
    t.n = n;
    for (size_t i = 0; i < n; i++) {
        t.next[i] = (uint16_t)(i + 1);
        t.previous[i] = (uint16_t)(i - 1);
    }
    groups = fill_entries(&e, m->pairs, text, n);
    if (n <= GROUP)
        merge_all(m, &t, &e, 1, true);
    else
        merge_all(m, &t, &e, groups, false);
    for (size_t i = 0; i < n; i = t.next[i])
        ids[count++] = ids[i];
    return count;
}

/* ---- long */

/* A token in a list, at the place of its first byte. */
struct tg_merge_node {
    uint32_t id;
    uint32_t rank;           /* of its merge with the next; NONE also where no token begins */
    uint32_t next, previous; /* places; the last one's next is n, the first one's previous NONE */
};

static tg_status reserve(tg_merger *m, size_t n, tg_err *err)
{
    static const char what[] = "merging a piece";
    tg_status status;

    /* unreached: a piece of more than 2 GiB */
    if (n > LONG_MAX_BYTES)
        return tg_fail(err, TG_ENOMEM, "a piece has %zu bytes, expected at most %zu", n, LONG_MAX_BYTES);
    if ((status = tg_grow(&m->nodes, &m->nodes_capacity, n, sizeof *m->nodes, what, err)))
        return status;
    /* a merge takes one pair and adds two */
    return tg_grow(&m->heap.item, &m->heap_capacity, 2 * n, sizeof *m->heap.item, what, err);
}

/* Make one node per byte, and put the pairs into the heap. */
static void begin_merge(tg_merger *m, const int32_t *ids, const unsigned char *text, size_t n)
{
    m->heap.n = 0;
    for (size_t i = 0; i < n; i++) {
        const uint32_t rank = i + 1 < n ? m->pairs->bytes[(size_t)text[i] << 8 | text[i + 1]] : TG_RANK_NONE;

        m->nodes[i] =
            (tg_merge_node){(uint32_t)ids[i], rank, (uint32_t)i + 1, i > 0 ? (uint32_t)i - 1 : NONE};
        if (rank != TG_RANK_NONE)
            m->heap.item[m->heap.n++] = tg_heap_item(rank, i);
    }
    tg_heap_make(&m->heap);
}

/* Look up the pair that begins at a place. */
static void pair(tg_merger *m, size_t place, size_t n)
{
    tg_merge_node *node = &m->nodes[place];

    node->rank = node->next < n ? tg_pairs_rank(m->pairs, node->id, m->nodes[node->next].id) : TG_RANK_NONE;
    if (node->rank != TG_RANK_NONE)
        tg_heap_push(&m->heap, tg_heap_item(node->rank, place));
}

/* Merge the token at a place with the next one. */
static void join(tg_merger *m, size_t place, size_t n)
{
    tg_merge_node *node = &m->nodes[place], *next = &m->nodes[node->next];

    m->last = node->rank;
    node->id = m->pairs->pairs[node->rank].made;
    node->next = next->next;
    next->rank = TG_RANK_NONE;
    if (node->next < n)
        m->nodes[node->next].previous = (uint32_t)place;
    pair(m, place, n);
    if (node->previous != NONE)
        pair(m, node->previous, n);
}

tg_status tg_merge(tg_merger *m, int32_t *ids, const unsigned char *text, size_t n, size_t *n_ids,
                   tg_err *err)
{
    size_t count = 0;
    tg_status status;

    if (n <= TG_MERGE_SHORT) {
        *n_ids = tg_merge_short(m, ids, text, n);
        return TG_OK;
    }
    if ((status = reserve(m, n, err)))
        return status;
    m->last = TG_RANK_NONE;
    begin_merge(m, ids, text, n);
    while (m->heap.n > 0) {
        const uint64_t item = tg_heap_pop(&m->heap);
        const size_t place = tg_heap_number(item);

        if (m->nodes[place].rank == tg_heap_order(item)) /* else it is out of date */
            join(m, place, n);
    }
    for (size_t i = 0; i < n; i = m->nodes[i].next)
        ids[count++] = (int32_t)m->nodes[i].id;
    *n_ids = count;
    return TG_OK;
}

void tg_merger_free(tg_merger *m)
{
    free(m->nodes);
    free(m->heap.item);
    *m = (tg_merger){0};
}
