/*
 * attribution: what patches would change, to first order, from one backward pass.
 *
 *     change = sum over the elements that an edit replaces of (source - base) dmetric/d(element)
 *
 * with the gradient at the base run, or the mean of gradients on the way to the source run (integrated
 * gradients, lib/patch/backward.h): an estimate of the metric with the edit less that of the base run, for
 * all edits at once.  In double precision, from the rows of x that the runs have in block 0. Source: Nanda
 * 2023, "Attribution Patching"; Syed et al. 2023, arXiv:2310.10348.
 */
#ifndef TG_PATCH_ATTRIBUTION_H
#define TG_PATCH_ATTRIBUTION_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/arena.h"
#include "lib/base/watch.h"
#include "lib/patch/backward.h"
#include "lib/patch/kept.h"
#include "lib/patch/metric.h"
#include "lib/patch/patch.h"

typedef struct tg_patch_attribution {
    const tg_model *model;
    size_t capacity; /* tokens, at most */
    tg_patch_backward run;
    bool normed;                        /* what an MLP adds */
    tg_matrix dunits;                   /* [T,n_inner] */
    double weight;                      /* of the current run's gradients */
    double *change[TG_PATCH_SITES];     /* [L,T,heads]; one head where none divide the site */
    const tg_patch_kept *base, *source; /* of the current run */
    tg_arena arena;
} tg_patch_attribution;

/* For prompts of up to T tokens.  TG_ENOMEM: nothing to close. */
TG_MUST_CHECK tg_status tg_patch_attribution_open(tg_patch_attribution *a, const tg_model *model, size_t T,
                                                  tg_err *err);
void tg_patch_attribution_close(tg_patch_attribution *a);

/* Estimate all changes, with `steps` runs; 0: the gradient of the base run.  The runs have as many tokens;
 * pattern's are of the source's pattern rows, which may be missing.  The watch is told of each run; NULL:
 * none. It cannot abandon. */
void tg_patch_attribution_run(tg_patch_attribution *a, const tg_patch_kept *base, const tg_patch_kept *source,
                              const tg_patch_metric *metric, size_t steps, const tg_watch *watch);

/* The change by an edit, which is in range. */
double tg_patch_attribution_of(const tg_patch_attribution *a, const tg_patch_edit *edit);

#endif
