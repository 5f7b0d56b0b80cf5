/*
 * tokenizer: a vocabulary, and the rule that turns a text into ids of tokens, and back.
 *
 * A tokenizer is read once and never changes.  Several owners share it: a model, a stream, an encoder.  Any
 * thread may use it, and take and free references to it.  Every tokenizer has a kind ("bytes": 256 ids, id =
 * byte).
 *
 *     tg_tokenizer_open(&tok, "tokenizer.json", NULL, &err)       or tg_model_tokenizer(model)
 *     tg_tokens_prompt_text(&text, tok, "To be", 5, &err)         ids of a whole text
 *     tg_tokenizer_token(tok, id, &n)                             the text of one
 */
#ifndef TG_TG_TOKENIZER_H
#define TG_TG_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/tg/api.h"
#include "lib/tg/status.h"

TG_API_BEGIN

typedef struct tg_tokenizer tg_tokenizer;

/* Another reference to tok, to be freed like the first; returns tok. */
const tg_tokenizer *tg_tokenizer_ref(const tg_tokenizer *tok);

/* Free one reference; the last one frees the memory.  NULL is fine. */
void tg_tokenizer_free(const tg_tokenizer *tok);

const char *tg_tokenizer_kind_name(const tg_tokenizer *tok);

/* The number of ids, at most INT32_MAX.  Every id is below it. */
size_t tg_tokenizer_vocab_size(const tg_tokenizer *tok);

/* Whether the ids of every text, stored in one byte each, are the text's own bytes.  Then a
 * text needs no encoder: it can be written, read and counted as its own tokens. */
bool tg_tokenizer_ids_are_bytes(const tg_tokenizer *tok);

/*
 * Whether tokens stand for text.  If not, no text can be encoded, and the text of a token is its id in
 * decimal, without any space: whoever writes several in a row separates them.
 */
bool tg_tokenizer_has_text(const tg_tokenizer *tok);

/*
 * The text of one token: a pointer to *n bytes, valid as long as tok.
 * For an id that the tokenizer lacks, *n = 0 and the pointer is not NULL.
 * (A model may have more rows in its embedding than its tokenizer has ids.)
 */
const unsigned char *tg_tokenizer_token(const tg_tokenizer *tok, int32_t id, size_t *n);

/* Whether the text of token `id`, if it begins with a space, begins with one that encoding has put there: a
 * text begins with this token, after the id `before`, or -1 at the start (tg_decoder). */
bool tg_tokenizer_adds_space(const tg_tokenizer *tok, int32_t before, int32_t id);

/*
 * Special tokens: ids that a text produces only if the encoder was told to look for them
 * (tg_encoder_match_special()).  Returns their number; *ids points to them, ascending, valid as
 * long as tok.
 */
size_t tg_tokenizer_specials(const tg_tokenizer *tok, const uint32_t **ids);

/* Added tokens: their texts become these ids in every text, before anything else is done with it.  None is a
 * special one.  Returns their number; *ids points to them, as above. */
size_t tg_tokenizer_added(const tg_tokenizer *tok, const uint32_t **ids);

/* The special token, or else the added one, with this text; -1: none has it.  A linear search. */
int32_t tg_tokenizer_special_id(const tg_tokenizer *tok, const void *text, size_t n);

/* The token of those that ends a text: "<|endoftext|>", else "<|end_of_text|>", "</s>" or "<eos>"; -1:
 * none. */
int32_t tg_tokenizer_end_of_text(const tg_tokenizer *tok);

/* The one that begins a text: "<s>", "<bos>", "<|begin_of_text|>", else the one that ends it; -1: none. */
int32_t tg_tokenizer_start_of_text(const tg_tokenizer *tok);

/* Its identity, 32 bytes: an SHA-256 of its arrays, their names and
 * types, computed when it was made. */
const unsigned char *tg_tokenizer_identity(const tg_tokenizer *tok);

/*
 * Check that two tokenizers have the same identity.  Otherwise TG_EDATA, with a message that
 * names both.
 * want: the model's, or that of the preceding tokens.  got: that of the new tokens.
 */
TG_MUST_CHECK tg_status tg_tokenizer_same(const tg_tokenizer *want, const tg_tokenizer *got, tg_err *err);

/*
 * Read the tokenizer in the file at path into *tok, to be freed: one of tg's archives; a model's of any
 * project that has one; tokenizer.json, tokenizer.model, vocab.json with merges.txt, .tiktoken, llm.c's,
 * llama2.c's or nanoGPT's; or a directory with one of them. split: for a .tiktoken file, required: "none",
 * "gpt2", "gpt2-digits", "cl100k", "llama3", "qwen2" or "o200k"; NULL for all others. TG_EUSAGE: a split that
 * is unknown, missing or not wanted.  TG_EDATA: not a tokenizer, a damaged one, or one with a feature that
 * this version lacks; the message names the file and the feature.  TG_EIO, TG_ENOMEM. *tok is NULL after a
 * failure.
 */
