#include "lib/text/chars.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/size.h"
#include "lib/base/utf8.h"
#include "lib/text/kind.h"

/* A code is a code point, or BYTE + b for the single byte b, which is never ASCII. */
#define BYTE 0x110000u
#define CODES (BYTE + 0x100u)
#define CODES_MAX ((size_t)CODES - 0x800 - 0x80) /* without surrogates and ASCII bytes */

#define WORDS (CODES / 64)
#define ASCII 0x80u

/* ---- characters of a text that arrives in parts */

/* The bytes of a character that is not complete. */
struct partial {
    unsigned char text[TG_UTF8_MAX];
    size_t n;
};

/* Whether it is known if the partial character begins with a whole character or a single byte. */
static bool is_decided(const struct partial *p)
{
    return p->n > 0 && !tg_utf8_is_cut(p->text, p->n);
}

/* The code that text [n] begins with, n >= 1, and its length. */
static uint32_t first_code(const unsigned char *text, size_t n, size_t *length)
{
    uint32_t code = text[0];

    *length = code < ASCII ? 1 : tg_utf8_decode(&code, text, n);
    if (*length > 0)
        return code;
    *length = 1;
    return BYTE + text[0];
}

/* Remove the first code from a partial character that is decided, or that ends the text. */
static uint32_t take_code(struct partial *p)
{
    size_t length;
    const uint32_t code = first_code(p->text, p->n, &length);

    p->n -= length;
    memmove(p->text, p->text + length, p->n);
    return code;
}

/* Take the next code of a text that arrives in parts; false: more of the text decides it. */
static inline bool next_code(uint32_t *code, struct partial *p, tg_text *text)
{
    size_t length;

    if (p->n == 0 && text->n > 0 && text->n >= tg_utf8_length(*text->next)) {
        *code = first_code(text->next, text->n, &length);
        tg_text_take(text, length);
        return true;
    }
    for (; !is_decided(p); p->text[p->n++] = *tg_text_take(text, 1))
        if (text->n == 0)
            return false;
    *code = take_code(p);
    return true;
}

/* ---- the tokenizer's state */

struct vocabulary {
    uint32_t *code; /* [V] ascending; owned */
    size_t V;
    char (*text)[TG_UTF8_MAX]; /* [V] owned */
    int32_t *number;           /* [n_numbers] the id of each code, plus 1; 0: none; owned */
    size_t n_numbers;          /* ASCII's, and as far as the last code */
};

static size_t put_text(char text[TG_UTF8_MAX], uint32_t code)
{
    if (code < BYTE)
        return tg_utf8_encode(text, code);
    text[0] = (char)(code - BYTE);
    return 1;
}

/* Bytes of a code's text. */
static size_t text_length(uint32_t code)
{
    return code >= BYTE || code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
}

static tg_status take(void *tok, tg_archive_reader *r, const tg_array *a, bool *taken, tg_err *err)
{
    struct vocabulary *v = tok;

    *taken = strcmp(a->name, "tokenizer/chars") == 0;
    if (!*taken)
        return TG_OK;
    if (a->dtype.kind != 'u' || a->dtype.size != sizeof *v->code || a->ndim != 1 || a->count < 1 ||
        a->count > CODES_MAX)
        return tg_fail(err, TG_EDATA,
                       "tokenizer/chars has %zu elements of type %c%zu, expected 1 to %zu of type u4",
                       a->count, a->dtype.kind, a->dtype.size, CODES_MAX);
    if (!(v->code = malloc(a->bytes)))
        return tg_fail_memory(err, a->bytes, "characters");
    v->V = a->count;
    return tg_archive_read(r, v->code, a->bytes, err);
}

static bool is_code(uint32_t code)
{
    return code < CODES && (code < 0xD800 || code > 0xDFFF) && (code < BYTE || code >= BYTE + ASCII);
}

static tg_status check_codes(const struct vocabulary *v, tg_err *err)
{
    for (size_t i = 0; i < v->V; i++) {
        if (!is_code(v->code[i]))
            return tg_fail(err, TG_EDATA, "tokenizer/chars[%zu] is 0x%lX, which is not a character", i,
                           (unsigned long)v->code[i]);
        if (i > 0 && v->code[i] <= v->code[i - 1])
            return tg_fail(err, TG_EDATA,
                           "tokenizer/chars[%zu] is 0x%lX after 0x%lX, expected ascending order", i,
                           (unsigned long)v->code[i], (unsigned long)v->code[i - 1]);
    }
    return TG_OK;
}

