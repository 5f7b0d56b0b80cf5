/* Normalisation: cases by hand, every character by its own decomposition, and cuts.
 * (tests/judges compares with Python's.) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/rng.h"
#include "lib/base/size.h"
#include "lib/base/utf8.h"
#include "lib/unicode/normalize.h"
#include "lib/unicode/unicode.h"
#include "tests/unit/check.h"

enum { MAX = 1 << 12 };

struct text {
    unsigned char bytes[4 * MAX];
    size_t n;
};

static uint64_t random_number(uint64_t seed, uint64_t index)
{
    const tg_rng rng = {.seed = seed, .purpose = TG_RNG_SAMPLE};

    return tg_rng_u64(&rng, index);
}

static void append(struct text *t, const void *bytes, size_t n)
{
    CHECK(t->n + n <= sizeof t->bytes);
    if (t->n + n <= sizeof t->bytes) {
        memcpy(t->bytes + t->n, bytes, n);
        t->n += n;
    }
}

/* Bit i of cuts (modulo 64) says whether the text is cut after its byte i. */
static void normalize(tg_nfc *nfc, struct text *out, const unsigned char *text, size_t n, uint64_t cuts)
{
    size_t at = 0;
    tg_err err;

    out->n = 0;
    for (size_t end = 0; end <= n; end++) {
        const unsigned char *part;
        size_t part_n;

        if (end < n && (end == 0 || !(cuts >> (end - 1) % 64 & 1)))
            continue;
        CHECK_OK(tg_nfc_next(nfc, &part, &part_n, text + at, end - at, end == n, &err), &err);
        append(out, part, part_n);
        at = end;
    }
}

static bool equal(const struct text *got, const void *want, size_t n)
{
    if (got->n == n && memcmp(got->bytes, want, n) == 0)
        return true;
    printf("    got ");
    for (size_t i = 0; i < got->n; i++)
        printf("\\x%02x", got->bytes[i]);
    printf("\n   want ");
    for (size_t i = 0; i < n; i++)
        printf("\\x%02x", ((const unsigned char *)want)[i]);
    printf("\n");
    return false;
}

static tg_nfc *new_nfc(void)
{
    tg_nfc *nfc = NULL;
    tg_err err;

    CHECK_OK(tg_nfc_create(&nfc, &err), &err);
    return nfc;
}

static const struct {
    const char *text, *normal;
} cases[] = {
    {"", ""},
    {"plain ASCII, 1 < 2", "plain ASCII, 1 < 2"},
    {"caf\xC3\xA9", "caf\xC3\xA9"},
    {"cafe\xCC\x81 e", "caf\xC3\xA9 e"},
    {"\xE2\x84\xAB", "\xC3\x85"},                  /* angstrom sign: A with ring */
    {"a\xCC\x82\xCC\x81", "\xE1\xBA\xA5"},         /* two steps: circumflex, acute */
    {"a\xCC\x81\xCC\x82", "\xC3\xA1\xCC\x82"},     /* of one order: only the first */
    {"a\xCC\x81\xCC\xA3", "\xE1\xBA\xA1\xCC\x81"}, /* reordered: dot below before acute */
    {"a\xCC\x85\xCC\x81", "a\xCC\x85\xCC\x81"},    /* blocked by an overline of its order */
    {" \xCC\x95\xCC\x96", " \xCC\x96\xCC\x95"},    /* neither composes, but their order changes */
    {"\xE1\x84\x80\xCC\x81\xE1\x85\xA1", "\xE1\x84\x80\xCC\x81\xE1\x85\xA1"}, /* a mark between */
    {"\xC3\xA1\xCC\xA3", "\xE1\xBA\xA1\xCC\x81"}, /* the same from a composed letter */
    {"\xCC\x81\xCC\xA3", "\xCC\xA3\xCC\x81"},     /* marks without a letter */
    {" \xCC\x81\xCC\xA3x", " \xCC\xA3\xCC\x81x"},
    {"\xE0\xA5\x98", "\xE0\xA4\x95\xE0\xA4\xBC"},             /* excluded from composition */
    {"\xE1\x84\x92\xE1\x85\xA1\xE1\x86\xAB", "\xED\x95\x9C"}, /* Hangul */
    {"\xED\x95\x98\xE1\x86\xAB", "\xED\x95\x9C"},
    {"\xE1\x85\xA1\xE1\x86\xAB", "\xE1\x85\xA1\xE1\x86\xAB"},
    {"\xEA\xB0\x80\xE1\x86\xA7", "\xEA\xB0\x80\xE1\x86\xA7"}, /* U+11A7 is no final consonant */
    {"\xE0\xA7\x87\xE0\xA6\xBE",
     "\xE0\xA7\x8B"},                   /* two vowel signs, neither of which is a mark with an order */
    {"\xCD\x84", "\xCC\x88\xCC\x81"},   /* a mark that decomposes */
    {"e\x80\xCC\x81", "e\x80\xCC\x81"}, /* what is no character separates */
    {"e\xCC", "e\xCC"},
    {"\xC3\xA9\xF0\x9F", "\xC3\xA9\xF0\x9F"},
    {"\x98\xCC\x98", "\x98\xCC\x98"},
    {"\xC0\x81"
     "e\xCC\x81",
     "\xC0\x81\xC3\xA9"},
};

