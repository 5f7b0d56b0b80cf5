/*
 * ref_learn: learning BPE merges by the definition: count all pairs, merge the most frequent one,
 * repeat.
 */
#ifndef TG_TESTS_REF_LEARN_H
#define TG_TESTS_REF_LEARN_H

#include <stddef.h>
#include <stdint.h>

#define REF_LEARN_TEXT 4096 /* bytes */
#define REF_LEARN_IDS 400

typedef struct ref_learn {
    uint32_t ids[REF_LEARN_TEXT]; /* [n]: all pieces, repeated ones as often as they occur */
    int first[REF_LEARN_TEXT];    /* whether a piece begins here */
    size_t n;
    uint32_t size[REF_LEARN_IDS]; /* bytes of a token */
    size_t n_ids;
    uint64_t count[REF_LEARN_IDS][REF_LEARN_IDS]; /* pairs, after ref_learn_count() */
} ref_learn;

typedef struct ref_learn_pair {
    uint32_t left, right;
    uint64_t count;
} ref_learn_pair;

/* Begin with text [n], in which pieces begin where `starts` has a bit (lib/split/split.h). */
void ref_learn_begin(ref_learn *r, const unsigned char *text, size_t n, const uint64_t *starts);

/* Count all pairs.  Returns the one to merge, of those whose tokens have at most token_max bytes;
 * its count is 0 when there is none. */
ref_learn_pair ref_learn_count(ref_learn *r, size_t token_max);

/* Merge a pair into the next id, from left to right. */
void ref_learn_merge(ref_learn *r, ref_learn_pair pair);

#endif
