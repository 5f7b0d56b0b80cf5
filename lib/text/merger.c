#include "lib/text/merger.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/size.h"
#include "lib/text/cells.h"
#include "lib/text/pair_table.h"

#define BYTES 256
#define SPECIAL_MAX 1024 /* their texts stay far below TG_BPE_BYTES_MAX */
#define AHEAD 8          /* places whose cells are fetched in advance */

/* What a merge does to the pairs of one id with a neighbour: the counts, and how many places. */
typedef struct side {
    uint64_t lost;   /* by the pair with the old neighbour */
    uint64_t gained; /* by the pair with the new id */
    uint32_t *at;    /* places of the latter: the next to be written; NULL: not wanted */
    uint32_t n;      /* of them */
} side;

/* The ids that stand on one side of the merged pairs. */
typedef struct sides {
    side *of;        /* [capacity]: by id */
    uint32_t *known; /* [capacity]: n_known ids that have lost or gained */
    size_t n_known;
} sides;

struct tg_merger {
    tg_merger_settings settings;
    tg_split split;
    tg_cells cells;
    tg_pair_table pairs;

    /* by id */
    size_t n, capacity;    /* ids so far; what the arrays hold */
    uint32_t *ends;        /* [capacity]: as in tg_bpe_vocab */
    uint32_t (*halves)[2]; /* [capacity]: of id BYTES + i; the merges */
    sides left, right;     /* during a merge: neighbours of the merged pair */

    unsigned char *tokens;
    size_t n_tokens, tokens_capacity; /* bytes */

    uint32_t *special; /* [n_special] */
    size_t special_bytes;

    size_t passed_over; /* pairs whose tokens would be too long */
};

/* ---- memory */

/* Let *p hold n elements of `each` bytes. */
static tg_status resize(void *p, size_t n, size_t each, tg_err *err)
{
    const size_t bytes = tg_size_mul_sat(n, each);
    void *old, *new;

    memcpy(&old, p, sizeof old);
    if (!(new = realloc(old, bytes)))
        return tg_fail_memory(err, bytes, "the vocabulary");
    memcpy(p, &new, sizeof new);
    return TG_OK;
}

static tg_status resize_sides(sides *s, size_t from, size_t to, tg_err *err)
{
    tg_status status;

    if ((status = resize(&s->of, to, sizeof *s->of, err)) ||
        (status = resize(&s->known, to, sizeof *s->known, err)))
        return status;
    memset(s->of + from, 0, (to - from) * sizeof *s->of);
    return TG_OK;
}

/* Make room for another id, besides the special ones. */
static tg_status reserve_id(tg_merger *m, tg_err *err)
{
    const size_t need = m->n + 1 + m->settings.n_special;
    size_t capacity = tg_size_max(2 * m->capacity, need);
    tg_status status;

    if (need <= m->capacity)
        return TG_OK;
    if ((status = resize(&m->ends, capacity, sizeof *m->ends, err)) ||
        (status = resize(&m->halves, capacity, sizeof *m->halves, err)) ||
        (status = resize_sides(&m->left, m->capacity, capacity, err)) ||
        (status = resize_sides(&m->right, m->capacity, capacity, err)))
        return status;
    m->capacity = capacity;
    return TG_OK;
}

/* Make room for a token of n bytes, besides the special ones. */
static tg_status reserve_bytes(tg_merger *m, size_t n, tg_err *err)
{
    const size_t need = m->n_tokens + n + m->special_bytes;
    const size_t capacity = tg_size_max(2 * m->tokens_capacity, need);
    tg_status status;

    if (need <= m->tokens_capacity)
        return TG_OK;
    if ((status = resize(&m->tokens, capacity, 1, err)))
        return status;
    m->tokens_capacity = capacity;
    return TG_OK;
}

static void free_sides(sides *s)
{
    free(s->of);
    free(s->known);
}

