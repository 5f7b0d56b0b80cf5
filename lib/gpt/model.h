/* model: a GPT's config, parameters and tokenizer, in memory.  lib/models has its files. */
#ifndef TG_GPT_MODEL_H
#define TG_GPT_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/arena.h"
#include "lib/base/flat.h"
#include "lib/base/matrix.h"
#include "lib/base/status.h"
#include "lib/base/watch.h"
#include "lib/gpt/config.h"
#include "lib/gpt/params.h"
#include "lib/text/chat_note.h"
#include "lib/text/tokenizer.h"
#include "lib/tg/model.h"

#define TG_PROBE_MAX 32

/* Reads tensors from a model's source when they are used (tg_model_file_lend()). */
typedef struct tg_lender {
    /* The values of table entry i; those that are not finite as well. */
    const float *(*lend)(void *source, size_t i);
    /* Those that are bf16 in the file, there; NULL: they are not. */
    const tg_bf16 *(*lend16)(void *source, size_t i);
    /* The token embedding, of which only these rows are read: row[0 .. n - 1]. */
    const float *(*lend_embedding)(void *source, const int32_t *row, size_t n);
    /* See tg_model_split_head(): whether the head can be, and the bytes of memory that this saves; and its
     * rows first .. first + n - 1. */
    bool (*split_head)(const void *source, size_t *bytes);
    const float *(*lend_head)(void *source, size_t first, size_t n);
    /* The values have been changed in that step of training: what has been computed from them is not used
     * again. */
    void (*renew)(void *source, uint64_t step);
    /* See tg_model_round_changes(); *bytes are those of the memory that it needs. */
    tg_status (*round_changes)(void *source, uint64_t seed, size_t *bytes, tg_err *err);
    /* A matrix that is rounded so; NULL: it is not. */
    const tg_bf16 *(*lend_rounded)(void *source, size_t i);
    /* It is not needed for now. */
    void (*forget)(void *source, size_t i);
    /* Whether all that has been lent is finite. */
    tg_status (*check)(const void *source, tg_err *err);
} tg_lender;

struct tg_adapter;

typedef struct tg_model {
    tg_config config;
    tg_params table;
    const tg_tokenizer *tokenizer; /* a reference; owned */
    const float **weight;          /* [table.n] each tensor's values, NULL where they are lent; owned */
    tg_arena memory;               /* of params */
    float *params;                 /* flat buffer, for tensors that are not mapped; NULL: all are */
    tg_bf16 *halves;               /* all parameters, flat, where training keeps them in bf16
                                    * (lib/models/halves.h); NULL: it does not.  They are lent then. */
    int32_t probe[TG_PROBE_MAX];   /* a piece of the validation text */
    size_t probe_count;            /* 0: not trained yet */
    tg_chat_note chat;             /* of the conversations that it was trained on */
    void *source;                  /* keeps mapped tensors readable; NULL: none are; owned */
    void (*close_source)(void *source);
    const tg_lender *lender; /* of tensors that are read when they are used; NULL: all are in memory */
    bool head_is_split;      /* tg_model_split_head() */
    size_t lent_bytes;       /* of memory for lent values that are not used where the file has them, about */
    /* What is trained: an adapter, with which the lent values are computed, and nothing else; NULL: all
     * parameters are, except those that are frozen.  Not owned. */
    const struct tg_adapter *adapter;
    /* The parameters that are not frozen, if some are: they are the first of `params`; n 0: none is. */
    tg_params trained;
} tg_model;

/* Whether table entry i stays as it is. */
static inline bool tg_model_is_frozen(const tg_model *m, size_t i)
{
    return m->trained.n > 0 && m->table.entry[i].offset >= m->trained.floats;
}

/*
 * The values of table entry i; a tensor, or NULL when the config leaves it out.  Of a lent model a matrix is
 * valid until the same kind of another layer is asked for, and one thread asks.
 */
const float *tg_model_values(const tg_model *m, size_t i);
const float *tg_model_weight(const tg_model *m, tg_param_kind kind, size_t layer);

/* Values that a lent model has in bf16, as they are there; NULL: others. */
const tg_bf16 *tg_model_values16(const tg_model *m, size_t i);

/* A matrix that is rounded to bf16 in each step (tg_model_round_changes()); NULL: it is not. */
const tg_bf16 *tg_model_rounded16(const tg_model *m, size_t i);

/* The token embedding, of which only these rows are used: row[0 .. n - 1]. */
const float *tg_model_embedding(const tg_model *m, const int32_t *row, size_t n);

/*
 * From now on the products with a lent model's output head read it some rows at a time, each time, if it is
 * not used where the file has it: all of it is never in memory.  The bits of results stay the same, but for
 * the gradient of a single row.
 */
void tg_model_split_head(tg_model *m);

/* The head's rows, if they are read so; zeros: they are not. */
tg_row_source tg_model_head_rows(const tg_model *m);

/* The table of what is trained, and its values, flat. */
const tg_params *tg_model_trained(const tg_model *m);
tg_flat tg_model_trained_values(const tg_model *m);

/* These values have been changed in that step of training, or are those after it. */
void tg_model_renew(const tg_model *m, uint64_t step);

/*
 * Of a lent model, round the matrices that an adapter changes to bf16 from now on, for tg_model_rounded16().
 * To nearest would lose changes that are small beside the matrix: each value is rounded to one of its
 * neighbours at random, as in lib/gpt/adamw.h, anew in each step.  Again it does nothing.  TG_ENOMEM.
 */
TG_MUST_CHECK tg_status tg_model_round_changes(tg_model *m, uint64_t seed, tg_err *err);

/* Table entry i of a lent model is not needed for now: it leaves memory. */
void tg_model_forget(const tg_model *m, size_t i);

/* Of a lent model, whose tensors are checked when they are read: TG_EDATA, if a value was not finite, with
 * its name and place.  err may be NULL. */
TG_MUST_CHECK tg_status tg_model_check_lent(const tg_model *m, tg_err *err);

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

#endif
