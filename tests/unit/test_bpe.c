/* Byte pair encoding, against its definition (ref_bpe.h). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/archive.h"
#include "lib/base/size.h"
#include "lib/base/threads.h"
#include "lib/bpe/bpe_encode.h"
#include "lib/bpe/bpe_state.h"
#include "lib/text/encoder.h"
#include "lib/text/kind.h"
#include "lib/text/parallel.h"
#include "lib/text/special.h"
#include "tests/unit/check.h"
#include "tests/unit/failing.h"
#include "tests/unit/read_tokenizer.h"
#include "tests/unit/ref_bpe.h"
#include "tests/unit/refusing.h"

/* Numbers below `below`, the same in every run. */
static size_t draw(uint64_t *seed, size_t below)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(*seed >> 33) % below;
}

static int32_t *new_ids(size_t n)
{
    return malloc((n + 1) * sizeof(int32_t));
}

/* Encode a text, `step` bytes and at most `max` ids at a time; the encoder can be used again. */
static size_t encode_with(tg_encoder *e, int32_t *ids, const unsigned char *text, size_t n, size_t step,
                          size_t max)
{
    size_t count = 0, got;
    tg_err err = {0};

    for (size_t at = 0; at < n; at += step) {
        tg_text part = {text + at, tg_size_min(step, n - at)};

        do {
            CHECK_OK(tg_encoder_encode(e, &part, ids + count, max, &got, &err), &err);
            count += got;
        } while (got == max || part.n > 0);
    }
    do {
        CHECK_OK(tg_encoder_finish(e, ids + count, max, &got, &err), &err);
        count += got;
    } while (got == max);
    return count;
}

/* Room for the ids of any text of n bytes, and for one call's. */
#define ROOM(n, max) (3 * (n) + (max))

static void expect_encoding(tg_encoder *e, const ref_vocab *v, const unsigned char *text, size_t n,
                            size_t step, size_t max)
{
    int32_t *want = new_ids(3 * n), *got = new_ids(ROOM(n, max));
    const size_t count = ref_bpe_text(v, want, text, n), found = encode_with(e, got, text, n, step, max);

    if (found != count || memcmp(got, want, count * sizeof *want) != 0) {
        size_t i = 0;

        while (i < found && i < count && got[i] == want[i])
            i++;
        fprintf(stderr,
                "%zu bytes in parts of %zu, %zu ids at a time: id %zu of %zu is %ld, expected %ld of %zu\n",
                n, step, max, i, found, i < found ? (long)got[i] : -1, i < count ? (long)want[i] : -1, count);
    }
    CHECK_EQ(found, count);
    CHECK(found == count && memcmp(got, want, count * sizeof *want) == 0);
    free(want);
    free(got);
}

static tg_encoder *new_encoder(const ref_vocab *v)
{
    const tg_tokenizer *tok = ref_vocab_tokenizer(v);
    tg_encoder *e;
    tg_err err = {0};

    CHECK_OK(tg_encoder_create(&e, tok, &err), &err);
    tg_tokenizer_free(tok);
    return e;
}

/* ---- merging */

enum order { PROPER, SHUFFLED };

/* Merges of strings of a few letters, at random. */
static ref_vocab random_vocab(uint64_t *seed, size_t letters, enum order order)
{
    ref_vocab v;
    size_t merges = 1 + draw(seed, 24);

    ref_vocab_begin(&v, TG_SPLIT_NONE);
    for (size_t i = 0; i < letters; i++)
        (void)ref_vocab_add(&v, &(unsigned char){(unsigned char)('a' + i)}, 1);
    for (; merges > 0; merges--)
        (void)ref_vocab_merge(&v, (uint32_t)draw(seed, v.view.n), (uint32_t)draw(seed, v.view.n));
    for (size_t i = v.view.n_merges; order == SHUFFLED && i > 1; i--) {
        const size_t j = draw(seed, i);
        uint32_t swap[2];

        memcpy(swap, v.merges[i - 1], sizeof swap);
        memcpy(v.merges[i - 1], v.merges[j], sizeof swap);
        memcpy(v.merges[j], swap, sizeof swap);
    }
    return v;
}

static void fill_letters(unsigned char *text, size_t n, size_t letters, uint64_t *seed)
{
    const size_t runs = 1 + draw(seed, 8);

    for (size_t i = 0; i < n; i++)
        text[i] = i > 0 && draw(seed, runs) > 0 ? text[i - 1] : (unsigned char)('a' + draw(seed, letters));
}

/* A pair that the table mistakes for a merge, which has the same first token, is not merged. */
static void wrong_guesses(void)
{
    enum { N = 128, SECRETS = 128 };
    uint32_t halves[1 + N][2] = {{'x', 'y'}}, made[1 + N] = {256}, byte_ids[256];
    size_t wrong = 0;

    for (uint32_t i = 0; i < 256; i++)
        byte_ids[i] = i;
    for (uint32_t i = 0; i < N; i++) {
        halves[1 + i][0] = 256;
        halves[1 + i][1] = i;
        made[1 + i] = 257 + i;
    }
    for (uint64_t secret = 0; secret < SECRETS; secret++) {
        tg_pairs pairs;
        tg_merger merger = {.pairs = &pairs};
        tg_err err = {0};

        CHECK_OK(
            tg_pairs_create(&pairs, (const uint32_t(*)[2])halves, made, 1 + N, NULL, byte_ids, secret, &err),
            &err);
        for (uint32_t right = 0; right < 256; right++) {
            const unsigned char text[3] = {'x', 'y', (unsigned char)right};
            int32_t ids[3] = {'x', 'y', (int32_t)right};
            const size_t n = tg_merge_short(&merger, ids, text, 3);

            if (right < N) {
                CHECK(n == 1 && ids[0] == (int32_t)(257 + right));
                continue;
            }
            CHECK(n == 2 && ids[0] == 256 && ids[1] == (int32_t)right);
            wrong += tg_pairs_guess(&pairs, 256, right) != TG_RANK_NONE;
        }
        tg_pairs_free(&pairs);
    }
    CHECK(wrong > 0);
}

static void random_vocabularies(void)
{
    const size_t max[] = {1, 3, 1000};
    unsigned char text[1500];
    uint64_t seed = 1;
    const size_t rounds = check_rounds(2000);
    size_t proper = 0;

    for (size_t round = 0; round < rounds; round++) {
        const size_t letters = 1 + draw(&seed, 3);
        ref_vocab v = random_vocab(&seed, letters, round % 2 == 0 ? PROPER : SHUFFLED);
        const tg_tokenizer *tok = ref_vocab_tokenizer(&v);
        const tg_bpe *state = (const void *)tok->state;
        tg_encoder *e;

        proper += state->proper;
        CHECK_OK(tg_encoder_create(&e, tok, NULL), NULL);
        for (size_t i = 0; i < 4; i++) {
            const size_t n = draw(&seed, round % 100 == 0 ? sizeof text : 100);

            fill_letters(text, n, letters, &seed);
            expect_encoding(e, &v, text, n, 1 + draw(&seed, n + 1), max[draw(&seed, 3)]);
        }
        tg_encoder_free(e);
        tg_tokenizer_free(tok);
        ref_vocab_free(&v);
    }
    CHECK(proper > rounds / 2 && proper < rounds); /* both ways were taken */
}

