#include "lib/spm/spm_merge.h"

#include <stdlib.h>

#include "lib/base/grow.h"

#define NONE TG_RANK_NONE
#define MAX_BYTES ((size_t)1 << 31) /* places fit 32 bits */

static tg_status reserve(tg_spm_merger *m, size_t n, tg_err *err)
{
    static const char what[] = "merging a string";
    tg_status status;

    /* unreached: a string of more than 2 GiB without a border */
    if (n > MAX_BYTES)
        return tg_fail(err, TG_ENOMEM, "a string to be merged has %zu bytes, expected at most %zu", n,
                       MAX_BYTES);
    if ((status = tg_grow(&m->nodes, &m->nodes_capacity, n, sizeof *m->nodes, what, err)))
        return status;
    /* a merge takes one pair and adds two */
    return tg_grow(&m->heap.item, &m->heap_capacity, 2 * n, sizeof *m->heap.item, what, err);
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

static void push(tg_spm_merger *m, size_t node)
{
    if (m->nodes[node].order != NONE)
        tg_heap_push(&m->heap, tg_heap_item(m->nodes[node].order, node));
}

static void merge_long(tg_spm_merger *m)
{
    m->heap.n = 0;
    for (size_t i = 0; i < m->n; i++)
        if (m->nodes[i].order != NONE)
            m->heap.item[m->heap.n++] = tg_heap_item(m->nodes[i].order, i);
    tg_heap_make(&m->heap);
    while (m->heap.n > 0) {
        const uint64_t item = tg_heap_pop(&m->heap);
        const size_t node = tg_heap_number(item);
        size_t before;

        if (m->nodes[node].order != tg_heap_order(item)) /* it is out of date */
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
    free(m->heap.item);
    m->nodes = NULL;
    m->heap.item = NULL;
    m->nodes_capacity = m->heap_capacity = 0;
}
