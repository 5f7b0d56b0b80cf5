/*
 * tiny_model: models of a few bytes, in every format, as seeds.
 */
#ifndef TG_TESTS_FUZZ_TINY_MODEL_H
#define TG_TESTS_FUZZ_TINY_MODEL_H

#include <stddef.h>
#include <stdint.h>

/* Begin with a model in one of the formats, cut at max, if size is small; and mutate. */
size_t tiny_model_mutate(uint8_t *data, size_t size, size_t max, unsigned seed);

#endif
