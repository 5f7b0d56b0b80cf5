/*
 * kind: the interface of a kind of tokenizer, for the files that implement one.
 *
 * To add a kind, write a file with one tg_tokenizer_kind and list it in lib/tokens/kinds.c.  Everything
 * else (archives, token streams, models, tools) reaches it through that list.
 *
 * A kind has two states, both zeroed when they begin: the tokenizer's, of `size` bytes, which
 * is read-only once it is complete, and an encoder's, of `encoder_size` bytes, one per text that
 * is being encoded.
 */
#ifndef TG_TEXT_KIND_H
#define TG_TEXT_KIND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/sha256.h"
#include "lib/text/encoder.h"
#include "lib/text/tokenizer.h"

#define TG_KIND_NAME_SIZE 16 /* of a kind's name, its NUL included */

/* The arrays of every tokenizer; those of its kind begin with the same word. */
#define TG_TOKENIZER_PREFIX "tokenizer/"
#define TG_TOKENIZER_KIND TG_TOKENIZER_PREFIX "kind"
#define TG_TOKENIZER_VOCAB_SIZE TG_TOKENIZER_PREFIX "vocab_size"

/* What is before a text that a kind encodes. */
typedef enum tg_text_follows {
    TG_FOLLOWS_NOTHING,
    TG_FOLLOWS_SPECIAL, /* a special token */
    TG_FOLLOWS_CUT,     /* the same text, up to a place that `cut` has returned */
} tg_text_follows;

typedef struct tg_tokenizer_kind {
    const char *name; /* tokenizer/kind */
    size_t size, encoder_size;
    bool ids_are_bytes; /* see tg_tokenizer_ids_are_bytes() */
    bool no_text;       /* the opposite of tg_tokenizer_has_text() */

    /*
     * take: read array `a`, whose name begins with "tokenizer/", if it is one of this kind's;
     * *taken says whether it is.  Copy what is kept: the archive's memory is released.  The kind
     * limits any memory proportional to a size in the header.  NULL: the kind has no arrays.
     */
    tg_status (*take)(void *tok, tg_archive_reader *r, const tg_array *a, bool *taken, tg_err *err);

    /*
     * complete: check that the state is complete and consistent, and prepare what encoding needs.
     * *vocab_size is the archive's, or 0 for a new tokenizer; set it to the number of ids, 1 to
     * TG_VOCAB_MAX.
     */
    tg_status (*complete)(void *tok, size_t *vocab_size, tg_err *err);

    /*
     * array: describe array i of a complete tokenizer, name, dtype, ndim, shape and data (which
     * stays the tokenizer's); false when there is no array i.  Archives store these arrays, and
     * the identity is computed from them, so they determine the tokenizer.
     * NULL: the kind has no arrays.
     */
    bool (*array)(const void *tok, size_t i, tg_array *a);

    /* free: release what the state owns, whether or not it is complete.  NULL: nothing. */
    void (*free)(void *tok);

    /* token: see tg_tokenizer_token(); id is in [0, vocab_size). */
    const unsigned char *(*token)(const void *tok, int32_t id, size_t *n);

    /* adds_space: see tg_tokenizer_adds_space(); the ids are in [0, vocab_size), or `before` is -1.  NULL:
     * never. */
    bool (*adds_space)(const void *tok, int32_t before, int32_t id);

    /* specials: see tg_tokenizer_specials().  NULL: the kind has none. */
    size_t (*specials)(const void *tok, const uint32_t **ids);

    /* added: see tg_tokenizer_added().  NULL: the kind has none. */
    size_t (*added)(const void *tok, const uint32_t **ids);

    /*
     * cut: the last place p, 0 < p < n, where text [n] may be cut, whatever comes before and after:
     * encoding both parts separately gives the ids of the whole.  0: there is none.  Examines at most
     * the last `reach` bytes.  NULL: texts are never cut.
     */
    size_t (*cut)(const void *tok, const unsigned char *text, size_t n, size_t reach);

    /* offset: messages count the bytes of the next text from here.  Called only between texts.
     * NULL: messages have no offsets. */
    void (*offset)(void *encoder, uint64_t offset);

    /* follows: what is before the next text; without a call, nothing is.  Called only between texts.
     * NULL: the ids do not depend on it. */
    void (*follows)(void *encoder, tg_text_follows what);

    /* The encoder: start (NULL: a zeroed state will do), encode and finish (NULL: no ids are ever due) with
     * the contracts of lib/tg/tokenizer.h, stop (NULL: nothing to release), which also follows a failed
     * start. */
    tg_status (*start)(void *encoder, const void *tok, tg_err *err);
    tg_status (*encode)(void *encoder, const void *tok, tg_text *text, int32_t *ids, size_t max, size_t *n,
                        tg_err *err);
    tg_status (*finish)(void *encoder, const void *tok, int32_t *ids, size_t max, size_t *n, tg_err *err);
    void (*stop)(void *encoder);
} tg_tokenizer_kind;

extern const tg_tokenizer_kind tg_tokenizer_kind_bytes; /* bytes.c */
extern const tg_tokenizer_kind tg_tokenizer_kind_char;  /* chars.c */
extern const tg_tokenizer_kind tg_tokenizer_kind_ids;   /* bare_ids.c */

struct tg_tokenizer {
    const tg_tokenizer_kind *kind;
    int64_t vocab_size; /* 0 until it is sealed */
    unsigned char identity[TG_SHA256_SIZE];
    atomic_size_t owners;
    max_align_t state[]; /* kind->size bytes */
};

/*
 * To make a tokenizer without an archive: begin it, fill its state, then seal it with the number
 * of ids (0: the kind decides).  Until it is sealed it has one owner, and the only other legal call is
 * tg_tokenizer_free().  A failed seal frees it, and *out is NULL.
 */
TG_MUST_CHECK tg_status tg_tokenizer_begin(tg_tokenizer **tok, const tg_tokenizer_kind *kind, tg_err *err);
TG_MUST_CHECK tg_status tg_tokenizer_seal(const tg_tokenizer **out, tg_tokenizer *tok, size_t vocab_size,
                                          tg_err *err);

#endif
