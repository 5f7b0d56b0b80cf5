/* Splitting, against the regular expressions as ref_split.c matches them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/choice.h"
#include "lib/base/rng.h"
#include "lib/base/size.h"
#include "lib/split/split.h"
#include "lib/unicode/unicode.h"
#include "tests/unit/check.h"
#include "tests/unit/ref_split.h"

enum { MAX = 1 << 16 }; /* bytes of a text */

static uint64_t want[TG_SPLIT_WORDS(MAX)], got[TG_SPLIT_WORDS(MAX)], part[TG_SPLIT_WORDS(MAX)];

static uint64_t random_number(uint64_t seed, uint64_t index)
{
    const tg_rng rng = {.seed = seed, .purpose = TG_RNG_SAMPLE};

    return tg_rng_u64(&rng, index);
}

static size_t below(uint64_t seed, uint64_t index, size_t n)
{
    return (size_t)(random_number(seed, index) % n);
}

static bool is_start(const uint64_t *starts, size_t i)
{
    return starts[i / 64] >> i % 64 & 1;
}

static void set_start(uint64_t *starts, size_t i)
{
    starts[i / 64] |= (uint64_t)1 << i % 64;
}

/* ---- failures, as pieces */

static void show(const char *what, const uint64_t *starts, const unsigned char *text, size_t from, size_t to)
{
    printf("    %s ", what);
    for (size_t i = from; i < to; i++) {
        printf("%s", is_start(starts, i) ? "|" : "");
        printf(text[i] > ' ' && text[i] < 0x7F ? "%c" : "\\x%02x", text[i]);
    }
    printf("\n");
}

/* Whether the texts' starts agree; the first place where they do not is printed. */
static bool same(tg_split split, const char *how, const unsigned char *text, size_t n)
{
    size_t i = 0;

    while (i < n && is_start(want, i) == is_start(got, i))
        i++;
    if (i == n)
        return true;
    printf("    %s, %s, byte %zu of %zu:\n", tg_split_name(split), how, i, n);
    show("want", want, text, i > 30 ? i - 30 : 0, tg_size_min(n, i + 30));
    show("got ", got, text, i > 30 ? i - 30 : 0, tg_size_min(n, i + 30));
    return false;
}

/* ---- the library's starts */

static void mark_at_once(tg_split split, const unsigned char *text, size_t n)
{
    tg_splitter s;

    tg_splitter_start(&s, split);
    memset(got, 0xFF, TG_SPLIT_WORDS(n) * sizeof *got);
    CHECK_EQ(tg_splitter_mark(&s, got, text, n, true), n);
    CHECK_EQ(s.state, 0);
}

/* In parts: bit i of cuts (modulo 64) says whether the text is cut after its byte i. */
static void mark_in_parts(tg_split split, const unsigned char *text, size_t n, uint64_t cuts)
{
    tg_splitter s;
    size_t at = 0;

    tg_splitter_start(&s, split);
    memset(got, 0, TG_SPLIT_WORDS(n) * sizeof *got);
    for (size_t end = 1; end <= n; end++) {
        size_t decided, i;

        if (end < n && !(cuts >> (end - 1) % 64 & 1))
            continue;
        memset(part, 0xFF, TG_SPLIT_WORDS(end - at) * sizeof *part);
        decided = tg_splitter_mark(&s, part, text + at, end - at, end == n);
        CHECK(decided <= end - at && (end < n || decided == end - at));
        for (i = 0; i < decided; i++)
            if (is_start(part, i))
                set_start(got, at + i);
        for (; i < end - at; i++)
            CHECK(!is_start(part, i));
        at += decided;
    }
}

static void reference(tg_split split, const unsigned char *text, size_t n)
{
    memset(want, 0, TG_SPLIT_WORDS(n) * sizeof *want);
    ref_split(want, split, text, n);
}

