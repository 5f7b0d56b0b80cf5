/*
 * ops: the operations of this folder, on matrices that carry their type (lib/base/matrix.h).
 *
 * An operation looks at the type once for a call, outside of the loops, and has one of three kinds of
 * operands:
 *
 *   float    all matrices are float32
 *   bf16     for training: what one matrix product writes and the next one reads is bf16, rounded to nearest,
 *            ties to even, once, when it is written: norms' outputs, queries, keys and values, attention's
 *            output, the MLP's inner values, and the gradients of all but the first, which are summed over
 *            more than the channels.
 *            Sums, the residual stream and its gradient, statistics and losses are float32, and parameters,
 * unless training keeps them in bf16 (lib/models/halves.h); weights are rounded where a product reads them,
 * whose scratch must be of that precision.  A linear layer with a bf16 result has in <= tg_matmul_depth().
 * docs/numerics.md states the errors double   for derivations and checks, on float32 parameters, which have
 * no gradients: dw and db are NULL. No dropout, no cache.  Each adds in the order of its reference in
 * lib/nn/ref, and has the bits of the reference for the same parameters converted to double
 *
 * An embedding, whose table may be bf16, dropout and cross-entropy write float32 alone, and take plain
 * pointers.
 */
#ifndef TG_NN_OPS_H
#define TG_NN_OPS_H

#include "lib/nn/attention.h"
#include "lib/nn/crossentropy.h"
#include "lib/nn/dropout.h"
#include "lib/nn/elementwise.h"
#include "lib/nn/embedding.h"
#include "lib/nn/activation.h"
#include "lib/nn/gated.h"
#include "lib/nn/layernorm.h"
#include "lib/nn/linear.h"
#include "lib/nn/residual.h"
#include "lib/nn/rmsnorm.h"
#include "lib/nn/rotary.h"
#include "lib/nn/softcap.h"

#endif
