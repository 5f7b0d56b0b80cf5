/*
 * foreign: reads the vocabularies of other projects from files in memory, for vocab_file.c.
 *
 * All readers: TG_EDATA, with the file's name and the line or position at fault; TG_ENOMEM.  *tok is
 * to be freed; it is NULL after a failure.
 */
#ifndef TG_VOCAB_FOREIGN_H
#define TG_VOCAB_FOREIGN_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/status.h"
#include "lib/bpe/bpe.h"
#include "lib/split/split.h"
#include "lib/text/tokenizer.h"

typedef struct tg_file_text {
    const char *name; /* for messages */
    const unsigned char *text;
    size_t n;
} tg_file_text;

/* A file's lines, one after another. */
typedef struct tg_file_lines {
    const tg_file_text *file;
    size_t at, number; /* at: of the next line; number: of the last one, from 1 */
} tg_file_lines;

/* The next line without its end (LF or CR LF); false after the last one. */
bool tg_file_line(tg_file_lines *lines, const char **line, size_t *n);

/* Prefix a message with the last line's number.  Returns err's code. */
tg_status tg_file_line_err(const tg_file_lines *lines, tg_err *err);

/*
 * Read GPT-2's vocab.bpe (merges.txt) and its encoder.json (vocab.json); vocab may be NULL.
 *
 * Merges: two halves per line, separated by a space, in order of rank; a first line that begins with
 * "#version" is skipped.  Without a vocabulary the ids are GPT-2's: the bytes in the order of
 * lib/vocab/byte_map.h, the merges, and "<|endoftext|>", which is special.  In a given vocabulary,
 * "<|endoftext|>" is special unless a merge makes it.
 */
TG_MUST_CHECK tg_status tg_gpt2_files_read(const tg_tokenizer **tok, const tg_file_text *merges,
                                           const tg_file_text *vocab, tg_err *err);

/*
 * Read a .tiktoken file: each line has a token in base64, a space, and its id, which is its rank.  The
 * merges follow from the ranks (lib/vocab/rank_merges.h).  The rule and the number of tokens identify the
 * encoding, and hence its special tokens.
 */
TG_MUST_CHECK tg_status tg_tiktoken_read(const tg_tokenizer **tok, const tg_file_text *file, tg_split split,
                                         tg_err *err);

/* Whether a file's first line looks like a line of a .tiktoken file. */
bool tg_tiktoken_recognize(const tg_file_text *file);

/*
 * Read Hugging Face's tokenizer.json: byte-level BPE, with special and added tokens, or SentencePiece's
 * (lib/vocab/tokenizer_json_spm.h).  Truncation, padding and the post-processor are ignored:
 * they drop ids or add special ones, but do not change the ids of the text itself.  (The token that the
 * post-processor puts before a text is the model's: lib/models/hf_bos.c.)
 */
TG_MUST_CHECK tg_status tg_tokenizer_json_read(const tg_tokenizer **tok, const tg_file_text *file,
                                               tg_err *err);

/* Whether a JSON text is a tokenizer.json: it has a "model". */
TG_MUST_CHECK tg_status tg_tokenizer_json_recognize(const tg_file_text *file, bool *is, tg_err *err);

/*
 * Read llm.c's tokenizer, which has the tokens' bytes only (formats/llmc.h).  Merges follow from the ids, as
 * GPT-2's do; text is split by GPT-2's rule; the token that ends a text is special.
 */
TG_MUST_CHECK tg_status tg_llmc_vocab_read(const tg_tokenizer **tok, const tg_file_text *file, tg_err *err);

/* Read SentencePiece's tokenizer.model, byte pair encoding whose texts are not normalised. */
TG_MUST_CHECK tg_status tg_spm_model_read(const tg_tokenizer **tok, const tg_file_text *file, tg_err *err);

/* Whether a file that begins with first [n] is one. */
bool tg_spm_model_recognize(const void *first, size_t n);

/* Read llama2.c's tokenizer.bin. */
TG_MUST_CHECK tg_status tg_llama2c_vocab_read(const tg_tokenizer **tok, const tg_file_text *file,
                                              tg_err *err);

/* Whether a file that begins with first [n] is one. */
bool tg_llama2c_vocab_recognize(const void *first, size_t n);

/* Read nanoGPT's meta.pkl as a tokenizer of kind "char".  Nothing in the pickle is called. */
TG_MUST_CHECK tg_status tg_meta_pickle_read(const tg_tokenizer **tok, const tg_file_text *file, tg_err *err);

/* Write llm.c's tokenizer to fd.  TG_EUSAGE: it has no token that ends a text, no text at all, or a token of
 * more than 255 bytes.  TG_EIO. */
TG_MUST_CHECK tg_status tg_llmc_vocab_write(int fd, const tg_tokenizer *tok, tg_err *err);

/*
 * Write a tokenizer.json, also of SentencePiece's kind (lib/vocab/tokenizer_json_spm.h), or a .tiktoken file
 * to fd; with fd -1 only check that a tokenizer.json can be written.  first: the special token that it puts
 * before each text; SIZE_MAX: none.
 * TG_EUSAGE: the format cannot hold this vocabulary; the message says why.  TG_EIO, TG_ENOMEM.
 */
TG_MUST_CHECK tg_status tg_tokenizer_json_write(int fd, const tg_bpe_vocab *vocab, size_t first, tg_err *err);
TG_MUST_CHECK tg_status tg_spm_json_write(int fd, const tg_tokenizer *tok, size_t first, tg_err *err);
TG_MUST_CHECK tg_status tg_tiktoken_write(int fd, const tg_bpe_vocab *vocab, tg_err *err);

/* The first of the files `names`, ended by NULL, that exists in path's directory, or in the directory `path`
 * itself, into *found, to be freed; NULL: none does.  TG_EDATA: it is a pipe or a device; TG_EIO, TG_ENOMEM.
 */
TG_MUST_CHECK tg_status tg_vocab_find_beside(char **found, const char *path, const char *const *names,
                                             bool directory, tg_err *err);

/* A token's bytes for a message: printable ASCII unchanged, other bytes as \xNN, truncated with "..." */
#define TG_TOKEN_SHOWN 64
const char *tg_token_shown(char out[TG_TOKEN_SHOWN], const void *text, size_t n);

#endif
