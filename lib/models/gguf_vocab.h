/*
 * gguf_vocab: vocabularies in GGUF's named values, as llama.cpp has them.
 *
 *   tokenizer.ggml.model       "gpt2", which is byte pair encoding; "llama", SentencePiece's;
 *                              "no_vocab": none
 *   tokenizer.ggml.pre         llama.cpp's name of a rule that splits texts
 *   tokenizer.ggml.tokens      the text of each id, no two alike; ordinary tokens as in GPT-2's files
 *   tokenizer.ggml.token_type  1 ordinary, 2 3 special, 4 added (or user-defined, of SentencePiece's),
 *                              5 unused, 6 a byte, of SentencePiece's
 *   tokenizer.ggml.merges      two halves with a space between them
 *   tokenizer.ggml.scores      SentencePiece's, float32
 *   tokenizer.ggml.add_space_prefix  whether a space is put before a text, of SentencePiece's; absent: yes
 *   tokenizer.ggml.unknown_token_id  the unknown piece, likewise
 *   tokenizer.ggml.eos_token_id, bos_token_id
 *   tokenizer.ggml.add_bos_token  whether bos_token_id begins each text; absent: yes of "llama", and of
 *                              "gpt2" with a name of Llama 3's own rule
 *   tg.tokenizer.kind          ours: "bytes", "char", "bpe", "sentencepiece"; llama.cpp ignores it
 *
 * llama.cpp finds the longest added tokens first, wherever they are in a text, this library at each place the
 * longest that is there.  With "ab" and "bcd", "abcd" is a bcd there, and ab cd here and in Hugging Face's
 * tokenizers; with runs of one character there is no difference.
 *
 * llama.cpp merges the texts of halves, which need not be tokens.  So characters of several bytes can be
 * written as merges of these bytes.
 */
#ifndef TG_MODELS_GGUF_VOCAB_H
#define TG_MODELS_GGUF_VOCAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/gguf.h"
#include "formats/gguf_writer.h"
#include "lib/models/model_file.h"
#include "lib/split/split.h"
#include "lib/spm/spm.h"
#include "lib/text/tokenizer.h"

#define TG_GGUF_KIND_KEY "tg.tokenizer.kind"

/* The types of tokens. */
enum {
    TG_GGUF_NORMAL = 1,
    TG_GGUF_UNKNOWN,
    TG_GGUF_CONTROL,
    TG_GGUF_USER_DEFINED,
    TG_GGUF_UNUSED,
    TG_GGUF_BYTE
};

/* A rule of llama.cpp. */
typedef struct tg_gguf_pre {
    const char *name;
    tg_split split;
    bool whole_pieces;
    bool adds_bos;       /* bos_token_id begins each text, if the file does not say whether it does */
    const char *differs; /* where llama.cpp's rule of this name departs from ours; NULL: nowhere */
} tg_gguf_pre;

/* The rule to write for a vocabulary; NULL: there is none. */
const tg_gguf_pre *tg_gguf_pre_for(tg_split split, bool whole_pieces);

/*
 * Read the vocabulary into *tok, to be freed; NULL: the file has none, or it is one that this library does
 * not know and `lossy` lets it be left out, with a note.
 * Returns g->status.  TG_EDATA: an unknown kind or rule, or tokens and merges that contradict each other;
 * TG_ENOMEM.
 */
TG_MUST_CHECK tg_status tg_gguf_vocab_read(const tg_tokenizer **tok, tg_gguf *g, bool lossy, tg_notes *notes);

/* Whether bos_token_id begins each text.  Returns g->status. */
TG_MUST_CHECK tg_status tg_gguf_vocab_adds_bos(bool *adds, tg_gguf *g);

/* The name of a row that no token has, "[PAD7]", into text, which is returned; whether a text is one. */
#define TG_GGUF_PADDING_SIZE 32
const char *tg_gguf_padding(char text[TG_GGUF_PADDING_SIZE], size_t id);
bool tg_gguf_is_padding(tg_span text);

/* Texts, one after another. */
typedef struct tg_gguf_texts {
    char *p;      /* [used] */
    size_t *ends; /* [n] text i is p[ends[i-1]] .. p[ends[i]] */
    size_t n, used, capacity, ends_capacity;
} tg_gguf_texts;

/* Continue the text that is next, `mapped`: as GPT-2's files write its bytes; end it; text i.  TG_ENOMEM. */
TG_MUST_CHECK tg_status tg_gguf_texts_put(tg_gguf_texts *t, const void *text, size_t n, bool mapped,
                                          tg_err *err);
TG_MUST_CHECK tg_status tg_gguf_texts_end(tg_gguf_texts *t, tg_err *err);
tg_span tg_gguf_texts_at(const tg_gguf_texts *t, size_t i);
void tg_gguf_texts_free(tg_gguf_texts *t);

/* A vocabulary as it will be written. */
typedef struct tg_gguf_vocab {
    const char *kind; /* of the tokenizer; NULL: there is none, only n ids */
    const char *pre;
    size_t n;
    tg_gguf_texts tokens, merges;
    int32_t *type;    /* [n] */
    int64_t bos, eos; /* the tokens that begin and end a text; -1: none */
    bool add_bos;     /* bos begins every text */
    /* SentencePiece's */
    float *scores;  /* [n]; NULL: it is no such vocabulary */
    size_t unknown; /* the id of the unknown piece; no id: there is none */
    bool prefix;    /* a space is put before a text */
} tg_gguf_vocab;

/*
 * Make the vocabulary of a model with `n` rows; tok may be NULL.  Rows without a token are named "[PAD7]".
 * TG_EUSAGE: llama.cpp cannot hold it; if `lossy`, what is lost becomes a note.  TG_ENOMEM.  After a failure
 * *v can be freed.
 */
TG_MUST_CHECK tg_status tg_gguf_vocab_make(tg_gguf_vocab *v, const tg_tokenizer *tok, size_t n, bool lossy,
                                           tg_notes *notes, tg_err *err);

/* For these two: SentencePiece's part of the making and of the file. */
TG_MUST_CHECK tg_status tg_gguf_spm_make(tg_gguf_vocab *v, const tg_spm_vocab *spm, bool lossy,
                                         tg_notes *notes, tg_err *err);
void tg_gguf_spm_put(tg_gguf_writer *w, const tg_gguf_vocab *v);

void tg_gguf_vocab_put(tg_gguf_writer *w, const tg_gguf_vocab *v);
void tg_gguf_vocab_free(tg_gguf_vocab *v); /* a zeroed one is fine */

#endif
