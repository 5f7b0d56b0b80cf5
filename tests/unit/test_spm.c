/* The kind "sentencepiece" against its definition, tests/unit/ref_spm.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/spm/spm.h"
#include "lib/spm/spm_state.h"
#include "lib/text/decoder.h"
#include "lib/text/encoder.h"
#include "lib/text/parallel.h"
#include "tests/unit/check.h"
#include "tests/unit/read_tokenizer.h"
#include "tests/unit/ref_spm.h"

#define TEXT_MAX 8192
#define IDS_MAX (3 * (TEXT_MAX + 1))
#define SPACE TG_SPM_SPACE

/* ---- encoding */

struct ids {
    int32_t id[IDS_MAX];
    size_t n;
};

/* Encode text [n] in parts, into at most `max` ids at a time, and append the ids. */
static tg_status encode_with(tg_encoder *e, struct ids *out, const void *text, size_t n, size_t part,
                             size_t max, tg_err *err)
{
    const unsigned char *p = text;
    size_t got;
    tg_status status;

    for (size_t at = 0; at < n; at += part) {
        tg_text rest = {p + at, n - at < part ? n - at : part};

        while (rest.n > 0) {
            const size_t before = rest.n;

            if ((status = tg_encoder_encode(e, &rest, out->id + out->n, max, &got, err)))
                return status;
            CHECK(got > 0 || rest.n < before);
            out->n += got;
        }
    }
    do {
        if ((status = tg_encoder_finish(e, out->id + out->n, max, &got, err)))
            return status;
        out->n += got;
    } while (got == max);
    return TG_OK;
}

static void check_ids(const struct ids *got, const int32_t *want, size_t n)
{
    CHECK_EQ(got->n, n);
    for (size_t i = 0; i < n && i < got->n; i++)
        if (got->id[i] != want[i]) {
            CHECK_EQ(got->id[i], want[i]);
            return;
        }
}

/* The ids of a text, with special tokens or not. */
static void expect(const ref_spm *v, bool special, const char *text, const int32_t *want, size_t n)
{
    static struct ids got;
    const tg_tokenizer *tok = ref_spm_tokenizer(v);
    tg_encoder *e;
    tg_err err = {0};

    for (size_t part = 1; part <= 9; part++) {
        CHECK_OK(tg_encoder_create(&e, tok, &err), &err);
        if (special)
            CHECK_OK(tg_encoder_match_special(e, &err), &err);
        for (int again = 0; again < 2; again++) {
            got.n = 0;
            CHECK_OK(encode_with(e, &got, text, strlen(text), part, part, &err), &err);
            check_ids(&got, want, n);
        }
        tg_encoder_free(e);
    }
    tg_tokenizer_free(tok);
}

#define EXPECT(v, special, text, ...)                                                                        \
    expect((v), (special), (text), (const int32_t[]){__VA_ARGS__},                                           \
           sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t))

/* ---- vocabularies made by hand */

static void test_merges_by_score(void)
{
    static ref_spm v;

    ref_spm_begin(&v, TG_SPM_PREFIX_NONE);
    (void)ref_spm_add(&v, "<unk>", TG_SPM_UNKNOWN, 0);
    (void)ref_spm_add(&v, "a", TG_SPM_NORMAL, -9);   /* 1 */
    (void)ref_spm_add(&v, "b", TG_SPM_NORMAL, -9);   /* 2 */
    (void)ref_spm_add(&v, "ab", TG_SPM_NORMAL, -2);  /* 3 */
    (void)ref_spm_add(&v, "ba", TG_SPM_NORMAL, -1);  /* 4 */
    (void)ref_spm_add(&v, "bab", TG_SPM_NORMAL, -5); /* 5 */
    EXPECT(&v, false, "ab", 3);
    EXPECT(&v, false, "aba", 1, 4);
    EXPECT(&v, false, "abab", 1, 5); /* a b a b -> a ba b -> a bab */
    EXPECT(&v, false, "ababb", 1, 5, 2);
}

