/*
 * train_snapshots: dumps of the attention of a model in training, on one text.
 *
 * Each is the file that tg-attn-dump -o writes for the model as it is after a step, except that it names no
 * source: the file of the model will have other numbers.
 */
#ifndef TG_CMD_TRAIN_SNAPSHOTS_H
#define TG_CMD_TRAIN_SNAPSHOTS_H

#include "cmd/tg-train/setup.h"
#include "lib/dump/dump_write.h"

typedef struct train_snapshots {
    const char *directory; /* NULL: there are none */
    const tg_run *run;
    tg_tokens_prompt prompt;
    char *text; /* of its tokens */
    tg_dump_settings dump;
    tg_attn_layers layers;
    tg_dump_buffers buffers;
    tg_arena arena; /* of the buffers */
} train_snapshots;

/* Take all memory, of which *bytes is the number, and make the directory.
 * TG_EUSAGE, TG_EDATA: the text is none for the model.  TG_EIO, TG_ENOMEM.  The caller closes *s, also after
 * a failure, and while it is zeroed. */
TG_MUST_CHECK tg_status train_snapshots_open(train_snapshots *s, const train_setup *setup, size_t *bytes,
                                             tg_err *err);
void train_snapshots_close(train_snapshots *s);

/* Say where the snapshots will be, if there are any. */
void train_snapshots_say(const train_snapshots *s);

/* Write the snapshot of the run's step, unless there are none to write.  Nothing of the run changes.
 * TG_EDATA: a number is not finite; TG_EIO, TG_ENOMEM.  Messages name the file. */
TG_MUST_CHECK tg_status train_snapshots_write(train_snapshots *s, tg_err *err);

#endif
