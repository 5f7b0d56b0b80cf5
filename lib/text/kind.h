/*
 * kind: what makes a kind of tokenizer; for the files that implement one.
 *
 * To add a kind, write a file with one tg_tokenizer_kind and name it in kinds.c.  Everything
 * else (archives, token streams, models, tools) reaches it through this table.
 *
 * A kind has two states, both zeroed when they begin: the tokenizer's, of `size` bytes, which
 * is read-only once it is complete, and an encoder's, of `encoder_size` bytes, one per text that
 * is being encoded.
 */
#ifndef TG_TEXT_KIND_H
#define TG_TEXT_KIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/text/encoder.h"
#include "lib/text/tokenizer.h"

#define TG_KIND_NAME_SIZE 16 /* of a kind's name, its NUL included */

typedef struct tg_tokenizer_kind {
    const char *name; /* tokenizer/kind */
    size_t size, encoder_size;
    bool ids_are_bytes; /* see tg_tokenizer_ids_are_bytes() */

    /*
     * take: read array `a`, whose name begins with "tokenizer/", when it is one of this kind's;
     * *taken says whether.  What is kept is copied: the archive's memory goes away.  Memory in
     * proportion to what the header claims is bounded by the kind.  NULL: it has no arrays.
     */
    tg_status (*take)(void *tok, tg_archive_reader *r, const tg_array *a, bool *taken, tg_err *err);

    /*
     * complete: check that the state is whole and consistent, and prepare what encoding needs.
     * *vocab_size is what the archive says, or 0 for a new tokenizer; afterwards it is the
     * number of ids, 1 to TG_VOCAB_MAX.
     */
    tg_status (*complete)(void *tok, size_t *vocab_size, tg_err *err);

    /*
     * array: describe array i of a complete tokenizer, name, dtype, ndim, shape and data (which
     * stays the tokenizer's); false when there are no more than i.  This list is what archives
     * hold and what the identity is computed from, so it determines the tokenizer.
     * NULL: it has no arrays.
     */
    bool (*array)(const void *tok, size_t i, tg_array *a);

    /* free: give back what the state owns, whether or not it is complete.  NULL: nothing. */
    void (*free)(void *tok);

    /* token: see tg_tokenizer_token(); id is in [0, vocab_size). */
    const unsigned char *(*token)(const void *tok, int32_t id, size_t *n);

    /* The encoder: start (NULL: a zeroed state will do), encode and finish with the contracts of
     * lib/text/encoder.h, stop (NULL: nothing is owned).  stop follows a failed start, too. */
    tg_status (*start)(void *encoder, const void *tok, tg_err *err);
    tg_status (*encode)(void *encoder, const void *tok, tg_text *text, int32_t *ids, size_t max, size_t *n,
                        tg_err *err);
    tg_status (*finish)(void *encoder, const void *tok, int32_t *ids, size_t max, size_t *n, tg_err *err);
    void (*stop)(void *encoder);
} tg_tokenizer_kind;

/* All kinds that archives may name, the tools' default first; NULL ends them.  (kinds.c, which
 * holds nothing else: a test links its own table.) */
extern const tg_tokenizer_kind *const tg_tokenizer_kinds[];

extern const tg_tokenizer_kind tg_tokenizer_kind_bytes; /* bytes.c */

/*
 * Making a tokenizer from other than an archive: begin it, fill its state, then seal it with the
 * number of ids, 0 to let the kind say it.  Until it is sealed it has one owner, and only
 * tg_tokenizer_free() is legal besides; that is also so after a failed seal.
 */
TG_MUST_CHECK tg_status tg_tokenizer_begin(tg_tokenizer **tok, const tg_tokenizer_kind *kind, tg_err *err);
TG_MUST_CHECK tg_status tg_tokenizer_seal(tg_tokenizer *tok, size_t vocab_size, tg_err *err);
void *tg_tokenizer_state(tg_tokenizer *tok);

/* For encoder.c. */
const tg_tokenizer_kind *tg_tokenizer_kind_of(const tg_tokenizer *tok);
const void *tg_tokenizer_state_of(const tg_tokenizer *tok);

#endif
