/*
 * Learning a vocabulary, against the definition (tests/unit/ref_learn.h): texts of few letters, so
 * that ties and overlaps are frequent; any cuts, any number of threads, low limits, no memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/size.h"
#include "lib/base/threads.h"
#include "lib/bpe/bpe.h"
#include "lib/text/encoder.h"
#include "lib/learn/learn.h"
#include "lib/learn/vocab_learner.h"
#include "tests/unit/check.h"
#include "tests/unit/failing.h"
#include "tests/unit/ref_learn.h"

/* ---- texts */

#define TEXT_MAX REF_LEARN_TEXT

typedef struct text {
    size_t n;
    unsigned char bytes[TEXT_MAX];
} text;

static uint64_t random_below(uint64_t *state, uint64_t below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (*state >> 33) % below;
}

/* n bytes of the first `letters` of an alphabet in which spaces are frequent. */
static void make_text(text *t, size_t n, size_t letters, uint64_t seed)
{
    static const char alphabet[] = "a b\nab c7'tsd\xC3\xA9\xFF\0xyz";

    t->n = n;
    for (size_t i = 0; i < n; i++)
        t->bytes[i] = (unsigned char)alphabet[random_below(&seed, letters)];
}

/* ---- learning */

static tg_learn *count_text(const text *t, tg_split split, size_t threads, size_t step)
{
    tg_err err = {0};
    tg_learn *l;

    tg_threads_set(threads);
    CHECK_OK(tg_learn_create(&l, split, &err), &err);
    for (size_t at = 0; at <= t->n; at += step) {
        const size_t n = tg_size_min(step, t->n - at);

        CHECK_OK(tg_learn_count(l, t->bytes + at, n, at + step > t->n, &err), &err);
    }
    tg_threads_set(2);
    return l;
}

static tg_vocab_learner *begin(const text *t, tg_split split, const tg_vocab_learner_settings *settings)
{
    tg_learn *l = count_text(t, split, 1, t->n);
    tg_vocab_learner *m;
    tg_err err = {0};

    CHECK_OK(tg_vocab_learner_create(&m, l, settings, &err), &err);
    tg_learn_free(l);
    return m;
}

static void begin_ref(ref_learn *r, const text *t, tg_split split)
{
    static uint64_t starts[TG_SPLIT_WORDS(TEXT_MAX)];
    tg_splitter s;

    tg_splitter_start(&s, split);
    CHECK_EQ(tg_splitter_mark(&s, starts, t->bytes, t->n, true), t->n);
    ref_learn_begin(r, t->bytes, t->n, starts);
}

/* The merges that are learned are those of the definition.  Returns their number. */
static size_t check_merges(tg_vocab_learner *m, const text *t, tg_split split, size_t ids, uint64_t min_count,
                           size_t token_max)
{
    static ref_learn r;
    tg_vocab_pair got;
    tg_err err = {0};

    begin_ref(&r, t, split);
    while (tg_vocab_learner_best(m, &got)) {
        const ref_learn_pair want = ref_learn_count(&r, token_max);

        CHECK_EQ(got.count, want.count);
        CHECK_EQ(got.left, want.left);
        CHECK_EQ(got.right, want.right);
        CHECK_EQ(tg_vocab_learner_size(m), r.n_ids);
        if (got.count != want.count || got.left != want.left || got.right != want.right)
            break;
        CHECK_OK(tg_vocab_learner_merge(m, &err), &err);
        ref_learn_merge(&r, want);
    }
    CHECK(r.n_ids == ids || ref_learn_count(&r, token_max).count < min_count);
    return r.n_ids - 256;
}

static void learns_by_the_definition(void)
{
    static const tg_split splits[] = {TG_SPLIT_NONE, TG_SPLIT_GPT2, TG_SPLIT_CL100K};
    static text t;
    const size_t rounds = check_rounds(240);
    size_t merges = 0;

    for (size_t round = 0; round < rounds; round++) {
        const uint64_t seed = round * (240 / rounds);
        const tg_split split = splits[round % 3];
        const tg_vocab_learner_settings settings = {.n = 256 + 64};
        tg_vocab_learner *m;

        make_text(&t, 1 + seed * seed % 1009, 1 + seed % 21, seed);
        m = begin(&t, split, &settings);
        merges += check_merges(m, &t, split, settings.n, 2, SIZE_MAX);
        tg_vocab_learner_free(m);
    }
    CHECK(merges > 20 * rounds);
}