/* All rules on a text, at once and in parts; false: one differs. */
static bool agrees(const unsigned char *text, size_t n, uint64_t cuts)
{
    bool ok = true;

    for (unsigned i = 0; i < TG_SPLITS && ok; i++) {
        const tg_split split = (tg_split)i;

        reference(split, text, n);
        mark_at_once(split, text, n);
        ok = same(split, "at once", text, n);
        if (!ok || !cuts)
            continue;
        mark_in_parts(split, text, n, cuts);
        ok = same(split, "in parts", text, n);
    }
    return ok;
}

/* ---- by hand */

static void names(void)
{
    char name[TG_CHOICE_SIZE];
    tg_split split;

    for (unsigned i = 0; i < TG_SPLITS; i++) {
        CHECK(tg_split_find(&split, tg_split_name((tg_split)i)));
        CHECK_EQ(split, i);
        CHECK(strcmp(tg_choice_name(name, TG_SPLIT_NAMES, i), tg_split_name((tg_split)i)) == 0);
    }
    CHECK(*tg_choice_name(name, TG_SPLIT_NAMES, TG_SPLITS) == '\0');
    CHECK(!tg_split_find(&split, "gpt3"));
    CHECK(tg_split_find(&split, "gpt2-digits") && split == TG_SPLIT_GPT2_DIGITS);
}

/* Pieces that follow from the expressions by reading them; ^ begins each. */
static void worked(void)
{
    static const struct {
        tg_split split;
        const char *pieces;
    } cases[] = {
        {TG_SPLIT_NONE, "^all of it's one piece \n"},
        {TG_SPLIT_GPT2, "^Hello^ world^,^ it^'s^ 2024^!"},
        {TG_SPLIT_GPT2, "^a^  ^ b^   "},           /* the last ' ' of a run joins, at the end none */
        {TG_SPLIT_GPT2, "^a^ \n^\t^b^ \t^\n^c"},   /* but only a ' ' */
        {TG_SPLIT_GPT2, "^a^ '^t^ ''^t^'t^'t^is"}, /* a contraction begins a piece */
        {TG_SPLIT_GPT2, "^'s^'s^x^'^S^'ll^'^l"},
        {TG_SPLIT_GPT2, "^caf\xC3\xA9^\xE3\x80\x80^x^ ^\xE3\x80\x80^x"}, /* U+3000 is white space */
        {TG_SPLIT_GPT2, "^a^\xFF\xFE^b^ \x80^ "},                        /* invalid bytes are others */
        {TG_SPLIT_GPT2_DIGITS, "^a^  ^5^5^ b"}, /* white space before a number is at an end */
        {TG_SPLIT_GPT2_DIGITS, "^a^ b^1^ ^2^'s"},
        {TG_SPLIT_CL100K, "^Hello^ world^,^ it^'S^ ^202^4^!"},
        {TG_SPLIT_CL100K, "^(a^ (^a^((^a^\ta^\n^a"}, /* one other joins letters, where a piece begins */
        {TG_SPLIT_CL100K, "^a^.\n\n^  ^ b^ \n \n^  ^ b"},
        {TG_SPLIT_CL100K, "^x^'\xC5\xBF^x"}, /* U+017F is an s in any case */
        {TG_SPLIT_CL100K, "^123^456^7^ ^8"},
        {TG_SPLIT_CL100K, "^a^ \n\n  "}, /* at the end only */
        {TG_SPLIT_LLAMA3, "^a^ \n\n^  "},
        {TG_SPLIT_LLAMA3, "^Hello^ world^,^ it^'S^ ^202^4^!"},
        {TG_SPLIT_QWEN2, "^1^2^3^ ^4^a"},
        {TG_SPLIT_O200K, "^Hello^World^ HTTPServer^ a^Bc"},
        {TG_SPLIT_O200K, "^don't^ '^tis't^'sa"},
        {TG_SPLIT_O200K, "^a't^'s^ A'Re^x"},
        {TG_SPLIT_O200K, "^x^!\n/\n/^y^\n^/y"}, /* slashes after a line end */
        {TG_SPLIT_O200K, "^!\n//^\xCC\x81\xCC\x81"
                         "a^ !\n/^!\xCC\x81"},
        {TG_SPLIT_O200K, "^\xE4\xB8\xAD^AB^ \xE4\xB8\xAD"
                         "ABc"}, /* capitals after a caseless letter */
        {TG_SPLIT_O200K, "^!\xCC\x81"
                         "a^ !\xCC\x81^a"}, /* a mark joins letters or others */
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        unsigned char text[64];
        size_t n = 0;

        memset(want, 0, sizeof want);
        for (const char *p = cases[i].pieces; *p; p++) {
            if (*p == '^')
                set_start(want, n);
            else
                text[n++] = (unsigned char)*p;
        }
        mark_at_once(cases[i].split, text, n);
        CHECK(same(cases[i].split, "by hand", text, n));
        memset(got, 0, sizeof got);
        ref_split(got, cases[i].split, text, n);
        CHECK(same(cases[i].split, "the reference", text, n));
    }
}

