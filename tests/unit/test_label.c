/* lib/view/label: what is visible, how wide it is, and where it is cut. */
#include <stdlib.h>
#include <string.h>

#include "lib/base/rng.h"
#include "lib/base/utf8.h"
#include "lib/view/label.h"
#include "tests/unit/check.h"

#define EMOJI "\xF0\x9F\x91\x8D"      /* a thumb */
#define SKIN "\xF0\x9F\x8F\xBD"       /* a skin colour */
#define JOINER "\xE2\x80\x8D"         /* U+200D */
#define ACUTE "\xCC\x81"              /* U+0301 */
#define ZHONG "\xE4\xB8\xAD"          /* a Chinese character */
#define GA "\xE1\x84\x80\xE1\x85\xA1" /* a consonant and a vowel of Hangul */
#define VIRAMA "\xE0\xA5\x8D"         /* a mark of Devanagari */
#define MARKS ACUTE ACUTE ACUTE ACUTE /* as many as a character keeps */
#define CUT TG_LABEL_CUT

/* ---- columns */

static bool in_table(uint32_t code, const tg_label_range *table, size_t n)
{
    for (size_t r = 0; r < n; r++)
        if (code >= table[r].first && code <= table[r].last)
            return true;
    return false;
}

static void check_table(const tg_label_range *table, size_t n)
{
    for (size_t r = 0; r < n; r++) {
        CHECK(table[r].first <= table[r].last && table[r].last <= 0x10FFFF);
        CHECK(r == 0 ? table[r].first >= 0x80 : table[r].first > table[r - 1].last + 1);
    }
}

static void columns_of_every_character(void)
{
    size_t wrong = 0;

    check_table(tg_label_wide, tg_label_wide_n);
    check_table(tg_label_marks, tg_label_marks_n);
    check_table(tg_label_hidden, tg_label_hidden_n);
    for (uint32_t code = 0x20; code <= 0x10FFFF; code++) {
        const unsigned want = in_table(code, tg_label_marks, tg_label_marks_n) ? 0
                              : in_table(code, tg_label_wide, tg_label_wide_n) ? 2
                                                                               : 1;

        wrong += tg_label_columns(code) != want;
    }
    CHECK_EQ(wrong, 0);
}

static void columns_of_some_characters(void)
{
    static const struct {
        uint32_t code;
        unsigned columns;
    } some[] = {
        {'a', 1},     {0xE9, 1},   {0x4E2D, 2},  {0x3042, 2},  {0xAC00, 2},  {0xFF21, 2},  {0xFF71, 1},
        {0x1F600, 2}, {0x2615, 2}, {0x231A, 2},  {0x2764, 1},  {0x26A1, 2},  {0x0301, 0},  {0x093F, 1},
        {0x094D, 0},  {0x0E31, 0}, {0x0E33, 1},  {0x064B, 0},  {0x05BC, 0},  {0x1161, 0},  {0x1100, 2},
        {0x20AC, 1},  {0xE000, 1}, {0x1F1EB, 1}, {0x1FAE8, 2}, {0x20000, 2}, {0xE0100, 0},
    };

    for (size_t n = 0; n < sizeof some / sizeof some[0]; n++)
        CHECK_EQ(tg_label_columns(some[n].code), some[n].columns);
    CHECK_EQ(tg_label_width(""), 0);
    CHECK_EQ(tg_label_width("abc"), 3);
    CHECK_EQ(tg_label_width("a" ZHONG "e" ACUTE EMOJI), 6);
    CHECK_EQ(tg_label_width(GA), 2);
    CHECK_EQ(tg_label_width("\\n\\xE4"), 6);
}

/* ---- showing */

static void check_shown(const char *text, size_t n, const char *want)
{
    char out[256];

    CHECK_EQ(tg_label_show(out, sizeof out, text, n), strlen(want));
    CHECK_EQ(strcmp(out, want), 0);
}

#define CHECK_SHOWN(text, want) check_shown(text, sizeof(text) - 1, want)

static void what_is_visible_stays(void)
{
    CHECK_SHOWN("", "");
    CHECK_SHOWN(" the \\n \\\\ \"", " the \\n \\\\ \"");
    CHECK_SHOWN("caf\xC3\xA9 cafe" ACUTE " " ZHONG EMOJI, "caf\xC3\xA9 cafe" ACUTE " " ZHONG EMOJI);
    CHECK_SHOWN(GA " " SKIN "\xE0\xA4\xA8" VIRAMA, GA " \\U0001F3FD\xE0\xA4\xA8" VIRAMA);
    CHECK_SHOWN("e" MARKS, "e" MARKS);
}