/* Of many merges that make a token one ever happens (bpe_state.h): adding others changes nothing. */
static void dead_merges(void)
{
    unsigned char text[200];
    uint64_t seed = 7;
    size_t added = 0;

    for (size_t round = 0; round < 300; round++) {
        ref_vocab v = random_vocab(&seed, 2, PROPER), more;
        tg_encoder *e;

        ref_vocab_begin(&more, TG_SPLIT_NONE);
        for (size_t i = 0; i < v.view.n; i++)
            (void)ref_vocab_add(&more, i > 0 ? v.tokens + v.ends[i - 1] : v.tokens,
                                i > 0 ? v.ends[i] - v.ends[i - 1] : v.ends[0]);
        for (size_t r = 0; r < v.view.n_merges; r++) {
            /* as in files made from a list of tokens: the pair of another division of the same token */
            const size_t before = more.view.n;

            for (uint32_t x = 0; x < v.view.n; x++)
                for (uint32_t y = 0; y < v.view.n; y++) {
                    const size_t n = more.view.n_merges;

                    if (draw(&seed, 40) == 0 && ref_vocab_merge(&more, x, y) && more.view.n > before) {
                        more.view.n_merges = n; /* it made a new token: take it back */
                        more.view.n = before;
                    }
                }
            (void)ref_vocab_merge(&more, v.merges[r][0], v.merges[r][1]);
        }
        added += more.view.n_merges - v.view.n_merges;
        e = new_encoder(&more);
        for (size_t i = 0; i < 3; i++) {
            const size_t n = draw(&seed, sizeof text);

            fill_letters(text, n, 2, &seed);
            expect_encoding(e, &more, text, n, 50, 100);
        }
        tg_encoder_free(e);
        ref_vocab_free(&v);
        ref_vocab_free(&more);
    }
    CHECK(added > 300);
}

/* Short texts, most of them seen before: a part of a piece is not looked up as a piece, and borders are
 * where no token has the two letters. */
static void parts_of_pieces(void)
{
    unsigned char text[8], token[4];
    uint64_t seed = 11;
    const size_t rounds = check_rounds(300);
    size_t wholes = 0;

    for (size_t round = 0; round < rounds; round++) {
        ref_vocab v = random_vocab(&seed, 4, PROPER);
        tg_encoder *e;

        for (size_t i = 0; i < 3; i++) { /* tokens that no merge makes, unless a merge makes the same */
            const size_t n = 2 + draw(&seed, 2);

            fill_letters(token, n, 4, &seed);
            if (ref_vocab_find(&v, token, n) == UINT32_MAX)
                (void)ref_vocab_add(&v, token, n);
        }
        v.view.whole_pieces = round % 4 != 0;
        e = new_encoder(&v);
        for (size_t i = 0; i < 200; i++) {
            const size_t n = draw(&seed, sizeof text + 1);

            fill_letters(text, n, 4, &seed);
            wholes += v.view.whole_pieces && ref_vocab_find(&v, text, n) != UINT32_MAX;
            expect_encoding(e, &v, text, n, 1 + draw(&seed, n + 1), 100);
        }
        tg_encoder_free(e);
        ref_vocab_free(&v);
    }
    CHECK(wholes > rounds);
}

/* ---- texts */

/* Words of some letters, spaces, digits, signs, characters of several bytes, marks, and bytes that are
 * no character. */
static void fill_text(unsigned char *text, size_t n, uint64_t *seed)
{
    static const char *const parts[] = {"the",  " and", "ing ",      "a",    "e",      "n't",  "I'll", " ",
                                        "   ",  "\n",   "\r\n",      "\t",   "12",     "345",  "!?",   "--",
                                        "'",    "é",    "e\xCC\x81", "中文", "語",     "🙂", "\xC3", "\x80",
                                        "\xFF", "Ab",   "STOP",      "_",    "<|end|>"};
    const size_t repeats = 1 + draw(seed, 40);
    size_t at = 0;

    while (at < n) {
        const char *part = parts[draw(seed, sizeof parts / sizeof parts[0])];

        for (size_t i = draw(seed, 4) == 0 ? repeats : 1; i > 0; i--)
            for (size_t k = 0; part[k] != '\0' && at < n; k++)
                text[at++] = (unsigned char)part[k];
    }
}

/* Merges learned from such a text: once, because every vocabulary has the same. */
static const ref_vocab *learned(void)
{
    enum { N = 20000 };
    static ref_vocab v;
    unsigned char *text;
    uint64_t seed = 3;

    if (v.view.n > 0)
        return &v;
    text = malloc(N);
    fill_text(text, N, &seed);
    ref_vocab_begin(&v, TG_SPLIT_NONE);
    ref_vocab_add_bytes(&v);
    ref_vocab_learn(&v, text, N, 120);
    free(text);
    return &v;
}

/* All bytes, and these merges; a token that no merge reaches; two special ones. */
static ref_vocab text_vocab(tg_split split)
{
    const ref_vocab *const from = learned();
    ref_vocab v;

    ref_vocab_begin(&v, split);
    ref_vocab_add_bytes(&v);
    for (size_t i = 0; i < from->view.n_merges; i++)
        (void)ref_vocab_merge(&v, from->merges[i][0], from->merges[i][1]);
    (void)ref_vocab_add(&v, "unreached", 9);
    (void)ref_vocab_add_special(&v, "<|end|>");
    (void)ref_vocab_add_special(&v, "<|end|>of");
    return v;
}

/* Every rule for splitting, with and without normalisation and whole pieces, cut everywhere. */
static void texts_in_parts(void)
{
    const size_t steps[] = {1, 2, 3, 5, 16, 17, 100, 1000, 5000};
    unsigned char text[4000];
    uint64_t seed = 5;

    for (unsigned variant = 0; variant < 4 * TG_SPLITS; variant++) {
        ref_vocab v = text_vocab((tg_split)(variant / 4));
        tg_encoder *e;

        v.view.normalizer = variant % 2 == 0 ? TG_NORMALIZER_NONE : TG_NORMALIZER_NFC;
        v.view.whole_pieces = variant % 4 >= 2;
        e = new_encoder(&v);
        for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
            const size_t n = i % 3 == 0 ? draw(&seed, sizeof text) : draw(&seed, 300);

            fill_text(text, n, &seed);
            if (i % 2 == 0 && n > 9)
                memcpy(text + n / 2, " unreached", tg_size_min(10, n - n / 2));
            expect_encoding(e, &v, text, n, steps[i], 1 + draw(&seed, 400));
        }
        tg_encoder_free(e);
        ref_vocab_free(&v);
    }
}