/* ---- every character */

static size_t encode(unsigned char *text, uint32_t code)
{
    if (code < 0x80) {
        text[0] = (unsigned char)code;
        return 1;
    }
    if (code < 0x800) {
        text[0] = (unsigned char)(0xC0 | code >> 6);
        text[1] = (unsigned char)(0x80 | (code & 0x3F));
        return 2;
    }
    if (code < 0x10000) {
        text[0] = (unsigned char)(0xE0 | code >> 12);
        text[1] = (unsigned char)(0x80 | (code >> 6 & 0x3F));
        text[2] = (unsigned char)(0x80 | (code & 0x3F));
        return 3;
    }
    text[0] = (unsigned char)(0xF0 | code >> 18);
    text[1] = (unsigned char)(0x80 | (code >> 12 & 0x3F));
    text[2] = (unsigned char)(0x80 | (code >> 6 & 0x3F));
    text[3] = (unsigned char)(0x80 | (code & 0x3F));
    return 4;
}

/* Each code point (0 in the pattern) alone and next to what rules tell apart. */
static void every_character(void)
{
    static const char pattern[] = "@ @a@A@1@'@'s@\n@@!@";

    const uint32_t step = (uint32_t)check_step(7);

    for (uint32_t code = 0; code <= 0x10FFFF; code += step) {
        unsigned char text[128];
        size_t n = 0, first;

        if (code >= 0x20000 && code % 64 != 0 && tg_unicode_class_of(code) == TG_UNICODE_OTHER)
            continue; /* planes that are mostly empty */
        if (code >= 0xD800 && code <= 0xDFFF)
            continue;
        first = encode(text, code);
        for (const char *p = pattern; *p; p++)
            n += encode(text + n, *p == '@' ? code : (unsigned char)*p);
        if (!agrees(text, n, 0) || !agrees(text, first, 0)) {
            CHECK_EQ(code, -1);
            return;
        }
    }
}

/* Runs that end the text: where they begin, what they have inside, and where the text ends are at every place
 * of a word. */
static void ends_of_texts(void)
{
    static const char *const inside[] = {"\r", "\n\n", "a", "\xE4\xB8\xAD", "/", "'s"};
    static const char filling[] = {' ', '\n', 'x', 'A', '/', '1'};
    unsigned char text[240];

    for (size_t at = 60; at < 70; at += 3)
        for (size_t before = 0; before < 70; before += 1 + before / 3)
            for (size_t after = 0; after < 70; after++)
                for (size_t i = 0; i < sizeof inside / sizeof inside[0]; i++) {
                    const char fill = filling[(at + before + after) % sizeof filling];
                    size_t n = at + before;

                    memset(text, 'x', at);
                    memset(text + at, i < 2 ? ' ' : fill, before);
                    memcpy(text + n, inside[i], strlen(inside[i]));
                    n += strlen(inside[i]);
                    memset(text + n, i < 2 ? ' ' : fill, after);
                    n += after;
                    if (!agrees(text, n, (uint64_t)1 << n % 64)) {
                        CHECK_EQ(n, 0);
                        return;
                    }
                }
}

