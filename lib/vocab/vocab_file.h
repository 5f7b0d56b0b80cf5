/*
 * vocab_file: reads and writes tokenizers in files, ours and those of other projects.
 *
 * A file's type is recognized by its first bytes, never by its name:
 *   an archive        a tokenizer (kind "tokenizer"), or a token stream or a model, whose tokenizer
 *                     is read
 *   tokenizer.json    Hugging Face's, byte-level BPE or SentencePiece's
 *   vocab.json        GPT-2's (encoder.json): token -> id; needs merges.txt or vocab.bpe in the same
 *                     directory
 *   merges.txt        GPT-2's (vocab.bpe): the ids come from vocab.json or encoder.json in the same
 *                     directory or, without them, follow from the merges
 *   *.tiktoken        base64 and rank per line; the rule for splitting must be given
 *   llm.c's           the bytes of each token
 *   meta.pkl          nanoGPT's: the characters of a text
 *   tokenizer.model   SentencePiece's, byte pair encoding
 *   tokenizer.bin     llama2.c's, likewise
 * A directory stands for its tokenizer.json or, without one, for its tokenizer.model, or for its vocab.json
 * and merges.txt.
 */
#ifndef TG_VOCAB_VOCAB_FILE_H
#define TG_VOCAB_VOCAB_FILE_H

#include <stddef.h>

#include "lib/base/status.h"
#include "lib/split/split.h"
#include "lib/text/tokenizer.h"
#include "lib/tg/tokenizer.h"

/*
 * Read the tokenizer in the file at path into *tok, to be freed.
 * split: for a .tiktoken file, required; NULL for all others (TG_EUSAGE otherwise).
 * TG_EDATA: not a tokenizer, a damaged one, or one with a feature that this version lacks; the message
 * names the file and the feature.  TG_EIO, TG_ENOMEM.
 * *tok is NULL after a failure.  Memory: proportional to the file, at most TG_VOCAB_FILE_MAX.
 */
TG_MUST_CHECK tg_status tg_vocab_file_open(const tg_tokenizer **tok, const char *path, const tg_split *split,
                                           tg_err *err);

#ifndef TG_VOCAB_FILE_MAX                   /* tests/fuzz/limits.h */
#define TG_VOCAB_FILE_MAX ((size_t)1 << 28) /* bytes of a file of another project's */
#endif

/* Likewise a tokenizer.json that puts the special token `first` before each text; SIZE_MAX: none. */
TG_MUST_CHECK tg_status tg_vocab_file_write_json(int fd, const tg_tokenizer *tok, size_t first, tg_err *err);

#endif
