#include "lib/spm/spm_merge.h"

#include <stdlib.h>

#include "lib/base/size.h"

#define NONE TG_RANK_NONE
#define MAX_BYTES ((size_t)1 << 31) /* places fit 32 bits */

static tg_status reserve(tg_spm_merger *m, size_t n, tg_err *err)
{
    const size_t capacity = tg_size_max(n, tg_size_min(2 * m->capacity, MAX_BYTES));
    const size_t each = sizeof *m->nodes + 2 * sizeof *m->heap;

    if (n <= m->capacity)
        return TG_OK;
    /* unreached: a string of more than 2 GiB without a border */
    if (n > MAX_BYTES)
        return tg_fail(err, TG_ENOMEM, "a string to be merged has %zu bytes, expected at most %zu", n,
                       MAX_BYTES);
    free(m->nodes);
    free(m->heap);
    m->capacity = 0;
    m->nodes = malloc(tg_size_mul_sat(capacity, sizeof *m->nodes));
    m->heap = malloc(tg_size_mul_sat(capacity, 2 * sizeof *m->heap)); /* a merge takes one and adds two */
    if (!m->nodes || !m->heap)
        return tg_fail_memory(err, tg_size_mul_sat(capacity, each), "merging a string");
    m->capacity = capacity;
    return TG_OK;
}

/* Make a node for each character. */
static void begin(tg_spm_merger *m, const unsigned char *text, size_t n)
{
    size_t at = 0, length;

    for (m->n = 0; at < n; at += length) {
        uint32_t code;

        length = tg_spm_decode(&code, text + at, n - at);
        m->nodes[m->n] = (tg_spm_node){.symbol = tg_spm_symbol(m->symbols, code),
                                       .at = (uint32_t)at,
                                       .order = NONE,
                                       .next = (uint32_t)m->n + 1,
                                       .previous = m->n > 0 ? (uint32_t)m->n - 1 : NONE};
        m->n++;
    }
}

/* Look up the pair that begins at node i. */
static void pair(tg_spm_merger *m, size_t i)
{
    tg_spm_node *node = &m->nodes[i];
    uint32_t right, rank;

    node->order = NONE;
    if (node->next >= m->n || node->symbol == TG_SPM_NO_SYMBOL ||
        (right = m->nodes[node->next].symbol) == TG_SPM_NO_SYMBOL)
        return;
    if (m->pairs) {
        if ((rank = tg_pairs_rank(m->pairs, node->symbol, right)) == NONE)
            return;
        node->made = m->pairs->pairs[rank].made;
    } else if ((rank = node->made = tg_token_table_find_joined(m->table, node->symbol, right)) ==
               TG_TOKEN_NONE) {
        return;
    }
    rank = m->order ? m->order[node->made] : rank;
    node->order = rank < m->limit ? rank : NONE;
}

/* Merge node i with the next, and look up the pairs at *before (i if there is none before) and at i. */
static void join(tg_spm_merger *m, size_t i, size_t *before)
{
    tg_spm_node *node = &m->nodes[i], *next = &m->nodes[node->next];

    m->last[0] = node->symbol;
    m->last[1] = next->symbol;
    m->last_order = node->order;
    node->symbol = node->made;
    node->next = next->next;
    next->order = NONE;
    if (node->next < m->n)
        m->nodes[node->next].previous = (uint32_t)i;
    *before = node->previous == NONE ? i : node->previous;
    if (*before != i)
        pair(m, *before);
    pair(m, i);
}

static void merge_short(tg_spm_merger *m)
{
    size_t before;

    for (;;) {
        size_t best = 0;

        for (size_t i = 0; i < m->n; i = m->nodes[i].next)
            if (m->nodes[i].order < m->nodes[best].order)
                best = i;
        if (m->nodes[best].order == NONE)
            return;
        join(m, best, &before);
    }
}

/* ---- long */

/* An entry of the heap: an order, and a node to order equals.  It is out of date once the node's order
 * differs. */
static uint64_t entry(uint32_t order, size_t node)
{
    return (uint64_t)order << 32 | node;
}

static void sift_down(uint64_t *heap, size_t n, size_t i)
{
    const uint64_t e = heap[i];
    size_t child;

    while ((child = 2 * i + 1) < n) {
        child += child + 1 < n && heap[child + 1] < heap[child];
        if (heap[child] >= e)
            break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = e;
}

static void push(tg_spm_merger *m, size_t node)
{
    const uint64_t e = entry(m->nodes[node].order, node);
    size_t i = m->n_heap;

    if (m->nodes[node].order == NONE)
        return;
    for (m->n_heap++; i > 0 && m->heap[(i - 1) / 2] > e; i = (i - 1) / 2)
        m->heap[i] = m->heap[(i - 1) / 2];
    m->heap[i] = e;
}

static void pop(tg_spm_merger *m)
{
    m->heap[0] = m->heap[--m->n_heap];
    if (m->n_heap > 1)
        sift_down(m->heap, m->n_heap, 0);
}

static void merge_long(tg_spm_merger *m)
{
    m->n_heap = 0;
    for (size_t i = 0; i < m->n; i++)
        if (m->nodes[i].order != NONE)
            m->heap[m->n_heap++] = entry(m->nodes[i].order, i);
    for (size_t i = m->n_heap / 2; i-- > 0;)
        sift_down(m->heap, m->n_heap, i);
    while (m->n_heap > 0) {
        const uint64_t e = m->heap[0];
        const size_t node = (uint32_t)e;
        size_t before;

        pop(m);
        if (m->nodes[node].order != e >> 32)
            continue;
        join(m, node, &before);
        push(m, node);
        if (before != node)
            push(m, before);
    }
}

tg_status tg_spm_merge(tg_spm_merger *m, const unsigned char *text, size_t n, tg_err *err)
{
    const tg_status status = reserve(m, n, err);

    if (status)
        return status;
    m->last_order = NONE;
    begin(m, text, n);
    for (size_t i = 0; i + 1 < m->n; i++)
        pair(m, i);
    if (m->n <= TG_SPM_SHORT)
        merge_short(m);
    else
        merge_long(m);
    return TG_OK;
}

void tg_spm_merger_free(tg_spm_merger *m)
{
    free(m->nodes);
    free(m->heap);
    m->nodes = NULL;
    m->heap = NULL;
    m->capacity = 0;
}
