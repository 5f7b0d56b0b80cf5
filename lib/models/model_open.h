/*
 * model_open: a model from its file, whichever project wrote it, as tg_model_load() has it (lib/tg/model.h),
 * in memory of the caller's.
 */
#ifndef TG_MODELS_MODEL_OPEN_H
#define TG_MODELS_MODEL_OPEN_H

#include "lib/base/status.h"
#include "lib/gpt/model.h"

/* Fails like tg_model_load(); after a failure *m needs no free. */
TG_MUST_CHECK tg_status tg_model_open(tg_model *m, const char *path, tg_err *err);

#endif