/* ---- random texts */

static const char *const alphabet[] = {
    "a",
    "b",
    "A",
    "B",
    "1",
    "2",
    " ",
    " ",
    "\n",
    "\r",
    "\t",
    "'",
    "'",
    "s",
    "t",
    "r",
    "e",
    "S",
    "L",
    "l",
    "v",
    "/",
    "!",
    ".",
    "\xC3\xA9",
    "\xC3\x89",
    "\xE4\xB8\xAD",
    "\xCC\x81",
    "\xE0\xA4\xBE",
    "\xD9\xA3",
    "\xE3\x80\x80",
    "\xC2\x85",
    "\xC2\xA0",
    "\xC5\xBF",
    "\xC7\x85",
    "\xF0\x9F\x98\x80",
    "\xF0\x9D\x9F\x98",
    "\xFF",
    "\xC3",
    "\xE4\xB8",
    "\xED\xA0\x80",
    "\xE0\x80\x80",
    "\xF4\x90\x80\x80",
    "\xC0\xA0",
};

enum { LETTERS = sizeof alphabet / sizeof alphabet[0] };

/* `count` letters of the alphabet, of which only `variety` occur, in runs of up to `run`. */
static size_t random_text(unsigned char *text, uint64_t seed, size_t count, size_t variety, size_t run)
{
    size_t n = 0;

    for (size_t i = 0; i < count; i++) {
        const size_t which = below(seed, 3 * i, variety);
        const char *letter = alphabet[below(seed + 1, which, LETTERS)];
        const size_t times = 1 + (below(seed, 3 * i + 1, 4) == 0 ? below(seed, 3 * i + 2, run) : 0);

        for (size_t k = 0; k < times && n + 4 < MAX; k++) {
            memcpy(text + n, letter, strlen(letter));
            n += strlen(letter);
        }
    }
    return n;
}

static unsigned char text_buffer[MAX];

static void random_texts(void)
{
    for (uint64_t seed = 0; seed < check_rounds(3000); seed++) {
        const size_t n = random_text(text_buffer, 2 * seed, 1 + below(seed, 0, 120),
                                     seed % 3 == 0 ? 1000 : 1 + below(seed, 1, 8), 3);

        if (!agrees(text_buffer, n, random_number(seed, 2))) {
            CHECK_EQ(seed, -1);
            return;
        }
    }
}

/* Runs of more than a word, and of more than a pass has at hand. */
static void long_runs(void)
{
    for (uint64_t seed = 0; seed < 60; seed++) {
        const size_t n =
            random_text(text_buffer, 10000 + 2 * seed, 200, 1 + below(seed, 1, 6), seed % 2 ? 100 : 2000);

        if (!agrees(text_buffer, n, (uint64_t)1 << below(seed, 2, 64) | (uint64_t)1 << below(seed, 3, 64))) {
            CHECK_EQ(seed, -1);
            return;
        }
    }
}

/* The same short text at every place of a word, after a run of each kind. */
static void words_edges(void)
{
    static const char *const before[] = {"a",        "A",           "1", " ", "\n", "!", "\xE4\xB8\xAD",
                                         "\xCC\x81", "\xE3\x80\x80"};

    for (uint64_t seed = 0; seed < 200; seed++) {
        for (size_t b = 0; b < sizeof before / sizeof before[0]; b++) {
            unsigned char text[256];
            const size_t length = strlen(before[b]), place = 40 + below(seed, b, 100);
            size_t n = 0;

            while (n < place) {
                memcpy(text + n, before[b], length);
                n += length;
            }
            n += random_text(text + n, 50000 + 2 * seed, 12, 1000, 2);
            if (!agrees(text, n, 0)) {
                CHECK_EQ(seed, -1);
                return;
            }
        }
    }
}

