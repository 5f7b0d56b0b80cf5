/*
 * paths: runs of a model in which receivers read, along some edges, what a sender writes in another run.
 *
 *     tg_patch_paths_open(&p, model, T, alone, &err)
 *     tg_patch_paths_begin(&p, base, source)          two runs
 *     tg_patch_paths_run(&p, &plan, values, &err)     as often as wanted
 *     tg_patch_paths_close(&p)
 *
 * A case is a set of edges (lib/patch/graph.h).  A receiver reads the stream of its run, plus, for each of
 * its edges in the case, what the sender writes in the source run less what it writes in this one:
 *
 *     read = x + sum over edges of (source - this run)(what the sender writes)
 *
 * Without a source run, senders write nothing along these edges: what is read is then computed as the sum of
 * what the other senders write, and of biases, so that nothing is left of what is taken away.
 * All else is computed from what is read: with one edge, a direct path is patched, with nothing between its
 * ends; with all edges, the run is the source's, and without any, the base's.
 *
 * Cases whose senders all write before their first receiver reads share a pass, a sequence each, which joins
 * it in the layer of that receiver.  Others run alone.  A case's value depends on its edges alone, up to
 * rounding, and not on the number of threads.
 * Source: Goldowsky-Dill et al. 2023, arXiv:2304.05969 (path patching).
 */
#ifndef TG_PATCH_PATHS_H
#define TG_PATCH_PATHS_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/arena.h"
#include "lib/base/watch.h"
#include "lib/gpt/pass.h"
#include "lib/patch/graph.h"
#include "lib/patch/kept.h"
#include "lib/patch/metric.h"
#include "lib/patch/writes.h"

typedef struct tg_path_case {
    const tg_patch_edge *edge; /* [n] in ascending order of receivers, and of a receiver's senders */
    size_t n;                  /* 0: the base run itself */
} tg_path_case;

/* What is run; the caller keeps all of it. */
typedef struct tg_path_plan {
    const tg_path_case *cases; /* [n] */
    size_t n;
    const tg_patch_metric *metric;
    const tg_watch *watch; /* told of each pass; NULL: none.  It cannot abandon */
} tg_path_plan;

typedef struct tg_patch_paths {
    const tg_model *model;
    tg_patch_graph graph;
    size_t capacity;  /* tokens of a prompt, at most */
    size_t sequences; /* of a pass, at most */
    bool alone;       /* cases may have to run alone */
    const tg_patch_kept *base, *source;
    tg_patch_writes writes; /* of the source, less those of the base run */
    tg_patch_writes own;    /* of the source, less those of a case that runs alone; only if they may */
    float *bias;            /* [2*L,C] without a source: the sum of the biases of the sublayers up to each */
    tg_pass pass;           /* of the cases */
    tg_pass reading;        /* of what their receivers read */
    float *last;            /* [sequences,C] what the output reads */
    double *value;          /* [sequences] their metrics */
    tg_arena arena;
} tg_patch_paths;

/* For prompts of up to T tokens, 1 <= T <= n_ctx.  alone: cases may have senders that write after the case's
 * first receiver reads.  TG_ENOMEM: nothing to close. */
TG_MUST_CHECK tg_status tg_patch_paths_open(tg_patch_paths *p, const tg_model *model, size_t T, bool alone,
                                            tg_err *err);
void tg_patch_paths_close(tg_patch_paths *p);

/* The run that is patched and the source, which the caller keeps, with the same number of tokens.  source:
 * NULL, senders write nothing along the edges. */
void tg_patch_paths_begin(tg_patch_paths *p, const tg_patch_kept *base, const tg_patch_kept *source);

/* values [n] of the plan's cases.  TG_ENOMEM; TG_EDATA: a value is not finite. */
TG_MUST_CHECK tg_status tg_patch_paths_run(tg_patch_paths *p, const tg_path_plan *plan, double *values,
                                           tg_err *err);

#endif