static void limits_hold(void)
{
    static text t;

    for (uint64_t seed = 0; seed < 60; seed++) {
        const tg_vocab_learner_settings settings = {
            .n = 256 + 40, .min_count = 1 + seed % 7, .token_max = 1 + seed % 9, .watch = seed % 2};
        tg_vocab_learner *m;

        make_text(&t, 300 + seed, 2 + seed % 5, seed);
        m = begin(&t, TG_SPLIT_GPT2, &settings);
        check_merges(m, &t, TG_SPLIT_GPT2, settings.n, settings.min_count, settings.token_max);
        tg_vocab_learner_free(m);
    }
}

/* ---- the text's way */

/* The sum over all merges of a mixture of what they are. */
static uint64_t fingerprint(tg_vocab_learner *m)
{
    tg_vocab_pair pair;
    uint64_t sum = 1;
    tg_err err = {0};

    while (tg_vocab_learner_best(m, &pair)) {
        sum = sum * 1099511628211u + pair.left;
        sum = sum * 1099511628211u + pair.right;
        sum = sum * 1099511628211u + pair.count;
        CHECK_OK(tg_vocab_learner_merge(m, &err), &err);
    }
    return sum;
}

static void cuts_and_threads_change_nothing(void)
{
    static const size_t steps[] = {TEXT_MAX, 1, 3, 64, 1000, 4095};
    static text t;

    for (uint64_t seed = 0; seed < 24; seed++) {
        const tg_split split = (tg_split)(seed % TG_SPLITS);
        const tg_vocab_learner_settings settings = {.n = 256 + 100};
        uint64_t want = 0;

        make_text(&t, TEXT_MAX - seed, 3 + seed % 18, seed);
        for (size_t i = 0; i < 24; i++) {
            tg_learn *l = count_text(&t, split, 1 + i / 6, steps[i % 6]);
            tg_vocab_learner *m;
            tg_err err = {0};
            uint64_t got;

            CHECK_OK(tg_vocab_learner_create(&m, l, &settings, &err), &err);
            CHECK_EQ(tg_learn_total(l).bytes, t.n);
            got = fingerprint(m);
            if (i == 0)
                want = got;
            CHECK(got == want);
            tg_vocab_learner_free(m);
            tg_learn_free(l);
        }
    }
}

/* Longer than a buffer, with pieces of any length. */
static void long_texts_are_counted(void)
{
    const size_t n = (size_t)5 << 20;
    unsigned char *bytes = malloc(n);
    uint64_t want[2] = {0};

    CHECK(bytes != NULL);
    for (size_t kind = 0; bytes && kind < 2; kind++) {
        uint64_t seed = kind;

        for (size_t i = 0; i < n; i++)
            bytes[i] = (unsigned char)(kind == 0 ? "ab "[random_below(&seed, 3)]
                                                 : " x\n"[i % 1000003 < 10 ? i % 3 : 1]);
        for (size_t threads = 1; threads <= 3; threads++) {
            const tg_vocab_learner_settings settings = {.n = 300};
            tg_learn *l;
            tg_vocab_learner *m;
            tg_err err = {0};
            tg_learn_totals totals;

            tg_threads_set(threads);
            CHECK_OK(tg_learn_create(&l, TG_SPLIT_GPT2, &err), &err);
            CHECK_OK(tg_learn_count(l, bytes, n / 3, false, &err), &err);
            CHECK_OK(tg_learn_count(l, bytes + n / 3, n - n / 3, true, &err), &err);
            CHECK_OK(tg_vocab_learner_create(&m, l, &settings, &err), &err);
            totals = tg_learn_total(l);
            CHECK_EQ(totals.bytes, n);
            CHECK(totals.pieces >= totals.distinct);
            if (threads == 1)
                want[0] = totals.pieces, want[1] = fingerprint(m);
            else
                CHECK(want[0] == totals.pieces && want[1] == fingerprint(m));
            tg_vocab_learner_free(m);
            tg_learn_free(l);
        }
        tg_threads_set(2);
    }
    free(bytes);
}