/* Runs whose pieces only the character after them decides: white space after a line end, and capitals after
 * letters without case.  Longer than any window, in parts of one byte, and also in parts that are longer
 * than the window. */
static const char *const undecided[] = {"\n ", "\u4E2DA"};

static void fill_undecided(unsigned char *text, size_t n, const char *run)
{
    const size_t begin = strlen(run) - 1;

    memset(text, run[begin], n);
    memcpy(text, run, begin);
    text[n / 2] = 'x';
}

static void undecided_runs(void)
{
    enum { N = 20000 };
    const size_t lengths[] = {300, N}, steps[] = {1, 7, N};
    static unsigned char text[N];

    for (tg_split split = 0; split < TG_SPLITS; split++) {
        ref_vocab v = text_vocab(split);
        tg_encoder *e = new_encoder(&v);

        for (size_t i = 0; i < 4; i++) {
            const size_t n = lengths[i / 2];

            fill_undecided(text, n, undecided[i % 2]);
            for (size_t s = n == N; s < 3; s++)
                expect_encoding(e, &v, text, n, steps[s], 1000);
        }
        tg_encoder_free(e);
        ref_vocab_free(&v);
    }
}

/* The tokens' bytes in a row are the text, whatever bytes it has. */
static void round_trip(void)
{
    ref_vocab v = text_vocab(TG_SPLIT_GPT2);
    const tg_tokenizer *tok = ref_vocab_tokenizer(&v);
    unsigned char text[5000];
    int32_t *ids = new_ids(ROOM(sizeof text, 64));
    tg_encoder *e = new_encoder(&v);
    uint64_t seed = 11;

    for (size_t round = 0; round < 20; round++) {
        size_t at = 0, count;
        bool same = true;

        for (size_t i = 0; i < sizeof text; i++)
            text[i] = (unsigned char)draw(&seed, round % 2 == 0 ? 256 : 3);
        count = encode_with(e, ids, text, sizeof text, 1 + draw(&seed, 2000), 64);
        for (size_t i = 0; i < count && same; i++) {
            size_t n;
            const unsigned char *token = tg_tokenizer_token(tok, ids[i], &n);

            same = n <= sizeof text - at && memcmp(token, text + at, n) == 0;
            at += n;
        }
        CHECK(same && at == sizeof text);
    }
    tg_encoder_free(e);
    tg_tokenizer_free(tok);
    ref_vocab_free(&v);
    free(ids);
}

/* Pieces far longer than a block: of one letter, of a few, of words without spaces. */
static void long_pieces(void)
{
    enum { N = 5000 };
    const char *const letters[] = {"a", "ab", "the", "theandingae", "_", "0123456789"};
    unsigned char text[N];
    uint64_t seed = 13;
    ref_vocab v = text_vocab(TG_SPLIT_GPT2);
    tg_encoder *e = new_encoder(&v);

    for (size_t i = 0; i < 2 * sizeof letters / sizeof letters[0]; i++) {
        const char *from = letters[i / 2];

        for (size_t k = 0; k < N; k++)
            text[k] = (unsigned char)from[i % 2 == 0 ? k % strlen(from) : draw(&seed, strlen(from))];
        expect_encoding(e, &v, text, N, 1 + draw(&seed, 3000), 1 + draw(&seed, 500));
    }
    tg_encoder_free(e);
    ref_vocab_free(&v);
}

/* One piece that normalisation changes, and that has more ids than are queued at a time: what is
 * normalised waits for room in the queue, while more text comes and after the last. */
static void normalised_long_piece(void)
{
    enum { CHARACTERS = 4 * TG_LONG_PIECE_IDS / 5, N = 3 * CHARACTERS };
    const size_t steps[] = {N, N - 1, N / 2, N / 9}, max[] = {1, 100, TG_LONG_PIECE_IDS, 2 * N};
    unsigned char text[N];
    ref_vocab v = text_vocab(TG_SPLIT_GPT2);
    tg_encoder *e;

    for (size_t i = 0; i < N; i++)
        text[i] = (unsigned char)"a\xCC\x8A"[i % 3]; /* U+00E5, two bytes without a merge */
    v.view.normalizer = TG_NORMALIZER_NFC;
    e = new_encoder(&v);
    for (size_t i = 0; i < 4; i++)
        for (size_t k = 0; k < 4; k++)
            expect_encoding(e, &v, text, N, steps[i], max[k]);
    tg_encoder_free(e);
    ref_vocab_free(&v);
}

/* What waits does not grow with the text, even if ids arrive faster than they are taken; nor does it with
 * text that is normalised. */
static void memory_is_bounded(void)
{
    enum { N = 1 << 20, BOUND = 1 << 16 };
    unsigned char *text = malloc(N);
    ref_vocab v = text_vocab(TG_SPLIT_GPT2);
    static const struct {
        const char *letters; /* three, in turn; NULL: random digits */
        tg_normalizer normalizer;
    } cases[] = {{"   ", TG_NORMALIZER_NONE},
                 {"qqq", TG_NORMALIZER_NONE},
                 {NULL, TG_NORMALIZER_NONE},
                 {NULL, TG_NORMALIZER_NFC},
                 {"a\xCC\x8A", TG_NORMALIZER_NFC}};
    int32_t ids[100];
    uint64_t seed = 23;

    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        const tg_tokenizer *tok;
        tg_bpe_encoder *e = calloc(1, sizeof *e);
        tg_text rest = {text, N};
        tg_err err = {0};
        size_t n;

        for (size_t i = 0; i < N; i++)
            text[i] =
                (unsigned char)(cases[c].letters ? cases[c].letters[i % 3] : "0123456789"[draw(&seed, 10)]);
        v.view.normalizer = cases[c].normalizer;
        tok = ref_vocab_tokenizer(&v);
        CHECK_OK(tg_bpe_encoder_start(e, tok->state, &err), &err);
        while (rest.n > 0)
            CHECK_OK(tg_bpe_encoder_encode(e, NULL, &rest, ids, 100, &n, &err), &err);
        CHECK(e->waiting.capacity <= BOUND);
        CHECK(e->pieces.queue.capacity <= BOUND);
        tg_bpe_encoder_stop(e);
        free(e);
        tg_tokenizer_free(tok);
    }
    ref_vocab_free(&v);
    free(text);
}

/* Encode a text that has a byte without a token, `step` bytes at a time, and free the encoder.  True: that is
 * found only at the end. */
