/*
 * softcap: bound logits softly: x becomes cap * tanh(x / cap), which is about x near 0, and within -cap ...
 * cap.
 *
 * In place, of N rows without gaps, of float or double; cap > 0.  The slope follows from the result y:
 * 1 - (y / cap)^2.
 * Source: Bello et al. 2016, arXiv:1611.09940; of logits: Gemma Team 2024, arXiv:2408.00118.
 * Reference: tg_softcap_*_ref.
 */
#ifndef TG_NN_SOFTCAP_H
#define TG_NN_SOFTCAP_H

#include <stddef.h>

#include "lib/base/matrix.h"

void tg_softcap_forward(tg_matrix x, double cap, size_t N);

/* d, the gradient of the result y, becomes that of x. */
void tg_softcap_backward(tg_matrix d, tg_matrix y, double cap, size_t N);

#endif
