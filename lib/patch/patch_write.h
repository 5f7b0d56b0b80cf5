/*
 * patch_write: the patches of a site and their effects, as an archive of kind "patch".  formats/README.md
 * lists its arrays.
 */
#ifndef TG_PATCH_PATCH_WRITE_H
#define TG_PATCH_PATCH_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/archive.h"
#include "lib/base/status.h"
#include "lib/patch/metric.h"
#include "lib/patch/patch.h"
#include "lib/text/token_texts.h"

#define TG_PATCH_VERSION 1

#define TG_PATCH_DIRECTIONS "denoise|noise"
#define TG_PATCH_METHODS "patch|attribution" /* by runs; to first order */

/* How patches were made, of a site or of edges. */
typedef struct tg_patch_settings {
    tg_patch_metric_kind metric;
    bool noise, estimated; /* the direction, and the method */
    size_t steps;          /* of integrated gradients; 0: none */
    size_t pairs;
    double clean, corrupt; /* the metric of the two runs, the mean over pairs */
    int64_t answer, wrong; /* of one pair, which alone has them in an archive; -1: none */
    const tg_tokenizer *tok;
    tg_token_text_of text_of;
} tg_patch_settings;

/* What is written; the caller keeps all of it. */
typedef struct tg_patch_grid {
    const tg_patch_edit *edit; /* [n], n >= 1, of one site: each layer with each head, and these with each
                                  position, in this order */
    size_t n;
    const double *value, *effect; /* [n] */
    tg_patch_settings settings;
    size_t n_layer;
    const int32_t *clean_ids, *corrupt_ids; /* [T] of the first pair; clean_ids NULL: lengths differ */
    size_t T;
} tg_patch_grid;

/* The settings, as arrays of this kind. */
TG_MUST_CHECK tg_status tg_patch_settings_put(tg_archive_writer *w, const char *kind,
                                              const tg_patch_settings *settings, tg_err *err);

/* The tokens [T] of both prompts; clean NULL: of neither; corrupt NULL: not of that. */
TG_MUST_CHECK tg_status tg_patch_prompts_put(tg_archive_writer *w, const char *kind,
                                             const tg_patch_settings *settings, const int32_t *clean,
                                             const int32_t *corrupt, size_t T, tg_err *err);

/* Of them the answer and the wrong answer, if there is one pair. */
TG_MUST_CHECK tg_status tg_patch_answers_put(tg_archive_writer *w, const char *kind,
                                             const tg_patch_settings *settings, tg_err *err);

/* Write it to fd.  TG_EIO, TG_ENOMEM.  After a failure the bytes already written are not a valid archive. */
TG_MUST_CHECK tg_status tg_patch_write(int fd, const tg_patch_grid *grid, tg_err *err);

#endif