static bool lacks_a_byte(tg_encoder *e, const void *text, size_t n, size_t step, const char *message)
{
    int32_t ids[256];
    tg_status status = TG_OK;
    tg_err err = {0};
    bool at_end;

    for (size_t at = 0, count; !status && at < n; at += step) {
        tg_text part = {(const unsigned char *)text + at, tg_size_min(step, n - at)};

        status = tg_encoder_encode(e, &part, ids, 256, &count, &err);
    }
    at_end = status == TG_OK;
    if (at_end)
        status = tg_encoder_finish(e, ids, 256, &n, &err);
    CHECK_EQ(status, TG_EDATA);
    CHECK_HAS(err.message, message);
    tg_encoder_free(e);
    return at_end;
}

/* A byte that has no token is named with its place, wherever the text was cut. */
static void missing_bytes(void)
{
    const size_t steps[] = {1, 3, 100};
    ref_vocab v;

    ref_vocab_begin(&v, TG_SPLIT_GPT2);
    (void)ref_vocab_merge(&v, ref_vocab_add(&v, "a", 1), ref_vocab_add(&v, "b", 1));
    (void)ref_vocab_add(&v, " ", 1);
    for (size_t i = 0; i < 3; i++) {
        tg_encoder *e = new_encoder(&v);

        tg_encoder_set_offset(e, 1000);
        (void)lacks_a_byte(e, "ab ab aba\xC2z", 11, steps[i],
                           "byte 1009 of the text is 0xC2, which the vocabulary lacks");
    }
    ref_vocab_free(&v);
}

/* In a short piece that a long one follows; before them what makes the smallest windows wide enough for both.
 */
static void missing_bytes_before_a_long_piece(void)
{
    enum { SPACES = 300, LONG = 2 * TG_LONG_PIECE_BLOCK, N = SPACES + LONG + 7 };
    unsigned char text[N];
    ref_vocab v;
    tg_encoder *e;
    int32_t ids[N];
    tg_text part = {text, N};
    size_t n;
    tg_status status;
    tg_err err = {0};

    memset(text, ' ', N);
    memset(text + N - LONG - 3, 'a', LONG);
    memcpy(text, "\n", 1);
    memcpy(text + SPACES, "a \xC2", 3);
    memcpy(text + N - 2, "a ", 2);
    ref_vocab_begin(&v, TG_SPLIT_CL100K);
    (void)ref_vocab_add(&v, "a", 1);
    (void)ref_vocab_add(&v, " ", 1);
    (void)ref_vocab_add(&v, "\n", 1);
    e = new_encoder(&v);
    status = tg_encoder_encode(e, &part, ids, N, &n, &err);
    if (!status)
        status = tg_encoder_finish(e, ids, N, &n, &err);
    CHECK_EQ(status, TG_EDATA);
    CHECK_HAS(err.message, "byte 302 of the text is 0xC2, which the vocabulary lacks");
    tg_encoder_free(e);
    ref_vocab_free(&v);
}

/* In the middle of a long piece, or in text that is held because a special token may begin there. */
static void missing_bytes_late(void)
{
    static const char held[] =
        "\xC2 a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a";
    unsigned char text[200];
    ref_vocab v;

    memset(text, 'a', sizeof text);
    text[150] = 0xC2;
    ref_vocab_begin(&v, TG_SPLIT_NONE);
    (void)ref_vocab_add(&v, "a", 1);
    (void)ref_vocab_merge(&v, 0, 0);
    (void)ref_vocab_add(&v,
                        "a\xC2"
                        "a",
                        3);
    (void)lacks_a_byte(new_encoder(&v), text, sizeof text, sizeof text,
                       "byte 150 of the text is 0xC2, which the vocabulary lacks");
    ref_vocab_free(&v);

    for (size_t i = 0; i < 2; i++) {
        const char *ends[] = {"\xC2<s>", held};
        tg_encoder *e;
        tg_err err;
        bool at_end;

        ref_vocab_begin(&v, TG_SPLIT_GPT2);
        (void)ref_vocab_add(&v, "a", 1);
        (void)ref_vocab_add(&v, " ", 1);
        (void)ref_vocab_add_special(&v, i == 0
                                            ? "<s>"
                                            : "\xC2 a a a a a a a a a a a a a a a a a a a a a a a a a a a a"
                                              " a a a a a a a a a a a a<s>");
        e = new_encoder(&v);
        CHECK_OK(tg_encoder_match_special(e, &err), &err);
        at_end = lacks_a_byte(e, ends[i], strlen(ends[i]), strlen(ends[i]),
                              "byte 0 of the text is 0xC2, which the vocabulary lacks");
        CHECK(i == 0 || at_end);
        ref_vocab_free(&v);
    }
}

/* ---- special tokens */

static void odd_special_tokens(void)
{
    static unsigned char tokens[1 + TG_SPECIAL_MAX + 1];
    const uint32_t ends[] = {1, 1, 1 + TG_SPECIAL_MAX + 1}, special[] = {1, 2};
    tg_bpe_vocab v = {.n = 2, .ends = ends, .tokens = tokens, .n_special = 1, .special = special};
    const tg_tokenizer *tok;
    tg_encoder *e;
    int32_t ids[8];
    tg_err err = {0};

    memset(tokens, 'a', sizeof tokens);
    CHECK_OK(tg_bpe_create(&tok, &v, &err), &err); /* an empty one, which no text has */
    CHECK_OK(tg_encoder_create(&e, tok, &err), &err);
    CHECK_OK(tg_encoder_match_special(e, &err), &err);
    CHECK_EQ(encode_with(e, ids, tokens, 4, 4, 8), 4);
    tg_encoder_free(e);
    tg_tokenizer_free(tok);
    v.n = 3;
    v.n_special = 2;
    CHECK_OK(tg_bpe_create(&tok, &v, &err), &err);
    CHECK_OK(tg_encoder_create(&e, tok, &err), &err);
    CHECK_EQ(tg_encoder_match_special(e, &err), TG_EDATA);
    CHECK_HAS(err.message, "special token 2 has 257 bytes: at most 256 can be looked for");
    tg_encoder_free(e);
    tg_tokenizer_free(tok);
}

/* A text is not cut where a special token may have both bytes. */
static void cuts_beside_special_tokens(void)
{
    static const unsigned char text[] = "to be all";
    ref_vocab v = text_vocab(TG_SPLIT_GPT2);
    tg_encoder *e = new_encoder(&v);
    tg_err err = {0};

    CHECK_EQ(tg_encoder_cut(e, text, 9, 9), 5);
    tg_encoder_free(e);
    (void)ref_vocab_add_special(&v, "e a");
    e = new_encoder(&v);
    CHECK_OK(tg_encoder_match_special(e, &err), &err);
    CHECK(tg_encoder_cut(e, text, 9, 9) < 5);
    tg_encoder_free(e);
    ref_vocab_free(&v);
}

