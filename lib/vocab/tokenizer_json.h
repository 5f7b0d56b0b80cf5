/*
 * tokenizer_json: what the readers of the two kinds of tokenizer.json have in common, byte-level byte pair
 * encoding (tokenizer_json.c) and SentencePiece's (tokenizer_json_spm.c), and the rules that the former may
 * name; what their writers have in common.  Only for the files tokenizer_json*.c.
 *
 * The functions that read take the offset of a value, or 0 if it is missing or null.  Failures are the
 * reader's: TG_EDATA, with the position and the name of what is not supported; TG_ENOMEM.
 */
#ifndef TG_VOCAB_TOKENIZER_JSON_H
#define TG_VOCAB_TOKENIZER_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/json.h"
#include "formats/sink.h"
#include "lib/base/status.h"
#include "lib/bpe/bpe.h"
#include "lib/split/split.h"
#include "lib/vocab/vocab_builder.h"

/* ---- values */

/* Read true or false, `missing` if it is missing; the reader stays where it was. */
bool tg_json_bool_at(tg_json *j, size_t at, bool missing);

/* Read a text, "" if it is missing. */
tg_span tg_json_text_at(tg_json *j, size_t at);

/* TG_EDATA at the value just read: `what` "name" is not supported. */
void tg_json_unsupported(tg_json *j, const char *what, tg_span name);

/* ---- components of normalizer, pre_tokenizer and decoder: objects with a "type" */

enum { TG_COMPONENT_TYPE, TG_COMPONENT_LIST, TG_COMPONENT_OPTION, TG_COMPONENT_MEMBERS = 8 };

typedef struct tg_json_component {
    tg_span name; /* its type */
    size_t from;  /* where it begins */
    size_t at[TG_COMPONENT_MEMBERS];
} tg_json_component;

/* Handles one component, not a "Sequence". */
typedef void tg_take_component(void *context, tg_json *j, const tg_json_component *c);

/* Take the component at an offset, or each of a Sequence.  names [n]: its members; the first is "type", the
 * second the key of a Sequence's list. */
void tg_read_components(tg_json *j, size_t at, const char *const *names, size_t n, tg_take_component *take,
                        void *context);

/* ---- added tokens */

typedef struct tg_added_token {
    size_t id;
    bool special, normalized;
} tg_added_token;

typedef struct tg_added_tokens {
    tg_vocab_builder by_number; /* their texts: the "id" of each is its number here */
    tg_added_token *token;      /* [n] in the order of the file; owned */
    size_t n, capacity;
} tg_added_tokens;

/* Read them into a zeroed structure, which can be freed either way.  Refuses those with settings that change
 * where a token matches, and two with the same text. */
void tg_read_added(tg_added_tokens *a, tg_json *j, size_t at);

/* Refuse an added token of the byte-level kind that would be found elsewhere than a tg_bpe_vocab's are,
 * because it is looked for later (tokenizer_json_added.c).  at: of the tokens. */
void tg_check_added(const tg_added_tokens *a, tg_normalizer normalizer, tg_json *j, size_t at);

const unsigned char *tg_added_text(const tg_added_tokens *a, size_t number, size_t *n);

void tg_added_free(tg_added_tokens *a);

/* ---- the model */

enum {
    TG_JSON_MODEL_VOCAB,
    TG_JSON_MODEL_MERGES,
    TG_JSON_MODEL_UNK,
    TG_JSON_MODEL_IGNORE_MERGES,
    TG_JSON_MODEL_DROPOUT,
    TG_JSON_MODEL_PREFIX,
    TG_JSON_MODEL_SUFFIX,
    TG_JSON_MODEL_BYTE_FALLBACK,
    TG_JSON_MODEL_PARTS
};

/*
 * The offsets of its parts.  Refuses a model that lacks vocab or merges, and a setting on which the ids of a
 * text can depend, except ignore_merges, or with falls_back byte_fallback instead, which the caller reads.
 */
void tg_open_model(size_t at[TG_JSON_MODEL_PARTS], tg_json *j, size_t from, bool falls_back);

/* Read the vocabulary, with the added tokens, and arrange it.  An added token that the model has too must
 * have the same id there.  byte_level: ordinary tokens are written so (byte_map.h), and the added ones become
 * special and added tokens; else all are ordinary. */
void tg_read_vocab(tg_vocab_builder *b, const tg_added_tokens *a, tg_json *j, size_t at, bool byte_level);

/* Handles a merge. */
typedef tg_status tg_take_merge(void *context, const tg_vocab_halves *h, tg_err *err);

void tg_read_merges(tg_json *j, size_t at, tg_take_merge *take, void *context);

/* ---- rules, of the byte-level kind */

/* Accepts null and NFC. */
tg_normalizer tg_read_normalizer(tg_json *j, size_t at);

/* Accepts ByteLevel, optionally with Digits or a Split before it. */
tg_split tg_read_pre_tokenizer(tg_json *j, size_t at);

/* Accepts null and ByteLevel. */
void tg_check_decoder(tg_json *j, size_t at);

/* The pattern that a Split has for a rule; NULL: none. */
const char *tg_split_pattern(tg_split split);

/* ---- writing */

#define TG_JSON_REFUSAL "a tokenizer.json cannot hold this vocabulary: "

/* Put a text as JSON's, in quotes. */
void tg_json_put_quoted(tg_sink *sink, const void *text, size_t n);

/* Put the parts before added_tokens; one of these, with a comma if others came before it. */
void tg_json_put_begin(tg_sink *sink);
void tg_json_put_added(tg_sink *sink, const tg_added_token *token, const void *text, size_t n, bool comma);

/* Put the post-processor that begins each text with the special token `first` of this text; SIZE_MAX: with
 * none. */
void tg_json_put_post_processor(tg_sink *sink, size_t first, const void *text, size_t n);

#endif
