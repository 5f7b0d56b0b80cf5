#include <stdlib.h>
#include <string.h>

#include "lib/base/size.h"
#include "lib/bpe/bpe_state.h"
#include "lib/bpe/merge.h"
#include "lib/bpe/token_arrays.h"
#include "lib/text/ids.h"
#include "lib/text/special.h"

/* What only the checks need. */
struct scratch {
    bool *apart;           /* [n] special or added: merges have nothing to do with it */
    bool *live;            /* [n_merges] */
    uint32_t *highest;     /* [n] the highest rank that makes a token, plus 1; 0: none does */
    int32_t *ids;          /* [longest] */
    uint64_t secret[4];    /* numbers that follow from the whole vocabulary */
    tg_token_table sought; /* all of those */
};

/* ---- tokens */

/* Check the added tokens, and note that they are apart, as the special ones are already. */
static tg_status check_added(const tg_bpe *b, struct scratch *s, tg_err *err)
{
    const tg_bpe_vocab *v = &b->vocab;
    const tg_status status = tg_token_arrays_check_ids(b->added, v->n_added, v->n, "added", err);

    for (size_t i = 0; !status && i < v->n_added; i++) {
        const uint32_t id = b->added[i];
        size_t n;

        (void)tg_bpe_token(b, id, &n);
        if (s->apart[id])
            return tg_fail(err, TG_EDATA, "token %lu is both special and added", (unsigned long)id);
        if (n == 0 || n > TG_SPECIAL_MAX)
            return tg_fail(err, TG_EDATA, "added token %lu has %zu bytes, expected 1 to %zu",
                           (unsigned long)id, n, TG_SPECIAL_MAX);
        s->apart[id] = true;
    }
    return status;
}

/* What a message calls a token that is apart. */
static const char *quality(const tg_bpe *b, size_t id)
{
    return tg_ids_contain(b->added, b->vocab.n_added, id) ? "added" : "special";
}

static tg_status check_arrays(const tg_bpe *b, struct scratch *s, tg_err *err)
{
    const tg_token_arrays t = {b->vocab.n, b->ends, b->tokens, b->n_bytes, b->special, b->vocab.n_special};
    tg_status status = tg_token_arrays_check(&t, err);

    if (status)
        return status;
    for (size_t i = 0; i < t.n_special; i++)
        s->apart[t.special[i]] = true;
    if ((status = check_added(b, s, err)))
        return status;
    tg_token_arrays_secret(s->secret, &t, b->merges, b->vocab.n_merges * sizeof *b->merges);
    return TG_OK;
}

/* Put the special and added tokens, or the others, into a table. */
static tg_status fill_table(const tg_bpe *b, tg_token_table *table, const struct scratch *s, bool apart,
                            size_t longest, tg_err *err)
{
    const tg_status status =
        tg_token_table_create(table, b->ends, b->tokens, b->vocab.n, longest, s->secret, err);

    if (status)
        return status;
    for (size_t i = 0; i < b->vocab.n; i++) {
        uint32_t same;
        size_t n;

        (void)tg_bpe_token(b, (uint32_t)i, &n);
        if (s->apart[i] != apart || n == 0)
            continue;
        same = tg_token_table_add(table, (uint32_t)i);
        if (same != i)
            return tg_fail(err, TG_EDATA, "%s%stoken %zu has the text of token %lu",
                           apart ? quality(b, i) : "", apart ? " " : "", i, (unsigned long)same);
    }
    return TG_OK;
}

static tg_status check_tokens(tg_bpe *b, struct scratch *s, tg_err *err)
{
    size_t longest = 0, n;
    tg_status status;

    for (size_t i = 0; i < b->vocab.n; i++) {
        const unsigned char *token = tg_bpe_token(b, (uint32_t)i, &n);

        longest = tg_size_max(longest, n);
        if (s->apart[i])
            continue;
        b->longest = tg_size_max(b->longest, n);
        tg_borders_add(&b->borders, token, n);
    }
    if ((status = fill_table(b, &b->table, s, false, longest, err)) ||
        (b->vocab.n_special + b->vocab.n_added > 0 &&
         (status = fill_table(b, &s->sought, s, true, longest, err))))
        return status;
    b->all_bytes = true;
    for (size_t i = 0; i < 256; i++) {
        const unsigned char byte = (unsigned char)i;

        b->byte_ids[i] = tg_token_table_find(&b->table, &byte, 1);
        b->all_bytes = b->all_bytes && b->byte_ids[i] != TG_TOKEN_NONE;
    }
    return TG_OK;
}

/* ---- merges */

static tg_status check_half(const tg_bpe *b, const struct scratch *s, size_t rank, size_t half, tg_err *err)
{
    const uint32_t id = b->merges[rank][half];
    const char *side = half == 0 ? "left" : "right";
    size_t n;

    if (id >= b->vocab.n)
        return tg_fail(err, TG_EDATA, "merge %zu: its %s half is token %lu: the vocabulary has %zu ids", rank,
                       side, (unsigned long)id, b->vocab.n);
    (void)tg_bpe_token(b, id, &n);
    if (s->apart[id] || n == 0)
        return tg_fail(err, TG_EDATA, "merge %zu: its %s half is token %lu, which is %s", rank, side,
                       (unsigned long)id, n == 0 ? "empty" : quality(b, id));
    return TG_OK;
}