static void test_ties(void)
{
    static ref_spm v;

    ref_spm_begin(&v, TG_SPM_PREFIX_NONE);
    (void)ref_spm_add(&v, "<unk>", TG_SPM_UNKNOWN, 0);
    (void)ref_spm_add(&v, "a", TG_SPM_NORMAL, 0);  /* 1 */
    (void)ref_spm_add(&v, "b", TG_SPM_NORMAL, 0);  /* 2 */
    (void)ref_spm_add(&v, "ab", TG_SPM_NORMAL, 0); /* 3 */
    (void)ref_spm_add(&v, "ba", TG_SPM_NORMAL, 0); /* 4 */
    EXPECT(&v, false, "aba", 3, 1);                /* the leftmost */
    EXPECT(&v, false, "bab", 4, 2);
    EXPECT(&v, false, "babab", 4, 4, 2);
}

static void test_unused(void)
{
    static ref_spm v;

    ref_spm_begin(&v, TG_SPM_PREFIX_NONE);
    (void)ref_spm_add(&v, "<unk>", TG_SPM_UNKNOWN, 0);
    (void)ref_spm_add(&v, "a", TG_SPM_NORMAL, -9);    /* 1 */
    (void)ref_spm_add(&v, "b", TG_SPM_UNUSED, -9);    /* 2, a character: it stays */
    (void)ref_spm_add(&v, "ab", TG_SPM_UNUSED, -1);   /* 3 */
    (void)ref_spm_add(&v, "aba", TG_SPM_NORMAL, -2);  /* 4, made of 3 and 1 */
    (void)ref_spm_add(&v, "abab", TG_SPM_UNUSED, -3); /* 5 */
    (void)ref_spm_add(&v, "ca", TG_SPM_UNUSED, -4);   /* 6: c is unknown */
    EXPECT(&v, false, "ab", 1, 2);
    EXPECT(&v, false, "aba", 4);
    EXPECT(&v, false, "abab", 1, 2, 1, 2);
    EXPECT(&v, false, "ca", 0, 1);
    EXPECT(&v, false, "cca", 0, 1);
}

static void test_unknown(void)
{
    static ref_spm v;

    ref_spm_begin(&v, TG_SPM_PREFIX_NONE);
    (void)ref_spm_add(&v, "<unk>", TG_SPM_UNKNOWN, 0);
    (void)ref_spm_add(&v, "a", TG_SPM_NORMAL, -9);  /* 1 */
    (void)ref_spm_add(&v, "xy", TG_SPM_NORMAL, -1); /* 2: x and y are no pieces */
    EXPECT(&v, false, "a", 1);
    EXPECT(&v, false, "xyxxa", 2, 0, 1);
    EXPECT(&v, false, "\xE2\x82\xAC\xE2\x82\xACyx\xFF", 0); /* a run */
    EXPECT(&v, false, "qqqqqqaqqqqqq", 0, 1, 0);
    EXPECT(&v, false, "xxy", 0, 2);
}

static void test_user_defined(void)
{
    static ref_spm v;

    ref_spm_begin(&v, TG_SPM_PREFIX_NONE);
    (void)ref_spm_add(&v, "<unk>", TG_SPM_UNKNOWN, 0);
    (void)ref_spm_add(&v, "a", TG_SPM_NORMAL, -9);              /* 1 */
    (void)ref_spm_add(&v, "b", TG_SPM_NORMAL, -9);              /* 2 */
    (void)ref_spm_add(&v, "ab", TG_SPM_NORMAL, -1);             /* 3 */
    (void)ref_spm_add(&v, "ba", TG_SPM_USER_DEFINED, 0);        /* 4 */
    (void)ref_spm_add(&v, "bab", TG_SPM_USER_DEFINED, 0);       /* 5 */
    (void)ref_spm_add(&v, SPACE SPACE, TG_SPM_USER_DEFINED, 0); /* 6 */
    (void)ref_spm_add(&v, SPACE, TG_SPM_NORMAL, -2);            /* 7 */
    EXPECT(&v, false, "ab", 3);
    EXPECT(&v, false, "aba", 1, 4);
    EXPECT(&v, false, "abab", 1, 5); /* the longest */
    EXPECT(&v, false, "aab", 1, 3);
    EXPECT(&v, false, "a   b", 1, 6, 7, 2);
    EXPECT(&v, false, "a " SPACE " b", 1, 6, 7, 2);
}

