/*
 * family: what tells one family of models from another: its parameters, and the order of its
 * operations.  A new family is a file like lib/gpt/gpt2.c, a row for each kind of parameter
 * (lib/gpt/params.c), and the operations of lib/nn that it needs.
 */
#ifndef TG_GPT_FAMILY_H
#define TG_GPT_FAMILY_H

#include "lib/gpt/acts.h"

/* GPT-2 (lib/gpt/gpt2.c). */
extern const tg_passes tg_gpt2_passes;
extern const tg_passes64 tg_gpt2_passes64;

/* Those of a model. */
const tg_passes *tg_model_passes(const tg_model *m);
const tg_passes64 *tg_model_passes64(const tg_model *m);

#endif
