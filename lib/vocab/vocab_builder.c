#include "lib/vocab/vocab_builder.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/grow.h"
#include "lib/base/size.h"
#include "lib/tokens/tokenizer_read.h"
#include "lib/vocab/byte_map.h"
#include "lib/vocab/foreign.h"
#include "lib/vocab/rank_merges.h"
#include "lib/vocab/vocab_tokens.h"

static const char vocabulary[] = "a vocabulary"; /* for messages */

/* ---- tokens */

static tg_status append_id(struct tg_vocab_ids *ids, size_t id, tg_err *err)
{
    const tg_status status = tg_grow(&ids->id, &ids->capacity, ids->n + 1, sizeof *ids->id, vocabulary, err);

    if (!status)
        ids->id[ids->n++] = (uint32_t)id;
    return status;
}

tg_status tg_vocab_add(tg_vocab_builder *b, size_t id, const void *text, size_t n, tg_token_role role,
                       tg_err *err)
{
    char shown[TG_TOKEN_SHOWN];
    tg_status status;

    if (n == 0)
        return tg_fail(err, TG_EDATA, "token %zu is empty", id);
    if (n > TG_BPE_TOKEN_MAX)
        return tg_fail(err, TG_EDATA, "token %zu has %zu bytes, expected at most %zu", id, n,
                       TG_BPE_TOKEN_MAX);
    if (id >= TG_BPE_TOKENS_MAX)
        return tg_fail(err, TG_EDATA, "token \"%s\" has id %zu, expected one below %zu",
                       tg_token_shown(shown, text, n), id, TG_BPE_TOKENS_MAX);
    /* unreached: too many bytes: a file has at most TG_VOCAB_FILE_MAX */
    if (n > TG_BPE_BYTES_MAX - b->n_text || b->n_entries == TG_BPE_TOKENS_MAX)
        return tg_fail(err, TG_EDATA, "more than %zu tokens or %zu bytes in all", TG_BPE_TOKENS_MAX,
                       TG_BPE_BYTES_MAX);
    if ((status =
             tg_grow(&b->entry, &b->entry_capacity, b->n_entries + 1, sizeof *b->entry, vocabulary, err)) ||
        (status = tg_grow(&b->text, &b->text_capacity, b->n_text + n, 1, vocabulary, err)) ||
        (role == TG_TOKEN_SPECIAL && (status = append_id(&b->special, id, err))) ||
        (role == TG_TOKEN_ADDED && (status = append_id(&b->added, id, err))))
        return status;
    b->entry[b->n_entries++] = (struct tg_vocab_entry){(uint32_t)id, (uint32_t)n, b->n_text};
    memcpy(b->text + b->n_text, text, n);
    b->n_text += n;
    return TG_OK;
}

/* Write the bytes of a mapped token after `at` bytes of scratch; *n is their number. */
static tg_status map(tg_vocab_builder *b, size_t at, const char *text, size_t length, size_t *n, tg_err *err)
{
    const size_t room = TG_BPE_TOKEN_MAX;
    char shown[TG_TOKEN_SHOWN];

    if (!b->scratch && !(b->scratch = malloc(2 * room * TG_BYTE_MAP_MAX)))
        return tg_fail_memory(err, 2 * room * TG_BYTE_MAP_MAX, "a token");
    if (length > room * TG_BYTE_MAP_MAX ||
        (length > 0 && !tg_byte_map_read(b->scratch + at, n, text, length)))
        return tg_fail(err, TG_EDATA, "\"%s\" is not a byte-level token",
                       tg_token_shown(shown, text, length));
    if (length == 0 || *n > room)
        return tg_fail(err, TG_EDATA, "a token has %zu bytes, expected 1 to %zu", length ? *n : 0, room);
    return TG_OK;
}

tg_status tg_vocab_add_mapped(tg_vocab_builder *b, size_t id, const char *text, size_t length, tg_err *err)
{
    size_t n;
    const tg_status status = map(b, 0, text, length, &n, err);

    return status ? status : tg_vocab_add(b, id, b->scratch, n, TG_TOKEN_ORDINARY, err);
}