static void worked(void)
{
    tg_nfc *nfc = new_nfc();
    static struct text out;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const unsigned char *text = (const unsigned char *)cases[i].text;
        const size_t n = strlen(cases[i].text);

        for (uint64_t cuts = 0; cuts < (uint64_t)1 << tg_size_min(n, 10); cuts++) {
            normalize(nfc, &out, text, n, cuts);
            if (!equal(&out, cases[i].normal, strlen(cases[i].normal))) {
                CHECK_EQ(i, -1);
                break;
            }
        }
    }
    tg_nfc_free(nfc);
    tg_nfc_free(NULL);
}

/* ASCII and what is in normal form comes back where it is. */
static void without_a_copy(void)
{
    static const unsigned char text[] =
        "no letter at the end, so nothing is kept: caf\xC3\xA9 \xE4\xB8\xAD.\n";
    tg_nfc *nfc = new_nfc();
    const unsigned char *out;
    size_t n;
    tg_err err;

    CHECK_OK(tg_nfc_next(nfc, &out, &n, text, sizeof text - 1, false, &err), &err);
    CHECK(out == text && n == sizeof text - 1);
    CHECK_OK(tg_nfc_next(nfc, &out, &n, text, 10, true, &err), &err);
    CHECK(out == text && n == 10);
    CHECK_OK(tg_nfc_next(nfc, &out, &n, text, 9, false, &err), &err);
    CHECK(out == text && n == 8); /* the r may get a mark */
    CHECK_OK(tg_nfc_next(nfc, &out, &n, text, 0, true, &err), &err);
    CHECK(n == 1 && *out == 'r');
    tg_nfc_free(nfc);
}

/* The parts of every decomposition become the character again, or what that becomes. */
static void every_decomposition(void)
{
    tg_nfc *nfc = new_nfc();
    static struct text from, parts, again;

    for (uint32_t code = 0xA0; code < 0x30000; code++) {
        uint32_t part[TG_UNICODE_PARTS];
        const size_t n = tg_unicode_decompose(part, code);
        struct text *texts[] = {&from, &parts};

        if (n == 1 && part[0] == code)
            continue;
        for (size_t t = 0; t < 2; t++) {
            texts[t]->n = 0;
            for (size_t i = 0; i < (t ? n : 1); i++) {
                char bytes[TG_UTF8_MAX];

                append(texts[t], bytes, tg_utf8_encode(bytes, t ? part[i] : code));
            }
        }
        normalize(nfc, &again, from.bytes, from.n, 0);
        from = again;
        normalize(nfc, &again, parts.bytes, parts.n, 2);
        if (!equal(&again, from.bytes, from.n)) {
            CHECK_EQ(code, -1);
            break;
        }
    }
    tg_nfc_free(nfc);
}

/* Our list of the characters that compose with one before them has those of utf8proc's Unicode: a version
 * that is newer than the list fails here. */
static void every_second(void)
{
    for (uint32_t code = 0; code <= 0x10FFFF; code++) {
        uint32_t part[TG_UNICODE_PARTS];
        const size_t n = tg_unicode_decompose(part, code);
        const tg_unicode_form last = tg_unicode_form_of(part[n - 1]);

        if (n == 1 || tg_unicode_form_of(code).changes)
            continue;
        if (last.starts || !last.changes) {
            CHECK_EQ(part[n - 1], -1);
            break;
        }
    }
}

