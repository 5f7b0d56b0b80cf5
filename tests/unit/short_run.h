/* short_run: some steps of a run on a text, for the tests of what a run is made of. */
#ifndef TG_TESTS_UNIT_SHORT_RUN_H
#define TG_TESTS_UNIT_SHORT_RUN_H

#include "lib/train/run.h"
#include "lib/train/trainer.h"

/* Open the trainer of a run whose settings are final; b and the trainer are the caller's to keep and close.
 */
void short_run_open(tg_trainer *t, tg_batches *b, tg_run *run, const tg_tokens *text, const tg_team *team);

/* Do steps until so many are done: with an open trainer, or alone with one for them. */
void short_run_steps(tg_trainer *t, size_t step);
void short_run_train(tg_run *run, const tg_tokens *text, size_t step);

/* Write a run, read it, and prepare it. */
void short_run_save_and_read(tg_run *again, const tg_run *run);

#endif
