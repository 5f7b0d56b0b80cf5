#include "tests/unit/ref_split.h"

#include <stdbool.h>
#include <stdlib.h>

#include "lib/base/utf8.h"
#include "lib/unicode/unicode.h"

/* ---- characters: each is of one of these sets */

enum set {
    UPPER = 1,    /* \p{Lu} \p{Lt} */
    LOWER = 2,    /* \p{Ll} */
    CASELESS = 4, /* \p{Lm} \p{Lo} */
    MARK = 8,     /* \p{M} */
    NUMBER = 16,  /* \p{N} */
    BLANK = 32,   /* ' ' */
    LINE = 64,    /* \r \n */
    SPACE = 128,  /* other white space */
    SLASH = 256,  /* / */
    OTHER = 512,

    LETTERS = UPPER | LOWER | CASELESS,
    SPACES = BLANK | LINE | SPACE,
    OTHERS = MARK | SLASH | OTHER,   /* [^\s\p{L}\p{N}] */
    JOINED = BLANK | SPACE | OTHERS, /* [^\r\n\p{L}\p{N}] */
    CAPITALS = UPPER | CASELESS | MARK,
    SMALL = LOWER | CASELESS | MARK
};

struct character {
    uint32_t code;
    unsigned set;
    size_t at; /* its first byte */
};

static unsigned set_of(uint32_t code)
{
    static const unsigned sets[] = {
        [TG_UNICODE_OTHER] = OTHER, [TG_UNICODE_SPACE] = SPACE, [TG_UNICODE_NUMBER] = NUMBER,
        [TG_UNICODE_LOWER] = LOWER, [TG_UNICODE_UPPER] = UPPER, [TG_UNICODE_LETTER] = CASELESS,
        [TG_UNICODE_MARK] = MARK,
    };

    if (code == ' ')
        return BLANK;
    if (code == '\r' || code == '\n')
        return LINE;
    return code == '/' ? SLASH : sets[tg_unicode_class_of(code)];
}

static size_t characters(struct character *c, const unsigned char *text, size_t n)
{
    size_t count = 0, length;

    for (size_t i = 0; i < n; i += length) {
        uint32_t code;

        length = tg_utf8_decode(&code, text + i, n - i);
        c[count++] = (struct character){
            .code = length ? code : UINT32_MAX, .set = length ? set_of(code) : OTHER, .at = i};
        length = length ? length : 1;
    }
    return count;
}

/* ---- expressions: alternatives, each a sequence of items */

#define MANY SIZE_MAX

struct item {
    enum { END, SET, CONTRACTION, CONTRACTION_ANY_CASE, NO_NONSPACE, NO_MORE } kind;
    unsigned set;
    size_t least, most;
};

#define ONE_OR_MORE(s)                                                                                       \
    {                                                                                                        \
        SET, (s), 1, MANY                                                                                    \
    }
#define ANY_NUMBER(s)                                                                                        \
    {                                                                                                        \
        SET, (s), 0, MANY                                                                                    \
    }
#define OPTIONAL(s)                                                                                          \
    {                                                                                                        \
        SET, (s), 0, 1                                                                                       \
    }

typedef const struct item alternative[8];

static alternative gpt2[] = {
    {{CONTRACTION, 0, 1, 1}},
    {OPTIONAL(BLANK), ONE_OR_MORE(LETTERS)},
    {OPTIONAL(BLANK), ONE_OR_MORE(NUMBER)},
    {OPTIONAL(BLANK), ONE_OR_MORE(OTHERS)},
    {ONE_OR_MORE(SPACES), {NO_NONSPACE, 0, 0, 0}},
    {ONE_OR_MORE(SPACES)},
    {{END, 0, 0, 0}},
};

static alternative llama3[] = {
    {{CONTRACTION_ANY_CASE, 0, 1, 1}},
    {OPTIONAL(JOINED), ONE_OR_MORE(LETTERS)},
    {{SET, NUMBER, 1, 3}},
    {OPTIONAL(BLANK), ONE_OR_MORE(OTHERS), ANY_NUMBER(LINE)},
    {ANY_NUMBER(SPACES), ONE_OR_MORE(LINE)},
    {ONE_OR_MORE(SPACES), {NO_NONSPACE, 0, 0, 0}},
    {ONE_OR_MORE(SPACES)},
    {{END, 0, 0, 0}},
};

static alternative cl100k[] = {
    {{CONTRACTION_ANY_CASE, 0, 1, 1}},
    {OPTIONAL(JOINED), ONE_OR_MORE(LETTERS)},
    {{SET, NUMBER, 1, 3}},
    {OPTIONAL(BLANK), ONE_OR_MORE(OTHERS), ANY_NUMBER(LINE)},
    {ONE_OR_MORE(SPACES), {NO_MORE, 0, 0, 0}},
    {ANY_NUMBER(SPACES), {SET, LINE, 1, 1}},
    {ONE_OR_MORE(SPACES), {NO_NONSPACE, 0, 0, 0}},
    {{SET, SPACES, 1, 1}},
    {{END, 0, 0, 0}},
};

