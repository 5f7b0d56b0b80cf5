/*
 * stream: what passes between the residual stream and a sublayer whose result is normed before it is added.
 *
 * N rows of matrices of any type (lib/base/matrix.h), each as wide as the others.
 */
#ifndef TG_NN_STREAM_H
#define TG_NN_STREAM_H

#include <stddef.h>

#include "lib/base/matrix.h"

/* out = a + b, all float or all double; out may be a or b. */
void tg_stream_add(tg_matrix out, tg_matrix a, tg_matrix b, size_t N);

/* out = inp: rounded to bf16, widened, or as it is; both double, or neither.  They do not overlap. */
void tg_stream_copy(tg_matrix out, tg_matrix inp, size_t N);

#endif