/* A user-defined character also occurs in other pieces, and is no other piece. */
static void test_user_defined_within(void)
{
    static ref_spm v;

    ref_spm_begin(&v, TG_SPM_PREFIX_NONE);
    (void)ref_spm_add(&v, "<unk>", TG_SPM_UNKNOWN, 0);
    (void)ref_spm_add(&v, "a", TG_SPM_NORMAL, -9);        /* 1 */
    (void)ref_spm_add(&v, "ab", TG_SPM_NORMAL, -1);       /* 2 */
    (void)ref_spm_add(&v, "b", TG_SPM_USER_DEFINED, 0);   /* 3 */
    (void)ref_spm_add(&v, SPACE "a", TG_SPM_NORMAL, -2);  /* 4 */
    (void)ref_spm_add(&v, SPACE, TG_SPM_USER_DEFINED, 0); /* 5 */
    EXPECT(&v, false, "abba a", 1, 3, 3, 1, 5, 1);
}

static void test_divided(void)
{
    static ref_spm v;

    ref_spm_begin(&v, TG_SPM_PREFIX_DIVIDED);
    (void)ref_spm_add(&v, "<unk>", TG_SPM_UNKNOWN, 0);
    (void)ref_spm_add(&v, "a", TG_SPM_NORMAL, -9);        /* 1 */
    (void)ref_spm_add(&v, SPACE "a", TG_SPM_NORMAL, -1);  /* 2 */
    (void)ref_spm_add(&v, SPACE, TG_SPM_NORMAL, -9);      /* 3 */
    (void)ref_spm_add(&v, "<u>", TG_SPM_USER_DEFINED, 0); /* 4 */
    EXPECT(&v, false, "aa", 2, 1);
    EXPECT(&v, false, "<u>a<u><u>aa a<u>", 4, 2, 4, 4, 2, 1, 2, 4);
    EXPECT(&v, false, "<u> a", 4, 3, 2);
    v.view.prefix = TG_SPM_PREFIX_METASPACE;
    EXPECT(&v, false, "a<u>a<u> a<u>" SPACE "a", 2, 4, 2, 4, 2, 4, 2);
    v.view.prefix = TG_SPM_PREFIX_FIRST;
    EXPECT(&v, false, "a<u>a", 2, 4, 1);
    EXPECT(&v, false, "<u>a", 4, 1);
    v.view.prefix = TG_SPM_PREFIX_PARTS;
    EXPECT(&v, false, "<u>a", 3, 4, 1);
}

static void test_prefixes(void)
{
    static ref_spm v;
    const tg_spm_prefix prefixes[] = {TG_SPM_PREFIX_NONE, TG_SPM_PREFIX_PARTS, TG_SPM_PREFIX_METASPACE,
                                      TG_SPM_PREFIX_FIRST};

    for (size_t i = 0; i < 4; i++) {
        ref_spm_begin(&v, prefixes[i]);
        (void)ref_spm_add(&v, "<unk>", TG_SPM_UNKNOWN, 0);
        (void)ref_spm_add(&v, "<s>", TG_SPM_CONTROL, 0);           /* 1 */
        (void)ref_spm_add(&v, "a", TG_SPM_NORMAL, -9);             /* 2 */
        (void)ref_spm_add(&v, SPACE, TG_SPM_NORMAL, -9);           /* 3 */
        (void)ref_spm_add(&v, SPACE "a", TG_SPM_NORMAL, -1);       /* 4 */
        (void)ref_spm_add(&v, SPACE SPACE "a", TG_SPM_NORMAL, -2); /* 5 */
        if (prefixes[i] == TG_SPM_PREFIX_NONE) {
            EXPECT(&v, true, "aa a<s>a", 2, 2, 4, 1, 2);
        } else if (prefixes[i] == TG_SPM_PREFIX_PARTS) {
            EXPECT(&v, true, "aa a<s>a<s> a<s><s>", 4, 2, 4, 1, 4, 1, 5, 1, 1);
            EXPECT(&v, true, SPACE "a<s>" SPACE "a", 5, 1, 5);
        } else if (prefixes[i] == TG_SPM_PREFIX_METASPACE) {
            EXPECT(&v, true, "aa<s>a<s> a", 4, 2, 1, 4, 1, 4);
            EXPECT(&v, true, SPACE "a<s>" SPACE "a", 4, 1, 4);
        } else {
            EXPECT(&v, true, "aa<s>a<s> a", 4, 2, 1, 2, 1, 4);
            EXPECT(&v, true, "<s>a", 1, 2);
        }
    }
}