static alternative qwen2[] = {
    {{CONTRACTION_ANY_CASE, 0, 1, 1}},
    {OPTIONAL(JOINED), ONE_OR_MORE(LETTERS)},
    {{SET, NUMBER, 1, 1}},
    {OPTIONAL(BLANK), ONE_OR_MORE(OTHERS), ANY_NUMBER(LINE)},
    {ANY_NUMBER(SPACES), ONE_OR_MORE(LINE)},
    {ONE_OR_MORE(SPACES), {NO_NONSPACE, 0, 0, 0}},
    {ONE_OR_MORE(SPACES)},
    {{END, 0, 0, 0}},
};

static alternative o200k[] = {
    {OPTIONAL(JOINED), ANY_NUMBER(CAPITALS), ONE_OR_MORE(SMALL), {CONTRACTION_ANY_CASE, 0, 0, 1}},
    {OPTIONAL(JOINED), ONE_OR_MORE(CAPITALS), ANY_NUMBER(SMALL), {CONTRACTION_ANY_CASE, 0, 0, 1}},
    {{SET, NUMBER, 1, 3}},
    {OPTIONAL(BLANK), ONE_OR_MORE(OTHERS), ANY_NUMBER(LINE | SLASH)},
    {ANY_NUMBER(SPACES), ONE_OR_MORE(LINE)},
    {ONE_OR_MORE(SPACES), {NO_NONSPACE, 0, 0, 0}},
    {ONE_OR_MORE(SPACES)},
    {{END, 0, 0, 0}},
};

static alternative *const expressions[TG_SPLITS] = {
    [TG_SPLIT_GPT2] = gpt2,     [TG_SPLIT_GPT2_DIGITS] = gpt2, [TG_SPLIT_CL100K] = cl100k,
    [TG_SPLIT_LLAMA3] = llama3, [TG_SPLIT_QWEN2] = qwen2,      [TG_SPLIT_O200K] = o200k,
};

/* ---- matching */

#define NONE SIZE_MAX

/* Whether a character is a given small letter. */
static bool is(uint32_t code, char letter, bool any_case)
{
    const uint32_t small = (unsigned char)letter;

    return code == small || (any_case && (code == small - 32 || (letter == 's' && code == 0x17F)));
}

/* The characters of the contraction at c[i], 0 for none. */
static size_t contraction(const struct character *c, size_t n, size_t i, bool any_case)
{
    static const char *const all[] = {"s", "t", "re", "ve", "m", "ll", "d"};

    if (i >= n || c[i].code != '\'')
        return 0;
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
        size_t length = 1;

        while (all[k][length - 1] && i + length < n && is(c[i + length].code, all[k][length - 1], any_case))
            length++;
        if (!all[k][length - 1])
            return length;
    }
    return 0;
}

/* The end of the match of the items at c[i]; NONE. */
static size_t match(const struct item *item, const struct character *c, size_t n, size_t i)
{
    size_t count = 0, length, end;

    switch (item->kind) {
    case END:
        return i;
    case NO_NONSPACE:
        return i < n && !(c[i].set & SPACES) ? NONE : match(item + 1, c, n, i);
    case NO_MORE:
        return i < n ? NONE : match(item + 1, c, n, i);
    case CONTRACTION:
    case CONTRACTION_ANY_CASE:
        length = contraction(c, n, i, item->kind == CONTRACTION_ANY_CASE);
        end = length ? match(item + 1, c, n, i + length) : NONE;
        return end == NONE && item->least == 0 ? match(item + 1, c, n, i) : end;
    case SET:
        break;
    }
    while (count < item->most && i + count < n && c[i + count].set & item->set)
        count++;
    for (;; count--) {
        if (count < item->least)
            return NONE;
        end = match(item + 1, c, n, i + count);
        if (end != NONE || count == 0)
            return end;
    }
}

/* The end of the piece that begins at c[i]. */
static size_t piece(alternative *all, const struct character *c, size_t n, size_t i)
{
    for (size_t a = 0; all[a][0].kind != END; a++) {
        const size_t end = match(all[a], c, n, i);

        if (end != NONE)
            return end;
    }
    abort(); /* the alternatives cover every character */
}

static void split_characters(uint64_t *starts, alternative *all, const struct character *c, size_t n)
{
    for (size_t i = 0; i < n; i = piece(all, c, n, i))
        starts[c[i].at / 64] |= (uint64_t)1 << c[i].at % 64;
}

void ref_split(uint64_t *starts, tg_split split, const unsigned char *text, size_t n)
{
    struct character *c = calloc(n + 1, sizeof *c);
    size_t count, first = 0;

    if (!c)
        abort();
    count = characters(c, text, n);
    if (split == TG_SPLIT_NONE) {
        if (n > 0)
            starts[0] |= 1;
        first = count;
    }
    /* gpt2-digits: what is between numbers, and each number, as a text of its own */
    for (size_t i = first; split == TG_SPLIT_GPT2_DIGITS && i < count; i++) {
        if (!(c[i].set & NUMBER))
            continue;
        split_characters(starts, gpt2, c + first, i - first);
        split_characters(starts, gpt2, c + i, 1);
        first = i + 1;
    }
    if (first < count)
        split_characters(starts, expressions[split], c + first, count - first);
    free(c);
}
