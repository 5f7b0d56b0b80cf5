/* The kind "bpe": its arrays in archives and in memory. */
#include "lib/bpe/bpe.h"

#include <stdlib.h>
#include <string.h>

#include "formats/archive.h"
#include "lib/bpe/bpe_encode.h"
#include "lib/bpe/bpe_state.h"
#include "lib/bpe/token_arrays.h"
#include "lib/text/kind.h"

#define PREFIX "tokenizer/"
#define NORMALIZERS "none|nfc"
#define NAME_SIZE 32 /* of a rule for splitting, its NUL included */

/* ---- the arrays of archives */

enum { SPLIT, NORMALIZER, WHOLE_PIECES, ENDS, TOKENS, MERGES, SPECIAL, ADDED, ARRAYS }; /* in this order */

static tg_array text_array(const char *name, const char *text)
{
    tg_array a = {.dtype = {'S', strlen(text)}, .data = text};

    memcpy(a.name, name, strlen(name));
    return a;
}

/* Array i: also that of added tokens if there are none. */
static bool any_array(const tg_bpe *b, size_t i, tg_array *a)
{
    const tg_bpe_vocab *v = &b->vocab;
    const tg_array arrays[ARRAYS] = {
        text_array(PREFIX "split", tg_split_name(v->split)),
        text_array(PREFIX "normalizer", v->normalizer == TG_NORMALIZER_NFC ? "nfc" : "none"),
        {.name = PREFIX "whole_pieces", .dtype = TG_I64, .data = &b->whole_pieces},
        {.name = PREFIX "ends", .dtype = TG_U32, .ndim = 1, .shape = {v->n}, .data = b->ends},
        {.name = PREFIX "tokens", .dtype = TG_U8, .ndim = 1, .shape = {b->n_bytes}, .data = b->tokens},
        {.name = PREFIX "merges", .dtype = TG_U32, .ndim = 2, .shape = {v->n_merges, 2}, .data = b->merges},
        {.name = PREFIX "special", .dtype = TG_U32, .ndim = 1, .shape = {v->n_special}, .data = b->special},
        {.name = PREFIX "added", .dtype = TG_U32, .ndim = 1, .shape = {v->n_added}, .data = b->added},
    };

    if (i < ARRAYS)
        *a = arrays[i];
    return i < ARRAYS;
}

static bool array(const void *tok, size_t i, tg_array *a)
{
    const tg_bpe *b = tok;

    return (i != ADDED || b->vocab.n_added > 0) && any_array(b, i, a);
}

/* ---- reading */

static tg_status take_split(tg_bpe *b, tg_archive_reader *r, const tg_array *a, tg_err *err)
{
    char name[NAME_SIZE];
    const tg_status status = tg_archive_get_text(r, a, name, sizeof name, err);

    if (status)
        return status;
    if (!tg_split_find(&b->vocab.split, name))
        return tg_fail(err, TG_EDATA, PREFIX "split is \"%s\", which this version does not support", name);
    return TG_OK;
}

static tg_status take_normalizer(tg_bpe *b, tg_archive_reader *r, const tg_array *a, tg_err *err)
{
    size_t number;
    const tg_status status = tg_archive_get_choice(r, a, NORMALIZERS, &number, err);

    if (!status)
        b->vocab.normalizer = (tg_normalizer)number;
    return status;
}

static tg_status take_whole_pieces(tg_bpe *b, tg_archive_reader *r, const tg_array *a, tg_err *err)
{
    size_t number;
    const tg_status status = tg_archive_get_size(r, a, &number, err);

    if (status)
        return status;
    if (number > 1)
        return tg_fail(err, TG_EDATA, PREFIX "whole_pieces is %zu, expected 0 or 1", number);
    b->vocab.whole_pieces = number == 1;
    return TG_OK;
}

static tg_status take(void *tok, tg_archive_reader *r, const tg_array *a, bool *taken, tg_err *err)
{
    tg_bpe *b = tok;
    tg_bpe_vocab *v = &b->vocab;
    tg_array own;
    size_t i = 0;

    while ((*taken = any_array(b, i, &own)) && strcmp(own.name, a->name) != 0)
        i++;
    b->present |= 1u << i;
    if (i == SPLIT)
        return take_split(b, r, a, err);
    if (i == NORMALIZER)
        return take_normalizer(b, r, a, err);
    if (i == WHOLE_PIECES)
        return take_whole_pieces(b, r, a, err);
    if (i == ENDS)
        return tg_token_arrays_take((void **)&b->ends, &v->n, TG_BPE_TOKENS_MAX, &own, r, a, err);
    if (i == TOKENS)
        return tg_token_arrays_take((void **)&b->tokens, &b->n_bytes, TG_BPE_BYTES_MAX, &own, r, a, err);
    if (i == MERGES)
        return tg_token_arrays_take((void **)&b->merges, &v->n_merges, TG_BPE_MERGES_MAX, &own, r, a, err);
    if (i == SPECIAL)
        return tg_token_arrays_take((void **)&b->special, &v->n_special, TG_BPE_TOKENS_MAX, &own, r, a, err);
    if (i == ADDED)
        return tg_token_arrays_take((void **)&b->added, &v->n_added, TG_BPE_TOKENS_MAX, &own, r, a, err);
    return TG_OK;
}