/* Texts of parts [n_parts], in pieces of any length: the ids are those of the definition. */
static void expect_search(const ref_vocab *v, bool special, const char *const *parts, size_t n_parts,
                          size_t rounds)
{
    enum { N = 400 };
    unsigned char text[N];
    int32_t want[3 * N], got[4 * N];
    tg_encoder *e = new_encoder(v);
    uint64_t seed = 17;
    tg_err err = {0};

    if (special)
        CHECK_OK(tg_encoder_match_special(e, &err), &err);
    for (size_t round = 0; round < rounds; round++) {
        const size_t n = draw(&seed, N);
        size_t at = 0, count, found;

        while (at < n) {
            const char *part = parts[draw(&seed, n_parts)];

            for (size_t k = 0; part[k] != '\0' && at < n; k++)
                text[at++] = (unsigned char)part[k];
        }
        count = ref_bpe_search(v, special, want, text, n);
        found = encode_with(e, got, text, n, 1 + draw(&seed, round % 2 == 0 ? 10 : N), 1 + draw(&seed, N));
        CHECK_EQ(found, count);
        CHECK(memcmp(got, want, count * sizeof *want) == 0);
    }
    tg_encoder_free(e);
}

static void special_tokens(void)
{
    static const char *const parts[] = {"<|end|>",  "<|end|>of", "<|end|>o", "<|e", "<",
                                        "<<|end|>", "the",       " and",     " "};
    ref_vocab v = text_vocab(TG_SPLIT_GPT2);

    (void)ref_vocab_add_special(&v, "<");
    (void)ref_vocab_add_special(&v, "e a");
    expect_search(&v, true, parts, sizeof parts / sizeof parts[0], 300);
    ref_vocab_free(&v);
}

/* text_vocab() with runs of spaces as Pythia has them, without that of 5; a token across words, another
 * within a special one, and others that overlap it. */
static ref_vocab added_vocab(tg_split split)
{
    static const char *const texts[] = {"  ",  "   ", "    ", "      ", "\n ",
                                        "e a", "end", "|>of", "<|e",    "e\xCC"};
    ref_vocab v = text_vocab(split);

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        (void)ref_vocab_add_added(&v, texts[i]);
    return v;
}

static void added_tokens(void)
{
    static const char *const parts[] = {"<|end|>", "<|end|>of", "<|e", "the",  " and", " ",  "     ",    "\n",
                                        "e a",     "end",       "a",   "\xC3", "\xA9", "\t", "e\xCC\x81"};

    for (unsigned variant = 0; variant < 8 * TG_SPLITS; variant++) {
        ref_vocab v = added_vocab((tg_split)(variant / 8));

        v.view.normalizer = variant / 4 % 2 == 0 ? TG_NORMALIZER_NONE : TG_NORMALIZER_NFC;
        v.view.whole_pieces = variant / 2 % 2;
        expect_search(&v, variant % 2, parts, sizeof parts / sizeof parts[0], 40);
        ref_vocab_free(&v);
    }
}

/* The ids of known texts, whatever the rest of the vocabulary. */
static void runs_of_spaces(void)
{
    static const struct {
        const char *text;
        size_t n;
        int32_t ids[5];
    } cases[] = {{"a  b", 3, {'a', 256, 'b'}},       {"a b", 3, {'a', ' ', 'b'}},
                 {"     ", 2, {257, 256}},           {"a   \n", 3, {'a', 257, '\n'}},
                 {"<s>  ", 4, {'<', 's', '>', 256}}, {"       ", 3, {257, 257, ' '}}};
    ref_vocab v;
    tg_encoder *e;
    int32_t ids[16];

    ref_vocab_begin(&v, TG_SPLIT_GPT2);
    ref_vocab_add_bytes(&v);
    (void)ref_vocab_add_added(&v, "  ");
    (void)ref_vocab_add_added(&v, "   ");
    (void)ref_vocab_add_special(&v, "<s>");
    e = new_encoder(&v);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const size_t n = strlen(cases[i].text);

        CHECK_EQ(encode_with(e, ids, (const unsigned char *)cases[i].text, n, 1, 4), cases[i].n);
        for (size_t k = 0; k < cases[i].n; k++)
            CHECK_EQ(ids[k], cases[i].ids[k]);
    }
    tg_encoder_free(e);
    ref_vocab_free(&v);
}

static void special_tokens_by_text(void)
{
    ref_vocab v = text_vocab(TG_SPLIT_GPT2);
    const tg_tokenizer *tok = ref_vocab_tokenizer(&v);
    const uint32_t *ids;

    CHECK_EQ(tg_tokenizer_specials(tok, &ids), 2);
    CHECK_EQ(ids[0] + 1, ids[1]);
    CHECK_EQ(tg_tokenizer_special_id(tok, "<|end|>of", 9), ids[1]);
    CHECK_EQ(tg_tokenizer_special_id(tok, "<|end|>o", 8), -1);
    CHECK_EQ(tg_tokenizer_end_of_text(tok), -1);
    tg_tokenizer_free(tok);
    (void)ref_vocab_add_special(&v, "</s>");
    (void)ref_vocab_add_special(&v, "<|endoftext|>");
    tok = ref_vocab_tokenizer(&v);
    CHECK_EQ(tg_tokenizer_end_of_text(tok), (long long)v.view.n - 1);
    CHECK_EQ(tg_tokenizer_added(tok, &ids), 0);
    tg_tokenizer_free(tok);
    ref_vocab_free(&v);
    v = added_vocab(TG_SPLIT_GPT2);
    (void)ref_vocab_add_added(&v, "<eos>");
    tok = ref_vocab_tokenizer(&v);
    CHECK_EQ(tg_tokenizer_specials(tok, &ids), 2);
    CHECK_EQ(tg_tokenizer_added(tok, &ids), 11);
    CHECK_EQ(tg_tokenizer_special_id(tok, "end", 3), ids[6]);
    CHECK_EQ(tg_tokenizer_end_of_text(tok), ids[10]);
    tg_tokenizer_free(tok);
    ref_vocab_free(&v);
}

/* Encode a text, with memory failing after any number of allocations. */
static void encode_without_memory(const tg_tokenizer *tok, const unsigned char *text, size_t n)
{
    int32_t *want = new_ids(ROOM(n, n)), *got = new_ids(ROOM(n, n));
    size_t count, first, second = 0;
    tg_status status = TG_ENOMEM;
    tg_encoder *e;
    tg_err err = {0};

    CHECK_OK(tg_encoder_create(&e, tok, &err), &err);
    count = encode_with(e, want, text, n, n, 3 * n);
    tg_encoder_free(e);
    for (long left = 0; status == TG_ENOMEM; left++) {
        tg_text part = {text, n};

        first = second = 0;
        failing_after(left);
        status = tg_encoder_create(&e, tok, &err);
        if (!status && !(status = tg_encoder_encode(e, &part, got, 3 * n, &first, &err)))
            status = tg_encoder_finish(e, got + first, 3 * n - first, &second, &err);
        failing_after(-1);
        tg_encoder_free(e);
    }
    CHECK_OK(status, &err);
    CHECK(first + second == count && memcmp(got, want, count * sizeof *got) == 0);
    free(want);
    free(got);
}

