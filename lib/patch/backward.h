/*
 * backward: a run forward and the gradient of its metric, in double precision on the float32 weights.
 *
 * Its rows of x in block 0 are interpolated between those of a base run and those of a source run.  The
 * caller goes backward through the blocks, by tg_layers_backward(), and reads the gradients that it wants.
 */
#ifndef TG_PATCH_BACKWARD_H
#define TG_PATCH_BACKWARD_H

#include <stddef.h>

#include "lib/base/arena.h"
#include "lib/gpt/acts.h"
#include "lib/patch/kept.h"
#include "lib/patch/metric.h"

typedef struct tg_patch_backward {
    tg_acts acts;             /* of one sequence, with gradients */
    double *logits, *dlogits; /* [V] of the last token */
} tg_patch_backward;

/* Place a run of up to T tokens (see arena.h). */
void tg_patch_backward_place(tg_arena *arena, tg_patch_backward *b, const tg_model *model, size_t T);

/* Run from base + fraction * (source - base), which have the same number of tokens, and compute the gradient
 * of the last block's output. */
void tg_patch_backward_begin(tg_patch_backward *b, const tg_patch_kept *base, const tg_patch_kept *source,
                             double fraction, const tg_patch_metric *metric);

/*
 * Integrated gradients: with steps > 0, the gradient is the mean of that of `steps` runs, at the midpoints of
 * as many equal parts of the line from base to source.  The attributions of block 0's x then add up to the
 * difference of the two runs' metrics, the more exactly, the more steps there are.
 * Sources: Sundararajan et al. 2017, arXiv:1703.01365; Hanna et al. 2024, arXiv:2403.17806, whose EAP-IG
 * takes the ends of the parts.
 */
size_t tg_patch_backward_runs(size_t steps);
double tg_patch_backward_fraction(size_t steps, size_t run);

#endif
