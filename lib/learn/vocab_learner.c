#include "lib/learn/vocab_learner.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/grow.h"
#include "lib/bpe/token_table.h"
#include "lib/learn/cells.h"
#include "lib/learn/learned_tokens.h"
#include "lib/learn/pair_table.h"

#define SPECIAL_MAX 1024 /* their texts stay far below TG_BPE_BYTES_MAX */
#define AHEAD 8          /* places whose cells are fetched in advance */

/* What a merge does to the pairs of one neighbour: how counts change, and at how many places. */
typedef struct side {
    uint64_t lost;   /* by the pair with the old neighbour */
    uint64_t gained; /* by the pair with the new id */
    uint32_t *at;    /* places of the latter: the next to be written; NULL: not wanted */
    uint32_t n;      /* of them */
} side;

/* The ids on one side of the merged pairs. */
typedef struct sides {
    side *of;        /* [capacity]: by id */
    uint32_t *known; /* [known_capacity]: n_known ids that have lost or gained */
    size_t n_known, capacity, known_capacity;
} sides;

struct tg_vocab_learner {
    tg_vocab_learner_settings settings;
    tg_split split;
    tg_cells cells;
    tg_pair_table pairs;

    tg_learned_tokens tokens;
    sides left, right; /* during a merge: neighbours of the merged pair */

    size_t passed_over; /* pairs whose tokens would be too long */
};

/* ---- memory */

/* Make room for n ids. */
static tg_status reserve_sides(sides *s, size_t n, tg_err *err)
{
    static const char what[] = "the neighbours of a pair";
    const size_t old = s->capacity;
    tg_status status = tg_grow(&s->of, &s->capacity, n, sizeof *s->of, what, err);

    if (status)
        return status;
    memset(s->of + old, 0, (s->capacity - old) * sizeof *s->of);
    return tg_grow(&s->known, &s->known_capacity, n, sizeof *s->known, what, err);
}

/* Make room for another token of n bytes. */
static tg_status reserve(tg_vocab_learner *v, size_t n, tg_err *err)
{
    tg_status status;

    if ((status = tg_learned_tokens_reserve(&v->tokens, 1, n, err)) ||
        (status = reserve_sides(&v->left, v->tokens.n + 1, err)))
        return status;
    return reserve_sides(&v->right, v->tokens.n + 1, err);
}

static void free_sides(sides *s)
{
    free(s->of);
    free(s->known);
}

void tg_vocab_learner_free(tg_vocab_learner *v)
{
    if (!v)
        return;
    tg_cells_free(&v->cells);
    tg_pair_table_free(&v->pairs);
    tg_learned_tokens_free(&v->tokens);
    free_sides(&v->left);
    free_sides(&v->right);
    free(v);
}

size_t tg_vocab_learner_memory(const tg_vocab_learner *v)
{
    return tg_cells_memory(&v->cells) + tg_pair_table_memory(&v->pairs) +
           tg_learned_tokens_memory(&v->tokens) + (v->left.capacity + v->right.capacity) * sizeof(side) +
           (v->left.known_capacity + v->right.known_capacity) * sizeof(uint32_t);
}

/* ---- tokens */

static uint32_t token_size(const tg_vocab_learner *v, uint32_t id)
{
    size_t n;

    (void)tg_token_text(v->tokens.ends, v->tokens.text, id, &n);
    return (uint32_t)n;
}

size_t tg_vocab_learner_size(const tg_vocab_learner *v)
{
    return v->tokens.n;
}

const unsigned char *tg_vocab_learner_token(const tg_vocab_learner *v, uint32_t id, size_t *n)
{
    return tg_token_text(v->tokens.ends, v->tokens.text, id, n);
}

void tg_vocab_learner_vocab(tg_vocab_learner *v, tg_bpe_vocab *vocab)
{
    tg_learned_tokens_vocab(&v->tokens, v->split, vocab);
}

/* ---- making */

static tg_status check_special(const tg_vocab_learner_settings *s, tg_err *err)
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

tg_status tg_vocab_learner_check(const tg_vocab_learner_settings *s, tg_err *err)
{
    const size_t least = TG_LEARNED_BYTES + s->n_special;

    if (s->n_special > SPECIAL_MAX)
        return tg_fail(err, TG_EUSAGE, "%zu special tokens, expected at most %d", s->n_special, SPECIAL_MAX);
    if (s->n < least)
        return tg_fail(err, TG_EUSAGE,
                       "a vocabulary of %zu ids is too small: %d bytes and %zu special token%s need %zu",
                       s->n, TG_LEARNED_BYTES, s->n_special, s->n_special == 1 ? "" : "s", least);
    if (s->n > TG_BPE_TOKENS_MAX)
        return tg_fail(err, TG_EUSAGE, "a vocabulary of %zu ids is too large: at most %zu are possible", s->n,
                       TG_BPE_TOKENS_MAX);
    return check_special(s, err);
}

