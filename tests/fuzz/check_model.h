/*
 * check_model: what must hold of a model that a reader accepts.
 */
#ifndef TG_TESTS_FUZZ_CHECK_MODEL_H
#define TG_TESTS_FUZZ_CHECK_MODEL_H

#include <stdbool.h>

#include "lib/models/model_file.h"

enum { CHECK_MODEL_WAYS = 80 };

/*
 * Its config is valid, and its sizes are those of its parameters.  If it is small and all values are finite,
 * it is written in one of CHECK_MODEL_WAYS ways, and that is read again: the same config as far as the format
 * holds it, and the same values as far as the type does.
 */
void check_model(const tg_model_file *f, unsigned way);

/* Two readings of the same file are the same, up to the values. */
void check_same_model(const tg_model_file *a, const tg_model_file *b);

#endif
