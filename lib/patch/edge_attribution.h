/*
 * edge_attribution: what patches of edges would change, to first order: edge attribution patching (EAP).
 *
 *     change(s, r) = sum over t, c of (source - base)(what s writes)[t,c] * dmetric/d(what r reads)[t,c]
 *
 * with the gradient through receiver r alone, at the base run or as the mean of gradients on the way to the
 * source run (EAP-IG; lib/patch/backward.h).  This is the linear form of a path from s to r: norms, patterns
 * and what follows r are replaced by their derivatives at the run.
 *
 * The changes of all edges of a sender add up to that of its output, where no norm follows it; those of all
 * edges of a receiver, to that of its input.
 * Sources: Syed et al. 2023, arXiv:2310.10348; Hanna et al. 2024, arXiv:2403.17806.
 */
#ifndef TG_PATCH_EDGE_ATTRIBUTION_H
#define TG_PATCH_EDGE_ATTRIBUTION_H

#include <stddef.h>

#include "lib/base/arena.h"
#include "lib/base/watch.h"
#include "lib/patch/backward.h"
#include "lib/patch/graph.h"
#include "lib/patch/kept.h"
#include "lib/patch/metric.h"
#include "lib/patch/writes.h"

typedef struct tg_edge_attribution {
    const tg_model *model;
    tg_patch_graph graph;
    tg_patch_writes writes; /* of the source, less those of the base */
    tg_patch_backward run;
    size_t capacity; /* tokens, at most */
    size_t T;        /* of the current runs */
    double weight;   /* of the current run's gradients */
    double *change;  /* [receivers,senders] */
    double *before;  /* [capacity,C] the stream's gradient after a receiver, */
    double *sum;     /* [capacity,C] and that of what has been read so far */
    double *dhead;   /* [capacity, the wider of Q and KV, 3] of q, k and v */
    tg_arena arena;
} tg_edge_attribution;

/* For prompts of up to T tokens.  TG_ENOMEM: nothing to close. */
TG_MUST_CHECK tg_status tg_edge_attribution_open(tg_edge_attribution *a, const tg_model *model, size_t T,
                                                 tg_err *err);
void tg_edge_attribution_close(tg_edge_attribution *a);

/* Estimate the changes of all edges, with `steps` runs; 0: the gradient of the base run.  The runs have as
 * many tokens.  The watch is told of each layer; NULL: none.  It cannot abandon. */
void tg_edge_attribution_run(tg_edge_attribution *a, const tg_patch_kept *base, const tg_patch_kept *source,
                             const tg_patch_metric *metric, size_t steps, const tg_watch *watch);

static inline double tg_edge_attribution_of(const tg_edge_attribution *a, const tg_patch_edge *edge)
{
    return a->change[edge->receiver * a->graph.senders + edge->sender];
}

#endif
