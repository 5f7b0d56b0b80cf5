/*
 * run: a model and the state of its training.
 *
 * It holds exactly what the next step depends on, and the history of the losses: a run that is
 * stopped, saved, read and resumed ends with the same bits, and equal runs give equal files.
 *
 *     tg_run_begin(&run, &model)  or  tg_run_read(&run, fd)
 *     tg_run_resume(&run, ...)
 *     tg_run_prepare(&run)
 *     tg_run_use_text(&run, &batches, &tokens, NULL, &change)
 *     steps (lib/train/trainer.h)
 *     tg_run_write(&run, fd)
 */
#ifndef TG_TRAIN_RUN_H
#define TG_TRAIN_RUN_H

#include <stddef.h>

#include "lib/base/arena.h"
#include "lib/base/status.h"
#include "lib/gpt/adapter.h"
#include "lib/gpt/model.h"
#include "lib/tokens/tokens.h"
#include "lib/train/average.h"
#include "lib/train/batches.h"
#include "lib/train/history.h"
#include "lib/train/moments.h"
#include "lib/train/settings.h"
#include "lib/models/adapter_base.h"
#include "lib/base/team.h"

struct tg_model_file; /* lib/models/model_file.h */

typedef struct tg_run {
    tg_model model;      /* with flat parameters, or lent: from bf16, or one of which an adapter is trained */
    tg_adapter *adapter; /* the model's; NULL: the model itself is trained */
    tg_adapter_base base; /* of that model */
    /* as bytes, to the others of a team (tg_run_spread()): */
    tg_settings settings;
    size_t step;        /* steps done; 0: untrained */
    size_t text_tokens; /* of the text: length ... */
    size_t text_crc;    /* ... and the CRC-32 of its ids */
    size_t val_tokens;  /* the same of a separate text for validation; 0: there is none */
    size_t val_crc;
    size_t best_step;   /* the step with the least validation loss, if that is kept (0: none yet) ... */
    double best_loss;   /* ... and the loss */
    double minutes;     /* that the run is to take, while its plan is open (lib/train/plan.h); 0: it is not */
    double seconds;     /* of these, spent so far */
    tg_history history; /* of the losses */
    /* of this process: */
    double operations; /* floating-point operations of products for which the minutes have time, as estimated
                          before the first step; 0: not known */
    bool recompute; /* recompute activations instead of keeping them (lib/gpt/pass.h), with the same result;
                       the caller may set it */
    tg_moments moments; /* the optimizer's */
    tg_average average; /* while the settings have one */
} tg_run;

/* Begin a run with a new, untrained model: a zeroed run takes ownership of it.  After
 * TG_ENOMEM the run, with the model, must still be freed. */
TG_MUST_CHECK tg_status tg_run_begin(tg_run *run, const tg_model *model, tg_err *err);

/*
 * Begin a run that trains an adapter of that shape, to a model that stays as it is; A is initialised from the
 * seed.  A zeroed run takes over *f, also after a failure.  Fails like tg_adapter_create() and
 * tg_model_file_lend(); after a failure *run needs no free.
 */
TG_MUST_CHECK tg_status tg_run_begin_adapter(tg_run *run, struct tg_model_file *f,
                                             const tg_adapter_shape *shape, uint64_t seed, tg_err *err);

/* The same with an adapter that is there, at path (tg_adapter_open()). */
TG_MUST_CHECK tg_status tg_run_begin_from_adapter(tg_run *run, struct tg_model_file *f, const char *path,
                                                  tg_err *err);

/* Read such a run from an adapter's archive.  Fails like tg_adapter_read() and tg_run_read(). */
TG_MUST_CHECK tg_status tg_run_read_adapter(tg_run *run, struct tg_model_file *f, int fd, tg_err *err);

/* Freeze these parameters in a run that has not begun (lib/gpt/freeze.h).
 * TG_EUSAGE: it has, with other frozen ones; TG_ENOMEM: *run can only be freed. */
