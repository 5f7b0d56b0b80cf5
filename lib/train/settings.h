/*
 * settings: the numbers that determine a training run.
 *
 * They are saved with the model, as arrays train/NAME, so that a resumed run continues as
 * it began.
 */
#ifndef TG_TRAIN_SETTINGS_H
#define TG_TRAIN_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/fields.h"
#include "lib/base/status.h"
#include "lib/kernels/matmul.h"

typedef enum tg_optimizer_kind {
    TG_OPTIMIZER_ADAMW,
    TG_OPTIMIZER_MUON /* of the matrices of the blocks (lib/gpt/muon.h) */
} tg_optimizer_kind;
#define TG_OPTIMIZERS "adamw|muon" /* their names, in that order */

typedef struct tg_settings {
    uint64_t seed;          /* order of the windows, dropout; a new model's parameters */
    size_t steps;           /* total of the run */
    size_t batch;           /* B, sequences per pass */
    size_t context;         /* T, tokens per sequence; 0: the model's n_ctx */
    size_t accumulate;      /* passes per step */
    size_t warmup;          /* steps */
    double lr, min_lr;      /* learning rate: peak, and the end */
    double beta1, beta2;    /* AdamW */
    double weight_decay;    /* of matrices */
    double clip;            /* limit of the gradient's global norm; 0: none */
    double dropout;         /* probability */
    double val_fraction;    /* fraction of the text, at the end of each of val_blocks, for validation */
    tg_precision precision; /* to which products round their operands */
    size_t val_blocks;      /* 1: the end of the text */
    tg_optimizer_kind optimizer;
    double momentum; /* Muon */
    bool packing;    /* short documents of a text with a loss mask share windows */
    size_t decay;    /* steps at the end in which lr falls linearly; 0: by a cosine after the warm-up */
    tg_precision
        master; /* type of the parameters and moments in memory; updates are float32 (lib/gpt/adamw.h) */
    size_t first_context; /* tokens per sequence before lr falls, context / first_context as many sequences
                             per pass; needs decay.  0: context from the beginning */
    size_t average;       /* last steps whose parameters' mean becomes the model; 0: none */
} tg_settings;

/* The defaults: nanoGPT's configuration for a CPU, but twice its learning rate, which
 * suits this small model.  Wide models need less: GPT-2 124M about 6e-4. */
tg_settings tg_settings_default(void);

/* The members, in the order in which they are saved. */
typedef enum tg_setting_id {
    TG_SET_SEED,
    TG_SET_STEPS,
    TG_SET_BATCH,
    TG_SET_CONTEXT,
    TG_SET_ACCUMULATE,
    TG_SET_WARMUP,
    TG_SET_LR,
    TG_SET_MIN_LR,
    TG_SET_BETA1,
    TG_SET_BETA2,
    TG_SET_WEIGHT_DECAY,
    TG_SET_CLIP,
    TG_SET_DROPOUT,
    TG_SET_VAL_FRACTION,
    TG_SET_PRECISION,
    TG_SET_VAL_BLOCKS, /* from here on saved if needed: earlier versions lack them (tg_settings_saved()) */
    TG_SET_OPTIMIZER,
    TG_SET_MOMENTUM,
    TG_SET_DECAY,
    TG_SET_PACKING,
    TG_SET_MASTER,
    TG_SET_FIRST_CONTEXT,
    TG_SET_AVERAGE,
    TG_SETTINGS /* how many */
} tg_setting_id;

/* Their arrays, train/NAME; row i is tg_setting_id i's. */
extern const tg_fields tg_settings_fields;

/* The rows of those that are saved. */
tg_fields tg_settings_saved(const tg_settings *s);

/* Replace the settings marked in `given` (by tg_setting_id) with those asked for.  If lr
 * is given and min_lr is not, min_lr becomes lr / 10, provided it was lr / 10 before (the default). */
void tg_settings_merge(tg_settings *s, const tg_settings *asked, const bool given[TG_SETTINGS]);

/* The maximum of the settings that count steps, and of a run's minutes (lib/train/plan.h). */
#define TG_STEPS_MAX 1e12

#define TG_MINUTES_MAX 1e6

/* The maximum of `accumulate`. */
#define TG_ACCUMULATE_MAX 65536

/* A run has fewer steps, passes and sequences than this: they are coordinates of its random
 * numbers (lib/base/rng.h). */
#define TG_RUN_LIMIT ((size_t)1 << 40)

/* The largest number of sequences that a step has. */
size_t tg_settings_sequences(const tg_settings *s);

/* Check that every value is in its range, steps * tg_settings_sequences() below TG_RUN_LIMIT, and decay
 * and average at most steps; with first_context that there is a decay, and that context is a multiple.
 * TG_EDATA, with names and numbers. */
TG_MUST_CHECK tg_status tg_settings_check(const tg_settings *s, tg_err *err);

/*
 * The learning rate of step `step` (from 0): linear warm-up to lr, then half a cosine down to min_lr, which
 * the step after the last one would have.  With `decay` it stays lr, then falls to min_lr linearly in as many
 * steps; of those that are also within the warm-up it is the product.
 */
double tg_settings_lr(const tg_settings *s, size_t step);

/* The tokens per sequence of step `step` (from 0); s->context is final. */
size_t tg_settings_context(const tg_settings *s, size_t step);

#endif