static void several_texts_add_up(void)
{
    const tg_vocab_learner_settings settings = {.n = 300, .watch = true};
    tg_learn *l;
    tg_vocab_learner *m;
    tg_vocab_pair best;
    tg_err err = {0};

    CHECK_OK(tg_learn_create(&l, TG_SPLIT_NONE, &err), &err);
    CHECK_OK(tg_learn_count(l, "ab", 2, true, &err), &err);
    CHECK_OK(tg_learn_count(l, NULL, 0, true, &err), &err);
    CHECK_OK(tg_learn_count(l, "ab", 2, true, &err), &err);
    CHECK_OK(tg_vocab_learner_create(&m, l, &settings, &err), &err);
    CHECK_EQ(tg_vocab_learner_pieces(m), 1);
    CHECK(tg_vocab_learner_best(m, &best) && best.left == 'a' && best.right == 'b' && best.count == 2);
    tg_vocab_learner_free(m);

    /* and a vocabulary does not end the counting */
    CHECK_OK(tg_learn_count(l, "abc", 3, true, &err), &err);
    CHECK_OK(tg_vocab_learner_create(&m, l, &settings, &err), &err);
    CHECK_EQ(tg_vocab_learner_pieces(m), 2);
    CHECK(tg_vocab_learner_best(m, &best) && best.count == 3);
    tg_vocab_learner_free(m);
    tg_learn_free(l);
}

/* ---- what can be watched */

static void pairs_and_pieces_are_shown(void)
{
    static text t;
    static ref_learn r;
    static tg_vocab_pair pairs[REF_LEARN_TEXT];
    tg_err err = {0};

    for (uint64_t seed = 1; seed < 20; seed++) {
        const tg_vocab_learner_settings settings = {.n = 256 + 30, .watch = true};
        tg_vocab_learner *m;
        tg_vocab_pair best;

        make_text(&t, 50 * seed, 2 + seed, seed);
        m = begin(&t, TG_SPLIT_GPT2, &settings);
        begin_ref(&r, &t, TG_SPLIT_GPT2);
        for (bool more = true; more;) {
            size_t n = tg_vocab_learner_pairs(m, pairs, REF_LEARN_TEXT), distinct = 0;
            uint64_t tokens = 0, all = 0;
            ref_learn_pair want = ref_learn_count(&r, SIZE_MAX);

            for (size_t i = 0; i < n; i++) {
                CHECK_EQ(pairs[i].count, r.count[pairs[i].left][pairs[i].right]);
                if (i > 0)
                    CHECK(pairs[i - 1].count > pairs[i].count ||
                          (pairs[i - 1].count == pairs[i].count &&
                           (pairs[i - 1].left < pairs[i].left ||
                            (pairs[i - 1].left == pairs[i].left && pairs[i - 1].right < pairs[i].right))));
            }
            for (size_t a = 0; a < r.n_ids; a++)
                for (size_t b = 0; b < r.n_ids; b++)
                    distinct += r.count[a][b] > 0;
            CHECK_EQ(n, distinct);
            for (size_t i = 0; i < tg_vocab_learner_pieces(m); i++) {
                uint32_t ids[64];
                uint64_t count, before = all;

                tokens += tg_vocab_learner_piece(m, i, &count, ids, 64) * count;
                all = count;
                CHECK(i == 0 || count <= before);
            }
            CHECK_EQ(tokens, r.n);
            if ((more = tg_vocab_learner_best(m, &best))) {
                CHECK_EQ(best.count, want.count);
                CHECK_OK(tg_vocab_learner_merge(m, &err), &err);
                ref_learn_merge(&r, want);
            }
        }
        tg_vocab_learner_free(m);
    }
}

