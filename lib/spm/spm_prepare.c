#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/size.h"
#include "lib/base/utf8.h"
#include "lib/bpe/bpe.h"
#include "lib/bpe/token_arrays.h"
#include "lib/bpe/token_table.h"
#include "lib/spm/spm_state.h"

/* What is needed only while a vocabulary is prepared. */
struct scratch {
    tg_token_table table;     /* of the symbols that merge */
    uint64_t secret[4];       /* numbers that follow from the whole vocabulary */
    uint64_t *inside, *alone; /* [CODE_WORDS] characters that occur in pieces, and that are pieces */
    uint32_t *sorted;         /* pieces that merge, from the highest score */
    uint32_t (*halves)[2];    /* [n_merges] in that order */
    uint32_t *made;           /* [n_merges] */
    size_t n_sorted, n_merges;
};

#define CODE_WORDS (TG_SPM_CODES / 64)

/* ---- the arrays */

static const unsigned char *piece(const tg_spm *s, size_t id, size_t *n)
{
    return tg_token_text(s->ends, s->tokens, id, n);
}

static tg_status check_piece(const tg_spm *s, size_t id, tg_err *err)
{
    const unsigned type = s->types[id];
    size_t n;
    const unsigned char *text = piece(s, id, &n);

    if (type < TG_SPM_NORMAL || type > TG_SPM_BYTE)
        return tg_fail(err, TG_EDATA, "token %zu has type %u, expected 1 to %d", id, type, TG_SPM_BYTE);
    if (!isfinite(s->scores[id]))
        return tg_fail(err, TG_EDATA, "token %zu has score %f, expected a finite number", id,
                       (double)s->scores[id]);
    if (type == TG_SPM_BYTE && n != 1)
        return tg_fail(err, TG_EDATA, "token %zu is a byte of %zu bytes", id, n);
    if ((tg_spm_merges(s->types[id]) || type == TG_SPM_USER_DEFINED) && !tg_utf8_valid(text, n))
        return tg_fail(err, TG_EDATA, "token %zu is not UTF-8", id);
    if (type == TG_SPM_USER_DEFINED && n > TG_SPECIAL_MAX)
        return tg_fail(err, TG_EDATA, "user-defined token %zu has %zu bytes, expected at most %zu", id, n,
                       TG_SPECIAL_MAX);
    return TG_OK;
}

/* Take the ids of bytes and of the first unknown piece. */
static tg_status find_fallback(tg_spm *s, tg_err *err)
{
    size_t n, bytes = 0;

    s->unknown = -1;
    memset(s->byte_ids, 0xFF, sizeof s->byte_ids);
    for (size_t id = 0; id < s->vocab.n; id++) {
        int32_t *byte;

        if (s->types[id] == TG_SPM_UNKNOWN && s->unknown < 0)
            s->unknown = (int32_t)id;
        if (s->types[id] != TG_SPM_BYTE)
            continue;
        byte = &s->byte_ids[*piece(s, id, &n)];
        if (*byte >= 0)
            return tg_fail(err, TG_EDATA, "tokens %ld and %zu are the same byte", (long)*byte, id);
        *byte = (int32_t)id;
        bytes++;
    }
    if (bytes != 0 && bytes != 256)
        return tg_fail(err, TG_EDATA, "%zu tokens are bytes, expected 256 or none", bytes);
    s->bytes = bytes > 0;
    return TG_OK;
}

static tg_status check_special(const tg_spm *s, tg_err *err)
{
    for (size_t i = 0; i < s->vocab.n_special; i++) {
        const uint32_t id = s->special[i];

        if (s->types[id] != TG_SPM_CONTROL && s->types[id] != TG_SPM_UNKNOWN)
            return tg_fail(err, TG_EDATA, "special token %lu has type %u, expected %d or %d",
                           (unsigned long)id, s->types[id], TG_SPM_UNKNOWN, TG_SPM_CONTROL);
    }
    return TG_OK;
}

