/*
 * small_model: models small enough to be computed in more than one way, and parameters
 * under which the ways would not agree by chance.
 */
#ifndef TG_TESTS_SMALL_MODEL_H
#define TG_TESTS_SMALL_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "lib/gpt/model.h"

/* The default preset, GPT-2 on bytes, with these sizes. */
tg_config small_config(size_t L, size_t H, size_t C, size_t n_ctx);

/* A new model, whose creation is checked. */
void small_model_create(tg_model *m, tg_config config, uint64_t seed);

/*
 * Parameters far from their initial values: entry i of the table is check_fill() with
 * seed + i and the scale for matrices or for vectors, around the entry's mean.
 * A vector scale of 0 leaves the vectors as they are.
 */
void small_model_stir(tg_model *m, uint64_t seed, double matrices, double vectors);

/* The parameters in double precision, for ref_gpt_loss(); freed by the caller. */
double *small_model_params64(const tg_model *m);

#endif