void tg_merger_free(tg_merger *m)
{
    if (!m)
        return;
    tg_cells_free(&m->cells);
    tg_pair_table_free(&m->pairs);
    free(m->ends);
    free(m->halves);
    free_sides(&m->left);
    free_sides(&m->right);
    free(m->tokens);
    free(m->special);
    free(m);
}

size_t tg_merger_memory(const tg_merger *m)
{
    const size_t id = sizeof *m->ends + sizeof *m->halves + 2 * (sizeof(side) + sizeof(uint32_t));

    return tg_cells_memory(&m->cells) + tg_pair_table_memory(&m->pairs) + m->capacity * id +
           m->tokens_capacity;
}

/* ---- tokens */

static size_t token_start(const tg_merger *m, size_t id)
{
    return id == 0 ? 0 : m->ends[id - 1];
}

static uint32_t token_size(const tg_merger *m, uint32_t id)
{
    return m->ends[id] - (uint32_t)token_start(m, id);
}

size_t tg_merger_size(const tg_merger *m)
{
    return m->n;
}

const unsigned char *tg_merger_token(const tg_merger *m, uint32_t id, size_t *n)
{
    *n = token_size(m, id);
    return m->tokens + token_start(m, id);
}

/* Append the token that joins two; there is room. */
static void append_token(tg_merger *m, uint32_t left, uint32_t right)
{
    const uint32_t halves[2] = {left, right};

    memcpy(m->halves[m->n - BYTES], halves, sizeof halves);
    for (size_t h = 0; h < 2; h++) {
        const size_t size = token_size(m, halves[h]);

        memcpy(m->tokens + m->n_tokens, m->tokens + token_start(m, halves[h]), size);
        m->n_tokens += size;
    }
    m->ends[m->n++] = (uint32_t)m->n_tokens;
}

tg_status tg_merger_vocab(tg_merger *m, tg_bpe_vocab *vocab, tg_err *err)
{
    const size_t n_special = m->settings.n_special;
    size_t bytes = m->n_tokens;
    tg_status status;

    if ((status = reserve_id(m, err)) || (status = reserve_bytes(m, 0, err)))
        return status;
    for (size_t i = 0; i < n_special; i++) {
        const size_t size = strlen(m->settings.special[i]);

        memcpy(m->tokens + bytes, m->settings.special[i], size);
        bytes += size;
        m->ends[m->n + i] = (uint32_t)bytes;
        m->special[i] = (uint32_t)(m->n + i);
    }
    *vocab = (tg_bpe_vocab){
        .split = m->split,
        .n = m->n + n_special,
        .ends = m->ends,
        .tokens = m->tokens,
        .n_merges = m->n - BYTES,
        .merges = (const uint32_t(*)[2])m->halves,
        .n_special = n_special,
        .special = m->special,
    };
    return TG_OK;
}

/* ---- making */

static tg_status check_special(const tg_merger_settings *s, tg_err *err)
{
    for (size_t i = 0; i < s->n_special; i++) {
        const size_t n = strlen(s->special[i]);

        if (n == 0)
            return tg_fail(err, TG_EUSAGE, "special token %zu is empty, expected at least one byte", i + 1);
        if (n > TG_BPE_TOKEN_MAX)
            return tg_fail(err, TG_EUSAGE, "special token %zu has %zu bytes, expected at most %zu", i + 1, n,
                           TG_BPE_TOKEN_MAX);
        for (size_t j = 0; j < i; j++)
            if (strcmp(s->special[i], s->special[j]) == 0)
                return tg_fail(err, TG_EUSAGE, "special token %s is given twice", s->special[i]);
    }
    return TG_OK;
}

tg_status tg_merger_check(const tg_merger_settings *s, tg_err *err)
{
    const size_t least = BYTES + s->n_special;

    if (s->n_special > SPECIAL_MAX)
        return tg_fail(err, TG_EUSAGE, "%zu special tokens are too many: at most %d are possible",
                       s->n_special, SPECIAL_MAX);
    if (s->n < least)
        return tg_fail(err, TG_EUSAGE,
                       "a vocabulary of %zu ids is too small: %d bytes and %zu special token%s need %zu",
                       s->n, BYTES, s->n_special, s->n_special == 1 ? "" : "s", least);
    if (s->n > TG_BPE_TOKENS_MAX)
        return tg_fail(err, TG_EUSAGE, "a vocabulary of %zu ids is too large: at most %zu are possible", s->n,
                       TG_BPE_TOKENS_MAX);
    return check_special(s, err);
}