static tg_status complete(void *tok, size_t *vocab_size, tg_err *err)
{
    tg_bpe *b = tok;
    tg_array own;

    for (size_t i = 0; array(b, i, &own); i++)
        if (!(b->present >> i & 1))
            return tg_fail(err, TG_EDATA, "%s is missing", own.name);
    if (b->vocab.n == 0)
        return tg_fail(err, TG_EDATA, PREFIX "ends is empty, expected at least one id");
    if (*vocab_size != 0 && *vocab_size != b->vocab.n)
        return tg_fail(err, TG_EDATA, PREFIX "vocab_size is %zu, " PREFIX "ends has %zu", *vocab_size,
                       b->vocab.n);
    *vocab_size = b->vocab.n;
    b->whole_pieces = b->vocab.whole_pieces;
    b->vocab.ends = b->ends;
    b->vocab.tokens = b->tokens;
    b->vocab.merges = (const uint32_t(*)[2])b->merges;
    b->vocab.special = b->special;
    b->vocab.added = b->added;
    return tg_bpe_prepare(b, err);
}

static void free_state(void *tok)
{
    tg_bpe *b = tok;

    free(b->ends);
    free(b->tokens);
    free(b->merges);
    free(b->special);
    free(b->added);
    free(b->made);
    tg_token_table_free(&b->table);
    tg_pairs_free(&b->pairs);
    tg_prefix_filter_free(&b->prefixes);
}

/* ---- using */

static const unsigned char *token(const void *tok, int32_t id, size_t *n)
{
    return tg_bpe_token(tok, (uint32_t)id, n);
}

static size_t specials(const void *tok, const uint32_t **ids)
{
    const tg_bpe *b = tok;

    *ids = b->special;
    return b->vocab.n_special;
}

static size_t added(const void *tok, const uint32_t **ids)
{
    const tg_bpe *b = tok;

    *ids = b->added;
    return b->vocab.n_added;
}

const tg_tokenizer_kind tg_tokenizer_kind_bpe = {
    .name = "bpe",
    .size = sizeof(tg_bpe),
    .encoder_size = sizeof(tg_bpe_encoder),
    .take = take,
    .complete = complete,
    .array = array,
    .free = free_state,
    .token = token,
    .specials = specials,
    .added = added,
    .cut = tg_bpe_cut,
    .offset = tg_bpe_encoder_offset,
    .start = tg_bpe_encoder_start,
    .encode = tg_bpe_encoder_encode,
    .finish = tg_bpe_encoder_finish,
    .stop = tg_bpe_encoder_stop,
};

/* ---- making */

static tg_status check_limits(const tg_bpe_vocab *v, tg_err *err)
{
    const struct {
        const char *what;
        size_t n, max;
    } counts[] = {{"ids", v->n, TG_BPE_TOKENS_MAX},
                  {"bytes of tokens", v->n > 0 ? v->ends[v->n - 1] : 0, TG_BPE_BYTES_MAX},
                  {"merges", v->n_merges, TG_BPE_MERGES_MAX},
                  {"special tokens", v->n_special, TG_BPE_TOKENS_MAX},
                  {"added tokens", v->n_added, TG_BPE_TOKENS_MAX}};

    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        if (counts[i].n > counts[i].max)
            return tg_fail(err, TG_EDATA, "the vocabulary has %zu %s, expected at most %zu", counts[i].n,
                           counts[i].what, counts[i].max);
    return TG_OK;
}

tg_status tg_bpe_create(const tg_tokenizer **out, const tg_bpe_vocab *v, tg_err *err)
{
    tg_tokenizer *tok = NULL;
    tg_bpe *b;
    tg_status status;

    *out = NULL;
    if ((status = check_limits(v, err)) || (status = tg_tokenizer_begin(&tok, &tg_tokenizer_kind_bpe, err)))
        return status;
    b = (void *)tok->state;
    b->vocab = *v;
    b->present = ~0u;
    b->n_bytes = v->n > 0 ? v->ends[v->n - 1] : 0;
    b->ends = tg_token_arrays_copy(v->ends, v->n * sizeof *b->ends);
    b->tokens = tg_token_arrays_copy(v->tokens, b->n_bytes);
    b->merges = tg_token_arrays_copy(v->merges, v->n_merges * sizeof *b->merges);
    b->special = tg_token_arrays_copy(v->special, v->n_special * sizeof *b->special);
    b->added = tg_token_arrays_copy(v->added, v->n_added * sizeof *b->added);
    if (b->ends && b->tokens && b->merges && b->special && b->added)
        return tg_tokenizer_seal(out, tok, 0, err);
    status = tg_fail_memory(err, v->n * sizeof *b->ends + b->n_bytes, "a vocabulary");
    tg_tokenizer_free(tok);
    return status;
}

const tg_bpe_vocab *tg_bpe_vocab_of(const tg_tokenizer *tok)
{
    const tg_bpe *b = (const void *)tok->state;

    return tok->kind == &tg_tokenizer_kind_bpe ? &b->vocab : NULL;
}
