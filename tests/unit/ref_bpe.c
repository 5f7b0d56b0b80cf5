#include "tests/unit/ref_bpe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/size.h"
#include "lib/unicode/normalize.h"

static void *must(void *p)
{
    if (!p)
        abort();
    return p;
}

/* ---- vocabularies */

void ref_vocab_begin(ref_vocab *v, tg_split split)
{
    *v = (ref_vocab){.view = {.split = split}};
}

static void grow_to(ref_vocab *v, size_t capacity)
{
    v->capacity = capacity;
    v->ends = must(realloc(v->ends, capacity * sizeof *v->ends));
    v->tokens = must(realloc(v->tokens, capacity * 64));
    v->merges = must(realloc(v->merges, capacity * sizeof *v->merges));
    v->special = must(realloc(v->special, capacity * sizeof *v->special));
    v->added = must(realloc(v->added, capacity * sizeof *v->added));
}

static void grow(ref_vocab *v)
{
    tg_bpe_vocab *w = &v->view;

    if (tg_size_max(w->n, w->n_merges) + 1 >= v->capacity)
        grow_to(v, 2 * v->capacity + 256);
    w->ends = v->ends;
    w->tokens = v->tokens;
    w->merges = (const uint32_t(*)[2])v->merges;
    w->special = v->special;
    w->added = v->added;
}

static const unsigned char *text_of(const ref_vocab *v, uint32_t id, size_t *n)
{
    const uint32_t from = id > 0 ? v->ends[id - 1] : 0;

    *n = v->ends[id] - from;
    return v->tokens + from;
}

uint32_t ref_vocab_add(ref_vocab *v, const void *text, size_t n)
{
    size_t from;

    grow(v);
    from = v->view.n > 0 ? v->ends[v->view.n - 1] : 0;
    while (from + n > v->capacity * 64) {
        grow_to(v, 2 * v->capacity);
        grow(v);
    }
    if (n > 0)
        memcpy(v->tokens + from, text, n);
    v->ends[v->view.n] = (uint32_t)(from + n);
    return (uint32_t)v->view.n++;
}

uint32_t ref_vocab_add_special(ref_vocab *v, const char *text)
{
    const uint32_t id = ref_vocab_add(v, text, strlen(text));

    v->special[v->view.n_special++] = id;
    return id;
}

uint32_t ref_vocab_add_added(ref_vocab *v, const char *text)
{
    const uint32_t id = ref_vocab_add(v, text, strlen(text));

    v->added[v->view.n_added++] = id;
    return id;
}

void ref_vocab_add_bytes(ref_vocab *v)
{
    for (unsigned i = 0; i < 256; i++)
        (void)ref_vocab_add(v, &(unsigned char){(unsigned char)i}, 1);
}

static bool is_ordinary(const ref_vocab *v, uint32_t id)
{
    for (size_t i = 0; i < v->view.n_special; i++)
        if (v->special[i] == id)
            return false;
    for (size_t i = 0; i < v->view.n_added; i++)
        if (v->added[i] == id)
            return false;
    return true;
}

uint32_t ref_vocab_find(const ref_vocab *v, const unsigned char *text, size_t n)
{
    for (uint32_t id = 0; id < v->view.n; id++) {
        size_t length;
        const unsigned char *token = text_of(v, id, &length);

        if (length == n && n > 0 && memcmp(token, text, n) == 0 && is_ordinary(v, id))
            return id;
    }
    return UINT32_MAX;
}

static size_t join(const ref_vocab *v, unsigned char *both, uint32_t a, uint32_t b)
{
    size_t n, m;
    const unsigned char *x = text_of(v, a, &n), *y = text_of(v, b, &m);

    memcpy(both, x, n);
    memcpy(both + n, y, m);
    return n + m;
}

static size_t rank_of(const ref_vocab *v, uint32_t a, uint32_t b)
{
    size_t r = 0;

    while (r < v->view.n_merges && (v->merges[r][0] != a || v->merges[r][1] != b))
        r++;
    return r;
}

bool ref_vocab_merge(ref_vocab *v, uint32_t a, uint32_t b)
{
    unsigned char both[2 * TG_BPE_TOKEN_MAX];
    const size_t n = join(v, both, a, b);

    if (rank_of(v, a, b) < v->view.n_merges)
        return false;
    grow(v);
    if (ref_vocab_find(v, both, n) == UINT32_MAX)
        (void)ref_vocab_add(v, both, n);
    v->merges[v->view.n_merges][0] = a;
    v->merges[v->view.n_merges++][1] = b;
    return true;
}

