/*
 * text_length: how long a text is for a run that is to be trained on it.
 */
#ifndef TG_TRAIN_TEXT_LENGTH_H
#define TG_TRAIN_TEXT_LENGTH_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/train/run.h"

/*
 * Set *tokens to the length that the defaults follow (tg_run_resume()): of a text with a loss mask with the
 * padding of its windows.  Those of a run that begins have their context chosen here, if none is given
 * (lib/train/recipe.h), as *asked and `given` then say.  val: a separate text for validation, or NULL.  Fails
 * like tg_documents_init().
 */
TG_MUST_CHECK tg_status tg_run_text_length(const tg_run *run, size_t *tokens, tg_settings *asked,
                                           bool given[TG_SETTINGS], const tg_tokens *text,
                                           const tg_tokens *val, tg_err *err);

#endif
