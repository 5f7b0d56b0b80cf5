/*
 * decoder: ids into text, in any order; lib/tg/tokenizer.h has a decoder of all ids of a text.
 */
#ifndef TG_TEXT_DECODER_H
#define TG_TEXT_DECODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/text/tokenizer.h"
#include "lib/tg/tokenizer.h"

/* The same after the id `before`, or -1 at the start of a text. */
const unsigned char *tg_decoder_text(const tg_tokenizer *tok, int32_t before, int32_t id, size_t *n);

#endif