static tg_status check_arrays(tg_spm *s, struct scratch *c, tg_err *err)
{
    const tg_token_arrays t = {s->vocab.n, s->ends, s->tokens, s->n_bytes, s->special, s->vocab.n_special};
    tg_status status = tg_token_arrays_check(&t, err);

    for (size_t id = 0; !status && id < s->vocab.n; id++)
        status = check_piece(s, id, err);
    if (status || (status = check_special(s, err)))
        return status;
    tg_token_arrays_secret(c->secret, &t, s->scores, s->vocab.n * sizeof *s->scores);
    return find_fallback(s, err);
}

/* ---- symbols */

/* Whether merging may make piece `id`: its text can occur.  (A space of its own cannot.) */
static bool takes_part(const tg_spm *s, size_t id)
{
    size_t n;
    const unsigned char *text = piece(s, id, &n);

    return tg_spm_merges(s->types[id]) && n > 0 && !memchr(text, ' ', n);
}

/* Write a piece's text with spaces for U+2581; returns its bytes. */
static size_t put_text(unsigned char *out, const unsigned char *text, size_t n)
{
    size_t put = 0;

    for (size_t i = 0; i < n;) {
        const bool space = n - i >= TG_SPM_SPACE_BYTES && memcmp(text + i, TG_SPM_SPACE, 3) == 0;

        out[put++] = space ? ' ' : text[i];
        i += space ? TG_SPM_SPACE_BYTES : 1;
    }
    return put;
}

static void mark(uint64_t *set, uint32_t code)
{
    set[code / 64] |= UINT64_C(1) << code % 64;
}

/* Mark the characters of the pieces that merge; returns how many occur in pieces but are none. */
static size_t mark_characters(const tg_spm *s, struct scratch *c)
{
    size_t only_inside = 0;

    for (size_t id = 0; id < s->vocab.n; id++) {
        uint32_t code = 0;
        size_t n, length;
        const unsigned char *text = piece(s, id, &n);

        if (!takes_part(s, id))
            continue;
        for (size_t at = 0; at < n; at += length) {
            length = tg_spm_decode(&code, text + at, n - at);
            mark(c->inside, code);
            if (length == n)
                mark(c->alone, code);
        }
    }
    for (size_t w = 0; w < CODE_WORDS; w++)
        only_inside += (size_t)__builtin_popcountll(c->inside[w] & ~c->alone[w]);
    return only_inside;
}

/* Write the texts of all symbols. */
static void put_texts(tg_spm *s, const struct scratch *c)
{
    size_t put = 0, symbol = 0;

    for (; symbol < s->vocab.n; symbol++) {
        size_t n;
        const unsigned char *text = piece(s, symbol, &n);

        put += put_text(s->text + put, text, n);
        s->text_ends[symbol] = (uint32_t)put;
    }
    for (size_t w = 0; w < CODE_WORDS; w++)
        for (uint64_t bits = c->inside[w] & ~c->alone[w]; bits != 0; bits &= bits - 1) {
            const uint32_t code = (uint32_t)(64 * w) + (uint32_t)__builtin_ctzll(bits);

            put += tg_utf8_encode((char *)s->text + put, code);
            s->text_ends[symbol++] = (uint32_t)put;
        }
}

static tg_status make_texts(tg_spm *s, struct scratch *c, tg_err *err)
{
    size_t characters, bytes;

    c->inside = calloc(CODE_WORDS, sizeof *c->inside);
    c->alone = calloc(CODE_WORDS, sizeof *c->alone);
    if (!c->inside || !c->alone)
        return tg_fail_memory(err, 2 * CODE_WORDS * sizeof *c->inside, "characters");
    characters = mark_characters(s, c);
    s->n_symbols = s->vocab.n + characters;
    bytes = s->n_bytes + characters * TG_UTF8_MAX;
    s->text = malloc(tg_size_max(bytes, 1));
    s->text_ends = malloc(s->n_symbols * sizeof *s->text_ends);
    s->order = malloc(s->n_symbols * sizeof *s->order);
    s->made_by = malloc(s->n_symbols * sizeof *s->made_by);
    if (!s->text || !s->text_ends || !s->order || !s->made_by)
        return tg_fail_memory(err, bytes + s->n_symbols * 3 * sizeof *s->order, "a vocabulary");
    put_texts(s, c);
    return TG_OK;
}