static void what_is_not_becomes_an_escape(void)
{
    CHECK_SHOWN("a\n\t\x1B[31m\x7F\0z", "a\\x0A\\x09\\x1B[31m\\x7F\\x00z");
    CHECK_SHOWN("\xC2\x9B\xC2\xA0\xC2\xAD", "\\u009B\\u00A0\\u00AD");
    CHECK_SHOWN("\xFF\xE4\xB8 \xED\xA0\x80", "\\xFF\\xE4\\xB8 \\xED\\xA0\\x80");
    CHECK_SHOWN("\xE3\x80\x80\xE2\x80\xAE"
                "abc\xE2\x80\xAC\xEF\xBB\xBF",
                "\\u3000\\u202Eabc\\u202C\\uFEFF");
    CHECK_SHOWN("\xE2\x9D\xA4\xEF\xB8\x8F", "\xE2\x9D\xA4\\uFE0F");
    CHECK_SHOWN(EMOJI JOINER EMOJI, EMOJI "\\u200D" EMOJI);
    CHECK_SHOWN(EMOJI SKIN, EMOJI "\\U0001F3FD");
    CHECK_SHOWN(SKIN EMOJI, SKIN EMOJI);
    CHECK_SHOWN("\xF3\xA0\x81\xA7", "\\U000E0067");
}

/* A mark would be drawn over what precedes the token, or over a letter of an escape. */
static void marks_need_a_character(void)
{
    CHECK_SHOWN(ACUTE, "\\u0301");
    CHECK_SHOWN(ACUTE ACUTE "e" ACUTE, "\\u0301\\u0301e" ACUTE);
    CHECK_SHOWN("\\n" ACUTE, "\\n\\u0301");
    CHECK_SHOWN("\xFF" ACUTE, "\\xFF\\u0301");
    CHECK_SHOWN("e" MARKS ACUTE "e", "e" MARKS "\\u0301e");
    CHECK_SHOWN("e" MARKS ACUTE ACUTE, "e" MARKS "\\u0301\\u0301");
    CHECK_SHOWN(VIRAMA, "\\u094D");
}

static void in_ascii(void)
{
    char out[64];

    CHECK_EQ(tg_label_show_ascii(out, sizeof out, "caf\xC3\xA9 " EMOJI ZHONG, 13), 26);
    CHECK_HAS(out, "caf\\u00E9 \\U0001F44D\\u4E2D");
}

static void only_whole_parts(void)
{
    char out[8];

    memset(out, '*', sizeof out);
    CHECK_EQ(tg_label_show(out, 0, "abc", 3), 3);
    CHECK_EQ(out[0], '*');
    CHECK_EQ(tg_label_show(out, 1, "abc", 3), 3);
    CHECK_EQ(strcmp(out, ""), 0);
    CHECK_EQ(tg_label_show(out, sizeof out,
                           "abcd\x01"
                           "e",
                           6),
             9);
    CHECK_EQ(strcmp(out, "abcd"), 0); /* and nothing after what did not fit */
    CHECK_EQ(tg_label_show(out, sizeof out, "abcd" ZHONG, 7), 7);
    CHECK_EQ(strcmp(out, "abcd" ZHONG), 0);
    CHECK_EQ(tg_label_show(out, sizeof out, "abcde" ZHONG, 8), 8);
    CHECK_EQ(strcmp(out, "abcde"), 0);
}

/* ---- cutting */

static void check_copy(const char *label, size_t columns, const char *want)
{
    char out[32];

    tg_label_copy(out, sizeof out, columns, label);
    CHECK_EQ(strcmp(out, want), 0);
    CHECK(tg_label_width(out) <= columns);
}