/* Check the settings, and replace those that are 0. */
static tg_status take_settings(tg_merger *m, const tg_merger_settings *settings, tg_err *err)
{
    const tg_status status = tg_merger_check(settings, err);

    if (status)
        return status;
    m->settings = *settings;
    if (m->settings.min_count == 0)
        m->settings.min_count = TG_MERGER_MIN_COUNT;
    if (m->settings.token_max == 0 || m->settings.token_max > TG_BPE_TOKEN_MAX)
        m->settings.token_max = TG_BPE_TOKEN_MAX;
    for (size_t i = 0; i < m->settings.n_special; i++)
        m->special_bytes += strlen(m->settings.special[i]);
    return TG_OK;
}

/* The ids of the bytes. */
static tg_status begin_tokens(tg_merger *m, tg_err *err)
{
    tg_status status;

    m->n = BYTES - 1;
    if ((status = reserve_id(m, err)) || (status = reserve_bytes(m, BYTES, err)) ||
        (status = resize(&m->special, tg_size_max(m->settings.n_special, 1), sizeof *m->special, err)))
        return status;
    for (uint32_t i = 0; i < BYTES; i++) {
        m->tokens[i] = (unsigned char)i;
        m->ends[i] = i + 1;
    }
    m->n = m->n_tokens = BYTES;
    return TG_OK;
}

/* Two neighbouring bytes in all pieces. */
typedef struct byte_pair {
    uint64_t count;
    uint32_t *at;
    uint32_t n;
} byte_pair;

/* The pair of bytes at cell i, or NULL. */
static byte_pair *byte_pair_at(byte_pair *pairs, const tg_cells *cells, size_t i)
{
    const uint32_t left = cells->cell[i].id, right = cells->cell[i + 1].id;

    return left < BYTES && right < BYTES ? &pairs[BYTES * left + right] : NULL;
}

/* Find all pairs of neighbouring bytes; the cells hold nothing but bytes. */
static tg_status find_byte_pairs(tg_merger *m, byte_pair *pairs, tg_err *err)
{
    const tg_cells *cells = &m->cells;
    tg_status status = TG_OK;
    byte_pair *p;

    for (size_t i = 0; i + 1 < cells->n; i++) {
        if ((p = byte_pair_at(pairs, cells, i))) {
            p->count += tg_cells_weight(cells, i);
            p->n++;
        }
    }
    for (uint32_t i = 0; !status && i < BYTES * BYTES; i++) {
        p = &pairs[i];
        if (p->n > 0 && p->count >= m->pairs.least)
            status =
                tg_pair_table_add(&m->pairs, tg_pair_key(i / BYTES, i % BYTES), p->count, p->n, &p->at, err);
    }
    if (status)
        return status;
    for (size_t i = 0; i + 1 < cells->n; i++)
        if ((p = byte_pair_at(pairs, cells, i)) && p->at)
            *p->at++ = (uint32_t)i;
    return TG_OK;
}

static tg_status begin_pairs(tg_merger *m, const uint64_t seed[2], tg_err *err)
{
    byte_pair *pairs = calloc(BYTES * BYTES, sizeof *pairs);
    tg_status status;

    tg_pair_table_init(&m->pairs, seed, m->settings.watch ? 1 : m->settings.min_count);
    if (!pairs)
        return tg_fail_memory(err, BYTES * BYTES * sizeof *pairs, "pairs of bytes");
    status = find_byte_pairs(m, pairs, err);
    free(pairs);
    return status;
}