/* The vocabulary has the longest piece as a token. */
static void no_memory_for_a_whole_piece(void)
{
    unsigned char piece[200];
    ref_vocab v;
    const tg_tokenizer *tok;

    memset(piece, 'a', sizeof piece);
    ref_vocab_begin(&v, TG_SPLIT_GPT2);
    ref_vocab_add_bytes(&v);
    (void)ref_vocab_add(&v, piece, sizeof piece);
    v.view.whole_pieces = true;
    tok = ref_vocab_tokenizer(&v);
    encode_without_memory(tok, piece, sizeof piece);
    tg_tokenizer_free(tok);
    ref_vocab_free(&v);
}

/* The cache of pieces is in memory of its own. */
static void no_memory_for_the_cache(void)
{
    ref_vocab v = text_vocab(TG_SPLIT_GPT2);
    const tg_tokenizer *tok = ref_vocab_tokenizer(&v);
    tg_encoder *e;
    tg_err err = {0};

    refuse("mmap", 1, ENOMEM);
    CHECK_EQ(tg_encoder_create(&e, tok, &err), TG_ENOMEM);
    CHECK(refused_all() && !e);
    tg_tokenizer_free(tok);
    ref_vocab_free(&v);
}

/* Runs that rules look to the end of. */
static void no_memory(void)
{
    enum { RUN_LENGTH = 300 };
    static const char runs[] = " A1\n'a";
    static unsigned char text[RUN_LENGTH * (sizeof runs - 1)];

    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (unsigned char)runs[i / RUN_LENGTH];
    for (tg_split split = 0; split < TG_SPLITS; split++) {
        ref_vocab v = split % 2 == 0 ? text_vocab(split) : added_vocab(split);
        const tg_tokenizer *tok = ref_vocab_tokenizer(&v);

        encode_without_memory(tok, text, sizeof text);
        encode_without_memory(tok, (const unsigned char *)"the", 3);
        for (size_t i = 0; i < 2; i++) {
            unsigned char run[20000];

            fill_undecided(run, sizeof run, undecided[i]);
            encode_without_memory(tok, run, sizeof run);
        }
        tg_tokenizer_free(tok);
        ref_vocab_free(&v);
    }
}

/* ---- threads */

struct gathered {
    int32_t *ids;
    size_t n, stop; /* fail after so many ids; 0: never */
};

static tg_status gather(void *context, const int32_t *ids, size_t n, tg_err *err)
{
    struct gathered *g = context;

    if (g->stop > 0 && g->n + n > g->stop)
        return tg_fail(err, TG_EIO, "enough");
    memcpy(g->ids + g->n, ids, n * sizeof *ids);
    g->n += n;
    return TG_OK;
}

/* Whatever the threads and the parts: the encoder's ids. */
static void threads(void)
{
    enum { N = 8 * TG_PARALLEL_BLOCK };
    const size_t steps[] = {N, N / 3, N / 4 + 1};
    unsigned char *text = malloc(N);
    int32_t *want = new_ids(ROOM((size_t)N, 4096));
    struct gathered g = {.ids = new_ids(3 * (size_t)N)};
    const size_t step = check_step(3), few = check_soak(3, 1); /* one of the steps in turn, or all */
    uint64_t seed = 19;

    fill_text(text, N, &seed);
    memset(text + N / 2, 'a', N / 4); /* no place to cut */
    for (size_t variant = 0; variant < 2 * TG_SPLITS + 4; variant += step) {
        const tg_split split = (tg_split)(variant / 2 % TG_SPLITS);
        ref_vocab v = variant < 2 * TG_SPLITS ? text_vocab(split) : added_vocab(split);
        const tg_tokenizer *tok;
        tg_encoder *e;
        tg_parallel *p;
        tg_err err = {0};
        size_t count;

        v.view.normalizer = variant % 2 == 0 ? TG_NORMALIZER_NONE : TG_NORMALIZER_NFC;
        tok = ref_vocab_tokenizer(&v);
        CHECK_OK(tg_encoder_create(&e, tok, &err), &err);
        if (variant % 2 == 1)
            CHECK_OK(tg_encoder_match_special(e, &err), &err);
        count = encode_with(e, want, text, N, N, 4096);
        CHECK_OK(tg_parallel_create(&p, tok, variant % 2 == 1, gather, &g, &err), &err);
        for (size_t i = variant / step % few; i < 3; i += few) {
            g.n = 0;
            for (size_t at = 0; at < N; at += steps[i])
                CHECK_OK(tg_parallel_encode(p, text + at, tg_size_min(steps[i], N - at), &err), &err);
            CHECK_OK(tg_parallel_encode(p, text, 0, &err), &err); /* changes nothing */
            CHECK_OK(tg_parallel_finish(p, &err), &err);
            CHECK_EQ(g.n, count);
            CHECK(memcmp(g.ids, want, count * sizeof *want) == 0);
        }
        tg_parallel_free(p);
        tg_encoder_free(e);
        tg_tokenizer_free(tok);
        ref_vocab_free(&v);
    }
    free(text);
    free(want);
    free(g.ids);
}

/* The first failure, in the text's order, ends it. */
static void threads_fail(void)
{
    enum { N = 12 * TG_PARALLEL_BLOCK, BAD = 8 * TG_PARALLEL_BLOCK };
    unsigned char *text = malloc(N);
    struct gathered g = {.ids = new_ids(N)};
    const tg_tokenizer *tok;
    tg_parallel *p;
    char message[64];
    tg_err err = {0};
    ref_vocab v;

    ref_vocab_begin(&v, TG_SPLIT_GPT2);
    (void)ref_vocab_add(&v, "a", 1);
    (void)ref_vocab_add(&v, " ", 1);
    tok = ref_vocab_tokenizer(&v);
    for (size_t i = 0; i < N; i++)
        text[i] = i % 5 == 0 ? ' ' : i == BAD + 1 || i == N - 2 ? 'b' : 'a';
    CHECK_OK(tg_parallel_create(&p, tok, false, gather, &g, &err), &err);
    CHECK_EQ(tg_parallel_encode(p, text, N, &err), TG_EDATA);
    snprintf(message, sizeof message, "byte %d of the text is 0x62", BAD + 1);
    CHECK_HAS(err.message, message);
    tg_parallel_free(p);
    g.n = 0;
    CHECK_OK(tg_parallel_create(&p, tok, false, gather, &g, &err), &err);
    CHECK_EQ(tg_parallel_encode(p, text, N, NULL), TG_EDATA);
    tg_parallel_free(p);
    for (long n = 0; n < 2 && tg_threads() > 1; n++) {
        CHECK_OK(tg_parallel_create(&p, tok, false, gather, &g, &err), &err);
        failing_after(n);
        CHECK_EQ(tg_parallel_encode(p, text, N, &err), TG_ENOMEM);
        failing_after(-1);
        tg_parallel_free(p);
    }
    g.n = 0;
    g.stop = N / 2;
    CHECK_OK(tg_parallel_create(&p, tok, false, gather, &g, &err), &err);
    CHECK_EQ(tg_parallel_encode(p, text, N, &err), TG_EIO);
    CHECK_HAS(err.message, "enough");
    tg_parallel_free(p);
    tg_tokenizer_free(tok);
    ref_vocab_free(&v);
    free(text);
    free(g.ids);
}

