/*
 * decoder: ids into text, one after another, without the spaces that some kinds of tokenizers put before a
 * text.
 *
 *     tg_decoder d = {.tok = tok};
 *     for each id: text = tg_decoder_next(&d, id, &n)
 */
#ifndef TG_TEXT_DECODER_H
#define TG_TEXT_DECODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/text/tokenizer.h"

/* At the start of a text, zeroed except for tok, which is the caller's. */
typedef struct tg_decoder {
    const tg_tokenizer *tok;
    bool begun;   /* some id has been decoded */
    int32_t last; /* then the last one */
} tg_decoder;

/* The bytes of the text that a token stands for after the ids before: those of tg_tokenizer_token(), except
 * a space that encoding has put there. */
const unsigned char *tg_decoder_next(tg_decoder *d, int32_t id, size_t *n);

/* The same after the id `before`, or -1 at the start of a text. */
const unsigned char *tg_decoder_text(const tg_tokenizer *tok, int32_t before, int32_t id, size_t *n);

#endif
