/*
 * canonical: configs that compute the same, as one of them.  For writers, which compare a model with what
 * another project's files assume.
 */
#ifndef TG_MODELS_CANONICAL_H
#define TG_MODELS_CANONICAL_H

#include <stdbool.h>

#include "lib/gpt/config.h"
#include "lib/models/model_file.h"

/* Of layers that the model lacks there are no bits; without a layer that has the window there is none, and no
 * base of its own; a default is 0. */
tg_config tg_config_canonical(const tg_config *config);

/* Whether two numbers are the same float32. */
bool tg_same_float(double a, double b);

/* A number as a tensor of this type holds it. */
double tg_rounded_to(tg_write_type type, double x);

#endif