/* Short texts, cut in every way. */
static void all_cuts(void)
{
    for (uint64_t seed = 0; seed < check_rounds(check_soak(100, 400)); seed++) {
        unsigned char text[64];
        const size_t n = tg_size_min(random_text(text, 90000 + 2 * seed, 7, 1000, 2), 10);

        for (unsigned i = 0; i < TG_SPLITS; i++) {
            reference((tg_split)i, text, n);
            for (uint64_t cuts = 0; cuts < (uint64_t)1 << (n - 1); cuts++) {
                mark_in_parts((tg_split)i, text, n, cuts);
                if (!same((tg_split)i, "cut", text, n)) {
                    CHECK_EQ(cuts, -1);
                    return;
                }
            }
        }
    }
}

/* ---- what the header promises */

static void little_stays_undecided(void)
{
    for (uint64_t seed = 0; seed < check_rounds(2000); seed++) {
        const size_t n = random_text(text_buffer, 200000 + 2 * seed, 40, 1000, 30);

        for (unsigned i = 0; i < TG_SPLITS; i++) {
            const bool lines = i != TG_SPLIT_NONE && i != TG_SPLIT_GPT2 && i != TG_SPLIT_GPT2_DIGITS;
            tg_splitter s;
            size_t decided;
            bool open = false;

            tg_splitter_start(&s, (tg_split)i);
            decided = tg_splitter_mark(&s, got, text_buffer, n, false);
            for (size_t k = decided > 3 ? decided - 3 : 0; lines && k < n; k++)
                open |= text_buffer[k] == '\n' || text_buffer[k] == '\r' || i == TG_SPLIT_O200K;
            CHECK(open || n - decided <= 16);
        }
    }
}

/* Both sides of a cut are split as texts of their own. */
static void cuts(void)
{
    const size_t rounds = check_rounds(6000);
    size_t found = 0;

    for (uint64_t seed = 0; seed < rounds; seed++) {
        const size_t n =
            random_text(text_buffer, 300000 + 2 * seed, 1 + below(seed, 0, 60), 2 + below(seed, 1, 10), 3);

        for (unsigned i = 0; i < TG_SPLITS; i++) {
            const size_t p = tg_split_cut((tg_split)i, text_buffer, n, n);

            CHECK_EQ(tg_split_cut((tg_split)i, text_buffer, n, n + 100), p);
            CHECK(n - p < 30 || tg_split_cut((tg_split)i, text_buffer, n, 20) <= n);
            if (p == 0)
                continue;
            found++;
            reference((tg_split)i, text_buffer, n);
            memset(part, 0, TG_SPLIT_WORDS(n) * sizeof *part);
            ref_split(part, (tg_split)i, text_buffer + p, n - p);
            memset(got, 0, TG_SPLIT_WORDS(n) * sizeof *got);
            ref_split(got, (tg_split)i, text_buffer, p);
            for (size_t k = 0; k < n - p; k++)
                if (is_start(part, k))
                    set_start(got, p + k);
            if (!same((tg_split)i, "two texts", text_buffer, n)) {
                CHECK_EQ(seed, -1);
                return;
            }
        }
    }
    CHECK(found > rounds / 6);
}

/* Instruction sets differ only in the masks of ASCII, which test_kernels.c checks at every place; code that
 * they share adds the other characters. */
static void tests(void)
{
    static bool again;

    RUN(names);
    RUN(worked);
    if (!again)
        RUN(every_character);
    again = true;
    RUN(ends_of_texts);
    RUN(random_texts);
    RUN(long_runs);
    RUN(words_edges);
    RUN(all_cuts);
    RUN(little_stays_undecided);
    RUN(cuts);
}

int main(int argc, char **argv)
{
    return check_each_isa(argc, argv, tests);
}