static tg_status complete(void *tok, size_t *vocab_size, tg_err *err)
{
    struct vocabulary *v = tok;
    tg_status status;

    if (!v->code && *vocab_size == 0)
        return tg_fail(err, TG_EUSAGE, "tokenizer \"char\" is built from a text, and no text is given");
    if (!v->code)
        return tg_fail(err, TG_EDATA, "tokenizer/chars is missing");
    if (*vocab_size > 0 && *vocab_size != v->V)
        return tg_fail(err, TG_EDATA, "tokenizer/vocab_size is %zu, tokenizer/chars has %zu", *vocab_size,
                       v->V);
    *vocab_size = v->V;
    if ((status = check_codes(v, err)))
        return status;
    v->n_numbers = tg_size_max(ASCII, (size_t)v->code[v->V - 1] + 1);
    if (!(v->text = malloc(v->V * sizeof *v->text)) || !(v->number = calloc(v->n_numbers, sizeof *v->number)))
        return tg_fail_memory(err, v->V * sizeof *v->text + v->n_numbers * sizeof *v->number, "characters");
    for (size_t i = 0; i < v->V; i++) {
        (void)put_text(v->text[i], v->code[i]);
        v->number[v->code[i]] = (int32_t)i + 1;
    }
    return TG_OK;
}

static bool array(const void *tok, size_t i, tg_array *a)
{
    const struct vocabulary *v = tok;

    if (i > 0)
        return false;
    *a = (tg_array){.name = "tokenizer/chars",
                    .dtype = {'u', sizeof *v->code},
                    .ndim = 1,
                    .shape = {v->V},
                    .data = v->code};
    return true;
}

static void free_vocabulary(void *tok)
{
    struct vocabulary *v = tok;

    free(v->code);
    free(v->text);
    free(v->number);
}

static const unsigned char *token(const void *tok, int32_t id, size_t *n)
{
    const struct vocabulary *v = tok;

    *n = text_length(v->code[id]);
    return (const unsigned char *)v->text[id];
}

/* A byte that is not a continuation byte begins a new character, whatever precedes it. */
static size_t cut(const void *tok, const unsigned char *text, size_t n, size_t reach)
{
    const size_t end = reach < n ? n - reach : 1;

    (void)tok;
    for (size_t p = n; p-- > end;)
        if (!tg_utf8_continues(text[p]))
            return p;
    return 0;
}

/* ---- the encoder */

struct encoder {
    struct partial partial;
    uint64_t at; /* offset of the next code's text, which is in `partial` or follows */
};

static tg_status unknown(const struct vocabulary *v, uint32_t code, uint64_t at, tg_err *err)
{
    const unsigned long long offset = at;
    char text[TG_UTF8_MAX + 1] = {0};
    uint32_t same;

    if (code >= BYTE)
        return tg_fail(err, TG_EDATA,
                       "byte 0x%02X at offset %llu is not among the %zu characters of the vocabulary",
                       (unsigned)(code - BYTE), offset, v->V);
    if (tg_utf8_printable(&same, text, put_text(text, code)) == 0)
        return tg_fail(err, TG_EDATA, "character U+%04lX at offset %llu is not among the vocabulary's %zu",
                       (unsigned long)code, offset, v->V);
    return tg_fail(err, TG_EDATA,
                   "character \"%s\" (U+%04lX) at offset %llu is not among the vocabulary's %zu", text,
                   (unsigned long)code, offset, v->V);
}

static tg_status put_code(struct encoder *e, const struct vocabulary *v, uint32_t code, int32_t *ids,
                          size_t *n, tg_err *err)
{
    const int32_t id = code < v->n_numbers ? v->number[code] - 1 : -1;

    if (id < 0)
        return unknown(v, code, e->at, err);
    ids[(*n)++] = id;
    e->at += text_length(code);
    return TG_OK;
}