static void a_piece_is_its_tokens(void)
{
    const text t = {.n = 9, .bytes = "ababc abc"};
    const tg_vocab_learner_settings settings = {.n = 258, .watch = true};
    tg_vocab_learner *m = begin(&t, TG_SPLIT_GPT2, &settings);
    uint32_t ids[8] = {0};
    uint64_t count;
    size_t n;
    tg_err err = {0};

    CHECK_EQ(tg_vocab_learner_pieces(m), 2);
    CHECK_EQ(tg_vocab_learner_piece(m, 0, &count, ids, 8), 4); /* " abc" before "ababc" */
    CHECK(count == 1 && ids[0] == ' ' && ids[3] == 'c');
    CHECK_OK(tg_vocab_learner_merge(m, &err), &err);
    CHECK_OK(tg_vocab_learner_merge(m, &err), &err);
    CHECK_EQ(tg_vocab_learner_piece(m, 1, &count, ids, 1), 2); /* ab, abc */
    CHECK_EQ(ids[0], 256);
    CHECK(memcmp(tg_vocab_learner_token(m, 257, &n), "abc", 3) == 0 && n == 3);
    tg_vocab_learner_free(m);
}

/* ---- the vocabulary */

static void special_tokens_come_last(void)
{
    static const char *const special[] = {"<|a|>", "<|bc|>"};
    const text t = {.n = 8, .bytes = "abababab"};
    const tg_vocab_learner_settings settings = {.n = 260, .special = special, .n_special = 2};
    tg_vocab_learner *m = begin(&t, TG_SPLIT_NONE, &settings);
    tg_bpe_vocab v;
    tg_err err = {0};

    for (size_t round = 0; round < 2; round++) {
        tg_vocab_learner_vocab(m, &v);
        CHECK_EQ(v.n, 258 + round);
        CHECK_EQ(v.n_merges, round);
        CHECK_EQ(v.n_special, 2);
        CHECK(v.special[0] == v.n - 2 && v.special[1] == v.n - 1);
        CHECK_EQ(v.ends[v.n - 1] - v.ends[v.n - 2], 6);
        CHECK(memcmp(v.tokens + v.ends[v.n - 2], "<|bc|>", 6) == 0);
        CHECK_EQ(v.split, TG_SPLIT_NONE);
        for (size_t i = 0; i < 256; i++)
            CHECK(v.ends[i] == i + 1 && v.tokens[i] == i);
        CHECK_OK(tg_vocab_learner_merge(m, &err), &err);
    }
    tg_vocab_learner_vocab(m, &v);
    CHECK(v.merges[0][0] == 'a' && v.merges[0][1] == 'b');
    CHECK(v.merges[1][0] == 256 && v.merges[1][1] == 256);
    tg_vocab_learner_free(m);
}

static void wrong_settings_are_refused(void)
{
    static const char *const twice[] = {"<a>", "<b>", "<a>"};
    static const char *const empty[] = {"<a>", ""};
    const struct {
        tg_vocab_learner_settings settings;
        const char *says;
    } wrong[] = {
        {{.n = 255}, "256 bytes"},
        {{.n = 257, .special = twice, .n_special = 2}, "need 258"},
        {{.n = TG_BPE_TOKENS_MAX + 1}, "too large"},
        {{.n = 300, .special = twice, .n_special = 3}, "twice"},
        {{.n = 300, .special = empty, .n_special = 2}, "special token 2 is empty"},
    };
    const text t = {.n = 3, .bytes = "abc"};
    tg_learn *l = count_text(&t, TG_SPLIT_NONE, 1, 3);
    tg_vocab_learner *m;
    tg_err err = {0};

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        CHECK_EQ(tg_vocab_learner_create(&m, l, &wrong[i].settings, &err), TG_EUSAGE);
        CHECK_HAS(err.message, wrong[i].says);
        CHECK(m == NULL);
    }
    tg_learn_free(l);
    CHECK_OK(tg_learn_create(&l, TG_SPLIT_GPT2, &err), &err);
    CHECK_OK(tg_learn_count(l, NULL, 0, true, &err), &err);
    CHECK_EQ(tg_vocab_learner_create(&m, l, &(tg_vocab_learner_settings){.n = 300}, &err), TG_EDATA);
    CHECK_HAS(err.message, "empty");
    tg_learn_free(l);
    tg_learn_free(NULL);
    tg_vocab_learner_free(NULL);
}