/* ---- archives */

/* with_added: with the array that other vocabularies lack. */
static void expect_archive(bool with_added)
{
    ref_vocab v = with_added ? added_vocab(TG_SPLIT_CL100K) : text_vocab(TG_SPLIT_CL100K);
    const tg_tokenizer *tok, *back;
    FILE *f = tmpfile();
    tg_archive_writer *w;
    tg_err err = {0};

    v.view.whole_pieces = true;
    v.view.normalizer = TG_NORMALIZER_NFC;
    tok = ref_vocab_tokenizer(&v);
    CHECK_OK(tg_archive_create(&w, fileno(f), &err), &err);
    CHECK_OK(tg_tokenizer_put(tok, w, &err), &err);
    CHECK_OK(tg_archive_finish(w, &err), &err);
    tg_archive_abandon(w);
    CHECK_OK(read_tokenizer(&back, f, &err), &err);
    CHECK_OK(tg_tokenizer_same(tok, back, &err), &err);
    CHECK(strcmp(tg_tokenizer_kind_name(back), "bpe") == 0);
    CHECK_EQ(tg_bpe_vocab_of(back)->split, TG_SPLIT_CL100K);
    CHECK_EQ(tg_bpe_vocab_of(back)->normalizer, TG_NORMALIZER_NFC);
    CHECK(tg_bpe_vocab_of(back)->whole_pieces);
    CHECK_EQ(tg_bpe_vocab_of(back)->n_merges, v.view.n_merges);
    CHECK_EQ(tg_bpe_vocab_of(back)->n_added, with_added ? 10 : 0);
    tg_tokenizer_free(tok);
    tg_tokenizer_free(back);
    ref_vocab_free(&v);
    fclose(f);
}

static void archives(void)
{
    expect_archive(false);
    expect_archive(true);
}

/* A vocabulary that is right but for one thing: tokens "a", "b", "ab", "c", merge (0, 1), special 3. */
static void contradictions(void)
{
    const uint32_t ends[] = {1, 2, 4, 5}, high[] = {1, 2, 7, 5}, back[] = {1, 0, 4, 5};
    const uint32_t empty[] = {1, 1, 4, 5};
    const uint32_t merge[][2] = {{0, 1}, {0, 1}}, none[][2] = {{1, 0}}, half[][2] = {{0, 4}};
    const uint32_t not_ordinary[][2] = {{3, 0}}, special[] = {3}, far[] = {4}, twice[] = {3, 3};
    const tg_bpe_vocab right = {.n = 4,
                                .ends = ends,
                                .tokens = (const unsigned char *)"abab"
                                                                 "c",
                                .n_merges = 1,
                                .merges = merge,
                                .n_special = 1,
                                .special = special};
    const struct {
        const char *message;
        const uint32_t *ends;
        const char *tokens;
        const uint32_t (*merges)[2];
        size_t n_merges, n_special;
        const uint32_t *special;
    } cases[] = {
        {"token 2 ends at 7, expected 2 to 5", high, NULL, NULL, 0, 0, NULL},
        {"token 1 ends at 0, expected 1 to 5", back, NULL, NULL, 0, 0, NULL},
        {"token 1 has the text of token 0", NULL, "aaaac", NULL, 0, 0, NULL},
        {"merge 1 is the same as merge 0: tokens 0 and 1", NULL, NULL, merge, 2, 0, NULL},
        {"merge 0: tokens 1 and 0 together are not a token", NULL, NULL, none, 1, 0, NULL},
        {"merge 0: its right half is token 4: the vocabulary has 4 ids", NULL, NULL, half, 1, 0, NULL},
        {"merge 0: its left half is token 3, which is special", NULL, NULL, not_ordinary, 1, 0, NULL},
        {"merge 0: its right half is token 1, which is empty", empty, NULL, NULL, 0, 0, NULL},
        {"special token 4: the vocabulary has 4 ids", NULL, NULL, NULL, 0, 1, far},
        {"special token 3 comes after 3, expected ascending ids", NULL, NULL, NULL, 0, 2, twice},
    };
    const tg_tokenizer *tok;
    tg_err err = {0};

    CHECK_OK(tg_bpe_create(&tok, &right, &err), &err);
    tg_tokenizer_free(tok);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tg_bpe_vocab v = right;

        v.ends = cases[i].ends ? cases[i].ends : v.ends;
        v.tokens = cases[i].tokens ? (const unsigned char *)cases[i].tokens : v.tokens;
        v.merges = cases[i].merges ? cases[i].merges : v.merges;
        v.n_merges = cases[i].merges ? cases[i].n_merges : v.n_merges;
        v.special = cases[i].special ? cases[i].special : v.special;
        v.n_special = cases[i].special ? cases[i].n_special : v.n_special;
        CHECK_EQ(tg_bpe_create(&tok, &v, &err), TG_EDATA);
        CHECK(tok == NULL);
        CHECK_HAS(err.message, cases[i].message);
    }
}

/* Tokens "a", "b", "ab", "c", merge (0, 1), special 3, and added tokens that are wrong. */
static void added_contradictions(void)
{
    static const unsigned char tokens[5 + TG_SPECIAL_MAX + 1] = "ababc";
    const uint32_t ends[] = {1, 2, 4, 5, 5, 5 + TG_SPECIAL_MAX + 1}, merge[][2] = {{0, 1}}, special[] = {3};
    const uint32_t equal[] = {1, 2, 4, 4, 5};
    const struct {
        const char *message;
        size_t n, n_added;
        uint32_t added[2];
    } cases[] = {
        {"added token 4: the vocabulary has 4 ids", 4, 1, {4, 0}},
        {"added token 1 comes after 2, expected ascending ids", 4, 2, {2, 1}},
        {"token 3 is both special and added", 4, 1, {3, 0}},
        {"merge 0: its left half is token 0, which is added", 4, 1, {0, 0}},
        {"added token 4 has 0 bytes, expected 1 to 256", 5, 1, {4, 0}},
        {"added token 5 has 257 bytes, expected 1 to 256", 6, 1, {5, 0}},
    };
    tg_bpe_vocab v = {
        .ends = ends, .tokens = tokens, .n_merges = 1, .merges = merge, .n_special = 1, .special = special};
    const tg_tokenizer *tok;
    tg_err err = {0};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        v.n = cases[i].n;
        v.n_added = cases[i].n_added;
        v.added = cases[i].added;
        CHECK_EQ(tg_bpe_create(&tok, &v, &err), TG_EDATA);
        CHECK(tok == NULL);
        CHECK_HAS(err.message, cases[i].message);
    }
    v = (tg_bpe_vocab){.n = 5, .ends = equal, .tokens = (const unsigned char *)"aba a", .n_special = 1};
    v.special = (const uint32_t[]){0};
    v.added = (const uint32_t[]){4};
    v.n_added = 1;
    CHECK_EQ(tg_bpe_create(&tok, &v, &err), TG_EDATA);
    CHECK_HAS(err.message, "added token 4 has the text of token 0");
}

