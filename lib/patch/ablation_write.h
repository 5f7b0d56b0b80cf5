/*
 * ablation_write: heads and MLPs that were ablated, and the metric without them, as an archive of kind
 * "ablation".  formats/README.md lists its arrays.
 */
#ifndef TG_PATCH_ABLATION_WRITE_H
#define TG_PATCH_ABLATION_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/status.h"
#include "lib/patch/patch_write.h"

#define TG_ABLATION_VERSION 1

#define TG_ABLATION_BY "zero|mean|resample"  /* what takes the place of what is ablated */
#define TG_ABLATION_SETS "each|without|keep" /* which sets were ablated */

typedef enum tg_ablation_set { TG_ABLATION_EACH, TG_ABLATION_WITHOUT, TG_ABLATION_KEEP } tg_ablation_set;

/* What is written; the caller keeps all of it.  Parts are the heads of a layer, and then its MLP. */
typedef struct tg_ablation_grid {
    tg_patch_settings settings; /* of it the metric, the pairs and the answers */
    size_t by;                  /* of TG_ABLATION_BY */
    tg_ablation_set set;
    double model, none;   /* the metric with all parts, and with none */
    double whole;         /* with the parts that --keep names alone, or without those of --without */
    size_t L, P;          /* layers; heads and an MLP */
    const int64_t *named; /* [L,P] 1: by --keep or --without */
    const int64_t *part;  /* [L,P] 1: it was left out by itself, which gave */
    const double *value;  /* [L,P] this metric, */
    const double *faithfulness, *change;    /* [L,P] and these; 0 elsewhere */
    const int32_t *clean_ids, *corrupt_ids; /* [T] of the first pair; clean_ids NULL: lengths differ;
                                               corrupt_ids NULL: there is none */
    size_t T;
} tg_ablation_grid;

/* Write it to fd.  TG_EIO, TG_ENOMEM.  After a failure the bytes already written are not a valid archive. */
TG_MUST_CHECK tg_status tg_ablation_write(int fd, const tg_ablation_grid *grid, tg_err *err);

#endif
