#include "lib/vocab/rank_merges.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/size.h"
#include "lib/vocab/vocab_tokens.h"

/* A part of the token that is being encoded, itself a token, stored at its first byte. */
struct part {
    uint32_t id;            /* TG_TOKEN_NONE: it has become the end of another part */
    uint32_t before, after; /* where its neighbours begin; after = n: none follows */
};

/* Two adjacent parts that together are a token. */
struct candidate {
    uint32_t id;         /* the token */
    uint32_t begin, end; /* its bytes */
};

/* A pair that was looked up, and its token.  A vocabulary's tokens need the same pairs again and again,
 * and each lookup compares whole tokens, which may be long. */
struct known {
    uint32_t left, right, id;
};

#define KNOWN_BITS 16

struct work {
    const tg_token_table *table;
    struct known *known; /* [2^KNOWN_BITS] */
    uint32_t byte_ids[256];
    struct part *part;      /* [longest] */
    struct candidate *heap; /* [3 * longest] a binary heap, what is merged first at the top */
    size_t n_heap;
    uint32_t n; /* bytes of the token */
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

/* The token that two consecutive tokens form. */
static uint32_t join(struct work *w, uint32_t left, uint32_t right)
{
    struct known *known =
        &w->known[(left * UINT32_C(0x9E3779B1) + right * UINT32_C(0x85EBCA6B)) >> (32 - KNOWN_BITS)];

    if (known->left != left || known->right != right)
        *known = (struct known){left, right, tg_token_table_find_joined(w->table, left, right)};
    return known->id;
}

/* Add the part at `begin` and its right neighbour to the heap if together they are a token. */
static void consider(struct work *w, uint32_t begin)
{
    const struct part *left = &w->part[begin], *right;
    uint32_t id;

    if (left->after == w->n)
        return;
    right = &w->part[left->after];
    id = join(w, left->id, right->id);
    if (id != TG_TOKEN_NONE)
        push(w, (struct candidate){id, begin, right->after});
}

/* Whether a candidate's two parts still exist and are adjacent. */
static bool is_current(const struct work *w, const struct candidate *c)
{
    const struct part *left = &w->part[c->begin];

    return left->id != TG_TOKEN_NONE && left->after < c->end && w->part[left->after].after == c->end;
}

static void merge(struct work *w, const struct candidate *c)
{
    struct part *left = &w->part[c->begin], *right = &w->part[left->after];

    left->id = c->id;
    right->id = TG_TOKEN_NONE;
    left->after = c->end;
    if (c->end < w->n)
        w->part[c->end].before = c->begin;
    consider(w, c->begin);
    if (c->begin > 0)
        consider(w, left->before);
}

/* Encode a token's bytes.  If the last merge makes the whole token, return true and its halves. */
static bool find_merge(struct work *w, uint32_t halves[2], const unsigned char *text, uint32_t n)
{
    w->n = n;
    w->n_heap = 0;
    for (uint32_t i = 0; i < n; i++)
        w->part[i] = (struct part){w->byte_ids[text[i]], i - 1, i + 1};
    for (uint32_t i = 0; i < n; i++)
        consider(w, i);
    while (w->n_heap > 0) {
        const struct candidate c = pop(w);

        if (!is_current(w, &c))
            continue;
        if (c.begin == 0 && c.end == n) {
            halves[0] = w->part[0].id;
            halves[1] = w->part[w->part[0].after].id;
            return true;
        }
        merge(w, &c);
    }
    return false;
}

/* ---- all tokens */

static void find_merges(struct work *w, uint32_t (*merges)[2], size_t *n_merges, size_t *unmade,
                        const tg_bpe_vocab *v)
{
    size_t n;

    for (size_t id = 0; id < v->n; id++) {
        const unsigned char *text = tg_vocab_token(v, id, &n);

        if (n < 2 || !tg_vocab_is_ordinary(v, id))
            continue;
        if (find_merge(w, merges[*n_merges], text, (uint32_t)n))
            ++*n_merges;
        else
            ++*unmade;
    }
}

tg_status tg_rank_merges(uint32_t (**merges)[2], size_t *n_merges, size_t *unmade, const tg_bpe_vocab *v,
                         const tg_token_table *table, tg_err *err)
{
    struct work w = {.table = table};
    const size_t longest = tg_size_max(tg_vocab_longest(v), 1);
    tg_status status = TG_OK;

    *n_merges = *unmade = 0;
    for (size_t i = 0; i < 256; i++)
        w.byte_ids[i] = tg_token_table_find(table, &(unsigned char){(unsigned char)i}, 1);
    *merges = malloc(tg_size_max(v->n, 1) * sizeof **merges);
    w.part = malloc(longest * sizeof *w.part);
    w.heap = malloc(3 * longest * sizeof *w.heap);
    w.known = malloc(sizeof *w.known << KNOWN_BITS);
    if (*merges && w.part && w.heap && w.known) {
        memset(w.known, 0xFF, sizeof *w.known << KNOWN_BITS); /* TG_TOKEN_NONE */
        find_merges(&w, *merges, n_merges, unmade, v);
    } else {
        status = tg_fail_memory(err, v->n * sizeof **merges, "merges");
        free(*merges);
        *merges = NULL;
    }
    free(w.part);
    free(w.heap);
    free(w.known);
    return status;
}