static void cutting(void)
{
    check_copy("", 1, "");
    check_copy("abc", 3, "abc");
    check_copy("abcd", 3, "ab" CUT);
    check_copy("abcd", 1, CUT);
    check_copy("a" ZHONG "b", 4, "a" ZHONG "b");
    check_copy(ZHONG ZHONG, 3, ZHONG CUT);
    check_copy(ZHONG ZHONG, 2, CUT); /* the first one and "…" would take three */
    check_copy("\\xE4\\xB8", 7, "\\xE4" CUT);
    check_copy("e" ACUTE "e" ACUTE "e" ACUTE, 2, "e" ACUTE CUT);
    check_copy("\\n\\n\\n", 5, "\\n\\n" CUT);
    check_copy("\\n\\n\\n", 4, "\\n" CUT);
    check_copy("0123456789012345678901234567890", 99, "0123456789012345678901234567890");
    check_copy("01234567890123456789012345678901", 99, "0123456789012345678901234567" CUT);
}

static void fitting(void)
{
    size_t used;

    CHECK_EQ(tg_label_fit("abc", 2, &used), 2);
    CHECK_EQ(used, 2);
    CHECK_EQ(tg_label_fit(ZHONG ZHONG, 3, &used), 3);
    CHECK_EQ(used, 2);
    CHECK_EQ(tg_label_fit("e" ACUTE "x", 1, &used), 3);
    CHECK_EQ(used, 1);
    CHECK_EQ(tg_label_fit("\\u00AD", 5, &used), 0);
    CHECK_EQ(used, 0);
    CHECK_EQ(tg_label_next("\\u00ADx", &used), 6);
    CHECK_EQ(used, 6);
    CHECK_EQ(tg_label_next("\\", &used), 1); /* no escape */
    CHECK_EQ(used, 1);
    CHECK_EQ(tg_label_next("\\u00A", &used), 1);
    CHECK_EQ(tg_label_next_letter("\\u00ADx", &used), 1);
    CHECK_EQ(used, 1);
    CHECK_EQ(tg_label_next_letter(ZHONG ACUTE "x", &used), 5);
    CHECK_EQ(used, 2);
    CHECK_EQ(tg_label_next_letter("", &used), 0);
    CHECK_EQ(tg_label_next("", &used), 0);
    CHECK_EQ(used, 0);
}

/* ---- any text */

/* A backslash alone could make one escape out of two texts; tg_label_show_token() doubles it. */
static const char *const parts[] = {"a",    " ",    "\\\\",     "\\n",  "\\xE4",   "\n", "\x1B",
                                    "\xE4", "\xB8", ZHONG,      ACUTE,  EMOJI,     SKIN, JOINER,
                                    GA,     VIRAMA, "\xC2\xA0", "\xFF", "\xC2\x9B"};

/* A text of up to 20 parts. */
static size_t make_text(char *out, uint64_t seed)
{
    const tg_rng rng = {.seed = seed};
    const size_t n = tg_rng_below(&rng, 0, 20);

    *out = '\0';
    for (size_t i = 1; i <= n; i++)
        strcat(out, parts[tg_rng_below(&rng, i, sizeof parts / sizeof parts[0])]);
    return strlen(out);
}

/* Only characters that a terminal draws, each with its columns. */
static bool is_safe(const char *label)
{
    size_t n = strlen(label), length;

    for (uint32_t code; n > 0; label += length, n -= length) {
        length = tg_utf8_printable(&code, label, n);
        if (length == 0 || in_table(code, tg_label_hidden, tg_label_hidden_n))
            return false;
    }
    return true;
}

static void any_text(void)
{
    for (uint64_t seed = 0; seed < 2000; seed++) {
        char text[256], label[2048], again[2048], cut[64];
        const size_t n = make_text(text, seed);
        const size_t all = tg_label_show(label, sizeof label, text, n), width = tg_label_width(label);

        CHECK_EQ(all, strlen(label));
        CHECK(is_safe(label));
        CHECK_EQ(tg_label_show(again, sizeof again, label, all), all); /* nothing is left to do */
        CHECK_EQ(strcmp(again, label), 0);
        for (size_t columns = 1; columns < 12; columns++) {
            tg_label_copy(cut, sizeof cut, columns, label);
            CHECK(tg_label_width(cut) <= columns);
            CHECK(is_safe(cut));
            CHECK_EQ(strcmp(cut, label) == 0, width <= columns && all < sizeof cut);
        }
    }
}

/* ---- tokens */

static void check_token(const char *text, size_t n, const char *want)
{
    char shown[64];

    CHECK_EQ(tg_label_show_token(shown, sizeof shown, (const unsigned char *)text, n), strlen(want));
    CHECK_EQ(strcmp(shown, want), 0);
}