/* ---- random vocabularies and texts */

static uint64_t state;

static size_t below(size_t n)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (size_t)(state >> 33) % n;
}

/* Vocabularies and texts have the first `letters` of these. */
static const char *const characters[] = {
    "a", "b", "c", SPACE, "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"};
enum { CHARACTERS = sizeof characters / sizeof characters[0] };
static size_t letters = CHARACTERS;

/* A random concatenation of two pieces or characters. */
static void random_piece(char out[64], const ref_spm *v)
{
    *out = '\0';
    for (int half = 0; half < 2; half++) {
        const size_t k = below(v->view.n + letters);
        const size_t from = k > 0 && k < v->view.n ? v->ends[k - 1] : 0;

        if (k < v->view.n && v->types[k] == TG_SPM_NORMAL)
            snprintf(out + strlen(out), 64 - strlen(out), "%.*s", (int)(v->ends[k] - from),
                     (const char *)v->tokens + from);
        else
            strcat(out, characters[below(letters)]);
    }
    if (strlen(out) > 24)
        strcpy(out, characters[0]);
}

static bool has_text(const ref_spm *v, const char *text)
{
    for (size_t id = 0; id < v->view.n; id++) {
        const size_t from = id > 0 ? v->ends[id - 1] : 0, n = v->ends[id] - from;

        if (v->types[id] != TG_SPM_BYTE && n == strlen(text) && memcmp(v->tokens + from, text, n) == 0)
            return true;
    }
    return false;
}

/* How scores are chosen. */
enum scores { DESCENDING, FEW, ANY, TAIL, SCORES };

static double random_score(enum scores scores, size_t i)
{
    switch (scores) {
    case DESCENDING:
        return -(double)i;
    case FEW:
        return -(double)below(4);
    case TAIL: /* the later ones, which are made of any, are alike */
        return i < 12 ? -(double)i : -5000;
    default:
        return -(double)below(1000);
    }
}

static void random_vocab(ref_spm *v, enum scores scores, bool bytes)
{
    const size_t n = 4 + below(40);
    char text[64];

    ref_spm_begin(v, (tg_spm_prefix)below(5));
    (void)ref_spm_add(v, "<unk>", TG_SPM_UNKNOWN, 0);
    if (bytes)
        ref_spm_add_bytes(v);
    for (size_t i = 0; i < letters; i++)
        if (letters < CHARACTERS || below(5) > 0)
            (void)ref_spm_add(v, characters[i], below(9) ? TG_SPM_NORMAL : TG_SPM_UNUSED, -1000);
    for (size_t i = 0; i < n; i++) {
        const double score = random_score(scores, i);
        const size_t type = below(12);

        random_piece(text, v);
        if (!has_text(v, text))
            (void)ref_spm_add(v, text,
                              type == 0                            ? TG_SPM_UNUSED
                              : type == 1 && letters == CHARACTERS ? TG_SPM_USER_DEFINED
                                                                   : TG_SPM_NORMAL,
                              score);
    }
}

/* A text of the vocabulary's characters, with runs, and of some others. */
static size_t random_text(char *out, size_t max)
{
    const size_t kinds = letters < CHARACTERS ? letters : 1 + below(CHARACTERS + 2);
    size_t n = 0;

    while (n + 64 < max) {
        const size_t k = below(kinds);
        const char *c = k < CHARACTERS ? characters[k] : k == CHARACTERS ? "z" : "\xE2\x96";
        size_t run = below(8) ? 1 : 1 + below(12);

        if (k == 3 && below(4))
            c = " ";
        for (; run-- > 0; n += strlen(c))
            memcpy(out + n, c, strlen(c));
    }
    return n;
}

static void check_text(const ref_spm *v, const tg_tokenizer *tok, const char *text, size_t n)
{
    static struct ids got;
    static int32_t want[IDS_MAX];
    const long count =
        ref_spm_text(v, v->view.prefix != TG_SPM_PREFIX_NONE, want, (const unsigned char *)text, n);
    const size_t parts[] = {n + 1, 1 + below(7), 1 + below(n + 1)};
    tg_encoder *e;
    tg_err err = {0};

    CHECK(count >= 0);
    CHECK_OK(tg_encoder_create(&e, tok, &err), &err);
    for (size_t i = 0; i < 3; i++) {
        got.n = 0;
        CHECK_OK(encode_with(e, &got, text, n, parts[i], i == 1 ? 1 + below(5) : IDS_MAX - 3 * n, &err),
                 &err);
        check_ids(&got, want, (size_t)count);
    }
    tg_encoder_free(e);
}

