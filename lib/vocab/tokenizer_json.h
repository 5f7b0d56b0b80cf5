/*
 * tokenizer_json: the parts of a tokenizer.json besides its model, and the patterns that identify the
 * rules of lib/split/split.h.  Only for the files tokenizer_json*.c.
 *
 * The functions take the offset of a value in the text of `file`, or 0 if it is missing or null.
 * TG_EDATA, with the position and the name of what is not supported; TG_ENOMEM.
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
TG_MUST_CHECK tg_status tg_read_normalizer(tg_normalizer *normalizer, const tg_json *file, size_t at,
                                           tg_err *err);

/* Accepts ByteLevel, optionally with Digits or a Split before it. */
TG_MUST_CHECK tg_status tg_read_pre_tokenizer(tg_split *split, const tg_json *file, size_t at, tg_err *err);

/* Accepts null and ByteLevel. */
TG_MUST_CHECK tg_status tg_check_decoder(const tg_json *file, size_t at, tg_err *err);

/* The pattern that a Split has for a rule; NULL: none. */
const char *tg_split_pattern(tg_split split);

/* Read true or false; `missing` if it is missing. */
TG_MUST_CHECK tg_status tg_json_bool_at(bool *value, const tg_json *file, size_t at, bool missing,
                                        tg_err *err);

/* TG_EDATA: `what` "name" is not supported. */
tg_status tg_json_unsupported(const tg_json *j, const char *what, tg_json_text name, tg_err *err);

#endif