static void tokens(void)
{
    check_token("", 0, "");
    check_token("\\", 1, "\\");
    check_token("\n", 1, "\\n");
    check_token("\\n", 2, "\\\\n");
    check_token("a\n\t\0\x7F", 5, "a\\n\\t\\x00\\x7F");
    check_token("\xC2\x85", 2, "\\xC2\\x85"); /* a control character */
    check_token("\xE4\xB8", 2, "\\xE4\\xB8");
    check_token(ZHONG ACUTE, strlen(ZHONG ACUTE), ZHONG ACUTE);
    check_token(ACUTE, strlen(ACUTE), "\\u0301");
    check_token("\n" ACUTE, 1 + strlen(ACUTE), "\\n\\u0301");
    check_token("a" JOINER "\xC2\xA0", 1 + strlen(JOINER) + 2, "a\\u200D\\u00A0");
}

/* What is shown is safe, and a label as it is. */
static void any_token(void)
{
    for (uint64_t seed = 0; seed < 2000; seed++) {
        char text[256], label[2048], again[2048];
        const size_t n = make_text(text, seed);
        const size_t all = tg_label_show_token(label, sizeof label, (const unsigned char *)text, n);

        CHECK_EQ(all, strlen(label));
        CHECK(all <= 4 * n && is_safe(label));
        CHECK_EQ(tg_label_show(again, sizeof again, label, all), all);
        CHECK_EQ(strcmp(again, label), 0);
        CHECK_EQ(tg_label_show_token(again, 5, (const unsigned char *)text, n), all);
        CHECK(strncmp(again, label, strlen(again)) == 0 && strlen(again) < 5);
    }
}

/* A value of tab-separated text, made from `text` in place and elsewhere. */
static void check_field(const char *text, const char *want)
{
    char place[64], other[64];
    const size_t n = strlen(text);

    memcpy(place, text, n);
    CHECK_EQ(tg_label_field(place, place, n), strlen(want));
    CHECK_EQ(tg_label_field(other, text, n), strlen(want));
    CHECK(memcmp(place, want, strlen(want)) == 0 && memcmp(other, want, strlen(want)) == 0);
}

static void fields(void)
{
    check_field("", "");
    check_field("a b", "a b");
    check_field("\"", "\\x22");
    check_field("\"a\"\"", "\\x22a\\x22\\x22");
    check_field("\\\\x22 " ZHONG "\"", "\\\\x22 " ZHONG "\\x22");
}

static void check_bytes(const char *label, const char *want)
{
    unsigned char out[64];

    CHECK_EQ(tg_label_bytes(out, label, strlen(label)), strlen(want));
    CHECK(memcmp(out, want, strlen(want)) == 0);
}

/* A token's label stands for the token's bytes. */
static void labels_mean_bytes(void)
{
    const tg_rng rng = {.seed = 1};

    check_bytes("", "");
    check_bytes("\\", "\\");
    check_bytes("a\\", "a\\");
    check_bytes("\\n\\t\\\\n" ZHONG, "\n\t\\n" ZHONG);
    check_bytes("\\xE4\\xb8\\xAD", ZHONG);
    check_bytes("\\u4E2D\\U0001F44D", ZHONG EMOJI);
    check_bytes("\\q\\x4\\uD800\\U00110000", "\\q\\x4\\uD800\\U00110000"); /* none */
    for (size_t n = 0; n < 1000; n++) {
        unsigned char token[8], back[128];
        char label[128];
        const size_t length = n % sizeof token;

        for (size_t i = 0; i < length; i++)
            token[i] = (unsigned char)("\\xu4 \n" ZHONG EMOJI)[tg_rng_below(&rng, 8 * n + i, 13)];
        CHECK_EQ(tg_label_bytes(back, label, tg_label_show_token(label, sizeof label, token, length)),
                 length);
        CHECK(memcmp(back, token, length) == 0);
    }
}

int main(void)
{
    RUN(columns_of_every_character);
    RUN(columns_of_some_characters);
    RUN(what_is_visible_stays);
    RUN(what_is_not_becomes_an_escape);
    RUN(marks_need_a_character);
    RUN(in_ascii);
    RUN(only_whole_parts);
    RUN(cutting);
    RUN(fitting);
    RUN(any_text);
    RUN(tokens);
    RUN(any_token);
    RUN(fields);
    RUN(labels_mean_bytes);
    return check_done();
}
