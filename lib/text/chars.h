/*
 * chars: the kind "char": a token is one character of Unicode.
 *
 * The distinct characters of a text get ids in code point order.  A byte that is not part of a valid
 * UTF-8 character is a separate token; the ids of such bytes follow those of the characters.  So any
 * text can be encoded with its own vocabulary, and decodes to the same bytes.
 *
 * Archive: tokenizer/kind = "char", tokenizer/vocab_size, and
 *   tokenizer/chars  <u4 [V]  ascending: code points, then 0x110000 + byte for single bytes
 */
#ifndef TG_TEXT_CHARS_H
#define TG_TEXT_CHARS_H

#include <stddef.h>

#include "lib/base/status.h"
#include "lib/text/tokenizer.h"

/* The characters of a text that arrives in parts, cut anywhere. */
typedef struct tg_chars tg_chars;

/* Begin a text; *chars is to be freed.  Memory: 136 KiB, whatever the length of the text.  TG_ENOMEM;
 * *chars is NULL after a failure. */
TG_MUST_CHECK tg_status tg_chars_create(tg_chars **chars, tg_err *err);

/* Take the next n bytes of the text. */
void tg_chars_add(tg_chars *chars, const void *text, size_t n);

/*
 * At the end of the text, make the tokenizer of its characters, to be freed; *chars is then ready for
 * another text.  TG_EDATA: the text was empty.  TG_ENOMEM.  *tok is NULL after a failure.
 */
TG_MUST_CHECK tg_status tg_chars_finish(tg_chars *chars, const tg_tokenizer **tok, tg_err *err);

/* NULL is fine. */
void tg_chars_free(tg_chars *chars);

#endif