/* Replace each pair (a, b), from left to right, by c; returns how many ids are left. */
static size_t replace(uint32_t *ids, size_t n, uint32_t a, uint32_t b, uint32_t c)
{
    size_t m = 0;

    for (size_t i = 0; i < n; i++) {
        if (i + 1 < n && ids[i] == a && ids[i + 1] == b) {
            ids[m++] = c;
            i++;
        } else {
            ids[m++] = ids[i];
        }
    }
    return m;
}

void ref_vocab_learn(ref_vocab *v, const unsigned char *text, size_t n_text, size_t n)
{
    const size_t side = v->view.n + n;
    uint32_t *ids = must(malloc((n_text + 1) * sizeof *ids)), *counts = must(malloc(side * side * 4));
    size_t n_ids = n_text;

    for (size_t i = 0; i < n_text; i++)
        ids[i] = ref_vocab_find(v, text + i, 1);
    for (; n > 0; n--) {
        size_t best = 0;

        memset(counts, 0, side * side * sizeof *counts);
        for (size_t i = 0; i + 1 < n_ids; i++)
            counts[ids[i] * side + ids[i + 1]]++;
        for (size_t p = 0; p < side * side; p++)
            best = counts[p] > counts[best] ? p : best;
        if (counts[best] == 0)
            break;
        (void)ref_vocab_merge(v, (uint32_t)(best / side), (uint32_t)(best % side));
        n_ids =
            replace(ids, n_ids, (uint32_t)(best / side), (uint32_t)(best % side), (uint32_t)v->view.n - 1);
    }
    free(ids);
    free(counts);
}

/* ---- GPT-2's */

/* Bytes stand for themselves, or for U+0100 and so on, in order. */
static bool stands_for_itself(unsigned c)
{
    return (c >= 0x21 && c <= 0x7E) || (c >= 0xA1 && c <= 0xAC) || c >= 0xAE;
}

/* The bytes of a word of the file, up to ' ' or a line's end; *word: after it. */
static size_t read_word(unsigned char *bytes, const unsigned char **word)
{
    unsigned char others[68];
    size_t n = 0, m = 0;

    for (unsigned c = 0; c < 256; c++)
        if (!stands_for_itself(c))
            others[m++] = (unsigned char)c;
    while (**word > ' ') {
        unsigned code = *(*word)++;

        if (code >= 0x80)
            code = (code & 0x1F) << 6 | (*(*word)++ & 0x3F);
        bytes[n++] = code >= 0x100 ? others[code - 0x100] : (unsigned char)code;
    }
    ++*word;
    return n;
}

/* A token by its text, in few enough steps for 50,000 merges: ids of tokens with the same hash. */
static uint32_t *bucket(uint32_t *table, const ref_vocab *v, const unsigned char *text, size_t n)
{
    uint32_t hash = 1;
    size_t length;

    for (size_t i = 0; i < n; i++)
        hash = hash * 16777619 ^ text[i];
    for (hash &= 0x3FFFF; table[hash] != 0; hash = (hash + 1) & 0x3FFFF) {
        const unsigned char *token = text_of(v, table[hash] - 1, &length);

        if (length == n && memcmp(token, text, n) == 0)
            break;
    }
    return &table[hash];
}

static void add_hashed(ref_vocab *v, uint32_t *table, const unsigned char *text, size_t n)
{
    *bucket(table, v, text, n) = ref_vocab_add(v, text, n) + 1;
}

bool ref_vocab_gpt2(ref_vocab *v, const char *path)
{
    unsigned char a[256], b[256], *file = must(calloc(1, 1 << 20));
    uint32_t *table = must(calloc(0x40000, sizeof *table));
    const unsigned char *at = file;
    FILE *f = fopen(path, "rb");
    bool ok = f != NULL && fread(file, 1, (1 << 20) - 1, f) > 0;

    ref_vocab_begin(v, TG_SPLIT_GPT2);
    for (unsigned turn = 0; turn < 2; turn++)
        for (unsigned c = 0; c < 256; c++)
            if (stands_for_itself(c) == (turn == 0))
                add_hashed(v, table, &(unsigned char){(unsigned char)c}, 1);
    for (at = ok ? (unsigned char *)strchr((char *)file, '\n') + 1 : file; *at != '\0';) {
        const size_t n = read_word(a, &at), m = read_word(b, &at);

        grow(v);
        v->merges[v->view.n_merges][0] = *bucket(table, v, a, n) - 1;
        v->merges[v->view.n_merges++][1] = *bucket(table, v, b, m) - 1;
        memcpy(a + n, b, m);
        add_hashed(v, table, a, n + m);
    }
    (void)ref_vocab_add_special(v, "<|endoftext|>");
    if (f)
        fclose(f);
    free(file);
    free(table);
    return ok;
}

