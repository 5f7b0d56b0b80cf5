/*
 * train_setup: what tg-train prepares before its first step: the text, the model, and the settings of
 * the run, checked against each other.
 */
#ifndef TG_CMD_TRAIN_SETUP_H
#define TG_CMD_TRAIN_SETUP_H

#include "cmd/team/team.h"
#include "cmd/tg-train/options.h"
#include "formats/lock.h"
#include "formats/path.h"
#include "lib/base/status.h"
#include "lib/tokens/tokens.h"
#include "lib/train/recipe.h"
#include "lib/train/trainer.h"

typedef struct train_setup {
    const train_options *options;
    const tg_team *team; /* whose first member alone has what concerns files, and speaks */
    const char *source;  /* the file that the model is read from, "-": standard input; the target, if an
                            earlier run left a model there */
    const char *target;  /* the file that the model is saved to, "-": standard output */
    tg_lock lock;        /* of the target */
    struct stat stamp;   /* the target as this run found or last saved it; zeros: there was none */
    double operations;   /* for which --minutes has time (lib/train/recipe.h); 0: it is not given */
    bool foreign;        /* the source is another project's model */
    bool continued;      /* the target is, which an earlier run left */
    /* as bytes, to the others of the team: */
    bool stream;       /* the target is written once, at the end */
    bool is_new;       /* no model exists yet */
    bool complete;     /* all steps are done: nothing is trained */
    bool other_split;  /* another part of the text is held out than before */
    bool best_is_lost; /* the run's last save is its best model, whose own file was not written any more */
    size_t steps;      /* of the whole run */
    tg_origin origin;  /* of the weights, where the run begins */
    /* of this process: */
    tg_tokens tokens, val;
    tg_batches batches;
    tg_run run;
    tg_model_file base; /* where an adapter is trained, until the run takes it over */
} train_setup;

/* Whether the text, or a part of it, or the validation text comes from standard input. */
bool train_text_is_stdin(const train_options *o);

/* Read the text and the model, settle the run's settings, and check that the target can be written.
 * All members of a team succeed or fail.  The caller frees *setup, also after a failure. */
TG_MUST_CHECK tg_status train_setup_load(train_setup *setup, const train_options *options,
                                         const tg_team *team, tg_err *err);
void train_setup_free(train_setup *setup);

/* ---- adapter.c */

/* Open the model that stays as it is, which every process of a team reads.  Errors name the file. */
TG_MUST_CHECK tg_status train_adapter_open_base(train_setup *setup, tg_err *err);

/* The run of a new adapter to that model, of one that is there, or of the one in the target, which continues.
 * TG_EUSAGE: what is asked of that one is not what it has. */
TG_MUST_CHECK tg_status train_adapter_load(train_setup *setup, tg_err *err);

/* ---- memory.c */

/* How many weights, moments and values of their mean are in memory, and in the file. */
size_t train_values_kept(const tg_run *run);

/* The bytes that the run needs, with `more` for other than training.  TG_ENOMEM: no size_t holds them. */
TG_MUST_CHECK tg_status train_memory_needed(const train_setup *setup, size_t more, size_t *bytes,
                                            tg_err *err);

/* The bytes that there are for all of it: what was available before anything was read, and no more than the
 * limit of the address space allows now, before the trainer is opened. */
size_t train_memory_available(const train_setup *setup);

/* Where there is less than these bytes: say so, and with which settings the run would fit. */
void train_memory_advise(const train_setup *setup, size_t more, size_t bytes);

/* ---- announce.c */

/* Report what is trained, on what, and the bytes that the run needs, which include `more`. */
void train_setup_announce(const train_setup *setup, size_t more, size_t bytes);

#endif
