/*
 * tokenizer_json_spm: reads a tokenizer.json of SentencePiece's byte pair encoding: its model falls back to
 * bytes, and a normalizer or a pre_tokenizer writes spaces as U+2581.
 *
 * Such a file has merges of pairs in the order of their ranks instead of scores.  A piece's score is the
 * negated rank of the merge that makes it when its own characters are merged (lib/spm/spm_state.h), among all
 * such merges, so the two say the same if each piece is then made of the same halves.  If some is not, the
 * file is refused.
 * The decoder is ignored: it does not change the ids of a text.
 */
#ifndef TG_VOCAB_TOKENIZER_JSON_SPM_H
#define TG_VOCAB_TOKENIZER_JSON_SPM_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/json.h"
#include "lib/text/tokenizer.h"

/* The parts of a tokenizer.json. */
enum {
    TG_JSON_MODEL,
    TG_JSON_ADDED,
    TG_JSON_NORMALIZER,
    TG_JSON_PRE_TOKENIZER,
    TG_JSON_DECODER,
    TG_JSON_PARTS
};

/* Whether the model at an offset falls back to bytes.  Refuses one that is not BPE; without a type it is. */
bool tg_spm_json_recognize(tg_json *j, size_t model);

/* Read the file, whose parts are at these offsets, 0 if missing or null.  Failures are the reader's:
 * TG_EDATA, with the position and the name of what is not supported; TG_ENOMEM. */
void tg_spm_json_read(const tg_tokenizer **tok, tg_json *j, const size_t at[TG_JSON_PARTS]);

#endif