/* Encode text [n], cut as often as the last `reach` bytes allow (0: a few, at random); returns how often. */
static size_t encode_cut(tg_encoder *e, struct ids *out, const char *text, size_t n, size_t reach,
                         tg_err *err)
{
    size_t begin = 0, cuts = 0;

    for (size_t end = 2; end <= n; end++) {
        const size_t some = reach > 0 ? reach : 1 + below(12);
        const size_t cut = tg_encoder_cut(e, (const unsigned char *)text + begin, end - begin, some);

        CHECK(cut < end - begin);
        if (cut == 0)
            continue;
        CHECK_OK(encode_with(e, out, text + begin, cut, n, 64, err), err);
        tg_encoder_continue(e);
        begin += cut;
        cuts++;
    }
    CHECK_OK(encode_with(e, out, text + begin, n - begin, n, 64, err), err);
    return cuts;
}

/* Texts that are cut wherever that is allowed have the same ids. */
static void check_cuts(const ref_spm *v, const tg_tokenizer *tok, const char *text, size_t n)
{
    static struct ids got;
    static int32_t want[IDS_MAX];
    const long count =
        ref_spm_text(v, v->view.prefix != TG_SPM_PREFIX_NONE, want, (const unsigned char *)text, n);
    tg_encoder *e;
    tg_err err = {0};

    CHECK_OK(tg_encoder_create(&e, tok, &err), &err);
    got.n = 0;
    (void)encode_cut(e, &got, text, n, 0, &err);
    check_ids(&got, want, (size_t)count);
    tg_encoder_free(e);
}

/* The same with special tokens, after which a prefix comes. */
static void test_special_cuts(void)
{
    static const char text[] = "</s>a</s></s> a</s>aa" SPACE "a</s>a<</s>a>a";
    static const tg_spm_prefix prefixes[] = {TG_SPM_PREFIX_PARTS, TG_SPM_PREFIX_DIVIDED,
                                             TG_SPM_PREFIX_METASPACE, TG_SPM_PREFIX_FIRST};
    static ref_spm v;
    static struct ids want, got;

    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        const tg_tokenizer *tok;
        tg_encoder *e;
        tg_err err = {0};

        ref_spm_begin(&v, prefixes[i]);
        (void)ref_spm_add(&v, "<unk>", TG_SPM_UNKNOWN, 0);
        (void)ref_spm_add(&v, "</s>", TG_SPM_CONTROL, 0);
        (void)ref_spm_add(&v, "a", TG_SPM_NORMAL, -9);
        (void)ref_spm_add(&v, "<", TG_SPM_NORMAL, -9);
        (void)ref_spm_add(&v, ">", TG_SPM_NORMAL, -9);
        (void)ref_spm_add(&v, SPACE, TG_SPM_NORMAL, -9);
        (void)ref_spm_add(&v, SPACE "a", TG_SPM_NORMAL, -1);
        tok = ref_spm_tokenizer(&v);
        CHECK_OK(tg_encoder_create(&e, tok, &err), &err);
        CHECK_OK(tg_encoder_match_special(e, &err), &err);
        want.n = got.n = 0;
        CHECK_OK(encode_with(e, &want, text, strlen(text), strlen(text), 64, &err), &err);
        CHECK(encode_cut(e, &got, text, strlen(text), 64, &err) > 2);
        check_ids(&got, want.id, want.n);
        tg_encoder_free(e);
        tg_tokenizer_free(tok);
    }
}

/* The tokens' texts, together, are the text. */
static void check_decoding(const tg_tokenizer *tok, bool special, const char *text, size_t n)
{
    static struct ids got;
    tg_decoder d = {.tok = tok};
    tg_encoder *e;
    tg_err err = {0};
    size_t at = 0;

    CHECK_OK(tg_encoder_create(&e, tok, &err), &err);
    if (special)
        CHECK_OK(tg_encoder_match_special(e, &err), &err);
    got.n = 0;
    CHECK_OK(encode_with(e, &got, text, n, n, IDS_MAX - 3 * n, &err), &err);
    for (size_t i = 0; i < got.n; i++) {
        size_t length;
        const unsigned char *token = tg_decoder_next(&d, got.id[i], &length);

        CHECK(at + length <= n);
        CHECK(memcmp(text + at, token, length) == 0);
        at += length;
    }
    CHECK_EQ(at, n);
    tg_encoder_free(e);
}