/* Encode ASCII in place, up to the first character that is not ASCII or that the vocabulary lacks. */
static void put_ascii(struct encoder *e, const struct vocabulary *v, tg_text *text, int32_t *ids, size_t max,
                      size_t *n)
{
    const size_t end = tg_size_min(max - *n, text->n);
    size_t i = 0;

    for (; i < end && text->next[i] < ASCII; i++) {
        const int32_t id = v->number[text->next[i]] - 1;

        if (id < 0)
            break;
        ids[*n + i] = id;
    }
    *n += i;
    e->at += i;
    tg_text_take(text, i);
}

static tg_status encode(void *encoder, const void *tok, tg_text *text, int32_t *ids, size_t max, size_t *n,
                        tg_err *err)
{
    struct encoder *e = encoder;
    tg_status status = TG_OK;
    uint32_t code;

    while (!status && *n < max) {
        if (e->partial.n == 0)
            put_ascii(e, tok, text, ids, max, n);
        if (*n == max || !next_code(&code, &e->partial, text))
            break;
        status = put_code(e, tok, code, ids, n, err);
    }
    return status;
}

static tg_status finish(void *encoder, const void *tok, int32_t *ids, size_t max, size_t *n, tg_err *err)
{
    struct encoder *e = encoder;
    tg_status status = TG_OK;

    while (!status && *n < max && e->partial.n > 0)
        status = put_code(e, tok, take_code(&e->partial), ids, n, err);
    return status;
}

static void offset(void *encoder, uint64_t at)
{
    struct encoder *e = encoder;

    e->at = at;
}

const tg_tokenizer_kind tg_tokenizer_kind_char = {
    .name = "char",
    .size = sizeof(struct vocabulary),
    .encoder_size = sizeof(struct encoder),
    .take = take,
    .complete = complete,
    .array = array,
    .free = free_vocabulary,
    .token = token,
    .cut = cut,
    .offset = offset,
    .encode = encode,
    .finish = finish,
};

/* ---- the characters of a text */

struct tg_chars {
    struct partial partial;
    uint64_t seen[WORDS]; /* bit code % 64 of word code / 64 */
};

tg_status tg_chars_create(tg_chars **chars, tg_err *err)
{
    *chars = calloc(1, sizeof **chars);
    return *chars ? TG_OK : tg_fail_memory(err, sizeof **chars, "the characters of a text");
}

static void mark(tg_chars *c, uint32_t code)
{
    c->seen[code / 64] |= (uint64_t)1 << code % 64;
}

void tg_chars_add(tg_chars *c, const void *text, size_t n)
{
    tg_text rest = {text, n};
    uint32_t code;

    while (next_code(&code, &c->partial, &rest))
        mark(c, code);
}

static tg_status fill_vocabulary(struct vocabulary *v, const tg_chars *c, tg_err *err)
{
    size_t i = 0;

    for (size_t w = 0; w < WORDS; w++)
        v->V += (size_t)__builtin_popcountll(c->seen[w]);
    if (v->V == 0)
        return tg_fail(err, TG_EDATA, "the text is empty, expected at least one character");
    if (!(v->code = malloc(v->V * sizeof *v->code)))
        return tg_fail_memory(err, v->V * sizeof *v->code, "characters");
    for (size_t w = 0; w < WORDS; w++)
        for (uint64_t bits = c->seen[w]; bits != 0; bits &= bits - 1)
            v->code[i++] = (uint32_t)(64 * w) + (uint32_t)__builtin_ctzll(bits);
    return TG_OK;
}

tg_status tg_chars_finish(tg_chars *c, const tg_tokenizer **out, tg_err *err)
{
    tg_tokenizer *tok;
    tg_status status = tg_tokenizer_begin(&tok, &tg_tokenizer_kind_char, err);

    *out = NULL;
    if (status)
        return status;
    while (c->partial.n > 0)
        mark(c, take_code(&c->partial));
    status = fill_vocabulary((void *)tok->state, c, err);
    memset(c, 0, sizeof *c);
    if (!status)
        return tg_tokenizer_seal(out, tok, 0, err);
    tg_tokenizer_free(tok);
    return status;
}

void tg_chars_free(tg_chars *c)
{
    free(c);
}
