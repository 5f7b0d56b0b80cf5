/* Byte pair encoding, against its definition (ref_bpe.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/archive.h"
#include "lib/base/size.h"
#include "lib/text/bpe_state.h"
#include "lib/text/encoder.h"
#include "lib/text/kind.h"
#include "lib/text/parallel.h"
#include "tests/unit/check.h"
#include "tests/unit/ref_bpe.h"

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

static void random_vocabularies(void)
{
    const size_t max[] = {1, 3, 1000};
    unsigned char text[1500];
    uint64_t seed = 1;
    size_t proper = 0;

    for (size_t round = 0; round < 2000; round++) {
        const size_t letters = 1 + draw(&seed, 3);
        ref_vocab v = random_vocab(&seed, letters, round % 2 == 0 ? PROPER : SHUFFLED);
        const tg_tokenizer *tok = ref_vocab_tokenizer(&v);
        tg_encoder *e;

        proper += ((const tg_bpe *)tg_tokenizer_state_of(tok))->proper;
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
    CHECK(proper > 1000 && proper < 2000); /* both ways were taken */
}

int main(void)
{
    RUN(random_vocabularies);
    return check_done();
}