const tg_tokenizer *ref_vocab_tokenizer(const ref_vocab *v)
{
    const tg_tokenizer *tok;
    tg_err err;

    if (tg_bpe_create(&tok, &v->view, &err)) {
        fprintf(stderr, "%s\n", err.message);
        abort();
    }
    return tok;
}

void ref_vocab_free(ref_vocab *v)
{
    free(v->ends);
    free(v->tokens);
    free(v->merges);
    free(v->special);
    free(v->added);
}

/* ---- the definition */

size_t ref_bpe_piece(const ref_vocab *v, int32_t *ids, const unsigned char *piece, size_t n)
{
    unsigned char both[2 * TG_BPE_TOKEN_MAX];
    uint32_t whole = v->view.whole_pieces ? ref_vocab_find(v, piece, n) : UINT32_MAX;
    size_t *ranks;

    if (whole != UINT32_MAX) {
        ids[0] = (int32_t)whole;
        return 1;
    }
    if (n == 0)
        return 0;
    for (size_t i = 0; i < n; i++)
        ids[i] = (int32_t)ref_vocab_find(v, piece + i, 1);
    ranks = must(malloc(n * sizeof *ranks)); /* of each id and the next */
    for (size_t i = 0; i + 1 < n; i++)
        ranks[i] = rank_of(v, (uint32_t)ids[i], (uint32_t)ids[i + 1]);
    for (;;) {
        size_t best = v->view.n_merges, at = 0;

        for (size_t i = 0; i + 1 < n; i++)
            if (ranks[i] < best)
                best = ranks[at = i];
        if (best == v->view.n_merges)
            break;
        ids[at] = (int32_t)ref_vocab_find(v, both, join(v, both, v->merges[best][0], v->merges[best][1]));
        memmove(ids + at + 1, ids + at + 2, (n - at - 2) * sizeof *ids);
        memmove(ranks + at, ranks + at + 1, (n - at - 2) * sizeof *ranks);
        n--;
        if (at > 0)
            ranks[at - 1] = rank_of(v, (uint32_t)ids[at - 1], (uint32_t)ids[at]);
        if (at + 1 < n)
            ranks[at] = rank_of(v, (uint32_t)ids[at], (uint32_t)ids[at + 1]);
    }
    free(ranks);
    return n;
}

size_t ref_bpe_text(const ref_vocab *v, int32_t *ids, const unsigned char *text, size_t n)
{
    tg_nfc *nfc = NULL;
    uint64_t *starts;
    tg_splitter s;
    size_t count = 0, from = 0;

    if (v->view.normalizer == TG_NORMALIZER_NFC &&
        (tg_nfc_create(&nfc, NULL) || tg_nfc_next(nfc, &text, &n, text, n, true, NULL)))
        abort();
    starts = must(malloc((TG_SPLIT_WORDS(n) + 1) * sizeof *starts));
    tg_splitter_start(&s, v->view.split);
    (void)tg_splitter_mark(&s, starts, text, n, true);
    for (size_t i = 1; i <= n; i++) {
        if (i < n && !(starts[i / 64] >> i % 64 & 1))
            continue;
        count += ref_bpe_piece(v, ids + count, text + from, i - from);
        from = i;
    }
    free(starts);
    tg_nfc_free(nfc);
    return count;
}

/* The longest of ids [n_ids] with which text [n] begins, if it is longer than *longest bytes: *longest and
 * *id.
 */
static void find_longest(const ref_vocab *v, const uint32_t *ids, size_t n_ids, const unsigned char *text,
                         size_t n, size_t *longest, int32_t *id)
{
    for (size_t i = 0; i < n_ids; i++) {
        size_t length;
        const unsigned char *token = text_of(v, ids[i], &length);

        if (length > *longest && length <= n && memcmp(token, text, length) == 0) {
            *longest = length;
            *id = (int32_t)ids[i];
        }
    }
}

size_t ref_bpe_search(const ref_vocab *v, bool special, int32_t *ids, const unsigned char *text, size_t n)
{
    size_t from = 0, count = 0;

    for (size_t at = 0; at <= n;) {
        size_t longest = 0;
        int32_t id = -1;

        find_longest(v, v->added, v->view.n_added, text + at, n - at, &longest, &id);
        if (special)
            find_longest(v, v->special, v->view.n_special, text + at, n - at, &longest, &id);
        if (at == n || longest > 0) {
            count += ref_bpe_text(v, ids + count, text + from, at - from);
            if (longest > 0)
                ids[count++] = id;
            from = at + longest;
        }
        at += tg_size_max(longest, 1);
    }
    return count;
}