tg_status tg_merger_create(tg_merger **out, tg_learn *l, const tg_merger_settings *settings, tg_err *err)
{
    tg_merger *m = calloc(1, sizeof *m);
    tg_status status;

    *out = NULL;
    if (!m)
        return tg_fail_memory(err, sizeof *m, "a merger");
    m->split = tg_learn_split(l);
    if ((status = take_settings(m, settings, err)) || (status = tg_learn_gather(l, err)) ||
        (status = begin_tokens(m, err)) ||
        (status = tg_cells_fill(&m->cells, tg_learn_counts(l), settings->watch, err)) ||
        (status = begin_pairs(m, tg_learn_counts(l)->seed, err)))
        tg_merger_free(m);
    else
        *out = m;
    return status;
}

/* ---- which pair */

/* Whether the token of a pair may be made. */
static bool fits(const tg_merger *m, uint64_t key)
{
    const size_t bytes = (size_t)token_size(m, (uint32_t)(key >> 32)) + token_size(m, (uint32_t)key);

    return bytes <= m->settings.token_max && bytes <= TG_BPE_BYTES_MAX - m->special_bytes - m->n_tokens;
}

/* The most frequent pair that may be merged, however rare, or NULL. */
static tg_pair *find_best(tg_merger *m)
{
    tg_pair *p;

    /* what does not fit now never will */
    while ((p = tg_pair_table_best(&m->pairs)) && !fits(m, p->key)) {
        const tg_pair taken = tg_pair_table_take(&m->pairs, p);

        tg_pair_free_places(&taken);
        m->passed_over++;
    }
    return p;
}

size_t tg_merger_passed_over(const tg_merger *m)
{
    return m->passed_over;
}

static tg_merger_pair describe(const tg_pair *p)
{
    return (tg_merger_pair){(uint32_t)(p->key >> 32), (uint32_t)p->key, p->count};
}

bool tg_merger_best(tg_merger *m, tg_merger_pair *best)
{
    const tg_pair *p = m->n + m->settings.n_special < m->settings.n ? find_best(m) : NULL;

    if (!p || p->count < m->settings.min_count)
        return false;
    *best = describe(p);
    return true;
}

size_t tg_merger_pairs(tg_merger *m, tg_merger_pair *pairs, size_t max)
{
    const tg_pair *p;
    size_t n = 0;

    while (n < max && (p = find_best(m))) {
        pairs[n++] = describe(p);
        tg_pair_table_pop(&m->pairs);
    }
    for (size_t i = 0; i < n; i++)
        tg_pair_table_push(&m->pairs,
                           (tg_pair_entry){tg_pair_key(pairs[i].left, pairs[i].right), pairs[i].count});
    return n;
}

/* ---- merging */

/* Note a place where the new id has the neighbour `id`. */
static void gain(sides *s, uint32_t id, uint64_t weight)
{
    side *of = &s->of[id];

    if (of->n == 0 && of->lost == 0)
        s->known[s->n_known++] = id;
    of->n++;
    of->gained += weight;
}

/* A merge: a pair, the new id and the bytes of each. */
typedef struct merge {
    uint32_t left, right, id;
    uint32_t left_size, size;
} merge;

/* Merge the pair at place i, where it occurs. */
static void merge_at(tg_merger *m, const merge *g, uint32_t i)
{
    const uint64_t weight = tg_cells_weight(&m->cells, i);
    const uint32_t left = tg_cells_before(&m->cells, i), right = m->cells.cell[i + g->size].id;

    tg_cells_merge(&m->cells, i, g->left_size, g->size, g->id);
    if (left != TG_CELL_BORDER) {
        gain(&m->left, left, weight);
        if (left != g->id) {
            m->left.of[left].lost += weight;
        } else { /* merged just now: what it gained on its right is gone */
            m->right.of[g->left].gained -= weight;
            m->right.of[g->left].n--;
        }
    }
    if (right != TG_CELL_BORDER) {
        gain(&m->right, right, weight);
        m->right.of[right].lost += weight;
    }
}

/* Merge the pair at all n places where it still occurs; they move to the front.  Returns their
 * number. */
