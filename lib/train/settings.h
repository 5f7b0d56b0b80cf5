/*
 * settings: what decides every number of a training run.
 *
 * Saved with the model (train/NAME), so that a run goes on as it began; one table
 * of fields drives saving, reading and comparing.
 */
#ifndef TG_TRAIN_SETTINGS_H
#define TG_TRAIN_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/archive.h"
#include "lib/base/status.h"

typedef struct tg_settings {
    uint64_t seed;       /* order of the windows, dropout; a new model's parameters */
    size_t steps;        /* the run's total */
    size_t batch;        /* B, sequences to a pass */
    size_t context;      /* T, tokens to a sequence; 0: the model's n_ctx */
    size_t accumulate;   /* passes to a step */
    size_t warmup;       /* steps */
    double lr, min_lr;   /* the peak; where the cosine ends */
    double beta1, beta2; /* AdamW */
    double weight_decay;
    double clip;         /* of the gradient's global norm; 0: none */
    double dropout;      /* p */
    double val_fraction; /* share of the text, its end, kept for validation */
    size_t precision;    /* tg_precision: what products round their operands to */
} tg_settings;

/* The defaults: nanoGPT's configuration for a CPU, but twice its learning rate, which
 * this small model takes well.  Wide models want less: GPT-2 124M about 6e-4. */
tg_settings tg_settings_default(void);

/* The fields, in the order in which they are saved. */
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
    TG_SETTINGS /* how many */
} tg_setting_id;

typedef enum tg_setting_type {
    TG_SETTING_U64,
    TG_SETTING_SIZE,
    TG_SETTING_REAL,
    TG_SETTING_PRECISION /* a size_t; "float32" or "bf16" in words */
} tg_setting_type;

#define TG_PRECISIONS "float32|bf16"

/* One field: its name (an option's, and after "train/" with _ for - an array's), type,
 * place and range. */
typedef struct tg_setting {
    const char *name;
    tg_setting_type type;
    size_t at;       /* offset in tg_settings */
    double min, max; /* {0, 0}: any value of the type */
} tg_setting;

extern const tg_setting tg_setting_table[TG_SETTINGS];

/* Where field i is. */
void *tg_setting_place(tg_settings *s, size_t i);

/* Copy field i; whether field i is the same in both; its value as text. */
void tg_setting_copy(tg_settings *to, const tg_settings *from, size_t i);
bool tg_setting_same(const tg_settings *a, const tg_settings *b, size_t i);
void tg_setting_text(char *text, size_t size, const tg_settings *s, size_t i);

/* Write all as train/NAME. */
TG_MUST_CHECK tg_status tg_settings_put(const tg_settings *s, tg_archive_writer *w, tg_err *err);

/* Take the current array if it is a setting; *taken says so. */
TG_MUST_CHECK tg_status tg_settings_take(tg_settings *s, tg_archive_reader *r, const tg_array *a, bool *taken,
                                         tg_err *err);

/* What a run counts -- its steps, passes and sequences -- stays below this: random
 * numbers are numbered by it (lib/base/rng.h). */
#define TG_RUN_LIMIT ((size_t)1 << 40)

/* Every value in its range, and steps * accumulate * batch below TG_RUN_LIMIT: else
 * TG_EDATA, with the names and the numbers. */
TG_MUST_CHECK tg_status tg_settings_check(const tg_settings *s, tg_err *err);

/* The learning rate of step `step` (from 0): linear warm-up to lr, then half a cosine
 * down to min_lr, which the step behind the last one would have. */
double tg_settings_lr(const tg_settings *s, size_t step);

#endif