static void no_vocabularies(void)
{
    const tg_bpe_vocab none = {.n = 0}, many = {.n_merges = TG_BPE_MERGES_MAX + 1};
    const tg_tokenizer *tok;
    tg_err err = {0};

    CHECK_EQ(tg_bpe_create(&tok, &none, &err), TG_EDATA);
    CHECK_HAS(err.message, "tokenizer/ends is empty, expected at least one id");
    CHECK_EQ(tg_bpe_create(&tok, &many, &err), TG_EDATA);
    CHECK_HAS(err.message, "the vocabulary has 4194304 merges, expected at most 4194303");
}

/* An archive of that vocabulary, but for one array. */
static void bad_archives(void)
{
    static const uint32_t ends[] = {1, 2, 4, 5}, merge[] = {0, 1, 0, 1}, special[] = {3};
    uint32_t *many = calloc(TG_BPE_TOKENS_MAX + 1, sizeof *many);
    const struct array {
        const char *name;
        tg_dtype dtype;
        size_t ndim, shape[2];
        const void *data;
    } right[] = {{"tokenizer/ends", {'u', 4}, 1, {4}, ends},
                 {"tokenizer/tokens", {'u', 1}, 1, {5}, "ababc"},
                 {"tokenizer/merges", {'u', 4}, 2, {1, 2}, merge},
                 {"tokenizer/special", {'u', 4}, 1, {1}, special}};
    const struct {
        const char *message;
        struct array array;
        int64_t whole_pieces;
        bool missing;
    } cases[] = {
        {.message = NULL},
        {.message = "tokenizer/whole_pieces is 2, expected 0 or 1", .whole_pieces = 2},
        {.message = "tokenizer/special is missing", .array = {.name = "tokenizer/special"}, .missing = true},
        {"merges is <u4 (2,), expected u4 [n,2]", {"tokenizer/merges", {'u', 4}, 1, {2}, merge}, 0, false},
        {"merges is <u4 (1, 3), expected u4 [n,2]",
         {"tokenizer/merges", {'u', 4}, 2, {1, 3}, merge},
         0,
         false},
        {"ends is <u2 (4,), expected u4 [n]", {"tokenizer/ends", {'u', 2}, 1, {4}, ends}, 0, false},
        {"ends is empty, expected at least one id", {"tokenizer/ends", {'u', 4}, 1, {0}, ends}, 0, false},
        {"the tokens end at 5, expected 6", {"tokenizer/tokens", {'u', 1}, 1, {6}, "ababcd"}, 0, false},
        {"special has 4194305 rows, expected at most 4194304",
         {"tokenizer/special", {'u', 4}, 1, {TG_BPE_TOKENS_MAX + 1}, many},
         0,
         false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const tg_tokenizer *tok;
        FILE *f = tmpfile();
        tg_archive_writer *w;
        tg_err err = {0};

        CHECK_OK(tg_archive_create(&w, fileno(f), &err), &err);
        CHECK_OK(tg_archive_put_text(w, "tokenizer/kind", "bpe", &err), &err);
        CHECK_OK(tg_archive_put_i64(w, "tokenizer/vocab_size", 4, &err), &err);
        CHECK_OK(tg_archive_put_text(w, "tokenizer/split", "gpt2", &err), &err);
        CHECK_OK(tg_archive_put_text(w, "tokenizer/normalizer", "none", &err), &err);
        CHECK_OK(tg_archive_put_i64(w, "tokenizer/whole_pieces", cases[i].whole_pieces, &err), &err);
        for (size_t k = 0; k < sizeof right / sizeof right[0]; k++) {
            const bool other = cases[i].array.name && strcmp(cases[i].array.name, right[k].name) == 0;
            const struct array *a = other ? &cases[i].array : &right[k];

            if (!other || !cases[i].missing)
                CHECK_OK(tg_archive_put(w, a->name, a->dtype, a->ndim, a->shape, a->data, &err), &err);
        }
        CHECK_OK(tg_archive_finish(w, &err), &err);
        tg_archive_abandon(w);
        CHECK_EQ(read_tokenizer(&tok, f, &err), cases[i].message ? TG_EDATA : TG_OK);
        CHECK_HAS(err.message, cases[i].message ? cases[i].message : "");
        tg_tokenizer_free(tok);
        fclose(f);
    }
    free(many);
}

/* Merges in an order that makes some of them impossible; tokens of bytes that are no tokens, and of none. */
static void unmade_tokens(void)
{
    const uint32_t ends[] = {1, 2, 4, 7, 9, 9}, merges[][2] = {{2, 0}, {0, 1}};
    const tg_bpe_vocab v = {
        .n = 6, .ends = ends, .tokens = (const unsigned char *)"abababaxa", .n_merges = 2, .merges = merges};
    const tg_tokenizer *tok;
    tg_encoder *e;
    int32_t ids[8];
    tg_err err = {0};

    CHECK_OK(tg_bpe_create(&tok, &v, &err), &err);
    CHECK_OK(tg_encoder_create(&e, tok, &err), &err);
    CHECK_EQ(encode_with(e, ids, (const unsigned char *)"abaab", 5, 5, 8), 2);
    CHECK(ids[0] == 3 && ids[1] == 2);
    tg_encoder_free(e);
    tg_tokenizer_free(tok);
}

int main(void)
{
    RUN(wrong_guesses);
    RUN(random_vocabularies);
    RUN(dead_merges);
    RUN(parts_of_pieces);
    RUN(texts_in_parts);
    RUN(undecided_runs);
    RUN(round_trip);
    RUN(long_pieces);
    RUN(normalised_long_piece);
    RUN(memory_is_bounded);
    RUN(missing_bytes);
    RUN(missing_bytes_before_a_long_piece);
    RUN(missing_bytes_late);
    RUN(special_tokens);
    RUN(added_tokens);
    RUN(runs_of_spaces);
    RUN(odd_special_tokens);
    RUN(cuts_beside_special_tokens);
    RUN(special_tokens_by_text);
    RUN(no_memory);
    RUN(no_memory_for_a_whole_piece);
    RUN(no_memory_for_the_cache);
    RUN(threads);
    RUN(threads_fail);
    RUN(archives);
    RUN(contradictions);
    RUN(added_contradictions);
    RUN(no_vocabularies);
    RUN(bad_archives);
    RUN(unmade_tokens);
    return check_done();
}
