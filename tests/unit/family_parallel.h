/*
 * family_parallel: a second family of models, which only tests have.
 *
 * GPT-2 with the two sublayers of a block side by side, as in GPT-J and GPT-NeoX, so that one
 * LayerNorm serves both:
 *
 *     x' = x + attention(ln_1(x)) + mlp(ln_1(x))
 *
 * The tensors' names and their order are its own.
 */
#ifndef TG_TESTS_FAMILY_PARALLEL_H
#define TG_TESTS_FAMILY_PARALLEL_H

#include "lib/gpt/family.h"

extern const tg_family family_parallel;
extern const tg_page family_parallel_page;

#endif
