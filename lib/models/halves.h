/* halves: a model whose parameters are kept in memory as bf16, for training in less memory. */
#ifndef TG_MODELS_HALVES_H
#define TG_MODELS_HALVES_H

#include "lib/base/status.h"
#include "lib/gpt/model.h"

/*
 * Round the parameters of a model that is not lent to bf16, to nearest: they are m->halves from then on, from
 * which they are lent.  Products use them there; tg_model_renew() says that they have been changed.  Besides
 * the 2 bytes of each, the vectors of all layers and the position embedding are needed as float32.  TG_EDATA:
 * bf16 has no finite value for one; TG_ENOMEM.  After a failure *m can only be freed.
 */
TG_MUST_CHECK tg_status tg_model_to_halves(tg_model *m, tg_err *err);

#endif
