#include "tests/unit/grams.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/size.h"
#include "lib/tokens/kinds.h"

#define BYTES 256
#define LETTERS 42 /* 256 + 42^2 + 42^3 ids at most */
#define IDS_MAX 70000

/* A token: its length, then its bytes, then zeros; rows are in ascending order. */
typedef unsigned char row[1 + GRAM_MAX];

struct grams {
    row *token; /* [n] */
    size_t n;
};

struct encoder {
    unsigned char text[GRAM_MAX];
    size_t n; /* bytes that have no id yet */
};

static const char letters[LETTERS + 1] = " ,.ABCDEFGHIJKLMabcdefghijklmnopqrstuvwxyz";

/* ---- making */

static tg_status fill(struct grams *g, size_t n, tg_err *err)
{
    if (!(g->token = calloc(n, sizeof *g->token)))
        return tg_fail_memory(err, n * sizeof *g->token, "grams");
    g->n = n;
    for (size_t i = 0; i < n; i++) {
        unsigned char *t = g->token[i];
        const size_t pair = i - BYTES, triple = pair - LETTERS * LETTERS;

        if (i < BYTES) {
            t[0] = 1, t[1] = (unsigned char)i;
        } else if (pair < LETTERS * LETTERS) {
            t[0] = 2, t[1] = (unsigned char)letters[pair / LETTERS];
            t[2] = (unsigned char)letters[pair % LETTERS];
        } else {
            t[0] = 3, t[1] = (unsigned char)letters[triple / LETTERS / LETTERS];
            t[2] = (unsigned char)letters[triple / LETTERS % LETTERS];
            t[3] = (unsigned char)letters[triple % LETTERS];
        }
    }
    return TG_OK;
}

static tg_status take(void *tok, tg_archive_reader *r, const tg_array *a, bool *taken, tg_err *err)
{
    struct grams *g = tok;

    *taken = strcmp(a->name, "tokenizer/grams") == 0;
    if (!*taken)
        return TG_OK;
    if (a->dtype.kind != 'u' || a->dtype.size != 1 || a->ndim != 2 || a->shape[1] != sizeof(row) ||
        a->shape[0] < BYTES || a->shape[0] > IDS_MAX)
        return tg_fail(err, TG_EDATA, "tokenizer/grams must be u1 [256 to %d,%zu]", IDS_MAX, sizeof(row));
    if (!(g->token = malloc(a->bytes)))
        return tg_fail_memory(err, a->bytes, "grams");
    g->n = a->shape[0];
    return tg_archive_read(r, g->token, a->bytes, err);
}

static tg_status complete(void *tok, size_t *vocab_size, tg_err *err)
{
    struct grams *g = tok;
    tg_status status;

    if (!g->token && *vocab_size > 0)
        return tg_fail(err, TG_EDATA, "tokenizer/grams is missing");
    if (!g->token && (status = fill(g, BYTES + LETTERS * LETTERS, err)))
        return status;
    if (*vocab_size > 0 && *vocab_size != g->n)
        return tg_fail(err, TG_EDATA, "tokenizer/vocab_size is %zu, tokenizer/grams has %zu", *vocab_size,
                       g->n);
    *vocab_size = g->n;
    for (size_t i = 1; i < g->n; i++)
        if (memcmp(g->token[i - 1], g->token[i], sizeof(row)) >= 0 || g->token[i][0] > GRAM_MAX)
            return tg_fail(err, TG_EDATA, "tokenizer/grams[%zu] is out of order", i);
    return TG_OK;
}

static bool array(const void *tok, size_t i, tg_array *a)
{
    const struct grams *g = tok;

    if (i > 0)
        return false;
    *a = (tg_array){
        .name = "tokenizer/grams", .dtype = TG_U8, .ndim = 2, .shape = {g->n, sizeof(row)}, .data = g->token};
    return true;
}

static void free_grams(void *tok)
{
    struct grams *g = tok;

    free(g->token);
}

/* ---- using */

