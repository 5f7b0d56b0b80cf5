/*
 * Byte pair encoding, against its definition.
 *
 * An input is a rule for splitting, whether texts are normalised, the number of merges, their pairs, and a
 * text.  The text comes to the encoder in pieces, and its ids leave in pieces; they are those of the
 * definition, and their tokens are the text.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/threads.h"
#include "lib/text/encoder.h"
#include "tests/fuzz/input.h"
#include "tests/unit/failing.h"
#include "tests/unit/ref_bpe.h"

#define INPUT_SIZE_MAX 1500
#define TEXTS 4 /* of a vocabulary, which takes most of the time to build */

static uint32_t next(uint32_t *random, uint32_t n)
{
    *random = *random * 1664525u + 1013904223u;
    return (*random >> 8) % n;
}

/* Encode text [n] in pieces; ids [3 n + 1].  Returns how many. */
static size_t encode(int32_t *ids, const tg_tokenizer *tok, const uint8_t *text, size_t n, uint32_t random)
{
    tg_encoder *e;
    size_t count = 0, got, max;

    must(tg_encoder_create(&e, tok, NULL) == TG_OK);
    for (size_t at = 0, piece; at < n; at += piece) {
        tg_text part = {text + at, 0};

        piece = 1 + next(&random, random >> 31 ? 40 : 1000);
        part.n = piece = piece < n - at ? piece : n - at;
        while (part.n > 0) {
            max = 1 + next(&random, 50);
            must(tg_encoder_encode(e, &part, ids + count, max, &got, NULL) == TG_OK);
            count += got;
            must(count <= 3 * n && (part.n == 0 || got == max));
        }
    }
    do {
        max = 1 + next(&random, 50);
        must(tg_encoder_finish(e, ids + count, max, &got, NULL) == TG_OK);
        count += got;
    } while (got == max);
    tg_encoder_free(e);
    return count;
}

/* The tokens' texts, one after another, are the text. */
static void check_texts(const tg_tokenizer *tok, const int32_t *ids, size_t count, const uint8_t *text,
                        size_t n)
{
    size_t at = 0, bytes;

    for (size_t i = 0; i < count; i++) {
        const unsigned char *const token = tg_tokenizer_token(tok, ids[i], &bytes);

        must(bytes <= n - at && memcmp(token, text + at, bytes) == 0);
        at += bytes;
    }
    must(at == n);
}

/* Where a text may be cut, both parts give the ids of the whole. */
static void check_cut(const tg_tokenizer *tok, const int32_t *ids, size_t count, const uint8_t *text,
                      size_t n)
{
    int32_t *const parts = calloc(3 * n + 200, sizeof *parts);
    tg_encoder *e = NULL;
    size_t cut, got;

    must(parts && tg_encoder_create(&e, tok, NULL) == TG_OK);
    cut = tg_encoder_cut(e, text, n, 200);
    tg_encoder_free(e);
    if (cut > 0) {
        must(cut < n);
        got = encode(parts, tok, text, cut, 1);
        got += encode(parts + got, tok, text + cut, n - cut, 2);
        must(got == count && memcmp(parts, ids, count * sizeof *ids) == 0);
    }
    free(parts);
}

static void check_text(const tg_tokenizer *tok, const ref_vocab *v, const uint8_t *text, size_t n)
{
    int32_t *const ids = calloc(3 * n + 200, sizeof *ids), *const want = calloc(3 * n + 200, sizeof *want);
    size_t count;

    must(ids && want);
    count = encode(ids, tok, text, n, (uint32_t)n * 2654435761u);
    failing_rest(true);
    must(count == ref_bpe_text(v, want, text, n) && memcmp(ids, want, count * sizeof *ids) == 0);
    failing_rest(false);
    if (v->view.normalizer == TG_NORMALIZER_NONE) {
        check_texts(tok, ids, count, text, n);
        check_cut(tok, ids, count, text, n);
    }
    free(ids);
    free(want);
}

/* The id that a byte stands for: one of a byte, or one of the last few tokens. */
static uint32_t id_of(uint8_t byte, size_t ids)
{
    return byte & 128 ? (uint32_t)(ids - 1 - (byte & 127u) % (ids - 255)) : byte;
}

/* The last token's bytes. */
static size_t last_length(const ref_vocab *v)
{
    return v->ends[v->view.n - 1] - v->ends[v->view.n - 2];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ref_vocab v;
    const tg_tokenizer *tok;
    size_t at = 3;
    tg_status status;

    if (size < 4 || size > INPUT_SIZE_MAX)
        return 0;
    tg_threads_set(1);
    ref_vocab_begin(&v, (tg_split)(data[0] % TG_SPLITS));
    v.view.normalizer = data[1] & 1 ? TG_NORMALIZER_NFC : TG_NORMALIZER_NONE;
    ref_vocab_add_bytes(&v);
    for (size_t merges = data[2]; merges > 0 && at + 2 < size && last_length(&v) <= TG_BPE_TOKEN_MAX;
         merges--, at += 2)
        (void)ref_vocab_merge(&v, id_of(data[at], v.view.n), id_of(data[at + 1], v.view.n));
    status = tg_bpe_create(&tok, &v.view, NULL);
    must(status == (last_length(&v) <= TG_BPE_TOKEN_MAX ? TG_OK : TG_EDATA));
    for (size_t i = 0; !status && i < TEXTS; i++) {
        const size_t from = at + (size - at) * i / TEXTS;

        check_text(tok, &v, data + from, size - from);
    }
    tg_tokenizer_free(tok);
    ref_vocab_free(&v);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    static const char merges[] = "\1\0\6abbcc aa\x80\x80\x80"
                                 "aababc bbaaaaabcaab ab abab\n  aa it's 123 ";

    if (size < 4) {
        size = input_seed(data, max, merges);
        data[0] = (uint8_t)seed;
        data[1] = seed >> 8 & 1;
    }
    return LLVMFuzzerMutate(data, size, max);
}