/* Find what each merge makes. */
static tg_status check_merges(tg_bpe *b, const struct scratch *s, tg_err *err)
{
    tg_status status;

    for (size_t r = 0; r < b->vocab.n_merges; r++) {
        if ((status = check_half(b, s, r, 0, err)) || (status = check_half(b, s, r, 1, err)))
            return status;
        b->made[r] = tg_token_table_find_joined(&b->table, b->merges[r][0], b->merges[r][1]);
        if (b->made[r] == TG_TOKEN_NONE)
            return tg_fail(err, TG_EDATA, "merge %zu: tokens %lu and %lu together are not a token", r,
                           (unsigned long)b->merges[r][0], (unsigned long)b->merges[r][1]);
    }
    return TG_OK;
}

static tg_status build_pairs(tg_bpe *b, const struct scratch *s, const bool *live, tg_err *err)
{
    tg_pairs_free(&b->pairs);
    return tg_pairs_create(&b->pairs, (const uint32_t(*)[2])b->merges, b->made, b->vocab.n_merges, live,
                           b->byte_ids, s->secret[2], err);
}

/* Whether each merge (only live ones; NULL: all) has a higher rank than the merges of its halves. */
static bool is_proper(const tg_bpe *b, struct scratch *s, const bool *live)
{
    memset(s->highest, 0, b->vocab.n * sizeof *s->highest);
    for (size_t r = 0; r < b->vocab.n_merges; r++)
        if (!live || live[r])
            s->highest[b->made[r]] = (uint32_t)r + 1;
    for (size_t r = 0; r < b->vocab.n_merges; r++)
        if ((!live || live[r]) && (s->highest[b->merges[r][0]] > r || s->highest[b->merges[r][1]] > r))
            return false;
    return true;
}

/* Encode each token's own bytes to find the merges that can happen. */
static tg_status find_live(const tg_bpe *b, struct scratch *s, tg_err *err)
{
    tg_merger merger = {.pairs = &b->pairs};
    tg_status status = TG_OK;

    for (size_t i = 0; !status && i < b->vocab.n; i++) {
        size_t n, count;
        const unsigned char *text = tg_bpe_token(b, (uint32_t)i, &n);

        /* those may be longer than all others; one of bytes without tokens is never merged */
        if (s->apart[i] || n == 0 || tg_bpe_bytes(b, s->ids, text, n, 0, NULL))
            continue;
        status = tg_merge(&merger, s->ids, text, n, &count, err);
        if (!status && count == 1 && merger.last != TG_RANK_NONE)
            s->live[merger.last] = true;
    }
    tg_merger_free(&merger);
    return status;
}

static tg_status drop_dead_merges(tg_bpe *b, struct scratch *s, tg_err *err)
{
    tg_status status;

    s->live = calloc(tg_size_max(b->vocab.n_merges, 1), sizeof *s->live);
    s->ids = malloc(tg_size_max(b->longest, 1) * sizeof *s->ids);
    if (!s->live || !s->ids)
        return tg_fail_memory(err, b->vocab.n_merges + b->longest * sizeof *s->ids, "checking merges");
    if ((status = find_live(b, s, err)))
        return status;
    b->proper = is_proper(b, s, s->live);
    return build_pairs(b, s, s->live, err);
}

/* Prepare for encoding long pieces in blocks. */
static tg_status add_prefixes(tg_bpe *b, const struct scratch *s, tg_err *err)
{
    size_t n;
    tg_status status;

    b->blocks = b->proper && b->longest <= TG_BPE_BLOCKS_TOKEN;
    if (!b->blocks)
        return TG_OK;
    if ((status = tg_prefix_filter_create(&b->prefixes, b->n_bytes, err)))
        return status;
    for (size_t i = 0; i < b->vocab.n; i++) {
        const unsigned char *token = tg_bpe_token(b, (uint32_t)i, &n);

        if (!s->apart[i])
            tg_prefix_filter_add(&b->prefixes, token, n);
    }
    return TG_OK;
}

tg_status tg_bpe_prepare(tg_bpe *b, tg_err *err)
{
    struct scratch s = {0};
    tg_status status;

    s.apart = calloc(b->vocab.n, sizeof *s.apart);
    s.highest = malloc(b->vocab.n * sizeof *s.highest);
    b->made = malloc(tg_size_max(b->vocab.n_merges, 1) * sizeof *b->made);
    if (!s.apart || !s.highest || !b->made) {
        status = tg_fail_memory(err, b->vocab.n * sizeof *s.highest, "checking a vocabulary");
        goto done;
    }
    if ((status = check_arrays(b, &s, err)) || (status = check_tokens(b, &s, err)) ||
        (status = check_merges(b, &s, err)) || (status = build_pairs(b, &s, NULL, err)))
        goto done;
    b->proper = is_proper(b, &s, NULL);
    if (!b->proper)
        status = drop_dead_merges(b, &s, err);
    if (!status)
        status = add_prefixes(b, &s, err);
    if (!b->vocab.whole_pieces)
        tg_token_table_free(&b->table);

done:
    tg_token_table_free(&s.sought);
    free(s.apart);
    free(s.live);
    free(s.highest);
    free(s.ids);
    return status;
}

tg_status tg_bpe_bytes(const tg_bpe *b, int32_t *ids, const unsigned char *text, size_t n, uint64_t offset,
                       tg_err *err)
{
    for (size_t i = 0; i < n; i++)
        ids[i] = (int32_t)b->byte_ids[text[i]];
    for (size_t i = 0; !b->all_bytes && i < n; i++)
        if (b->byte_ids[text[i]] == TG_TOKEN_NONE)
            return tg_fail(err, TG_EDATA, "byte %llu of the text is 0x%02X, which the vocabulary lacks",
                           (unsigned long long)(offset + i), (unsigned)text[i]);
    return TG_OK;
}