/* What pieces with a space of their own, and special tokens, stand for. */
static void test_decoding(void)
{
    static const char text[] = " xab x a</s> xa<unk>a x x b";
    static const tg_spm_prefix prefixes[] = {TG_SPM_PREFIX_NONE, TG_SPM_PREFIX_PARTS, TG_SPM_PREFIX_DIVIDED};
    static ref_spm v;

    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        const tg_tokenizer *tok;

        ref_spm_begin(&v, prefixes[i]);
        (void)ref_spm_add(&v, "<unk>", TG_SPM_UNKNOWN, 0);
        (void)ref_spm_add(&v, "</s>", TG_SPM_CONTROL, 0);
        ref_spm_add_bytes(&v);
        (void)ref_spm_add(&v, SPACE, TG_SPM_NORMAL, -9);
        (void)ref_spm_add(&v, SPACE "x", TG_SPM_USER_DEFINED, 0);
        (void)ref_spm_add(&v, "a", TG_SPM_NORMAL, -9);
        (void)ref_spm_add(&v, SPACE "a", TG_SPM_NORMAL, -1);
        tok = ref_spm_tokenizer(&v);
        check_decoding(tok, true, text, strlen(text));
        tg_tokenizer_free(tok);
    }
}

static void check_vocab(enum scores scores, bool bytes, size_t longest)
{
    static ref_spm v;
    static char text[TEXT_MAX];
    const tg_tokenizer *tok;

    random_vocab(&v, scores, bytes);
    tok = ref_spm_tokenizer(&v);
    for (size_t i = 0; i < 6; i++) {
        const size_t n = random_text(text, 65 + below(longest));

        check_text(&v, tok, text, n);
        if (n > 1)
            check_cuts(&v, tok, text, n);
    }
    tg_tokenizer_free(tok);
}

static void test_random(void)
{
    const size_t rounds = check_rounds(160);

    for (size_t r = 0; r < rounds; r++) {
        state = r;
        check_vocab((enum scores)(r % SCORES), r / SCORES % 2 == 0, 120);
    }
}

static void test_long(void)
{
    const size_t rounds = check_rounds(check_soak(8, 16)); /* each kind of scores with and without bytes */

    for (size_t r = 0; r < rounds; r++) {
        state = 100000 + r;
        check_vocab((enum scores)(r % SCORES), r / SCORES % 2 == 0, 4000);
    }
}

/* Few letters, of which the vocabulary joins almost all: each text is one string. */
static void test_strings(void)
{
    const size_t rounds =
        check_rounds(check_soak(16, 80)); /* each kind of scores with each number of letters, once or more */

    for (size_t r = 0; r < rounds; r++) {
        state = 200000 + r;
        letters = 1 + r / SCORES % 4;
        check_vocab((enum scores)(r % SCORES), true, 3000);
    }
    letters = CHARACTERS;
}

static void test_round_trip(void)
{
    static ref_spm v;
    static char text[TEXT_MAX];
    const tg_tokenizer *tok;

    for (size_t r = 0; r < check_rounds(100); r++) {
        size_t n;

        state = r;
        n = 1 + below(300);
        random_vocab(&v, ANY, true);
        v.view.prefix = (tg_spm_prefix)(r % 3); /* the others are not told from a text's own space */
        if (!has_text(&v, SPACE))
            (void)ref_spm_add(&v, SPACE, TG_SPM_NORMAL, -7);
        tok = ref_spm_tokenizer(&v);
        for (size_t i = 0; i < n; i++) {
            text[i] = (char)(below(2) ? below(256) : 'a' + below(3));
            text[i] = text[i] == '\xE2' ? ' ' : text[i]; /* U+2581 would become a space */
        }
        check_decoding(tok, false, text, n);
        tg_tokenizer_free(tok);
    }
}

/* ---- archives */