/* Add a symbol that merges to the table and, if it is one character, to the characters. */
static tg_status add_symbol(tg_spm *s, struct scratch *c, uint32_t symbol, tg_err *err)
{
    uint32_t code, same = tg_token_table_add(&c->table, symbol);
    size_t n;
    const unsigned char *text = tg_spm_text(s, symbol, &n);

    if (same != symbol)
        return tg_fail(err, TG_EDATA, "token %lu has the text of token %lu", (unsigned long)symbol,
                       (unsigned long)same);
    if (tg_spm_decode(&code, text, n) < n)
        return TG_OK;
    return tg_spm_symbols_set(&s->symbols, code, symbol, err);
}

static tg_status add_symbols(tg_spm *s, struct scratch *c, tg_err *err)
{
    size_t longest = 0, n;
    tg_status status;

    for (size_t i = 0; i < s->n_symbols; i++) {
        (void)tg_spm_text(s, (uint32_t)i, &n);
        longest = tg_size_max(longest, n);
    }
    if ((status = tg_spm_symbols_create(&s->symbols, err)) ||
        (status =
             tg_token_table_create(&c->table, s->text_ends, s->text, s->n_symbols, longest, c->secret, err)))
        return status;
    for (size_t i = 0; !status && i < s->n_symbols; i++)
        if (i >= s->vocab.n || takes_part(s, i))
            status = add_symbol(s, c, (uint32_t)i, err);
    return status;
}

/* ---- merges */

/* A piece that merges, for sorting. */
struct scored {
    float score;
    uint32_t id;
};