/* No mark is skipped as an inert byte: one of the lowest order moves before it. */
static void every_mark(void)
{
    tg_nfc *nfc = new_nfc();
    static struct text out;

    for (uint32_t code = 0x80; code <= 0x10FFFF; code++) {
        char text[TG_UTF8_MAX + 3] = "1";
        const unsigned order = tg_unicode_form_of(code).order;
        const size_t n = order > 1 ? 1 + tg_utf8_encode(text + 1, code) : 0;

        if (n == 0)
            continue;
        memcpy(text + n, "\xCC\xB8", 2);
        normalize(nfc, &out, (unsigned char *)text, n + 2, 0);
        if (out.n < 3 || memcmp(out.bytes + 1, "\xCC\xB8", 2) != 0) {
            CHECK_EQ(code, -1);
            break;
        }
    }
    tg_nfc_free(nfc);
}

static const char *const alphabet[] = {
    "a",
    "e",
    "o",
    "K",
    " ",
    "\n",
    "1",
    "<",
    "\xCC\x81",
    "\xCC\xA3",
    "\xCC\x9B",
    "\xCC\xB8",
    "\xC3\xA9",
    "\xE2\x84\xAB",
    "\xE1\x84\x92",
    "\xE1\x85\xA1",
    "\xE1\x86\xAB",
    "\xEA\xB0\x80",
    "\xE4\xB8\xAD",
    "\xEF\xA4\x80",
    "\xE0\xA5\x98",
    "\xCD\x84",
    "\xF0\x91\x8F\x82",
    "\xF0\x96\x84\x9E",
    "\xFF",
    "\xCC",
    "\xE1\x84",
    "\xF0\x96",
};

/* However it is cut, and a second time, the result is the same. */
static void random_texts(void)
{
    tg_nfc *nfc = new_nfc();
    static struct text text, once, again;

    for (uint64_t seed = 0; seed < 4000; seed++) {
        text.n = 0;
        for (size_t i = 0; i < 1 + random_number(seed, 0) % 60; i++) {
            const char *letter =
                alphabet[random_number(seed, 2 + i) % (sizeof alphabet / sizeof alphabet[0])];

            append(&text, letter, strlen(letter));
        }
        normalize(nfc, &once, text.bytes, text.n, 0);
        normalize(nfc, &again, text.bytes, text.n, random_number(seed, 1));
        if (!equal(&again, once.bytes, once.n)) {
            CHECK_EQ(seed, -1);
            break;
        }
        normalize(nfc, &again, once.bytes, once.n, random_number(seed, 1) >> 7);
        if (!equal(&again, once.bytes, once.n)) {
            CHECK_EQ(seed, -1);
            break;
        }
    }
    tg_nfc_free(nfc);
}

/* A character with very many marks: sorted in linear time, the first of each order composed. */
static void many_marks(void)
{
    enum { MARKS = 200000 };
    static unsigned char text[1 + 2 * MARKS];
    tg_nfc *nfc = new_nfc();
    const unsigned char *out;
    size_t n, below = 0;
    tg_err err;

    text[0] = 'a';
    for (size_t i = 0; i < MARKS; i++) /* acute above, dot below, in turns */
        memcpy(text + 1 + 2 * i, i % 2 ? "\xCC\xA3" : "\xCC\x81", 2);
    for (size_t at = 0; at < sizeof text; at += n) {
        n = tg_size_min(1001, sizeof text - at);
        CHECK_OK(tg_nfc_next(nfc, &out, &n, text + at, n, false, &err), &err);
        CHECK_EQ(n, 0);
        n = tg_size_min(1001, sizeof text - at);
    }
    CHECK_OK(tg_nfc_next(nfc, &out, &n, text, 0, true, &err), &err);
    CHECK_EQ(n, 3 + 2 * (MARKS - 1));
    CHECK(memcmp(out, "\xE1\xBA\xA1", 3) == 0); /* a with a dot below */
    while (3 + 2 * below < n && memcmp(out + 3 + 2 * below, "\xCC\xA3", 2) == 0)
        below++;
    CHECK_EQ(below, MARKS / 2 - 1);
    tg_nfc_free(nfc);
}

int main(void)
{
    RUN(worked);
    RUN(without_a_copy);
    RUN(every_decomposition);
    RUN(every_second);
    RUN(every_mark);
    RUN(random_texts);
    RUN(many_marks);
    return check_done();
}