static uint32_t merge_all(tg_merger *m, const merge *g, uint32_t *at, uint32_t n)
{
    const tg_cell *cell = m->cells.cell;
    uint32_t merged = 0;

    for (uint32_t k = 0; k < n; k++) {
        const uint32_t i = at[k];

        __builtin_prefetch(&cell[at[k + AHEAD < n ? k + AHEAD : k]], 1);
        if (cell[i].id == g->left && cell[i + g->left_size].id == g->right) {
            merge_at(m, g, i);
            at[merged++] = i;
        }
    }
    return merged;
}

/* Take what neighbours have lost away from their pairs, and add their pairs with the new id. */
static tg_status settle(tg_merger *m, sides *s, const merge *g, bool left, tg_err *err)
{
    for (size_t k = 0; k < s->n_known; k++) {
        const uint32_t id = s->known[k];
        side *of = &s->of[id];
        const uint64_t lost = left ? tg_pair_key(id, g->left) : tg_pair_key(g->right, id);
        const uint64_t gained = left ? tg_pair_key(id, g->id) : tg_pair_key(g->id, id);
        tg_status status;

        if (of->lost > 0)
            tg_pair_table_subtract(&m->pairs, lost, of->lost);
        if (of->n > 0 && of->gained >= m->pairs.least &&
            (status = tg_pair_table_add(&m->pairs, gained, of->gained, of->n, &of->at, err)))
            return status;
    }
    return TG_OK;
}

/* Write the n places of the merged pair into the lists of its pairs with its neighbours. */
static void list_places(tg_merger *m, const merge *g, const uint32_t *at, uint32_t n)
{
    const tg_cell *cell = m->cells.cell;

    for (uint32_t k = 0; k < n; k++) {
        const uint32_t i = at[k];
        const uint32_t left = tg_cells_before(&m->cells, i), right = cell[i + g->size].id;

        __builtin_prefetch(&cell[at[k + AHEAD < n ? k + AHEAD : k]]);
        if (left != TG_CELL_BORDER && m->left.of[left].at)
            *m->left.of[left].at++ = i - token_size(m, left);
        /* two new ids in a row are the left one's business */
        if (right != TG_CELL_BORDER && right != g->id && m->right.of[right].at)
            *m->right.of[right].at++ = i;
    }
}

static void clear_sides(sides *s)
{
    for (size_t k = 0; k < s->n_known; k++)
        s->of[s->known[k]] = (side){0};
    s->n_known = 0;
}

tg_status tg_merger_merge(tg_merger *m, tg_err *err)
{
    const tg_pair pair = tg_pair_table_take(&m->pairs, find_best(m));
    const uint32_t left = (uint32_t)(pair.key >> 32), right = (uint32_t)pair.key;
    merge g = {.left = left, .right = right, .id = (uint32_t)m->n, .left_size = token_size(m, left)};
    uint32_t n;
    tg_status status;

    g.size = g.left_size + token_size(m, right);
    if ((status = reserve_id(m, err)) || (status = reserve_bytes(m, g.size, err)))
        goto done;
    append_token(m, left, right);
    n = merge_all(m, &g, pair.at, pair.n);
    if ((status = settle(m, &m->left, &g, true, err)) || (status = settle(m, &m->right, &g, false, err)))
        goto done;
    list_places(m, &g, pair.at, n);
    clear_sides(&m->left);
    clear_sides(&m->right);

done:
    tg_pair_free_places(&pair);
    return status;
}

/* ---- watching */

size_t tg_merger_pieces(const tg_merger *m)
{
    return m->cells.n_starts;
}

size_t tg_merger_piece(const tg_merger *m, size_t i, uint64_t *count, uint32_t *ids, size_t max)
{
    size_t at = m->cells.starts[i], n = 0;

    *count = tg_cells_weight(&m->cells, at);
    for (uint32_t id; (id = m->cells.cell[at].id) != TG_CELL_BORDER; at += token_size(m, id)) {
        if (n < max)
            ids[n] = id;
        n++;
    }
    return n;
}
