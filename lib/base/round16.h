/*
 * round16: float32 rounded to 16 bits, to nearest, ties to even.
 */
#ifndef TG_BASE_ROUND16_H
#define TG_BASE_ROUND16_H

#include <stdbool.h>
#include <stddef.h>

/* Round x [n] to IEEE halves, or to bfloat16s, at out [2n bytes, of any alignment]; they do not
 * overlap.  Returns whether all results are finite. */
bool tg_round_to_half(void *out, const float *x, size_t n);
bool tg_round_to_bf16(void *out, const float *x, size_t n);

#endif
