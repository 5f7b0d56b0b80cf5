/* The kind "char" against its definition, applied to a text that is in memory as a whole. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/utf8.h"
#include "lib/text/chars.h"
#include "lib/text/encoder.h"
#include "lib/text/kind.h"
#include "lib/tokens/tokenizer_read.h"
#include "tests/unit/check.h"
#include "tests/unit/failing.h"
#include "tests/unit/read_tokenizer.h"

#define TEXT_MAX 4096

/* ---- the definition */

/* Code points in order, then bytes that are part of none. */
static uint32_t first(const unsigned char *text, size_t n, size_t *length)
{
    uint32_t code;

    *length = tg_utf8_decode(&code, text, n);
    if (*length > 0)
        return code;
    *length = 1;
    return 0x110000 + text[0];
}

static int compare(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

/* The codes of a text, in its order; returns how many. */
static size_t codes_of(uint32_t *codes, const unsigned char *text, size_t n)
{
    size_t count = 0, length;

    for (; n > 0; text += length, n -= length)
        codes[count++] = first(text, n, &length);
    return count;
}

/* The distinct ones, ascending. */
static size_t vocabulary_of(uint32_t *vocabulary, const uint32_t *codes, size_t n)
{
    size_t V = 0;

    memcpy(vocabulary, codes, n * sizeof *codes);
    qsort(vocabulary, n, sizeof *vocabulary, compare);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || vocabulary[i] != vocabulary[i - 1])
            vocabulary[V++] = vocabulary[i];
    return V;
}

/* ---- what is tested */

static const tg_tokenizer *tokenizer_of(const unsigned char *text, size_t n, size_t part)
{
    const tg_tokenizer *tok;
    tg_chars *chars;
    tg_err err = {0};

    CHECK_OK(tg_chars_create(&chars, &err), &err);
    for (size_t at = 0; at < n; at += part)
        tg_chars_add(chars, text + at, n - at < part ? n - at : part);
    CHECK_OK(tg_chars_finish(chars, &tok, &err), &err);
    tg_chars_free(chars);
    return tok;
}

/* Encode in parts, into at most `max` ids at a time; returns how many. */
static size_t encode(int32_t *ids, const tg_tokenizer *tok, const unsigned char *text, size_t n, size_t part,
                     size_t max)
{
    tg_encoder *e;
    tg_err err = {0};
    size_t count = 0, got;

    CHECK_OK(tg_encoder_create(&e, tok, &err), &err);
    for (size_t at = 0; at < n; at += part) {
        tg_text rest = {text + at, n - at < part ? n - at : part};

        while (rest.n > 0) {
            const size_t before = rest.n;

            CHECK_OK(tg_encoder_encode(e, &rest, ids + count, max, &got, &err), &err);
            CHECK(got > 0 || rest.n < before);
            count += got;
        }
    }
    do {
        CHECK_OK(tg_encoder_finish(e, ids + count, max, &got, &err), &err);
        count += got;
    } while (got == max);
    tg_encoder_free(e);
    return count;
}

static void check_text(const unsigned char *text, size_t n)
{
    static uint32_t codes[TEXT_MAX], vocabulary[TEXT_MAX];
    static int32_t ids[TEXT_MAX];
    const size_t count = codes_of(codes, text, n), V = vocabulary_of(vocabulary, codes, count);
    const tg_tokenizer *whole = tokenizer_of(text, n, n);

    CHECK_EQ(tg_tokenizer_vocab_size(whole), V);
    for (size_t part = 1; part <= 7; part++) {
        const tg_tokenizer *tok = tokenizer_of(text, n, part);
        size_t at = 0;

        CHECK_OK(tg_tokenizer_same(whole, tok, NULL), &(tg_err){0});
        for (size_t max = 1; max <= 4; max++) {
            CHECK_EQ(encode(ids, tok, text, n, part, max), count);
            for (size_t i = 0; i < count; i++)
                CHECK_EQ(vocabulary[ids[i]], codes[i]);
        }
        for (size_t i = 0; i < count; i++) {
            size_t length;
            const unsigned char *token = tg_tokenizer_token(tok, ids[i], &length);

            CHECK(length >= 1 && at + length <= n && memcmp(token, text + at, length) == 0);
            at += length;
        }
        CHECK_EQ(at, n);
        tg_tokenizer_free(tok);
    }
    tg_tokenizer_free(whole);
}