tg_status tg_vocab_divide(tg_vocab_halves *h, const char *text, size_t n, tg_err *err)
{
    const char *const space = memchr(text, ' ', n), *const right = space ? space + 1 : text;
    const size_t n_right = n - (size_t)(right - text);
    char shown[TG_TOKEN_SHOWN];

    if (!space || memchr(right, ' ', n_right))
        return tg_fail(err, TG_EDATA, "expected two halves of a merge separated by a space, got \"%s\"",
                       tg_token_shown(shown, text, n));
    *h = (tg_vocab_halves){text, right, (size_t)(space - text), n_right};
    return TG_OK;
}

/* Write the bytes of both halves to scratch; *n and *m are their numbers. */
static tg_status map_halves(tg_vocab_builder *b, const tg_vocab_halves *h, size_t *n, size_t *m, tg_err *err)
{
    const tg_status status = map(b, 0, h->left, h->n_left, n, err);

    return status ? status : map(b, *n, h->right, h->n_right, m, err);
}

tg_status tg_vocab_add_merged(tg_vocab_builder *b, size_t id, const tg_vocab_halves *h, tg_err *err)
{
    size_t n, m;
    const tg_status status = map_halves(b, h, &n, &m, err);

    return status ? status : tg_vocab_add(b, id, b->scratch, n + m, TG_TOKEN_ORDINARY, err);
}

/* ---- the vocabulary */

