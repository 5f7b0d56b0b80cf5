/*
 * learn: the first half of learning a byte-level BPE vocabulary: how often each distinct piece of
 * a text occurs.  lib/learn/vocab_learner.h is the second half.
 *
 *     tg_learn_create(&l, TG_SPLIT_GPT2, &err)
 *     for each part of the text: tg_learn_count(l, part, n, last, &err)
 *     tg_vocab_learner_create(&m, l, &settings, &err), ...
 *     tg_learn_free(l)
 *
 * The counts depend neither on how the text is cut into parts nor on the number of threads.
 */
#ifndef TG_LEARN_LEARN_H
#define TG_LEARN_LEARN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/status.h"
#include "lib/split/split.h"

typedef struct tg_learn tg_learn;

/* Create a learner, to be freed.  It counts with tg_threads() threads, as of this call.  TG_ENOMEM; *l is
 * NULL after a failure. */
TG_MUST_CHECK tg_status tg_learn_create(tg_learn **l, tg_split split, tg_err *err);

/*
 * Count the pieces of the next part of a text, cut anywhere.  last: the text ends after this part,
 * and the next part begins another; the counts of all texts are added up.
 *
 * Memory: the distinct pieces and their counts, at most once per thread, and about 1 MiB of text
 * per thread; more if the rule must see more text to decide where a piece ends.
 * TG_ENOMEM: then only tg_learn_free() is legal.
 */
TG_MUST_CHECK tg_status tg_learn_count(tg_learn *l, const void *text, size_t n, bool last, tg_err *err);

/* What has been counted, up to the end of the last complete text. */
typedef struct tg_learn_totals {
    uint64_t bytes, pieces; /* of the texts */
    size_t distinct;        /* pieces; exact after tg_learn_gather() */
    size_t distinct_bytes;  /* of those */
    size_t memory;          /* bytes in use */
} tg_learn_totals;

tg_learn_totals tg_learn_total(const tg_learn *l);

/* Add up the threads' counts.  tg_vocab_learner_create() does this itself.  TG_ENOMEM: only
 * tg_learn_free() is legal. */
TG_MUST_CHECK tg_status tg_learn_gather(tg_learn *l, tg_err *err);

/* NULL is fine. */
void tg_learn_free(tg_learn *l);

/* For vocab_learner.c: the rule and, after tg_learn_gather(), the counts. */
struct tg_piece_counts;
tg_split tg_learn_split(const tg_learn *l);
const struct tg_piece_counts *tg_learn_counts(const tg_learn *l);

#endif
