#include "lib/text/tokenizer.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/text/ids.h"
#include "lib/text/kind.h"

/* ---- the identity */

static unsigned char *put_size(unsigned char *p, uint64_t value)
{
    for (size_t i = 0; i < sizeof value; i++)
        *p++ = (unsigned char)(value >> 8 * i);
    return p;
}

/*
 * Extend the identity by an array: the hash of
 *   the identity so far [32], name and NUL, dtype.kind [1], dtype.size [8], ndim [8],
 *   shape [8] each, the hash of the contents [32].
 */
static void extend_identity(unsigned char identity[TG_SHA256_SIZE], const tg_array *a)
{
    unsigned char record[2 * TG_SHA256_SIZE + TG_NAME_MAX + 1 + 1 + 8 * (2 + TG_DIMS_MAX)], *p = record;
    const size_t name = strlen(a->name) + 1;

    memcpy(p, identity, TG_SHA256_SIZE);
    p += TG_SHA256_SIZE;
    memcpy(p, a->name, name);
    p += name;
    *p++ = (unsigned char)a->dtype.kind;
    p = put_size(put_size(p, a->dtype.size), a->ndim);
    for (size_t i = 0; i < a->ndim; i++)
        p = put_size(p, a->shape[i]);
    tg_sha256(p, a->data, a->bytes);
    p += TG_SHA256_SIZE;
    tg_sha256(identity, record, (size_t)(p - record));
}

/* Array i of the tokenizer's archive: the kind's name, the number of ids, the kind's own. */
static bool describe_array(const tg_tokenizer *tok, size_t i, tg_array *a)
{
    *a = (tg_array){0};
    if (i == 0) {
        *a = (tg_array){
            .name = TG_TOKENIZER_KIND, .dtype = {'S', strlen(tok->kind->name)}, .data = tok->kind->name};
    } else if (i == 1) {
        *a = (tg_array){.name = TG_TOKENIZER_VOCAB_SIZE, .dtype = TG_I64, .data = &tok->vocab_size};
    } else if (!tok->kind->array || !tok->kind->array(tok->state, i - 2, a)) {
        return false;
    }
    return tg_array_measure(a); /* true: it is in memory */
}

#define DESCRIPTION_SIZE (TG_KIND_NAME_SIZE + 64)

/* "bytes" with 256 ids; with_identity also gives the first digits of its identity. */
static void describe(char out[DESCRIPTION_SIZE], const tg_tokenizer *tok, bool with_identity)
{
    const unsigned char *h = tok->identity;
    const int n =
        snprintf(out, DESCRIPTION_SIZE, "\"%s\" with %zu ids", tok->kind->name, tg_tokenizer_vocab_size(tok));

    if (with_identity)
        snprintf(out + n, DESCRIPTION_SIZE - (size_t)n, " (%02x%02x%02x%02x)", h[0], h[1], h[2], h[3]);
}

tg_status tg_tokenizer_same(const tg_tokenizer *want, const tg_tokenizer *got, tg_err *err)
{
    const bool alike = want->kind == got->kind && want->vocab_size == got->vocab_size;
    char expected[DESCRIPTION_SIZE], found[DESCRIPTION_SIZE];

    if (memcmp(want->identity, got->identity, sizeof want->identity) == 0)
        return TG_OK;
    describe(expected, want, alike);
    describe(found, got, alike);
    return tg_fail(err, TG_EDATA, "the tokens are of tokenizer %s, expected %s", found, expected);
}

/* ---- making */

tg_status tg_tokenizer_begin(tg_tokenizer **out, const tg_tokenizer_kind *kind, tg_err *err)
{
    const size_t bytes = sizeof(tg_tokenizer) + kind->size;
    tg_tokenizer *tok = calloc(1, bytes);

    *out = tok;
    if (!tok)
        return tg_fail_memory(err, bytes, "a tokenizer");
    tok->kind = kind;
    atomic_init(&tok->owners, 1);
    return TG_OK;
}

tg_status tg_tokenizer_seal(const tg_tokenizer **out, tg_tokenizer *tok, size_t vocab_size, tg_err *err)
{
    const tg_status status = tok->kind->complete(tok->state, &vocab_size, err);
    tg_array a;

    *out = NULL;
    if (status) {
        tg_tokenizer_free(tok);
        return status;
    }
    assert(vocab_size >= 1 && vocab_size <= TG_VOCAB_MAX);
    tok->vocab_size = (int64_t)vocab_size;
    for (size_t i = 0; describe_array(tok, i, &a); i++)
        extend_identity(tok->identity, &a);
    *out = tok;
    return TG_OK;
}

