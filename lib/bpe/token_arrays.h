/*
 * token_arrays: the arrays of tokens that the kinds "bpe" and "sentencepiece" have in common, from an archive
 * or a caller.
 */
#ifndef TG_BPE_TOKEN_ARRAYS_H
#define TG_BPE_TOKEN_ARRAYS_H

#include <stddef.h>
#include <stdint.h>

#include "formats/archive.h"
#include "lib/base/status.h"

typedef struct tg_token_arrays {
    size_t n;
    const uint32_t *ends;        /* [n] token i is tokens[ends[i-1]] .. tokens[ends[i]]; ends[-1] = 0 */
    const unsigned char *tokens; /* [n_bytes] */
    size_t n_bytes;
    const uint32_t *special; /* [n_special] ids, ascending */
    size_t n_special;
} tg_token_arrays;

/* TG_EDATA: an end or a special id is not what it must be, or a token is too long; the message has the id. */
TG_MUST_CHECK tg_status tg_token_arrays_check(const tg_token_arrays *t, tg_err *err);

/* Check that ids [n] are below n_ids and ascend.  TG_EDATA: one is not; the message calls it a `what` token.
 */
TG_MUST_CHECK tg_status tg_token_arrays_check_ids(const uint32_t *ids, size_t n, size_t n_ids,
                                                  const char *what, tg_err *err);

/* Numbers that whoever chose the tokens cannot know before, yet the same in every run: they depend on all
 * tokens, whether or not these have been checked, and on `more` [bytes]. */
void tg_token_arrays_secret(uint64_t secret[4], const tg_token_arrays *t, const void *more, size_t bytes);

/* Read an array like `own`, at most `max` rows of it, into *data, to be freed, and set *n to its rows. */
TG_MUST_CHECK tg_status tg_token_arrays_take(void **data, size_t *n, size_t max, const tg_array *own,
                                             tg_archive_reader *r, const tg_array *a, tg_err *err);

/* A copy, to be freed; NULL: no memory. */
void *tg_token_arrays_copy(const void *data, size_t bytes);

#endif