/* Characters at the borders of UTF-8's lengths, of blocks and of what is valid, and what is not. */
static const char *const parts[] = {
    "a", "\n", "~", "\x7F", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
    "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF", "\xE4\xB8\xAD", "\xF0\x9F\x98\x80",
    /* not valid: stray, cut, overlong, surrogates, too large */
    "\x80", "\xBF", "\xC2", "\xE4", "\xE4\xB8", "\xF0\x9F", "\xF0\x9F\x98", "\xC0\x80", "\xC1",
    "\xE0\x80\x80", "\xED\xA0\x80", "\xF0\x80\x80\x80", "\xF4\x90\x80\x80", "\xF5", "\xFE", "\xFF"};
#define PARTS (sizeof parts / sizeof parts[0])

static void every_pair(void)
{
    const size_t step = check_soak(5, 1); /* one in so many, from another on each time */

    for (size_t i = 0; i < PARTS; i++)
        for (size_t j = i % step; j < PARTS; j += step) {
            unsigned char text[16];
            const int n = snprintf((char *)text, sizeof text, "%s%s", parts[i], parts[j]);

            check_text(text, (size_t)n);
        }
}

static uint32_t random_number(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void random_texts(void)
{
    uint32_t state = 1;

    for (size_t round = 0; round < 50; round++) {
        unsigned char text[300];
        size_t n = 0;

        while (n < sizeof text - 4) {
            const char *part = parts[random_number(&state) % PARTS];

            if (random_number(&state) % 4 == 0)
                text[n++] = (unsigned char)random_number(&state); /* a NUL as well */
            memcpy(text + n, part, strlen(part));
            n += strlen(part);
        }
        check_text(text, n);
    }
}

/* The encoding of both sides of a cut is that of the whole. */
static void cuts(void)
{
    const unsigned char text[] = "a\xE4\xB8\xAD\xE4\xB8z\xF0\x9F\x98\x80\x80\xFF";
    const size_t n = sizeof text - 1;
    const tg_tokenizer *tok = tokenizer_of(text, n, n);
    int32_t whole[32], both[32];
    const size_t count = encode(whole, tok, text, n, n, 8);

    for (size_t end = 1; end <= n; end++)
        for (size_t reach = 0; reach <= end; reach++) {
            const size_t p = tg_tokenizer_kind_char.cut(tok->state, text, end, reach);
            size_t left;

            CHECK(p < end && (p == 0 || p + reach >= end));
            if (p == 0)
                continue;
            left = encode(both, tok, text, p, p, 8);
            CHECK_EQ(left + encode(both + left, tok, text + p, n - p, n, 8), count);
            CHECK(memcmp(whole, both, count * sizeof *whole) == 0);
        }
    CHECK_EQ(tg_tokenizer_kind_char.cut(tok->state, text, 4, 3), 1);
    CHECK_EQ(tg_tokenizer_kind_char.cut(tok->state, text, 4, 2), 0);
    tg_tokenizer_free(tok);
}

/* ---- what the vocabulary lacks */

static void check_unknown(const char *text, size_t part, const char *message)
{
    const tg_tokenizer *tok = tokenizer_of((const unsigned char *)"abc\xE4\xB8\xAD", 6, 6);
    tg_encoder *e;
    tg_err err = {0};
    int32_t ids[8];
    size_t n = strlen(text), got;
    tg_status status = TG_OK;

    CHECK_OK(tg_encoder_create(&e, tok, &err), &err);
    for (size_t at = 0; at < n && !status; at += part) {
        tg_text rest = {(const unsigned char *)text + at, n - at < part ? n - at : part};

        while (rest.n > 0 && !status)
            status = tg_encoder_encode(e, &rest, ids, 8, &got, &err);
    }
    if (!status)
        status = tg_encoder_finish(e, ids, 8, &got, &err);
    CHECK_EQ(status, TG_EDATA);
    CHECK_HAS(err.message, message);
    tg_encoder_free(e);
    tg_tokenizer_free(tok);
}

static void unknown_characters(void)
{
    for (size_t part = 1; part <= 5; part++) {
        check_unknown("ab\xE4\xB8\xAD\xC3\xA9 c", part,
                      "character \"\xC3\xA9\" (U+00E9) at offset 5 is not among the vocabulary's 4");
        check_unknown("ab\t", part, "character U+0009 at offset 2 is not among");
        check_unknown("abc\xE4\xB8", part, "byte 0xE4 at offset 3 is not among the 4 characters");
        check_unknown("\xFF", part, "byte 0xFF at offset 0");
        check_unknown("\xF0\x9F\x98\x80", part, "(U+1F600) at offset 0");
    }
}

static void no_text(void)
{
    const tg_tokenizer *tok;
    tg_chars *chars;
    tg_err err = {0};

    CHECK_OK(tg_chars_create(&chars, &err), &err);
    CHECK_EQ(tg_chars_finish(chars, &tok, &err), TG_EDATA);
    CHECK(tok == NULL);
    tg_chars_add(chars, "x", 1); /* it can go on */
    CHECK_OK(tg_chars_finish(chars, &tok, &err), &err);
    CHECK_EQ(tg_tokenizer_vocab_size(tok), 1);
    tg_tokenizer_free(tok);
    tg_chars_free(chars);
    CHECK_EQ(tg_tokenizer_create(&tok, "char", &err), TG_EUSAGE);
    CHECK_HAS(err.message, "\"char\" is built from a text");
}

/* ---- archives */

static FILE *archive_of_array(const char *kind, size_t vocab_size, tg_dtype dtype, size_t ndim,
                              const size_t *shape, const void *codes)
{
    FILE *f = tmpfile();
    tg_archive_writer *w;
    tg_err err = {0};

    CHECK(f != NULL);
    CHECK_OK(tg_archive_create(&w, fileno(f), &err), &err);
    CHECK_OK(tg_archive_put_text(w, "tokenizer/kind", kind, &err), &err);
    CHECK_OK(tg_archive_put_i64(w, "tokenizer/vocab_size", (int64_t)vocab_size, &err), &err);
    if (codes)
        CHECK_OK(tg_archive_put(w, "tokenizer/chars", dtype, ndim, shape, codes, &err), &err);
    CHECK_OK(tg_archive_finish(w, &err), &err);
    tg_archive_abandon(w);
    return f;
}

static FILE *archive_of(const char *kind, size_t vocab_size, tg_dtype dtype, size_t n, const void *codes)
{
    return archive_of_array(kind, vocab_size, dtype, 1, &n, codes);
}

static tg_status read_file(const tg_tokenizer **tok, FILE *f, tg_err *err)
{
    const tg_status status = read_tokenizer(tok, f, err);

    fclose(f);
    return status;
}

static void archives(void)
{
    const uint32_t codes[] = {'a', 0x4E2D, 0x1F600, 0x1100FF};
    const unsigned char text[] = "\xFF\xE4\xB8\xAD"
                                 "a\xF0\x9F\x98\x80";
    const tg_tokenizer *want = tokenizer_of(text, sizeof text - 1, 3), *got;
    tg_err err = {0};

    CHECK_OK(read_file(&got, archive_of("char", 4, (tg_dtype){'u', 4}, 4, codes), &err), &err);
    CHECK_OK(tg_tokenizer_same(want, got, &err), &err);
    tg_tokenizer_free(got);
    tg_tokenizer_free(want);
}

static void check_refused(size_t vocab_size, tg_dtype dtype, size_t n, const void *codes, const char *message)
{
    const tg_tokenizer *tok;
    tg_err err = {0};

    CHECK_EQ(read_file(&tok, archive_of("char", vocab_size, dtype, n, codes), &err), TG_EDATA);
    CHECK_HAS(err.message, message);
}

static void no_memory(void)
{
    tg_status status = TG_ENOMEM;
    long n;

    for (n = 0; status == TG_ENOMEM; n++) {
        FILE *f = archive_of("char", 2, (tg_dtype){'u', 4}, 2, (uint32_t[]){'a', 'b'});
        const tg_tokenizer *tok;
        tg_source source;
        tg_archive_reader *r;
        tg_archive_event event;
        tg_tokenizer_draft draft = {0};
        tg_array a;
        bool taken;
        tg_err err = {0};

        CHECK(lseek(fileno(f), 0, SEEK_SET) == 0);
        CHECK_OK(tg_source_open(&source, fileno(f), &err), &err);
        CHECK_OK(tg_archive_open_source(&r, &source, &err), &err);
        failing_after(n);
        while (!(status = tg_archive_next(r, &a, &event, &err)) && event == TG_ARCHIVE_ARRAY &&
               !(status = tg_tokenizer_take(&draft, r, &a, &taken, &err)))
            ;
        status = status ? status : tg_tokenizer_complete(&tok, &draft, &err);
        failing_after(-1);
        if (!status)
            tg_tokenizer_free(tok);
        tg_tokenizer_draft_free(&draft);
        tg_archive_close(r);
        fclose(f);
    }
    CHECK(status == TG_OK && n > 2);
}

static void bad_archives(void)
{
    const tg_dtype u4 = {'u', 4};
    const size_t many = 0x110000 + 128 - 2048 + 1;
    uint32_t *codes = calloc(many, sizeof *codes);
    const tg_tokenizer *tok;
    tg_err err = {0};

    CHECK_EQ(read_file(&tok, archive_of_array("char", 1, u4, 0, NULL, codes), &err), TG_EDATA);
    CHECK_HAS(err.message, "tokenizer/chars has 1 elements of type u4, expected 1 to 1112192 of type u4");
    check_refused(1, u4, 0, codes, "has 0 elements of type u4");
    check_refused(many, u4, many, codes, "has 1112193 elements of type u4");
    free(codes);

    check_refused(2, u4, 0, NULL, "tokenizer/chars is missing");
    check_refused(3, u4, 2, (uint32_t[]){'a', 'b'}, "tokenizer/vocab_size is 3, tokenizer/chars has 2");
    check_refused(2, u4, 2, (uint32_t[]){'b', 'b'}, "tokenizer/chars[1] is 0x62 after 0x62");
    check_refused(2, u4, 2, (uint32_t[]){'b', 'a'}, "expected ascending order");
    check_refused(1, u4, 1, (uint32_t[]){0xD800}, "tokenizer/chars[0] is 0xD800, which is not a character");
    check_refused(1, u4, 1, (uint32_t[]){0xDFFF}, "not a character");
    check_refused(1, u4, 1, (uint32_t[]){0x11007F}, "not a character");
    check_refused(1, u4, 1, (uint32_t[]){0x110100}, "not a character");
    check_refused(1, u4, 1, (uint32_t[]){0xFFFFFFFF}, "is 0xFFFFFFFF");
    check_refused(1, (tg_dtype){'u', 1}, 1, "a",
                  "has 1 elements of type u1, expected 1 to 1112192 of type u4");
}

int main(void)
{
    RUN(every_pair);
    RUN(random_texts);
    RUN(cuts);
    RUN(unknown_characters);
    RUN(no_text);
    RUN(archives);
    RUN(bad_archives);
    RUN(no_memory);
    return check_done();
}
