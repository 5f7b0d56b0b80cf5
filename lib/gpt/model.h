/* model: a GPT's config, parameters and tokenizer, in memory.  lib/models has its files. */
#ifndef TG_GPT_MODEL_H
#define TG_GPT_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/api.h"
#include "lib/base/arena.h"
#include "lib/base/status.h"
#include "lib/base/watch.h"
#include "lib/gpt/config.h"
#include "lib/gpt/params.h"
#include "lib/text/tokenizer.h"

TG_API_BEGIN

#define TG_PROBE_MAX 32

typedef struct tg_model {
    tg_config config;
    tg_params table;
    const tg_tokenizer *tokenizer; /* a reference; owned */
    const float **weight;          /* [table.n] each tensor's values; owned */
    tg_arena memory;               /* of params */
    float *params;                 /* flat buffer, for tensors that are not mapped; NULL: all are */
    int32_t probe[TG_PROBE_MAX];   /* a piece of the validation text */
    size_t probe_count;            /* 0: not trained yet */
    void *source;                  /* keeps mapped tensors readable; NULL: none are; owned */
    void (*close_source)(void *source);
} tg_model;

/* A tensor, or NULL when the config leaves it out. */
const float *tg_model_weight(const tg_model *m, tg_param_kind kind, size_t layer);

/*
 * A new model for a tokenizer's texts, with flat parameters initialised from seed.  It takes a
 * reference to the tokenizer.  TG_EDATA: the config is invalid, or its vocabulary smaller than the
 * tokenizer's.  TG_ENOMEM.  After a failure *m needs no free.
 */
TG_MUST_CHECK tg_status tg_model_create(tg_model *m, const tg_config *config, const tg_tokenizer *tokenizer,
                                        uint64_t seed, tg_err *err);

/* The same, watched, but not abandoned. */
TG_MUST_CHECK tg_status tg_model_create_watched(tg_model *m, const tg_config *config,
                                                const tg_tokenizer *tokenizer, uint64_t seed,
                                                const tg_watch *watch, tg_err *err);

/*
 * The vocab_size of a new model for a tokenizer: its ids, rounded up to a multiple of 64, because
 * products with whole blocks are faster.  The rows after the tokenizer's last id, the padding, are
 * no tokens: no text has them, and none is ever generated.  In training they are logits like all
 * others, whose targets never occur, so that the loss is the cross-entropy of a softmax over all rows.
 */
size_t tg_model_vocab_size(const tg_tokenizer *tokenizer);

/* The token that begins a text: the config's, else the one that the tokenizer has for it
 * (tg_tokenizer_start_of_text()); -1: none. */
int32_t tg_model_bos(const tg_model *m);

/* Check that the config's embedding has a row for every id of the tokenizer.  Otherwise
 * TG_EDATA, with both numbers. */
TG_MUST_CHECK tg_status tg_model_check_vocab(const tg_config *config, const tg_tokenizer *tokenizer,
                                             tg_err *err);

void tg_model_free(tg_model *m);

/* A model without tensors, which the caller adds (lib/models).  Otherwise like
 * tg_model_create(). */
TG_MUST_CHECK tg_status tg_model_begin(tg_model *m, const tg_config *config, const tg_tokenizer *tokenizer,
                                       tg_err *err);

/* Add the tensor of table entry p to the model: *where is its place in m->params, which the
 * first call allocates; the caller writes it.  TG_ENOMEM. */
TG_MUST_CHECK tg_status tg_model_place(tg_model *m, const tg_param *p, float **where, tg_err *err);

/* Check that the model has every tensor.  TG_EDATA, with the name of a missing one. */
TG_MUST_CHECK tg_status tg_model_check_complete(const tg_model *m, tg_err *err);

/* Read the same parameters as those of H heads, C/H wide.  TG_EUSAGE, with *m unchanged: H < 1, or H does not
 * divide C (the message has the possible numbers); or the model's heads have a width of their own, share
 * keys, or are rotated, and cannot be divided otherwise. */
TG_MUST_CHECK tg_status tg_model_set_heads(tg_model *m, size_t heads, tg_err *err);

TG_API_END

#endif
