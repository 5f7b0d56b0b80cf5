/*
 * ref: the reference operations, which specify the fast ones.
 *
 * Plain C that reads like the equation.  Each operation exists in two precisions:
 * tg_NAME_ref works on float, tg_NAME_ref64 on double.  Both are compiled from the
 * same source and declared, with their contracts, in lib/nn/ref/ref_ops.h, where
 * REF(NAME) stands for either name and `real` for its type.
 *
 * Rules for all of them:
 *
 *   - Arrays are row-major and contiguous: the last index moves fastest.
 *   - Dimensions are B batch, T time, C channels, H heads, D = C/H, V vocabulary,
 *     N rows of any arrangement.  All are >= 1.
 *   - Sums are accumulated in `real`, in ascending order of the summed index.
 *   - forward overwrites its outputs, even if they held NaN.
 *   - backward adds into the gradients of the operation's inputs and parameters
 *     (d + name), because a tensor that is used twice receives both.  The exceptions
 *     are intermediate gradients (dprobs, dscores, the buffers of the sublayers);
 *     they are marked "written".
 *   - Outputs do not overlap inputs or one another unless the comment allows it.
 *   - Nothing allocates, nothing fails; the contract is asserted where it can be.
 */
#ifndef TG_NN_REF_REF_H
#define TG_NN_REF_REF_H

#include <stddef.h>
#include <stdint.h>

#include "lib/nn/ref/activation.h"
#include "lib/nn/ref/rule.h"

/* The score of a key after its query: exp(TG_MASKED - max) is 0 in both precisions for
 * every max above -1e9 + 1000. */
#define TG_MASKED (-1e9)

#define real float
#define REF(name) tg_##name##_ref
#include "lib/nn/ref/ref_ops.h"
#undef REF
#undef real

#define real double
#define REF(name) tg_##name##_ref64
#include "lib/nn/ref/ref_ops.h"
#undef REF
#undef real

#endif
