/*
 * bpe: encoding texts with a vocabulary that was learned from one of them, and learning it.
 */
#ifndef TG_BENCH_BPE_H
#define TG_BENCH_BPE_H

/* The texts, 16 MiB each, the same every time. */
enum bpe_text {
    BPE_ENGLISH, /* words as frequent as in English: the tenth one a tenth as often as the first */
    BPE_LETTER,  /* one letter */
    BPE_SPACES,
    BPE_DIGITS, /* at random */
    BPE_CJK,    /* characters as frequent as words, without spaces */
    BPE_RANDOM, /* bytes */
};

/* A text and an encoder with 8,192 ids and GPT-2's rule for splitting.  Exits without memory. */
struct bpe;
struct bpe *bpe_open(enum bpe_text text);

/* For the bench's turns: bytes of text encoded, or bytes that as many ids are learned from; context is a
 * struct bpe. */
double bpe_run(void *context);
double bpe_learn(void *context);

#endif
