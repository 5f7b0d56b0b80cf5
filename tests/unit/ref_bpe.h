/*
 * ref_bpe: byte pair encoding by its definition (lib/bpe/bpe.h), slow and simple, and vocabularies
 * for tests.
 */
#ifndef TG_TESTS_REF_BPE_H
#define TG_TESTS_REF_BPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/bpe/bpe.h"

/* A vocabulary that grows. */
typedef struct ref_vocab {
    tg_bpe_vocab view; /* of the arrays below, valid until it grows */
    uint32_t *ends;
    unsigned char *tokens;
    uint32_t (*merges)[2];
    uint32_t *special, *added;
    size_t capacity; /* of each array, in elements; of tokens, 64 bytes for each */
} ref_vocab;

/* Without any token. */
void ref_vocab_begin(ref_vocab *v, tg_split split);

/* Append a token, an ordinary, a special or an added one; returns its id. */
uint32_t ref_vocab_add(ref_vocab *v, const void *text, size_t n);
uint32_t ref_vocab_add_special(ref_vocab *v, const char *text);
uint32_t ref_vocab_add_added(ref_vocab *v, const char *text);

/* All bytes, in order. */
void ref_vocab_add_bytes(ref_vocab *v);

/* The ordinary token with this text, or UINT32_MAX. */
uint32_t ref_vocab_find(const ref_vocab *v, const unsigned char *text, size_t n);

/* Append the merge of a and b, and its token unless an ordinary one has that text.  False: the pair is a
 * merge already, and nothing changes. */
bool ref_vocab_merge(ref_vocab *v, uint32_t a, uint32_t b);

/* Learn n merges from a text: each is the most frequent pair, of equal ones that of the smallest ids. */
void ref_vocab_learn(ref_vocab *v, const unsigned char *text, size_t n_text, size_t n);

/* GPT-2's, from its file vocab.bpe.  False: it cannot be read. */
bool ref_vocab_gpt2(ref_vocab *v, const char *path);

const tg_tokenizer *ref_vocab_tokenizer(const ref_vocab *v);

void ref_vocab_free(ref_vocab *v);

/* The definition; ids [n]; returns how many.  A text is normalised and divided by lib/unicode/normalize.h
 * and lib/split/split.h, each called once for all of it (three times the ids may then be needed). */
size_t ref_bpe_piece(const ref_vocab *v, int32_t *ids, const unsigned char *piece, size_t n);
size_t ref_bpe_text(const ref_vocab *v, int32_t *ids, const unsigned char *text, size_t n);

/* The same, of a text in which added tokens are found and, if `special`, special ones: at each place after
 * the last one found, the longest. */
size_t ref_bpe_search(const ref_vocab *v, bool special, int32_t *ids, const unsigned char *text, size_t n);

#endif