static int compare(const void *x, const void *y)
{
    const struct scored *a = x, *b = y;

    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

/* Order the pieces that merge by their scores. */
static tg_status sort_pieces(tg_spm *s, struct scratch *c, tg_err *err)
{
    struct scored *list = malloc(s->vocab.n * sizeof *list);
    uint32_t order = 0;

    c->sorted = malloc(s->vocab.n * sizeof *c->sorted);
    if (!list || !c->sorted) {
        free(list);
        return tg_fail_memory(err, s->vocab.n * (sizeof *list + sizeof *c->sorted), "scores");
    }
    for (size_t id = 0; id < s->vocab.n; id++)
        if (takes_part(s, id))
            list[c->n_sorted++] = (struct scored){s->scores[id], (uint32_t)id};
    qsort(list, c->n_sorted, sizeof *list, compare);
    for (size_t i = 0; i < s->n_symbols; i++)
        s->order[i] = s->made_by[i] = TG_RANK_NONE;
    for (size_t i = 0; i < c->n_sorted; i++) {
        order += i > 0 && list[i].score != list[i - 1].score;
        c->sorted[i] = list[i].id;
        s->order[list[i].id] = order;
    }
    free(list);
    return TG_OK;
}

/* Merge the characters of each piece to find its merge. */
static tg_status find_merges(tg_spm *s, struct scratch *c, tg_err *err)
{
    tg_spm_merger merger = {
        .symbols = &s->symbols, .table = &c->table, .order = s->order, .limit = TG_RANK_NONE};
    tg_status status = TG_OK;

    c->halves = malloc(tg_size_max(c->n_sorted, 1) * sizeof *c->halves);
    c->made = malloc(tg_size_max(c->n_sorted, 1) * sizeof *c->made);
    if (!c->halves || !c->made)
        return tg_fail_memory(err, c->n_sorted * (sizeof *c->halves + sizeof *c->made), "merges");
    for (size_t i = 0; !status && i < c->n_sorted; i++) {
        size_t n;
        const unsigned char *text = tg_spm_text(s, c->sorted[i], &n);

        status = tg_spm_merge(&merger, text, n, err);
        if (status || merger.n == 1 || merger.nodes[0].next < merger.n)
            continue;
        memcpy(c->halves[c->n_merges], merger.last, sizeof *c->halves);
        c->made[c->n_merges] = c->sorted[i];
        s->made_by[c->sorted[i]] = (uint32_t)c->n_merges++;
        s->longest = tg_size_max(s->longest, n);
        s->divides = s->divides || s->types[c->sorted[i]] == TG_SPM_UNUSED;
    }
    tg_spm_merger_free(&merger);
    return status;
}

/* Of the merges of one order, [first..end): whether each comes after those of its halves, and begins with no
 * symbol that another one ends with.  right_of [symbols]: all TG_RANK_NONE, before and after. */
static bool is_order_proper(const tg_spm *s, const struct scratch *c, size_t first, size_t end,
                            uint32_t *right_of)
{
    const uint32_t order = s->order[c->made[first]], several = TG_RANK_NONE - 1;
    bool proper = true;

    for (size_t r = first; r < end; r++) {
        uint32_t *right = &right_of[c->halves[r][1]];

        *right = *right == TG_RANK_NONE ? (uint32_t)r : several;
    }
    for (size_t r = first; r < end; r++) {
        const uint32_t left = c->halves[r][0], right = c->halves[r][1];

        proper = proper && (s->made_by[left] == TG_RANK_NONE || s->order[left] < order) &&
                 (s->made_by[right] == TG_RANK_NONE || s->order[right] < order) &&
                 (right_of[left] == TG_RANK_NONE || right_of[left] == r);
    }
    for (size_t r = first; r < end; r++)
        right_of[c->halves[r][1]] = TG_RANK_NONE;
    return proper;
}

/* Whether the merges of all orders are proper, except perhaps those of the last, which are then the tail. */
static bool find_tail(tg_spm *s, const struct scratch *c, uint32_t *right_of)
{
    s->tail = TG_RANK_NONE;
    memset(right_of, 0xFF, s->n_symbols * sizeof *right_of);
    for (size_t first = 0, end = 0; first < c->n_merges; first = end) {
        const uint32_t order = s->order[c->made[first]];

        while (end < c->n_merges && s->order[c->made[end]] == order)
            end++;
        if (is_order_proper(s, c, first, end, right_of))
            continue;
        if (end < c->n_merges)
            return false;
        s->tail = order;
    }
    return true;
}

/* Which characters merges join. */
static tg_status add_joined(tg_spm *s, const struct scratch *c, tg_err *err)
{
    tg_status status = tg_spm_joined_create(&s->symbols, c->n_merges, err);

    for (size_t r = 0; !status && r < c->n_merges; r++) {
        size_t n;
        const unsigned char *text = tg_spm_text(s, c->halves[r][0], &n);
        const uint32_t left = tg_spm_decode_last(text, n);
        uint32_t right;

        text = tg_spm_text(s, c->halves[r][1], &n);
        (void)tg_spm_decode(&right, text, n);
        tg_spm_joined_add(&s->symbols, left, right);
    }
    return status;
}

static tg_status add_merges(tg_spm *s, const struct scratch *c, tg_err *err)
{
    uint32_t byte_ids[256];

    memset(byte_ids, 0xFF, sizeof byte_ids);
    s->n_merges = c->n_merges;
    return tg_pairs_create(&s->pairs, (const uint32_t(*)[2])c->halves, c->made, c->n_merges, NULL, byte_ids,
                           c->secret[2], err);
}

/* Prepare for encoding long strings in blocks. */
static tg_status add_prefixes(tg_spm *s, const struct scratch *c, tg_err *err)
{
    uint32_t *right_of = malloc(s->n_symbols * sizeof *right_of);
    size_t prefixes = 0, n;
    tg_status status = TG_OK;

    if (!right_of)
        return tg_fail_memory(err, s->n_symbols * sizeof *right_of, "checking merges");
    s->blocks = s->longest <= TG_SPM_BLOCKS_PIECE && find_tail(s, c, right_of);
    free(right_of);
    if (!s->blocks)
        return TG_OK;
    for (size_t r = 0; r < c->n_merges; r++) {
        (void)tg_spm_text(s, c->made[r], &n);
        prefixes += n - 1;
    }
    status = tg_prefix_filter_create(&s->prefixes, prefixes, err);
    for (size_t r = 0; !status && r < c->n_merges; r++) {
        const unsigned char *text = tg_spm_text(s, c->made[r], &n);

        if (s->order[c->made[r]] < s->tail)
            tg_prefix_filter_add(&s->prefixes, text, n);
    }
    return status;
}

/* ---- user-defined pieces */

/* The user-defined piece `id`, or the piece before it that it equals.  A character that is no piece but
 * occurs in some is in the table already; the first user-defined piece may be that, and is then marked. */
static uint32_t find_equal(const tg_spm *s, struct scratch *c, uint32_t id)
{
    const uint32_t same = tg_token_table_add(&c->table, id);
    uint32_t code, before = 0;
    size_t n, m;
    const unsigned char *text = tg_spm_text(s, id, &n), *other;

    if (same < s->vocab.n)
        return same;
    (void)tg_spm_decode(&code, text, n);
    if (!(c->alone[code / 64] >> code % 64 & 1)) {
        mark(c->alone, code);
        return id;
    }
    do
        other = tg_spm_text(s, before++, &m);
    while (s->types[before - 1] != TG_SPM_USER_DEFINED || m != n || memcmp(other, text, n) != 0);
    return before - 1;
}

static tg_status add_user_defined(tg_spm *s, struct scratch *c, tg_err *err)
{
    tg_specials *u = &s->user_defined;
    size_t n = 0, length;

    for (size_t id = 0; id < s->vocab.n; id++)
        n += s->types[id] == TG_SPM_USER_DEFINED;
    if (!(u->tokens = malloc(tg_size_max(n, 1) * sizeof *u->tokens)))
        return tg_fail_memory(err, n * sizeof *u->tokens, "user-defined tokens");
    for (size_t id = 0; id < s->vocab.n; id++) {
        const unsigned char *text = tg_spm_text(s, (uint32_t)id, &length);
        uint32_t same;

        if (s->types[id] != TG_SPM_USER_DEFINED || length == 0)
            continue;
        if ((same = find_equal(s, c, (uint32_t)id)) != id)
            return tg_fail(err, TG_EDATA, "user-defined token %zu has the text of token %lu", id,
                           (unsigned long)same);
        u->tokens[u->n++] = (tg_special_token){text, (uint32_t)length, (int32_t)id};
        tg_spm_stop_before(&s->symbols, text[0]);
    }
    tg_specials_index(u);
    return TG_OK;
}

tg_status tg_spm_prepare(tg_spm *s, tg_err *err)
{
    struct scratch c = {0};
    tg_status status;

    if ((status = check_arrays(s, &c, err)) || (status = make_texts(s, &c, err)) ||
        (status = add_symbols(s, &c, err)) || (status = sort_pieces(s, &c, err)) ||
        (status = find_merges(s, &c, err)) || (status = add_joined(s, &c, err)) ||
        (status = add_merges(s, &c, err)) || (status = add_prefixes(s, &c, err)))
        goto done;
    status = add_user_defined(s, &c, err); /* last: merges do not make them */

done:
    tg_token_table_free(&c.table);
    free(c.inside);
    free(c.alone);
    free(c.sorted);
    free(c.halves);
    free(c.made);
    return status;
}
