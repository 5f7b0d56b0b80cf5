/*
 * special: finds the texts of special tokens in a text.
 *
 * They are in the order of their bytes, so that those that begin with some bytes are neighbours; each
 * further byte of the text narrows their range by a binary search.  At each place of a text at most
 * TG_SPECIAL_MAX bytes are looked at, and usually one.
 */
#ifndef TG_TEXT_SPECIAL_H
#define TG_TEXT_SPECIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/status.h"
#include "lib/text/tokenizer.h"

#define TG_SPECIAL_MAX ((size_t)256) /* bytes of a special token that can be looked for */

typedef struct tg_special_token {
    const unsigned char *text; /* the tokenizer's */
    uint32_t n;
    int32_t id;
} tg_special_token;

typedef struct tg_specials {
    tg_special_token *tokens; /* [n] in the order of their bytes; owned */
    size_t n;
    size_t first[257];          /* those that begin with byte c are tokens [first[c]..first[c+1]) */
    unsigned char inside[8192]; /* bit a * 256 + b: some token has byte b after byte a */
} tg_specials;

/* The special tokens of tok, except empty ones.  TG_EDATA: one has more than TG_SPECIAL_MAX bytes.
 * TG_ENOMEM.  *s can be freed either way. */
TG_MUST_CHECK tg_status tg_specials_create(tg_specials *s, const tg_tokenizer *tok, tg_err *err);

/* A zeroed one is fine. */
void tg_specials_free(tg_specials *s);

/* What a text begins with. */
typedef enum tg_special_match {
    TG_SPECIAL_NONE,    /* no special token */
    TG_SPECIAL_FOUND,   /* *token, the longest that it begins with */
    TG_SPECIAL_UNKNOWN, /* text after text + n decides */
} tg_special_match;

/* last: the text ends at text + n. */
tg_special_match tg_specials_match(const tg_specials *s, const unsigned char *text, size_t n, bool last,
                                   const tg_special_token **token);

/* The first place of text [n] where a special token may begin: its first byte is there; n: none. */
size_t tg_specials_next(const tg_specials *s, const unsigned char *text, size_t n);

/* Whether some special token may lie on both sides of a border between bytes a and b. */
static inline bool tg_specials_cross(const tg_specials *s, unsigned char a, unsigned char b)
{
    const size_t bit = (size_t)a << 8 | b;

    return s->inside[bit / 8] >> bit % 8 & 1;
}

#endif
