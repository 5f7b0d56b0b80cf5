/*
 * model: a GPT's config, parameters and tokenizer, and its archive.
 *
 * Archive: kind = "model", version = 1, config/..., tokenizer/..., the run's state
 * (train/..., written by lib/train), probe/tokens, the tensors in the order of the
 * parameter table, optimizer state (opt/m/NAME, opt/v/NAME).
 */
#ifndef TG_GPT_MODEL_H
#define TG_GPT_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "formats/archive.h"
#include "formats/tensors.h"
#include "lib/base/arena.h"
#include "lib/base/status.h"
#include "lib/gpt/config.h"
#include "lib/gpt/params.h"
#include "lib/text/tokenizer.h"

#define TG_MODEL_VERSION 1
#define TG_PROBE_MAX 32

typedef struct tg_model {
    tg_config config;
    tg_params table;
    const tg_tokenizer *tokenizer; /* a share; owned */
    const float **weight; /* [table.n], where each tensor lies; owned */
    tg_arena memory;      /* of params */
    float *params;        /* flat buffer behind weight; NULL when mapped */
    int32_t probe[TG_PROBE_MAX]; /* a piece of the validation text */
    size_t probe_count;          /* 0: not trained yet */
    tg_tensors source;           /* keeps mapped tensors readable */
} tg_model;

/* A tensor, or NULL when the config leaves it out. */
const float *tg_model_weight(const tg_model *m, tg_param_kind kind, size_t layer);

/*
 * A new model for texts of a tokenizer, which it takes a share of: checked config, flat
 * parameters initialised from seed.  TG_EDATA: the config is impossible, or cannot hold the
 * tokenizer's ids.  TG_ENOMEM.  After a failure *m needs no free.
 */
TG_MUST_CHECK tg_status tg_model_create(tg_model *m, const tg_config *config, const tg_tokenizer *tokenizer,
                                        uint64_t seed, tg_err *err);

/* Whether a model of this config has a row in its embedding for every id of the tokenizer; else
 * TG_EDATA, with both numbers. */
TG_MUST_CHECK tg_status tg_model_check_vocab(const tg_config *config, const tg_tokenizer *tokenizer,
                                             tg_err *err);

void tg_model_free(tg_model *m);

/* A model to be filled (lib/gpt/import.h): checked config, a share of the tokenizer, no
 * tensors and no memory for any.  TG_EDATA, TG_ENOMEM; *m then needs no free. */
TG_MUST_CHECK tg_status tg_model_begin(tg_model *m, const tg_config *config, const tg_tokenizer *tokenizer,
                                       tg_err *err);

/* Where the table's entry p is in m->params, whose memory the first call allocates.  From
 * then on the model has that tensor.  TG_ENOMEM. */
TG_MUST_CHECK tg_status tg_model_place(tg_model *m, const tg_param *p, float **where, tg_err *err);

/* TG_EDATA, with the name, when a tensor is missing. */
TG_MUST_CHECK tg_status tg_model_check_complete(const tg_model *m, tg_err *err);

/* TG_EDATA, with both shapes, when `a` does not have the shape of p; p's is transposed first
 * when `transposed` (p has two dimensions then).  Types are not compared. */
TG_MUST_CHECK tg_status tg_model_check_shape(const tg_param *p, const tg_array *a, bool transposed, tg_err *err);

/*
 * What to do with arrays that are not the model's own (train/..., opt/...): called
 * for each with the reader at its start; *taken = false leaves it.  m's table is
 * complete by then; its tensors may not be.
 */
typedef tg_status (*tg_model_extra)(void *context, tg_archive_reader *r, const tg_array *a, bool *taken,
                                    const tg_model *m, tg_err *err);

/*
 * Read a model archive from fd.
 * flat: copy the tensors into m->params; otherwise they stay mapped where they can.
 * extra may be NULL: then train/... and opt/... are skipped (their checksums are
 * still verified).  An array that nobody takes, a missing or misshapen tensor, a NaN
 * or infinity in one, weights that a file of that size cannot hold, another kind of
 * archive, a second archive behind it: TG_EDATA.  After a failure *m needs no free.
 */
TG_MUST_CHECK tg_status tg_model_read(tg_model *m, int fd, bool flat, tg_model_extra extra, void *context,
                                      tg_err *err);

/* Write the archive's head: kind, version, config, tokenizer, probe; and the tensors. */
TG_MUST_CHECK tg_status tg_model_put_header(const tg_model *m, tg_archive_writer *w, tg_err *err);
TG_MUST_CHECK tg_status tg_model_put_tensors(const tg_model *m, tg_archive_writer *w, tg_err *err);

/* Both and the end: an untrained model.  fd stays open. */
TG_MUST_CHECK tg_status tg_model_write(const tg_model *m, int fd, tg_err *err);

/* The same heads' parameters read with H heads: H >= 1 divides C, else TG_EUSAGE
 * with the numbers and the heads that are possible. */
TG_MUST_CHECK tg_status tg_model_set_heads(tg_model *m, size_t heads, tg_err *err);

#endif