/* Check the settings, and replace those that are 0. */
static tg_status take_settings(tg_vocab_learner *v, const tg_vocab_learner_settings *settings, tg_err *err)
{
    const tg_status status = tg_vocab_learner_check(settings, err);

    if (status)
        return status;
    v->settings = *settings;
    if (v->settings.min_count == 0)
        v->settings.min_count = TG_VOCAB_MIN_COUNT;
    if (v->settings.token_max == 0 || v->settings.token_max > TG_BPE_TOKEN_MAX)
        v->settings.token_max = TG_BPE_TOKEN_MAX;
    return tg_learned_tokens_begin(&v->tokens, v->settings.special, v->settings.n_special, err);
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

    return left < TG_LEARNED_BYTES && right < TG_LEARNED_BYTES ? &pairs[TG_LEARNED_BYTES * left + right]
                                                               : NULL;
}

/* Find all pairs of neighbouring bytes; the cells hold nothing but bytes. */
static tg_status find_byte_pairs(tg_vocab_learner *v, byte_pair *pairs, tg_err *err)
{
    const tg_cells *cells = &v->cells;
    tg_status status = TG_OK;
    byte_pair *p;

    for (size_t i = 0; i + 1 < cells->n; i++) {
        if ((p = byte_pair_at(pairs, cells, i))) {
            p->count += tg_cells_weight(cells, i);
            p->n++;
        }
    }
    for (uint32_t i = 0; !status && i < TG_LEARNED_BYTES * TG_LEARNED_BYTES; i++) {
        p = &pairs[i];
        if (p->n > 0 && p->count >= v->pairs.least)
            status = tg_pair_table_add(&v->pairs, tg_pair_key(i / TG_LEARNED_BYTES, i % TG_LEARNED_BYTES),
                                       p->count, p->n, &p->at, err);
    }
    if (status)
        return status;
    for (size_t i = 0; i + 1 < cells->n; i++)
        if ((p = byte_pair_at(pairs, cells, i)) && p->at)
            *p->at++ = (uint32_t)i;
    return TG_OK;
}

static tg_status begin_pairs(tg_vocab_learner *v, const uint64_t seed[2], tg_err *err)
{
    byte_pair *pairs = calloc(TG_LEARNED_BYTES * TG_LEARNED_BYTES, sizeof *pairs);
    tg_status status;

    tg_pair_table_init(&v->pairs, seed, v->settings.watch ? 1 : v->settings.min_count);
    if (!pairs)
        return tg_fail_memory(err, TG_LEARNED_BYTES * TG_LEARNED_BYTES * sizeof *pairs, "pairs of bytes");
    status = find_byte_pairs(v, pairs, err);
    free(pairs);
    return status;
}

tg_status tg_vocab_learner_create(tg_vocab_learner **out, tg_learn *l,
                                  const tg_vocab_learner_settings *settings, tg_err *err)
{
    tg_vocab_learner *v = calloc(1, sizeof *v);
    tg_status status;

    *out = NULL;
    if (!v)
        return tg_fail_memory(err, sizeof *v, "a learner");
    v->split = tg_learn_split(l);
    if ((status = take_settings(v, settings, err)) || (status = tg_learn_gather(l, err)) ||
        (status = tg_cells_fill(&v->cells, tg_learn_counts(l), settings->watch, err)) ||
        (status = begin_pairs(v, tg_learn_counts(l)->seed, err)))
        tg_vocab_learner_free(v);
    else
        *out = v;
    return status;
}

/* ---- which pair */

/* Whether the token of a pair may be made. */
static bool fits(const tg_vocab_learner *v, uint64_t key)
{
    const size_t bytes = (size_t)token_size(v, (uint32_t)(key >> 32)) + token_size(v, (uint32_t)key);

    return bytes <= v->settings.token_max &&
           bytes <= TG_BPE_BYTES_MAX - v->tokens.special_bytes - v->tokens.bytes;
}

/* The most frequent pair that may be merged, however rare; NULL: none. */
static tg_pair *find_best(tg_vocab_learner *v)
{
    tg_pair *p;

    /* what does not fit now never will */
    while ((p = tg_pair_table_best(&v->pairs)) && !fits(v, p->key)) {
        const tg_pair taken = tg_pair_table_take(&v->pairs, p);

        tg_pair_free_places(&taken);
        v->passed_over++;
    }
    return p;
}

size_t tg_vocab_learner_passed_over(const tg_vocab_learner *v)
{
    return v->passed_over;
}

static tg_vocab_pair describe(const tg_pair *p)
{
    return (tg_vocab_pair){(uint32_t)(p->key >> 32), (uint32_t)p->key, p->count};
}

bool tg_vocab_learner_best(tg_vocab_learner *v, tg_vocab_pair *best)
{
    const tg_pair *p = v->tokens.n + v->settings.n_special < v->settings.n ? find_best(v) : NULL;

    if (!p || p->count < v->settings.min_count)
        return false;
    *best = describe(p);
    return true;
}

