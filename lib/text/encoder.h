/*
 * encoder: what the library needs of an encoder, besides what programs use (lib/tg/tokenizer.h): a text that
 * is divided among several encoders, and one that is all in memory.
 */
#ifndef TG_TEXT_ENCODER_H
#define TG_TEXT_ENCODER_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/status.h"
#include "lib/text/tokenizer.h"
#include "lib/tg/tokenizer.h"

/* Advance past the next n bytes; returns where they begin. */
static inline const unsigned char *tg_text_take(tg_text *text, size_t n)
{
    const unsigned char *begin = text->next;

    text->next += n;
    text->n -= n;
    return begin;
}

/*
 * Call between texts: messages count the bytes of the next text from `offset`.  At first it is 0;
 * after a text it is that text's end.
 */
void tg_encoder_set_offset(tg_encoder *e, uint64_t offset);

/* Call between texts: the next text continues another one, from a place that tg_encoder_cut() has returned.
 */
void tg_encoder_continue(tg_encoder *e);

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

#endif
