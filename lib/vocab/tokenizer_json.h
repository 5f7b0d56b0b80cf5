/*
 * tokenizer_json: the parts of a tokenizer.json besides its model, and the patterns that identify the
 * rules of lib/split/split.h.  Only for the files tokenizer_json*.c.
 *
 * The functions take the offset of a value, or 0 if it is missing or null.  Failures are the reader's:
 * TG_EDATA, with the position and the name of what is not supported.
 */
#ifndef TG_VOCAB_TOKENIZER_JSON_H
#define TG_VOCAB_TOKENIZER_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/json.h"
#include "lib/base/status.h"
#include "lib/bpe/bpe.h"
#include "lib/split/split.h"

/* Accepts null and NFC. */
tg_normalizer tg_read_normalizer(tg_json *j, size_t at);

/* Accepts ByteLevel, optionally with Digits or a Split before it. */
tg_split tg_read_pre_tokenizer(tg_json *j, size_t at);

/* Accepts null and ByteLevel. */
void tg_check_decoder(tg_json *j, size_t at);

/* The pattern that a Split has for a rule; NULL: none. */
const char *tg_split_pattern(tg_split split);

/* Read true or false, `missing` if it is missing; the reader stays where it was. */
bool tg_json_bool_at(tg_json *j, size_t at, bool missing);

/* TG_EDATA at the value just read: `what` "name" is not supported. */
void tg_json_unsupported(tg_json *j, const char *what, tg_span name);

#endif
