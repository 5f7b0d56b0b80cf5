/*
 * attribution: what patches would change, to first order, from one backward pass.
 *
 *     change = sum over the elements that an edit replaces of (source - base) dmetric/d(element)
 *
 * with the gradient at the base run: an estimate of the metric with the edit less that of the base run, for
 * all edits at once.  The base run is computed again from the rows of x that it has in block 0, in double
 * precision on the float32 weights.
 * Source: Nanda 2023, "Attribution Patching"; Syed et al. 2023, arXiv:2310.10348.
 */
#ifndef TG_PATCH_ATTRIBUTION_H
#define TG_PATCH_ATTRIBUTION_H

#include <stddef.h>

#include "lib/base/arena.h"
#include "lib/gpt/acts.h"
#include "lib/patch/kept.h"
#include "lib/patch/metric.h"
#include "lib/patch/patch.h"

typedef struct tg_patch_attribution {
    const tg_model *model;
    size_t capacity;                    /* tokens, at most */
    tg_acts acts;                       /* in double precision */
    double *logits, *dlogits;           /* [V] of the last token */
    tg_matrix dunits;                   /* [T,n_inner] */
    double *change[TG_PATCH_SITES];     /* [L,T,heads]; one head where none divide the site */
    const tg_patch_kept *base, *source; /* of the current run */
    tg_arena arena;
} tg_patch_attribution;

/* For prompts of up to T tokens.  TG_ENOMEM: nothing to close. */
TG_MUST_CHECK tg_status tg_patch_attribution_open(tg_patch_attribution *a, const tg_model *model, size_t T,
                                                  tg_err *err);
void tg_patch_attribution_close(tg_patch_attribution *a);

/* Estimate all changes.  The runs have as many tokens; pattern's are of the source's pattern rows, which may
 * be missing. */
void tg_patch_attribution_run(tg_patch_attribution *a, const tg_patch_kept *base, const tg_patch_kept *source,
                              const tg_patch_metric *metric);

/* The change by an edit, which is in range. */
double tg_patch_attribution_of(const tg_patch_attribution *a, const tg_patch_edit *edit);

#endif
