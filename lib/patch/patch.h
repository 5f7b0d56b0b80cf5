/*
 * patch: runs of a model in which some of its activations are replaced, by those of another run.
 *
 *     tg_patch_open(&p, model, T, &err)
 *     tg_patch_keep(&p.kept[TG_PATCH_CLEAN], &p.pass, clean, T)        and of TG_PATCH_CORRUPT
 *     tg_patch_run(&p, &plan, values, &err)
 *     tg_patch_close(&p)
 *
 * A case is a set of edits, which it makes together; an edit replaces a site (lib/patch/kept.h) in one layer,
 * at a head or all of them and a position or all of them.  Its value is the metric of the run with the edits.
 *
 * Many cases share a pass, a sequence each.  It begins at the first position that any of them edits: of
 * those before it, attention finds the base run's keys and values in a cache.  A case joins the pass in the
 * first layer that it edits, with the base run's rows; if it edits a single position after attention, that
 * position alone runs to the layer's end, and the case joins in the next layer.  After the last attention
 * only the last token goes on.  So only what may differ from the base run is computed.
 *
 * A case's value depends on its edits alone, up to rounding, and not on the number of threads.  One whose
 * edits replace numbers by the same numbers has the base run's.
 */
#ifndef TG_PATCH_PATCH_H
#define TG_PATCH_PATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/arena.h"
#include "lib/base/watch.h"
#include "lib/gpt/pass.h"
#include "lib/patch/kept.h"
#include "lib/patch/metric.h"

#define TG_PATCH_ALL SIZE_MAX

typedef struct tg_patch_edit {
    tg_patch_site site;
    size_t layer, head, position; /* head, position: or TG_PATCH_ALL */
} tg_patch_edit;

typedef struct tg_patch_case {
    const tg_patch_edit *edit; /* [n]; n = 0: the base run itself */
    size_t n;
} tg_patch_case;

/* What is run; the caller keeps all of it. */
typedef struct tg_patch_plan {
    const tg_patch_case *cases; /* [n] */
    size_t n;
    const tg_patch_kept *base, *source; /* source: what edits write; NULL: zeros.  Of as many tokens */
    const tg_patch_metric *metric;
    const tg_watch *watch; /* told of each pass; NULL: none.  It cannot abandon */
} tg_patch_plan;

enum { TG_PATCH_CLEAN, TG_PATCH_CORRUPT, TG_PATCH_MEAN, TG_PATCH_RUNS };

typedef struct tg_patch {
    const tg_model *model;
    size_t capacity; /* tokens of a prompt, at most */
    tg_patch_kept kept[TG_PATCH_RUNS];
    tg_pass pass;
    size_t rows;       /* tokens of a pass, at most, */
    size_t sequences;  /* and sequences */
    tg_kv_cache cache; /* the base run's keys and values */
    float *next;       /* [sequences,C] rows with which cases join that have begun before */
    float *last;       /* [sequences,C] the last tokens' rows of the residual stream, */
    double *value;     /* [sequences] and their metrics */
    tg_arena arena;
} tg_patch;

/* For prompts of up to T tokens, 1 <= T <= n_ctx.  TG_ENOMEM: nothing to close. */
TG_MUST_CHECK tg_status tg_patch_open(tg_patch *p, const tg_model *model, size_t T, tg_err *err);
void tg_patch_close(tg_patch *p);

/* values [n] of the plan's cases.  Edits must be in range.  TG_ENOMEM; TG_EDATA: a value is not finite. */
TG_MUST_CHECK tg_status tg_patch_run(tg_patch *p, const tg_patch_plan *plan, double *values, tg_err *err);

#endif