static const unsigned char *token(const void *tok, int32_t id, size_t *n)
{
    const struct grams *g = tok;

    *n = g->token[id][0];
    return g->token[id] + 1;
}

static int compare(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(row));
}

/* The id of the longest string that text [n] begins with, n >= 1; *used: its length. */
static int32_t longest(const struct grams *g, const unsigned char *text, size_t n, size_t *used)
{
    for (*used = tg_size_min(n, GRAM_MAX);; --*used) {
        row key = {(unsigned char)*used};
        const row *found;

        memcpy(key + 1, text, *used);
        if ((found = bsearch(key, g->token, g->n, sizeof key, compare)))
            return (int32_t)(found - (const row *)g->token);
    }
}

static tg_status start(void *encoder, const void *tok, tg_err *err)
{
    struct encoder *e = encoder;

    (void)tok;
    (void)err;
    return e->n == 0 ? TG_OK : tg_fail(err, TG_EUSAGE, "the encoder's state is not zeroed");
}

/* Write the first id of what is pending. */
static void emit(struct encoder *e, const struct grams *g, int32_t *ids, size_t *n)
{
    size_t used;

    ids[(*n)++] = longest(g, e->text, e->n, &used);
    e->n -= used;
    memmove(e->text, e->text + used, e->n);
}

static tg_status encode(void *encoder, const void *tok, tg_text *text, int32_t *ids, size_t max, size_t *n,
                        tg_err *err)
{
    struct encoder *e = encoder;

    (void)err;
    while (*n < max && (text->n > 0 || e->n == GRAM_MAX)) {
        for (; e->n < GRAM_MAX && text->n > 0; text->n--)
            e->text[e->n++] = *text->next++;
        if (e->n == GRAM_MAX)
            emit(e, tok, ids, n);
    }
    return TG_OK;
}

static tg_status finish(void *encoder, const void *tok, int32_t *ids, size_t max, size_t *n, tg_err *err)
{
    struct encoder *e = encoder;

    (void)err;
    while (*n < max && e->n > 0)
        emit(e, tok, ids, n);
    return TG_OK;
}

static const tg_tokenizer_kind kind = {
    .name = "grams",
    .size = sizeof(struct grams),
    .encoder_size = sizeof(struct encoder),
    .take = take,
    .complete = complete,
    .array = array,
    .free = free_grams,
    .token = token,
    .start = start,
    .encode = encode,
    .finish = finish,
};

const tg_tokenizer_kind *const tg_tokenizer_kinds[] = {&kind, &tg_tokenizer_kind_bytes, NULL};

/* ---- for tests */

static const tg_tokenizer *create(size_t n, bool other)
{
    const tg_tokenizer *sealed;
    tg_tokenizer *tok;
    struct grams *g;

    if (tg_tokenizer_begin(&tok, &kind, NULL) || (n > 0 && fill((void *)tok->state, n, NULL)))
        abort();
    g = (void *)tok->state;
    if (other)
        g->token[n - 1][g->token[n - 1][0]]++;
    if (tg_tokenizer_seal(&sealed, tok, n, NULL))
        abort();
    return sealed;
}

const tg_tokenizer *grams_create(size_t n)
{
    return create(n, false);
}

const tg_tokenizer *grams_create_other(size_t n)
{
    return create(n, true);
}

size_t grams_encode(const tg_tokenizer *tok, int32_t *ids, const unsigned char *text, size_t n)
{
    size_t count = 0, used;

    for (; n > 0; text += used, n -= used)
        ids[count++] = longest((const void *)tok->state, text, n, &used);
    return count;
}

unsigned char *grams_text(size_t n)
{
    unsigned char *text = malloc(tg_size_max(n, 1));

    for (size_t i = 0; i < n; i++) {
        const uint32_t random = (uint32_t)(i + 1) * 2654435761u >> 7;

        text[i] =
            random % 11 == 0 ? (unsigned char)(random >> 8) : (unsigned char)letters[random / 11 % LETTERS];
    }
    return text;
}
