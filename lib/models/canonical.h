/*
 * canonical: configs that compute the same, as one of them.  For writers, which compare a model with what
 * another project's files assume.
 */
#ifndef TG_MODELS_CANONICAL_H
#define TG_MODELS_CANONICAL_H

#include <stdbool.h>

#include "lib/base/choice.h"
#include "lib/gpt/config.h"
#include "lib/models/model_file.h"

/* Of layers that the model lacks there are no bits; without a layer that has the window, or with one as long
 * as the context, there is none, and no base of its own; without scaling of the rotation its numbers are 1;
 * a default is 0. */
tg_config tg_config_canonical(const tg_config *config);

/* Whether all layers have the window, or none has. */
bool tg_config_has_same_windows(const tg_config *config);

/* Whether two numbers are the same float32. */
bool tg_same_float(double a, double b);

/*
 * Check that c, which is `config` as it is compared, equals `want` in all members except those that the
 * format says (bits of tg_config_id).  TG_EUSAGE: one differs; the message has both values, and NAME of
 * WHOSE.
 */
TG_MUST_CHECK tg_status tg_config_check_fixed(const tg_config *config, const tg_config *c,
                                              const tg_config *want, uint64_t said, const char *whose,
                                              const char *name, tg_err *err);

/* The name of the scaling of rotation, into text, which is returned. */
const char *tg_config_scaling(char text[TG_CHOICE_SIZE], const tg_config *config);

/*
 * omit_ends: set bos_token and eos_token to 0 where they are the tokenizer's own, except a bos_token that
 * begins every text.  name_ends: the inverse: replace 0 with the tokenizer's, if it has one.  It may be NULL.
 */
void tg_config_omit_ends(tg_config *config, const tg_tokenizer *tok);
void tg_config_name_ends(tg_config *config, const tg_tokenizer *tok);

/* A number as a tensor of this type holds it. */
double tg_rounded_to(tg_write_type type, double x);

/* The type of 16 bits in which Gemma's scale of the embedding, sqrt(C), is the config's; TG_WRITE_F32: there
 * is none, or the scale is that of float32. */
tg_write_type tg_scale_type(const tg_config *config);

#endif