TG_MUST_CHECK tg_status tg_run_freeze(tg_run *run, const unsigned char *frozen, tg_err *err);

/* Read a model archive, trained or not.  Fails like tg_model_read(); TG_EDATA also when the
 * run's state is incomplete or inconsistent.  After a failure *run needs no free. */
TG_MUST_CHECK tg_status tg_run_read(tg_run *run, int fd, tg_err *err);

/* Read only how many steps a model archive has been trained for; 0: it is untrained, or no model.  TG_EDATA:
 * it is damaged before that, or no archive; TG_EIO, TG_ENOMEM.  After a failure *step is 0. */
TG_MUST_CHECK tg_status tg_run_read_step(size_t *step, int fd, tg_err *err);

/*
 * Make the settings of a run that begins or continues final: where it begins, the defaults are
 * those for this model and a text of so many tokens (lib/train/recipe.h; 0: not known); those that are asked
 * for and given (by tg_setting_id) replace the run's (tg_settings_merge), a context of 0 becomes the model's,
 * and all are checked, by themselves and against the model.  *steps is the total then.  A run that has done
 * so many steps is complete, and keeps its settings as they are. TG_EDATA, with the numbers; TG_EUSAGE: a
 * precision that the kernels in use do not have, a run with more tensors than its archive could hold, or a
 * mean that would have begun before the steps that are done.
 */
TG_MUST_CHECK tg_status tg_run_resume(tg_run *run, size_t tokens, const tg_settings *asked,
                                      const bool given[TG_SETTINGS], size_t *steps, tg_err *err);

/*
 * Prepare parameters, moments and their mean for the steps, as the final settings say: in bf16, or for an
 * adapter's products in bf16.  In a team after tg_run_spread(), by each member; again it does nothing.
 * TG_EDATA: bf16 has no finite value for a parameter; TG_ENOMEM.  After a failure *run can only be freed.
 */
TG_MUST_CHECK tg_status tg_run_prepare(tg_run *run, tg_err *err);

/* A text compared with the one that the run began with. */
typedef enum tg_text_change {
    TG_TEXT_SAME, /* or the run's first */
    TG_TEXT_OTHER_LENGTH,
    TG_TEXT_OTHER /* of the same length */
} tg_text_change;

typedef struct tg_text_changes {
    tg_text_change text, val; /* of a separate text for validation: also if there was none, or is none now */
} tg_text_changes;

/*
 * Train on this text from now on: cut it into windows (*b, which keeps a reference to
 * tokens), and record its length and CRC-32 in the run, and the first tokens that are
 * held out as the model's probe.  val: a separate text for validation, or NULL; the same is
 * recorded of it.  The settings must be final.  TG_EDATA: a text is shorter than a window, its tokenizer is
 * not the model's, or it has a loss mask and the settings a first context.
 */
TG_MUST_CHECK tg_status tg_run_use_text(tg_run *run, tg_batches *b, const tg_tokens *tokens,
                                        const tg_tokens *val, tg_text_changes *changes, tg_err *err);

/* Note a validation loss of the current step.  Whether it is less than any before. */
bool tg_run_note_val(tg_run *run, double loss);

/*
 * Give the other members of a team member 0's run: its config, settings and history; the parameters and
 * moments follow with tg_trainer_deal().  On the others *run is zeroed, and takes a share of the tokenizer of
 * the text, which is that of member 0's model.  f: where an adapter is trained, the same base at every
 * member, which the others' runs take over; else NULL.  TG_ENOMEM: *run must still be freed.
 */
TG_MUST_CHECK tg_status tg_run_spread(tg_run *run, const tg_team *team, const tg_tokenizer *tokenizer,
                                      struct tg_model_file *f, tg_err *err);

/* Write the archive to fd, which stays open.  TG_EDATA, and nothing is written, when a weight
 * or a moment is not finite.  TG_EIO. */
TG_MUST_CHECK tg_status tg_run_write(const tg_run *run, int fd, tg_err *err);

void tg_run_free(tg_run *run);

#endif