TG_MUST_CHECK tg_status tg_tokenizer_open(const tg_tokenizer **tok, const char *path, const char *split,
                                          tg_err *err);

typedef enum tg_vocab_format {
    TG_VOCAB_NPZ,
    TG_VOCAB_TOKENIZER_JSON,
    TG_VOCAB_TIKTOKEN,
    TG_VOCAB_LLMC
} tg_vocab_format;
#define TG_VOCAB_FORMATS "npz|tokenizer.json|tiktoken|llmc" /* in that order */

/*
 * Write tok to fd; with fd -1 only check that a tokenizer.json can be written.  TG_EUSAGE: the format cannot
 * hold this tokenizer; the message says why.  TG_EIO, TG_ENOMEM.
 * (.tiktoken: the rank of a token is its id, special tokens and the rule for splitting are not
 * stored, as in tiktoken's own files.  llm.c's: the rule and the merges are not stored.)
 */
TG_MUST_CHECK tg_status tg_vocab_file_write(int fd, const tg_tokenizer *tok, tg_vocab_format format,
                                            tg_err *err);

/*
 * Text into ids, as the text arrives:
 *
 *     tg_encoder_create(&e, tok, &err)
 *     for each piece of text:
 *         while text.n > 0: tg_encoder_encode(e, &text, ids, max, &n, &err), use ids [n]
 *     do tg_encoder_finish(e, ids, max, &n, &err), use ids [n], while n == max
 *     tg_encoder_free(e)
 *
 * The ids of a text do not depend on how it is cut into pieces, or on `max`.  Pieces may be cut anywhere,
 * even within a token or a character.  An id is written as soon as no further text can change it, so ids lag
 * the text.  An encoder serves one text at a time, in one thread at a time.
 */
typedef struct tg_encoder tg_encoder;

/* Text not yet encoded. */
typedef struct tg_text {
    const unsigned char *next;
    size_t n; /* bytes */
} tg_text;

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

/* NULL is fine. */
void tg_encoder_free(tg_encoder *e);

/*
 * Ids into text:
 *
 *     tg_decoder d = {tok, false, 0};
 *     for each id: text = tg_decoder_next(&d, id, &n)
 *
 * Characters of several bytes may be divided among tokens.
 */

/* At the start of a text, zeroed except for tok, which is the caller's. */
typedef struct tg_decoder {
    const tg_tokenizer *tok;
    bool begun;   /* some id has been decoded */
    int32_t last; /* then the last one */
} tg_decoder;

/* The bytes of the text that a token stands for after the ids before: those of tg_tokenizer_token(), except
 * a space that encoding has put there. */
const unsigned char *tg_decoder_next(tg_decoder *d, int32_t id, size_t *n);

/* A whole text as ids. */
#define TG_TOKENS_PROMPT_MAX ((size_t)64 << 20) /* max bytes of text, or tokens, from a descriptor */

typedef struct tg_tokens_prompt {
    int32_t *ids; /* [n], each of the tokenizer; owned */
    size_t n;
    bool begun; /* by tg_tokens_prompt_begin(): ids[0] is no part of the text */
} tg_tokens_prompt;

/*
 * From text [n bytes], a copy of ids [n], or all of fd.  Empty text is no error: p->n is 0.
 * TG_EDATA: the vocabulary cannot express the text, an id that it lacks, a damaged archive or one of another
 * kind; fd has more than TG_TOKENS_PROMPT_MAX.  TG_EIO, TG_ENOMEM.  After a failure *p needs no free.
 */
TG_MUST_CHECK tg_status tg_tokens_prompt_text(tg_tokens_prompt *p, const tg_tokenizer *tok, const void *text,
                                              size_t n, tg_err *err);
TG_MUST_CHECK tg_status tg_tokens_prompt_ids(tg_tokens_prompt *p, const tg_tokenizer *tok, const int32_t *ids,
                                             size_t n, tg_err *err);
TG_MUST_CHECK tg_status tg_tokens_prompt_read(tg_tokens_prompt *p, const tg_tokenizer *tok, int fd,
                                              tg_err *err);

/* From text [n bytes] that continues another one, so that no kind of tokenizer puts a space before it. */
TG_MUST_CHECK tg_status tg_tokens_prompt_continue(tg_tokens_prompt *p, const tg_tokenizer *tok,
                                                  const void *text, size_t n, tg_err *err);

/* Put a token before the others.  TG_ENOMEM: *p is unchanged. */
TG_MUST_CHECK tg_status tg_tokens_prompt_begin(tg_tokens_prompt *p, int32_t id, tg_err *err);

/* The bytes of the text that token t stands for, *n of them: none if tokens have no text, or if the token has
 * been put before the text. */
const unsigned char *tg_tokens_prompt_token(const tg_tokens_prompt *p, const tg_tokenizer *tok, size_t t,
                                            size_t *n);

void tg_tokens_prompt_free(tg_tokens_prompt *p);

TG_API_END

#endif
