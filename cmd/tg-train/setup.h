/*
 * train_setup: what stands between tg-train's options and its first step -- the text,
 * the model, the settings of the run, and whether all of it can work.
 */
#ifndef TG_CMD_TRAIN_SETUP_H
#define TG_CMD_TRAIN_SETUP_H

#include <stdbool.h>
#include <stddef.h>

#include "cmd/cli/cli.h"
#include "lib/base/status.h"
#include "lib/text/tokens.h"
#include "lib/train/trainer.h"

typedef struct train_options {
    const char *model, *output, *log;
    /* the run's settings, by tg_setting_id: those that were given count */
    tg_settings asked;
    bool given[TG_SETTINGS];
    char name[TG_SETTINGS][CLI_NAME_SIZE]; /* of their options: "min-lr" */
    size_t eval_every, eval_tokens, save_every, threads;
    char **files;
    size_t n_files;
} train_options;

/* What a run works on. */
typedef struct train_setup {
    const train_options *options;
    const char *source; /* where the model is read; "-": standard input.  The target, where
                         * an earlier run has left something there */
    const char *target; /* where it is saved; "-": standard output */
    bool stream;        /* ... which takes it once, at the end */
    bool is_new;        /* there was no model */
    bool complete;      /* no step is left to do: the run is as it was read */
    size_t steps;       /* how many are wanted in all */
    tg_tokens tokens;
    tg_batches batches;
    tg_checkpoint run;
} train_setup;

/* Read the text and the model, settle the run's settings, try whether the target can be
 * written.  To be freed, also after a failure. */
TG_MUST_CHECK tg_status train_setup_load(train_setup *setup, const train_options *options, tg_err *err);
void train_setup_free(train_setup *setup);

/* Say what is going to be trained, on what, and what it needs.  TG_ENOMEM when that is
 * more than a size can hold. */
TG_MUST_CHECK tg_status train_setup_announce(const train_setup *setup, tg_err *err);

#endif
