/*
 * checkpoint: a model together with the state of its training run.
 *
 * Everything that the next step depends on, and nothing else: a run that is stopped,
 * saved and read again goes on bit for bit, and equal runs give equal files.
 */
#ifndef TG_TRAIN_CHECKPOINT_H
#define TG_TRAIN_CHECKPOINT_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/arena.h"
#include "lib/base/status.h"
#include "lib/gpt/model.h"
#include "lib/train/settings.h"

typedef struct tg_checkpoint {
    tg_model model; /* with flat parameters */
    tg_settings settings;
    size_t step;         /* steps done; 0: not trained yet */
    size_t text_tokens;  /* the text trained on: its length ... */
    size_t text_crc;     /* ... and the CRC-32 of its ids */
    float *m, *v;        /* AdamW's moments, flat by the model's table */
    tg_arena moments;    /* behind m and v */
    size_t moments_read; /* while reading */
} tg_checkpoint;

/* Put a new, untrained model (created by the caller, who hands it over) in a zeroed
 * checkpoint.  TG_ENOMEM: the model is still the checkpoint's to free. */
TG_MUST_CHECK tg_status tg_checkpoint_begin(tg_checkpoint *c, const tg_model *model, tg_err *err);

/* Read a model archive, trained or not.  Failures as tg_model_read(); also a run's
 * state that is incomplete or cannot be.  After a failure *c needs no free. */
TG_MUST_CHECK tg_status tg_checkpoint_read(tg_checkpoint *c, int fd, tg_err *err);

/* The settings are as the run shall have them: a context of 0 becomes the model's, and
 * all are checked, by themselves and against the model.  TG_EDATA, with the numbers;
 * TG_EUSAGE: a precision that the kernels in use do not have. */
TG_MUST_CHECK tg_status tg_checkpoint_settle(tg_checkpoint *c, tg_err *err);

/* Write it.  fd stays open.  TG_EDATA, and nothing written, when a weight or a moment is
 * not finite. */
TG_MUST_CHECK tg_status tg_checkpoint_write(const tg_checkpoint *c, int fd, tg_err *err);

void tg_checkpoint_free(tg_checkpoint *c);

#endif
