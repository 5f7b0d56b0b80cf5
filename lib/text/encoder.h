/*
 * encoder: text into ids, as the text arrives.
 *
 *     tg_encoder_create(&e, tok, &err)
 *     for each piece of text:
 *         while text.n > 0: tg_encoder_encode(e, &text, ids, max, &n, &err), use ids [n]
 *     do tg_encoder_finish(e, ids, max, &n, &err), use ids [n], while n == max
 *     tg_encoder_free(e)
 *
 * The ids of a text do not depend on how it is cut into pieces, or on `max`.  Pieces may be
 * cut anywhere, even within a token or a character.  An id is written as soon as no further
 * text can change it, so ids lag the text by the kind's lookahead.  An encoder serves one text
 * at a time, in one thread at a time.
 */
#ifndef TG_TEXT_ENCODER_H
#define TG_TEXT_ENCODER_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/api.h"
#include "lib/base/status.h"
#include "lib/text/tokenizer.h"

TG_API_BEGIN

typedef struct tg_encoder tg_encoder;

/* Text not yet encoded. */
typedef struct tg_text {
    const unsigned char *next;
    size_t n; /* bytes */
} tg_text;

/* Advance past the next n bytes; returns where they begin. */
static inline const unsigned char *tg_text_take(tg_text *text, size_t n)
{
    const unsigned char *begin = text->next;

    text->next += n;
    text->n -= n;
    return begin;
}

/* An encoder at the start of a text, to be freed; it takes a reference to tok.  The text of an added token
 * (tg_tokenizer_added()) becomes its id wherever it occurs, with the rules of the next function.
 * TG_ENOMEM; *e is NULL after a failure. */
TG_MUST_CHECK tg_status tg_encoder_create(tg_encoder **e, const tg_tokenizer *tok, tg_err *err);

/*
 * Call before any text.  From now on the text of a special token becomes its id wherever it occurs;
 * if several begin at one place, added ones among them, the longest is taken.  The text between these tokens
 * is encoded as if each part were a separate text.  TG_EDATA: a special token is too long to search for.
 * TG_ENOMEM.  After a failure the encoder is unchanged.
 */
TG_MUST_CHECK tg_status tg_encoder_match_special(tg_encoder *e, tg_err *err);

/*
 * Call between texts: messages count the bytes of the next text from `offset`.  At first it is 0;
 * after a text it is that text's end.
 */
void tg_encoder_set_offset(tg_encoder *e, uint64_t offset);

/* Call between texts: the next text continues another one, from a place that tg_encoder_cut() has returned.
 */
void tg_encoder_continue(tg_encoder *e);

/*
 * Consume text and write the ids that are certain into ids [max], max >= 1; *n is their number.
 * text is advanced past what was consumed: to its end, unless the ids are full (*n == max); then
 * call again.  A text of 0 bytes is fine; otherwise each call consumes a byte or writes an id.
 * TG_EDATA: the vocabulary cannot express the text.  TG_ENOMEM.  After a failure only
 * tg_encoder_free() is legal.
 */
TG_MUST_CHECK tg_status tg_encoder_encode(tg_encoder *e, tg_text *text, int32_t *ids, size_t max, size_t *n,
                                          tg_err *err);

/*
 * At the end of the text, write the ids that are still due into ids [max], max >= 1; *n is their
 * number.  If *n < max, these were the last and the encoder is ready for another text; otherwise
 * call again.  Fails like tg_encoder_encode().
 */
TG_MUST_CHECK tg_status tg_encoder_finish(tg_encoder *e, int32_t *ids, size_t max, size_t *n, tg_err *err);

/* Take n >= 1 ids, which are valid until this function returns.  A failure ends tg_encoder_whole(), which
 * returns it. */
typedef tg_status tg_encoder_take(void *context, const int32_t *ids, size_t n, tg_err *err);

/* Encode all of a text of n bytes, and give its ids to take(), some at a time; messages count from its first
 * byte.  Fails like tg_encoder_encode(). */
TG_MUST_CHECK tg_status tg_encoder_whole(tg_encoder *e, const void *text, size_t n, tg_encoder_take *take,
                                         void *context, tg_err *err);

/*
 * Return the last place p, 0 < p < n, where text [n], from anywhere in a text of this encoder, may be
 * cut: encoding the text before and the text after p separately gives the ids of the whole.  0: none is
 * known.  Examines at most the last `reach` bytes.
 */
size_t tg_encoder_cut(const tg_encoder *e, const unsigned char *text, size_t n, size_t reach);

/* NULL is fine. */
void tg_encoder_free(tg_encoder *e);

TG_API_END

#endif