size_t tg_vocab_learner_pairs(tg_vocab_learner *v, tg_vocab_pair *pairs, size_t max)
{
    const tg_pair *p;
    size_t n = 0;

    while (n < max && (p = find_best(v))) {
        pairs[n++] = describe(p);
        tg_pair_table_pop(&v->pairs);
    }
    for (size_t i = 0; i < n; i++)
        tg_pair_table_push(&v->pairs,
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
static void merge_at(tg_vocab_learner *v, const merge *g, uint32_t i)
{
    const uint64_t weight = tg_cells_weight(&v->cells, i);
    const uint32_t left = v->cells.cell[i - 1].id, right = v->cells.cell[i + g->size].id;

    tg_cells_merge(&v->cells, i, g->left_size, g->size, g->id);
    if (left != TG_CELL_BORDER) {
        gain(&v->left, left, weight);
        if (left != g->id) {
            v->left.of[left].lost += weight;
        } else { /* merged just now: what it gained on its right is gone */
            v->right.of[g->left].gained -= weight;
            v->right.of[g->left].n--;
        }
    }
    if (right != TG_CELL_BORDER) {
        gain(&v->right, right, weight);
        v->right.of[right].lost += weight;
    }
}

/* Merge the pair at those of its n places where it still occurs, and move them to the front.  Returns
 * their number. */
static uint32_t merge_all(tg_vocab_learner *v, const merge *g, uint32_t *at, uint32_t n)
{
    const tg_cell *cell = v->cells.cell;
    uint32_t merged = 0;

    for (uint32_t k = 0; k < n; k++) {
        const uint32_t i = at[k];

        __builtin_prefetch(&cell[at[k + AHEAD < n ? k + AHEAD : k]], 1);
        if (cell[i].id == g->left && cell[i + g->left_size].id == g->right) {
            merge_at(v, g, i);
            at[merged++] = i;
        }
    }
    return merged;
}

/* Subtract the neighbours' losses from their pairs, and add their pairs with the new id. */
static tg_status update_pairs(tg_vocab_learner *v, sides *s, const merge *g, bool left, tg_err *err)
{
    for (size_t k = 0; k < s->n_known; k++) {
        const uint32_t id = s->known[k];
        side *of = &s->of[id];
        const uint64_t lost = left ? tg_pair_key(id, g->left) : tg_pair_key(g->right, id);
        const uint64_t gained = left ? tg_pair_key(id, g->id) : tg_pair_key(g->id, id);
        tg_status status;

        if (of->lost > 0)
            tg_pair_table_subtract(&v->pairs, lost, of->lost);
        if (of->n > 0 && of->gained >= v->pairs.least &&
            (status = tg_pair_table_add(&v->pairs, gained, of->gained, of->n, &of->at, err)))
            return status;
    }
    return TG_OK;
}

/* Write the n places of the merged pair into the lists of its pairs with its neighbours. */
static void list_places(tg_vocab_learner *v, const merge *g, const uint32_t *at, uint32_t n)
{
    const tg_cell *cell = v->cells.cell;

    for (uint32_t k = 0; k < n; k++) {
        const uint32_t i = at[k];
        const uint32_t left = cell[i - 1].id, right = cell[i + g->size].id;

        __builtin_prefetch(&cell[at[k + AHEAD < n ? k + AHEAD : k]]);
        if (left != TG_CELL_BORDER && v->left.of[left].at)
            *v->left.of[left].at++ = i - token_size(v, left);
        /* of two consecutive new ids, the right one lists the pair */
        if (right != TG_CELL_BORDER && v->right.of[right].at)
            *v->right.of[right].at++ = i;
    }
}

static void clear_sides(sides *s)
{
    for (size_t k = 0; k < s->n_known; k++)
        s->of[s->known[k]] = (side){0};
    s->n_known = 0;
}

tg_status tg_vocab_learner_merge(tg_vocab_learner *v, tg_err *err)
{
    const tg_pair pair = tg_pair_table_take(&v->pairs, find_best(v));
    const uint32_t left = (uint32_t)(pair.key >> 32), right = (uint32_t)pair.key;
    merge g = {.left = left, .right = right, .left_size = token_size(v, left)};
    uint32_t n;
    tg_status status;

    g.size = g.left_size + token_size(v, right);
    if ((status = reserve(v, g.size, err)))
        goto done;
    g.id = tg_learned_tokens_join(&v->tokens, left, right);
    n = merge_all(v, &g, pair.at, pair.n);
    if ((status = update_pairs(v, &v->left, &g, true, err)) ||
        (status = update_pairs(v, &v->right, &g, false, err)))
        goto done;
    list_places(v, &g, pair.at, n);
    clear_sides(&v->left);
    clear_sides(&v->right);

done:
    tg_pair_free_places(&pair);
    return status;
}

/* ---- watching */

size_t tg_vocab_learner_pieces(const tg_vocab_learner *v)
{
    return v->cells.n_starts;
}

size_t tg_vocab_learner_piece(const tg_vocab_learner *v, size_t i, uint64_t *count, uint32_t *ids, size_t max)
{
    size_t at = v->cells.starts[i], n = 0;

    *count = tg_cells_weight(&v->cells, at);
    for (uint32_t id; (id = v->cells.cell[at].id) != TG_CELL_BORDER; at += token_size(v, id)) {
        if (n < max)
            ids[n] = id;
        n++;
    }
    return n;
}
