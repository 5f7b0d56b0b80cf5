/*
 * steering: --add and --ablate: what is changed in the model while it generates.
 */
#ifndef TG_CMD_SAMPLE_STEERING_H
#define TG_CMD_SAMPLE_STEERING_H

#include "cmd/cli/model.h"
#include "cmd/tg-sample/options.h"
#include "lib/gpt/infer.h"
#include "lib/heads/steer.h"

typedef struct sample_steering {
    tg_steer steer;
    tg_tap tap;
    tg_steer_vector *add; /* [steer.n_add] */
    float *x;             /* [steer.n_add,C] */
    tg_ablate_head *silent;
} sample_steering;

/* Check what can be checked without a model, and let the sandbox read the vectors' files.  CLI_USAGE after a
 * message: an item of a list is not as it must be. */
TG_MUST_CHECK int steering_check(const sample_options *o);

/* Read the vectors, find the heads, and have the generator's passes changed by them.  The steering must not
 * be moved.  TG_EUSAGE: the model has no such layer or head.  TG_EDATA: a file has no such vector.  TG_EIO,
 * TG_ENOMEM.  The caller frees it in any case. */
TG_MUST_CHECK tg_status steering_begin(sample_steering *s, tg_infer *infer, const sample_options *o,
                                       const cli_model *m, tg_err *err);
void steering_free(sample_steering *s); /* accepts a zeroed one */

#endif