/* ---- sharing */

/* Only the number of owners of a sealed tokenizer ever changes. */
static atomic_size_t *owners(const tg_tokenizer *tok)
{
    return &((tg_tokenizer *)tok)->owners;
}

const tg_tokenizer *tg_tokenizer_ref(const tg_tokenizer *tok)
{
    atomic_fetch_add(owners(tok), 1);
    return tok;
}

void tg_tokenizer_free(const tg_tokenizer *tok)
{
    tg_tokenizer *last = (tg_tokenizer *)tok;

    if (!tok || atomic_fetch_sub(owners(tok), 1) > 1)
        return;
    if (last->kind->free)
        last->kind->free(last->state);
    free(last);
}

/* ---- properties */

const char *tg_tokenizer_kind_name(const tg_tokenizer *tok)
{
    return tok->kind->name;
}

size_t tg_tokenizer_vocab_size(const tg_tokenizer *tok)
{
    return (size_t)tok->vocab_size;
}

const unsigned char *tg_tokenizer_identity(const tg_tokenizer *tok)
{
    return tok->identity;
}

bool tg_tokenizer_ids_are_bytes(const tg_tokenizer *tok)
{
    return tok->kind->ids_are_bytes;
}

bool tg_tokenizer_adds_space(const tg_tokenizer *tok, int32_t before, int32_t id)
{
    return tok->kind->adds_space && before < tok->vocab_size && id >= 0 && id < tok->vocab_size &&
           tok->kind->adds_space(tok->state, before, id);
}

bool tg_tokenizer_has_text(const tg_tokenizer *tok)
{
    return !tok->kind->no_text;
}

const unsigned char *tg_tokenizer_token(const tg_tokenizer *tok, int32_t id, size_t *n)
{
    static const unsigned char none[1];

    *n = 0;
    if (id < 0 || id >= tok->vocab_size)
        return none;
    return tok->kind->token(tok->state, id, n);
}

size_t tg_tokenizer_specials(const tg_tokenizer *tok, const uint32_t **ids)
{
    *ids = NULL;
    return tok->kind->specials ? tok->kind->specials(tok->state, ids) : 0;
}

size_t tg_tokenizer_added(const tg_tokenizer *tok, const uint32_t **ids)
{
    *ids = NULL;
    return tok->kind->added ? tok->kind->added(tok->state, ids) : 0;
}

/* The first of ids [n_ids] with this text; -1: none has it. */
static int32_t find_text(const tg_tokenizer *tok, const uint32_t *ids, size_t n_ids, const void *text,
                         size_t n)
{
    for (size_t i = 0; i < n_ids; i++) {
        size_t length;
        const unsigned char *token = tg_tokenizer_token(tok, (int32_t)ids[i], &length);

        if (length == n && memcmp(token, text, n) == 0)
            return (int32_t)ids[i];
    }
    return -1;
}

int32_t tg_tokenizer_special_id(const tg_tokenizer *tok, const void *text, size_t n)
{
    const uint32_t *ids;
    const size_t specials = tg_tokenizer_specials(tok, &ids);
    int32_t id = find_text(tok, ids, specials, text, n);

    if (id < 0) {
        const size_t added = tg_tokenizer_added(tok, &ids);

        id = find_text(tok, ids, added, text, n);
    }
    return id;
}

/* The special or added token with the first of these texts, up to NULL, that one has; -1: none. */
static int32_t find_special(const tg_tokenizer *tok, const char *const *names)
{
    int32_t id = -1;

    for (; id < 0 && *names; names++)
        id = tg_tokenizer_special_id(tok, *names, strlen(*names));
    return id;
}

int32_t tg_tokenizer_end_of_text(const tg_tokenizer *tok)
{
    static const char *const names[] = {"<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>", NULL};

    return find_special(tok, names);
}

int32_t tg_tokenizer_start_of_text(const tg_tokenizer *tok)
{
    static const char *const names[] = {"<s>", "<bos>", "<|begin_of_text|>", NULL};
    const int32_t id = find_special(tok, names);

    return id >= 0 ? id : tg_tokenizer_end_of_text(tok);
}

/* ---- archives */

tg_status tg_tokenizer_put(const tg_tokenizer *tok, tg_archive_writer *w, tg_err *err)
{
    tg_array a;

    for (size_t i = 0; describe_array(tok, i, &a); i++) {
        tg_status status = tg_archive_put(w, a.name, a.dtype, a.ndim, a.shape, a.data, err);

        if (status)
            return status;
    }
    return TG_OK;
}