static void test_archive(void)
{
    static ref_spm v;
    const tg_tokenizer *tok, *again;
    tg_archive_writer *w;
    tg_err err = {0};
    FILE *f;

    state = 5;
    random_vocab(&v, ANY, true);
    tok = ref_spm_tokenizer(&v);
    CHECK((f = tmpfile()) != NULL);
    CHECK_OK(tg_archive_create(&w, fileno(f), &err), &err);
    CHECK_OK(tg_tokenizer_put(tok, w, &err), &err);
    CHECK_OK(tg_archive_finish(w, &err), &err);
    tg_archive_abandon(w);
    CHECK_OK(read_tokenizer(&again, f, &err), &err);
    CHECK_OK(tg_tokenizer_same(tok, again, &err), &err);
    CHECK(tg_spm_vocab_of(again)->prefix == v.view.prefix);
    tg_tokenizer_free(tok);
    tg_tokenizer_free(again);
    fclose(f);
}

static void refuse(const ref_spm *v, const char *why)
{
    const tg_tokenizer *tok;
    tg_err err = {0};

    CHECK(tg_spm_create(&tok, &v->view, &err) == TG_EDATA);
    CHECK_HAS(err.message, why);
    CHECK(!tok);
}

static void test_refusals(void)
{
    static ref_spm v;

    ref_spm_begin(&v, TG_SPM_PREFIX_NONE);
    refuse(&v, "ends is empty");
    (void)ref_spm_add(&v, "a", TG_SPM_NORMAL, 0);
    (void)ref_spm_add(&v, "a", TG_SPM_UNUSED, 0);
    refuse(&v, "token 1 has the text of token 0");
    v.types[1] = TG_SPM_USER_DEFINED;
    refuse(&v, "user-defined token 1 has the text of token 0");
    v.types[0] = TG_SPM_USER_DEFINED;
    (void)ref_spm_add(&v, "ba", TG_SPM_NORMAL, 0);
    refuse(&v, "user-defined token 1 has the text of token 0");
    v.types[0] = TG_SPM_NORMAL;
    v.view.n = 2;
    v.types[1] = 9;
    refuse(&v, "token 1 has type 9, expected 1 to 6");
    v.types[1] = TG_SPM_BYTE;
    refuse(&v, "1 tokens are bytes, expected 256 or none");
    v.types[1] = TG_SPM_UNKNOWN;
    v.scores[0] = (float)HUGE_VAL;
    refuse(&v, "token 0 has score inf");
    v.scores[0] = 0;
    v.tokens[0] = 0xFF;
    refuse(&v, "token 0 is not UTF-8");
    v.tokens[0] = 'b';
    (void)ref_spm_add(&v, "<s>", TG_SPM_CONTROL, 0);
    v.special[0] = 0;
    refuse(&v, "special token 0 has type 1, expected 2 or 3");
}

static void test_lacking(void)
{
    static ref_spm v;
    static struct ids got;
    const tg_tokenizer *tok;
    tg_encoder *e;
    tg_err err = {0};

    ref_spm_begin(&v, TG_SPM_PREFIX_NONE);
    (void)ref_spm_add(&v, "a", TG_SPM_NORMAL, 0);
    tok = ref_spm_tokenizer(&v);
    for (int invalid = 0; invalid < 2; invalid++) {
        CHECK_OK(tg_encoder_create(&e, tok, &err), &err);
        CHECK(encode_with(e, &got, invalid ? "a\xFF" : "a\xC3\xA9", invalid ? 2 : 3, 1, 9, &err) == TG_EDATA);
        CHECK_HAS(err.message, invalid ? "byte 0xFF is not in the vocabulary" : "character U+00E9 is not in");
        tg_encoder_free(e);
    }
    tg_tokenizer_free(tok);
}

int main(void)
{
    RUN(test_merges_by_score);
    RUN(test_ties);
    RUN(test_unused);
    RUN(test_unknown);
    RUN(test_user_defined);
    RUN(test_user_defined_within);
    RUN(test_divided);
    RUN(test_prefixes);
    RUN(test_special_cuts);
    RUN(test_decoding);
    RUN(test_random);
    RUN(test_long);
    RUN(test_strings);
    RUN(test_round_trip);
    RUN(test_archive);
    RUN(test_refusals);
    RUN(test_lacking);
    return check_done();
}
