#include "tests/bench/bpe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/rng.h"
#include "lib/base/size.h"
#include "lib/text/encoder.h"
#include "lib/learn/vocab_learner.h"

#define TEXT ((size_t)16 << 20)
#define LEARNED ((size_t)4 << 20) /* bytes that the vocabulary is learned from */
#define IDS 8192
#define CALL 4096 /* ids of a call */

struct bpe {
    tg_encoder *encoder;
    unsigned char *text; /* [TEXT] */
};

static void check(tg_status status, const tg_err *err)
{
    if (status) {
        fprintf(stderr, "bench: %s\n", err->message);
        exit(1);
    }
}

static void *must(void *p)
{
    if (!p) {
        fputs("bench: out of memory\n", stderr);
        exit(3);
    }
    return p;
}

static uint64_t number(uint64_t purpose, uint64_t i)
{
    const tg_rng rng = {.seed = purpose, .purpose = TG_RNG_SAMPLE};

    return tg_rng_u64(&rng, i);
}

/* A number from 0 on, as often as a word of that rank among 2^16: each power of two as often as another. */
static uint64_t rank(uint64_t i)
{
    const uint64_t x = number(2, i);

    return (x >> 8) % ((uint64_t)1 << x % 16) + ((uint64_t)1 << x % 16) - 1;
}

static size_t put_word(unsigned char *out, uint64_t word, bool sentence_ends)
{
    static const char letters[] = "eeeeeeeeeeeetttttttttaaaaaaaaooooooooiiiiiiinnnnnnnsssssshhhhhhrrrrrr"
                                  "ddddllllcccuuummmwwffggyyppbbvk";
    const size_t n = 1 + (number(3, word) & 3) + (number(3, word) >> 2 & 3) + (word > 200 ? 2 : 0);

    for (size_t k = 0; k < n; k++)
        out[k] = (unsigned char)letters[number(4, 16 * word + k) % (sizeof letters - 1)];
    memcpy(out + n, sentence_ends ? ".\n" : " ", sentence_ends ? 2 : 1);
    return n + (sentence_ends ? 2 : 1);
}

/* A character from U+4E00 on. */
static size_t put_character(unsigned char *out, uint64_t i)
{
    const unsigned code = 0x4E00 + (unsigned)(i * 40503 % 8192);

    out[0] = (unsigned char)(0xE0 | code >> 12);
    out[1] = (unsigned char)(0x80 | (code >> 6 & 0x3F));
    out[2] = (unsigned char)(0x80 | (code & 0x3F));
    return 3;
}

static void fill_english(unsigned char *text, size_t n)
{
    unsigned char word[32];

    for (size_t i = 0, at = 0; at < n; i++) {
        const size_t length = tg_size_min(put_word(word, rank(i), number(5, i) % 12 == 0), n - at);

        memcpy(text + at, word, length);
        at += length;
    }
}

static void fill(unsigned char *text, size_t n, enum bpe_text kind)
{
    if (kind == BPE_ENGLISH)
        fill_english(text, n);
    if (kind == BPE_LETTER || kind == BPE_SPACES)
        memset(text, kind == BPE_LETTER ? 'a' : ' ', n);
    for (size_t i = 0; i < n && kind == BPE_DIGITS; i++)
        text[i] = (unsigned char)('0' + number(6, i) % 10);
    for (size_t i = 0; i + 3 <= n && kind == BPE_CJK; i += 3)
        (void)put_character(text + i, rank(i));
    for (size_t i = 0; i < n && kind == BPE_RANDOM; i++)
        text[i] = (unsigned char)number(7, i);
}

static const tg_tokenizer *learn(const unsigned char *text, size_t n)
{
    const tg_vocab_learner_settings settings = {.n = IDS};
    const tg_tokenizer *tok;
    tg_vocab_learner *v;
    tg_vocab_pair pair;
    tg_bpe_vocab vocab;
    tg_learn *l;
    tg_err err;

    check(tg_learn_create(&l, TG_SPLIT_GPT2, &err), &err);
    check(tg_learn_count(l, text, n, true, &err), &err);
    check(tg_vocab_learner_create(&v, l, &settings, &err), &err);
    while (tg_vocab_learner_best(v, &pair))
        check(tg_vocab_learner_merge(v, &err), &err);
    tg_vocab_learner_vocab(v, &vocab);
    check(tg_bpe_create(&tok, &vocab, &err), &err);
    tg_vocab_learner_free(v);
    tg_learn_free(l);
    return tok;
}

struct bpe *bpe_open(enum bpe_text kind)
{
    struct bpe *b = must(calloc(1, sizeof *b));
    const tg_tokenizer *tok;
    tg_err err;

    b->text = must(malloc(TEXT));
    fill_english(b->text, LEARNED);
    for (size_t at = LEARNED / 2; at + 3 <= LEARNED; at += 3)
        (void)put_character(b->text + at, rank(at));
    tok = learn(b->text, LEARNED);
    fill(b->text, TEXT, kind);
    check(tg_encoder_create(&b->encoder, tok, &err), &err);
    tg_tokenizer_free(tok);
    return b;
}

double bpe_run(void *context)
{
    struct bpe *b = context;
    tg_text text = {b->text, TEXT};
    static int32_t ids[CALL];
    tg_err err;
    size_t n;

    do
        check(tg_encoder_encode(b->encoder, &text, ids, CALL, &n, &err), &err);
    while (n == CALL);
    do
        check(tg_encoder_finish(b->encoder, ids, CALL, &n, &err), &err);
    while (n == CALL);
    return (double)TEXT;
}

double bpe_learn(void *context)
{
    const struct bpe *b = context;

    tg_tokenizer_free(learn(b->text, TEXT));
    return (double)TEXT;
}
