/*
 * small_model: models small enough to be computed in more than one way, and parameters
 * under which the ways would not agree by chance.
 */
#ifndef TG_TESTS_SMALL_MODEL_H
#define TG_TESTS_SMALL_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "lib/gpt/infer.h"
#include "lib/gpt/model.h"
#include "lib/gpt/pass.h"
#include "tests/unit/ref_gpt.h"

/* The default preset, GPT-2 on bytes, with these sizes. */
tg_config small_config(size_t L, size_t H, size_t C, size_t n_ctx);

/* These sizes of a family, with what follows from them (tg_config_derive()). */
tg_config small_family_config(const char *family, tg_config sizes);

/* A new model, whose creation is checked, on bytes, or on letters when it has fewer than 256 ids. */
void small_model_create(tg_model *m, tg_config config, uint64_t seed);

/*
 * Parameters far from their initial values: entry i of the table is check_fill() with
 * seed + i and the scale for matrices or for vectors, around the entry's mean.
 * A vector scale of 0 leaves the vectors as they are.
 */
void small_model_stir(tg_model *m, uint64_t seed, double matrices, double vectors);

/*
 * Compare grads, in the places of the table, with central differences of a loss in double
 * precision: loss(context), which reads the parameters from flat.  They must be within 1e-4
 * of the tensor's largest gradient.  step: of a matrix's elements one of so many, 1 or SMALL_MODEL_STEP.
 */
enum { SMALL_MODEL_STEP = 11 }; /* no divisor of a row: all columns have their turn */
void small_model_check_gradients(const tg_params *table, const float *grads, double *flat, size_t step,
                                 double (*loss)(void *context), void *context);

/* The masks that the pass will draw, from its documented streams.  Returns their memory, to be
 * freed. */
double *small_model_masks(tg_plain_masks *masks, const tg_pass *pass, const tg_config *config);

/* Inference of up to `rows` tokens, with a cache or without (lib/gpt/infer.h); its memory begins as NaNs. The
 * caller frees the arena. */
typedef struct small_decoder {
    tg_infer infer;
    tg_arena arena;
} small_decoder;
void small_decoder_open(small_decoder *d, const tg_model *m, size_t rows, size_t sequences, size_t keys);

/* The parameters in double precision, for ref_gpt_loss(); freed by the caller. */
double *small_model_params64(const tg_model *m);

/* Whether all members are equal; the bytes between them do not count. */
bool small_config_equal(const tg_config *a, const tg_config *b);

#endif
