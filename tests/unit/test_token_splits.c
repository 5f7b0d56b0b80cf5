/* Windows of a text whose tokens are split at random: the same text, each token as its definition says. */
#include <stdlib.h>
#include <string.h>

#include "lib/bpe/bpe.h"
#include "lib/tokens/tokenizer_read.h"
#include "lib/train/batches.h"
#include "tests/unit/check.h"

enum { BYTES = 4, MERGES = 4, IDS = BYTES + MERGES + 1, N = 4000, T = 50, SPECIAL = IDS - 1 };

/* The tokens of single bytes; then ab, abab, ababab by two ways, of which the first counts, and cd. */
static const unsigned char bytes[] = "abcdabababababab"
                                     "cd<end>";
static const uint32_t ends[IDS] = {1, 2, 3, 4, 6, 10, 16, 18, 23};
static const uint32_t merges[MERGES + 1][2] = {{0, 1}, {4, 4}, {4, 5}, {5, 4}, {2, 3}};
static const uint32_t special[] = {SPECIAL};

/* What each id is made of. */
static const int32_t halves[IDS][2] = {{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}, {0, 1},
                                       {4, 4},   {4, 5},   {2, 3},   {-1, -1}};

static const tg_tokenizer *tok;
static unsigned char ids_of_text[N];
static tg_tokens text;

static void make_text(void)
{
    const tg_bpe_vocab vocab = {.split = TG_SPLIT_NONE,
                                .n = IDS,
                                .ends = ends,
                                .tokens = bytes,
                                .n_merges = MERGES + 1,
                                .merges = merges,
                                .n_special = 1,
                                .special = special};
    tg_err err = {0};

    CHECK_OK(tg_bpe_create(&tok, &vocab, &err), &err);
    for (size_t i = 0; i < N; i++)
        ids_of_text[i] = (unsigned char)((i * i + i / 7) % 11 % IDS);
    text = (tg_tokens){.tokenizer = tok, .count = N, .width = 1, .data = ids_of_text};
}

static void the_halves_of_each_token(void)
{
    int32_t got[IDS][2];

    tg_tokenizer_halves(tok, got);
    CHECK(memcmp(got, halves, sizeof got) == 0);
}

/* ---- windows */

/* The definition: the id, or its halves, each likewise.  Writes from out[n] on, up to out[max]; returns the
 * new n. */
static size_t split(int32_t id, double p, const tg_rng *rng, uint64_t *drawn, int32_t *out, size_t n,
                    size_t max)
{
    if (n == max)
        return n;
    if (halves[id][0] < 0 || tg_rng_uniform(rng, (*drawn)++) >= p) {
        out[n] = id;
        return n + 1;
    }
    n = split(halves[id][0], p, rng, drawn, out, n, max);
    return split(halves[id][1], p, rng, drawn, out, n, max);
}

static tg_batches batches_with(double p)
{
    tg_batches b;
    tg_err err = {0};

    CHECK_OK(tg_batches_init(&b, &text, 1, T, true, (tg_held_out){0.1, 1, NULL}, &err), &err);
    CHECK_OK(tg_batches_split(&b, p, &err), &err);
    return b;
}

/* Each window begins where it does without splits. */
static void windows_are_the_definition(void)
{
    const double p = 0.3;
    tg_batches plain = batches_with(0), b = batches_with(p);
    int32_t ids[T], targets[T], from[T], last[T], want[T + 1];
    size_t read = 0;

    for (size_t number = 0; number < 3 * b.windows; number++) {
        const tg_rng rng = {.seed = 1, .purpose = TG_RNG_SPLIT, .step = number};
        uint64_t drawn = 0;
        size_t n = 0;

        tg_batches_train(&plain, &(tg_windows){from, last, NULL}, number, 1);
        tg_batches_train(&b, &(tg_windows){ids, targets, NULL}, number, 1);
        for (size_t i = 0; n < T + 1; i++, read++)
            n = split(i < T ? from[i] : last[T - 1], p, &rng, &drawn, want, n, T + 1);
        CHECK(memcmp(ids, want, sizeof ids) == 0);
        CHECK(memcmp(targets, want + 1, sizeof targets) == 0);
    }
    CHECK(read < 3 * b.windows * T * 9 / 10); /* some have been split */
    tg_batches_free(&plain);
    tg_batches_free(&b);
}

/* Positions are counted, and what validates is not split. */
static void positions_and_validation(void)
{
    tg_batches plain = batches_with(0), b = batches_with(0.5);
    int32_t ids[T], targets[T], positions[T], want[T];

    tg_batches_train(&b, &(tg_windows){ids, targets, positions}, 3, 1);
    for (int32_t t = 0; t < T; t++)
        CHECK_EQ(positions[t], t);
    tg_batches_val(&b, &(tg_windows){ids, targets, NULL}, 0, 1, 1);
    tg_batches_val(&plain, &(tg_windows){want, targets, NULL}, 0, 1, 1);
    CHECK(memcmp(ids, want, sizeof ids) == 0);
    tg_batches_free(&plain);
    tg_batches_free(&b);
}

static void other_tokenizers_and_masks_are_refused(void)
{
    unsigned char mask[N] = {0};
    tg_tokens other = text;
    tg_batches b = {.tokens = &other, .T = T};
    tg_err err = {0};

    other.mask = mask;
    CHECK_EQ(tg_batches_split(&b, 0.1, &err), TG_EUSAGE);
    CHECK_HAS(err.message, "split_tokens is for texts without a loss mask");
    other.mask = NULL;
    CHECK_OK(tg_tokenizer_create(&other.tokenizer, NULL, &err), &err); /* bytes */
    CHECK_EQ(tg_batches_split(&b, 0.1, &err), TG_EUSAGE);
    CHECK_HAS(err.message, "split_tokens needs a tokenizer of kind bpe");
    CHECK_OK(tg_batches_split(&b, 0, &err), &err);
    tg_tokenizer_free(other.tokenizer);
}

int main(void)
{
    make_text();
    RUN(the_halves_of_each_token);
    RUN(windows_are_the_definition);
    RUN(positions_and_validation);
    RUN(other_tokenizers_and_masks_are_refused);
    tg_tokenizer_free(tok);
    return check_done();
}
