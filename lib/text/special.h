/*
 * special: finds the texts of special and added tokens in a text.
 *
 * The tokens are sorted by their bytes, so tokens with a common prefix are adjacent, and each further
 * byte of the text narrows the range by a binary search.  At each place of a text at most
 * TG_SPECIAL_MAX bytes are read, and usually one.
 */
#ifndef TG_TEXT_SPECIAL_H
#define TG_TEXT_SPECIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/status.h"
#include "lib/text/borders.h"
#include "lib/text/tokenizer.h"

#define TG_SPECIAL_MAX ((size_t)256) /* bytes of a token that can be looked for */

typedef struct tg_special_token {
    const unsigned char *text; /* the tokenizer's */
    uint32_t n;
    int32_t id;
} tg_special_token;

typedef struct tg_specials {
    tg_special_token *tokens; /* [n] sorted by their bytes; owned */
    size_t n;
    size_t first[257];  /* tokens [first[c]..first[c+1]) begin with byte c */
    tg_borders borders; /* none of them spans these */
    uint64_t ends[4];   /* bit b: one of them ends with byte b */
} tg_specials;

/* The added tokens of tok and, if `special`, its special ones, except empty ones.  TG_EDATA: one has more
 * than TG_SPECIAL_MAX bytes.  TG_ENOMEM.  *s can be freed either way. */
TG_MUST_CHECK tg_status tg_specials_create(tg_specials *s, const tg_tokenizer *tok, bool special,
                                           tg_err *err);

/* The same for tokens that are none of these: s is zeroed, except for s->tokens [s->n] in any order, each
 * with at least one byte. */
void tg_specials_index(tg_specials *s);

/* A zeroed one is fine. */
void tg_specials_free(tg_specials *s);

/* What a text begins with. */
typedef enum tg_special_match {
    TG_SPECIAL_NONE,    /* none of the tokens */
    TG_SPECIAL_FOUND,   /* *token, the longest of those that it begins with */
    TG_SPECIAL_UNKNOWN, /* depends on the text after text + n */
} tg_special_match;

/* last: the text ends at text + n. */
tg_special_match tg_specials_match(const tg_specials *s, const unsigned char *text, size_t n, bool last,
                                   const tg_special_token **token);

/* Whether some token may end after this byte. */
static inline bool tg_specials_may_end(const tg_specials *s, unsigned char byte)
{
    return s->ends[byte / 64] >> byte % 64 & 1;
}

/* The first place in text [n] with the first byte of one of the tokens; n: none. */
size_t tg_specials_next(const tg_specials *s, const unsigned char *text, size_t n);

#endif