/* The text that was learned from is encoded as it stood after the last merge. */
static void the_text_is_encoded_as_it_was_learned(void)
{
    static const tg_split splits[] = {TG_SPLIT_NONE, TG_SPLIT_GPT2, TG_SPLIT_O200K};
    static text t;
    static ref_learn r;
    static int32_t ids[TEXT_MAX + 1];

    for (uint64_t seed = 0; seed < 30; seed++) {
        const tg_vocab_learner_settings settings = {.n = 256 + 50};
        const tg_split split = splits[seed % 3];
        tg_vocab_learner *m;
        tg_vocab_pair pair;
        tg_bpe_vocab v;
        const tg_tokenizer *tok;
        tg_encoder *e;
        tg_text next = {t.bytes, 0};
        size_t n, more;
        tg_err err = {0};

        make_text(&t, 100 + 100 * seed, 3 + seed % 18, seed);
        next.n = t.n;
        m = begin(&t, split, &settings);
        begin_ref(&r, &t, split);
        while (tg_vocab_learner_best(m, &pair)) {
            ref_learn_merge(&r, ref_learn_count(&r, SIZE_MAX));
            CHECK_OK(tg_vocab_learner_merge(m, &err), &err);
        }
        tg_vocab_learner_vocab(m, &v);
        CHECK_OK(tg_bpe_create(&tok, &v, &err), &err);
        tg_vocab_learner_free(m);
        CHECK_EQ(tg_tokenizer_vocab_size(tok), r.n_ids);
        CHECK_OK(tg_encoder_create(&e, tok, &err), &err);
        CHECK_OK(tg_encoder_encode(e, &next, ids, TEXT_MAX + 1, &n, &err), &err);
        CHECK_OK(tg_encoder_finish(e, ids + n, TEXT_MAX + 1 - n, &more, &err), &err);
        CHECK_EQ(n + more, r.n);
        for (size_t i = 0; i < r.n && i < n + more; i++)
            CHECK_EQ(ids[i], r.ids[i]);
        tg_encoder_free(e);
        tg_tokenizer_free(tok);
    }
}

/* ---- without memory */

/* Learn from t; returns the first failure. */
static tg_status learn(const text *t, tg_err *err)
{
    static const char *const special[] = {"<|endoftext|>"};
    const tg_vocab_learner_settings settings = {.n = 400, .special = special, .n_special = 1, .watch = true};
    tg_learn *l;
    tg_vocab_learner *m = NULL;
    tg_vocab_pair pair;
    tg_bpe_vocab v;
    tg_status status;

    if ((status = tg_learn_create(&l, TG_SPLIT_GPT2, err)))
        return status;
    if (!(status = tg_learn_count(l, t->bytes, t->n, true, err)))
        status = tg_vocab_learner_create(&m, l, &settings, err);
    while (!status && tg_vocab_learner_best(m, &pair))
        status = tg_vocab_learner_merge(m, err);
    if (!status)
        tg_vocab_learner_vocab(m, &v);
    tg_vocab_learner_free(m);
    tg_learn_free(l);
    return status;
}

static void any_allocation_may_fail(void)
{
    static text t;
    tg_status status = TG_ENOMEM;
    tg_err err = {0};
    long n;

    make_text(&t, TEXT_MAX, 21, 3);
    tg_threads_set(2);
    for (n = 0; status; n++) {
        failing_after(n);
        status = learn(&t, &err);
        failing_after(-1);
        if (!status)
            break;
        CHECK_EQ(status, TG_ENOMEM);
        CHECK_HAS(err.message, "out of memory");
    }
    CHECK(n > 10);
}

int main(void)
{
    RUN(learns_by_the_definition);
    RUN(limits_hold);
    RUN(cuts_and_threads_change_nothing);
    RUN(long_texts_are_counted);
    RUN(several_texts_add_up);
    RUN(pairs_and_pieces_are_shown);
    RUN(a_piece_is_its_tokens);
    RUN(special_tokens_come_last);
    RUN(wrong_settings_are_refused);
    RUN(the_text_is_encoded_as_it_was_learned);
    RUN(any_allocation_may_fail);
    return check_done();
}