static int compare_ids(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

static void sort_ids(struct tg_vocab_ids *ids)
{
    if (ids->n > 0)
        qsort(ids->id, ids->n, sizeof *ids->id, compare_ids);
}

static tg_status id_given_twice(const tg_vocab_builder *b, const struct tg_vocab_entry *first,
                                const struct tg_vocab_entry *second, tg_err *err)
{
    char one[TG_TOKEN_SHOWN], other[TG_TOKEN_SHOWN];

    return tg_fail(err, TG_EDATA, "id %u is given to \"%s\" and to \"%s\"", first->id,
                   tg_token_shown(one, b->text + first->at, first->n),
                   tg_token_shown(other, b->text + second->at, second->n));
}

/* The number of each id's entry, counted from 1, into number [b->n], which is zeroed. */
static tg_status find_entries(uint32_t *number, const tg_vocab_builder *b, tg_err *err)
{
    for (size_t i = 0; i < b->n_entries; i++) {
        const struct tg_vocab_entry *e = &b->entry[i];

        if (number[e->id] > 0)
            return id_given_twice(b, &b->entry[number[e->id] - 1], e, err);
        number[e->id] = (uint32_t)i + 1;
    }
    return TG_OK;
}

static void copy_tokens(tg_vocab_builder *b, const uint32_t *number)
{
    size_t at = 0;

    for (size_t id = 0; id < b->n; id++) {
        const struct tg_vocab_entry *e = number[id] > 0 ? &b->entry[number[id] - 1] : NULL;

        if (e) {
            memcpy(b->tokens + at, b->text + e->at, e->n);
            at += e->n;
        }
        b->ends[id] = (uint32_t)at;
    }
}

/* Free what has been copied. */
static void free_entries(tg_vocab_builder *b)
{
    free(b->entry);
    free(b->text);
    b->entry = NULL;
    b->text = NULL;
    b->n_entries = b->entry_capacity = b->n_text = b->text_capacity = 0;
}

static tg_bpe_vocab vocab_of(const tg_vocab_builder *b)
{
    return (tg_bpe_vocab){
        .split = b->split,
        .normalizer = b->normalizer,
        .whole_pieces = b->whole_pieces,
        .n = b->n,
        .ends = b->ends,
        .tokens = b->tokens,
        .n_merges = b->n_merges,
        .merges = (const uint32_t(*)[2])b->merges,
        .n_special = b->special.n,
        .special = b->special.id,
        .n_added = b->added.n,
        .added = b->added.id,
    };
}

tg_status tg_vocab_arrange(tg_vocab_builder *b, tg_err *err)
{
    uint32_t *number = NULL;
    tg_bpe_vocab vocab;
    tg_status status;

    for (size_t i = 0; i < b->n_entries; i++)
        b->n = tg_size_max(b->n, (size_t)b->entry[i].id + 1);
    if (b->n == 0)
        return tg_fail(err, TG_EDATA, "the vocabulary has no tokens");
    number = calloc(b->n, sizeof *number);
    b->ends = malloc(b->n * sizeof *b->ends);
    b->tokens = malloc(b->n_text);
    if (!number || !b->ends || !b->tokens) {
        status = tg_fail_memory(err, b->n * 2 * sizeof *number + b->n_text, vocabulary);
        goto done;
    }
    if ((status = find_entries(number, b, err)))
        goto done;
    copy_tokens(b, number);
    sort_ids(&b->special);
    sort_ids(&b->added);
    free_entries(b);
    vocab = vocab_of(b);
    status = tg_vocab_table(&b->table, &vocab, err);

done:
    free(number);
    return status;
}

tg_status tg_vocab_check_bytes(const tg_vocab_builder *b, tg_err *err)
{
    const int missing = tg_vocab_missing_byte(&b->table);

    return missing < 0 ? TG_OK : tg_fail(err, TG_EDATA, "byte 0x%02X has no token", missing);
}

/* ---- merges */

static tg_status no_token(const void *text, size_t n, const void *left, size_t n_left, tg_err *err)
{
    char shown[TG_TOKEN_SHOWN], half[TG_TOKEN_SHOWN];

    if (!left)
        return tg_fail(err, TG_EDATA, "\"%s\", half of a merge, is not in the vocabulary",
                       tg_token_shown(shown, text, n));
    return tg_fail(err, TG_EDATA, "\"%s\", which a merge of \"%s\" makes, is not in the vocabulary",
                   tg_token_shown(shown, text, n), tg_token_shown(half, left, n_left));
}

tg_status tg_vocab_merge(tg_vocab_builder *b, const tg_vocab_halves *h, tg_err *err)
{
    uint32_t pair[2];
    size_t n, m;
    tg_status status;

    if ((status = map_halves(b, h, &n, &m, err)))
        return status;
    if ((pair[0] = tg_token_table_find(&b->table, b->scratch, n)) == TG_TOKEN_NONE)
        return no_token(b->scratch, n, NULL, 0, err);
    if ((pair[1] = tg_token_table_find(&b->table, b->scratch + n, m)) == TG_TOKEN_NONE)
        return no_token(b->scratch + n, m, NULL, 0, err);
    if (tg_token_table_find(&b->table, b->scratch, n + m) == TG_TOKEN_NONE)
        return no_token(b->scratch, n + m, b->scratch, n, err);
    if (b->n_merges == TG_BPE_MERGES_MAX)
        return tg_fail(err, TG_EDATA, "more than %zu merges", TG_BPE_MERGES_MAX);
    if (!(status =
              tg_grow(&b->merges, &b->merge_capacity, b->n_merges + 1, sizeof *b->merges, vocabulary, err)))
        memcpy(b->merges[b->n_merges++], pair, sizeof pair);
    return status;
}

tg_status tg_vocab_arrange_by_rank(tg_vocab_builder *b, tg_err *err)
{
    tg_bpe_vocab vocab;
    size_t unmade;
    tg_status status;

    if ((status = tg_vocab_arrange(b, err)) || (status = tg_vocab_check_bytes(b, err)))
        return status;
    vocab = vocab_of(b);
    return tg_rank_merges(&b->merges, &b->n_merges, &unmade, &vocab, &b->table, err);
}

/* ---- the tokenizer */

/* Whether the vocabulary is only the bytes, each its own id: the kind "bytes", whatever the rule for
 * splitting. */
static bool is_bytes(const tg_bpe_vocab *v)
{
    bool same = v->n == 256 && v->n_merges == 0 && v->n_special == 0 && v->n_added == 0 &&
                v->normalizer == TG_NORMALIZER_NONE;

    for (size_t i = 0; same && i < 256; i++)
        same = v->ends[i] == i + 1 && v->tokens[i] == i;
    return same;
}

void tg_vocab_builder_free(tg_vocab_builder *b)
{
    free_entries(b);
    free(b->special.id);
    free(b->added.id);
    free(b->ends);
    free(b->tokens);
    tg_token_table_free(&b->table);
    free(b->merges);
    free(b->scratch);
    *b = (tg_vocab_builder){0};
}

tg_status tg_vocab_build(const tg_tokenizer **tok, tg_vocab_builder *b, tg_status status, tg_err *err)
{
    const tg_bpe_vocab vocab = vocab_of(b);

    *tok = NULL;
    if (!status)
        status = is_bytes(&vocab) ? tg_tokenizer_create(tok, "bytes", err) : tg_bpe_create(tok, &vocab, err);
    tg_vocab_builder_free(b);
    return status;
}
