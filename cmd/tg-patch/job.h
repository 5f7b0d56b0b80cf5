/*
 * job: the task of tg-patch: its options, its pairs of prompts, and what is done with each.
 */
#ifndef TG_CMD_PATCH_JOB_H
#define TG_CMD_PATCH_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/cli/cli.h"
#include "cmd/cli/text.h"
#include "cmd/lines/table.h"
#include "lib/patch/ablation_write.h"
#include "lib/patch/patch.h"
#include "lib/patch/patch_write.h"

#define PATCH_INDEX_MAX 1e9 /* of a layer, a head, a position; the default, TG_PATCH_ALL, is beyond */

/* What a patch covers in its layer: everything, a position, a head, or a head at a position. */
typedef enum patch_each {
    PATCH_EACH_LAYER,
    PATCH_EACH_POSITION,
    PATCH_EACH_HEAD,
    PATCH_EACH_BOTH,
    PATCH_EACHES_END
} patch_each;
#define PATCH_EACHES "layer|position|head|both"

#define PATCH_STEPS_MAX 1e6

typedef enum patch_ablation { PATCH_ZERO, PATCH_MEAN, PATCH_RESAMPLE } patch_ablation;
enum { PATCH_ABLATION_KINDS = PATCH_RESAMPLE + 1 };
#define PATCH_ABLATIONS TG_ABLATION_BY

/* NULL: not given. */
typedef struct patch_options {
    const char *model, *pairs, *output;
    cli_text clean, corrupt;
    const char *answer, *wrong;   /* texts, or */
    size_t answer_id, wrong_id;   /* ids; SIZE_MAX: not given */
    const char *without, *keep;   /* lists of components, with an ablation */
    const char *path;             /* SENDERS:RECEIVERS */
    size_t steps;                 /* of integrated gradients; 0: none */
    size_t layer, head, position; /* or TG_PATCH_ALL */
    size_t direction;             /* 1: noise */
    tg_patch_metric_kind metric;
    tg_patch_site site;
    patch_each each;
    patch_ablation ablation;
    bool noise, ablates, attributes, metric_given, site_given, each_given, format_given, direction_given,
        steps_given, no_header;
    table_format format;
    size_t threads;
} patch_options;

/* CLI_USAGE after a message. */
TG_MUST_CHECK int patch_parse(int argc, char **argv, patch_options *o);

/* A clean and a corrupt prompt of as many tokens. */
typedef struct patch_pair {
    tg_tokens_prompt clean, corrupt;
    int32_t answer, wrong; /* -1: none */
} patch_pair;

typedef struct patch_job {
    const patch_options *o;
    cli_model m;
    patch_pair *pair; /* [pairs] */
    size_t pairs;
    bool same_length; /* of all pairs' prompts */
    bool noted_space; /* an answer may lack a space, which has been said */
    tg_patch patch;
    cli_job progress;
} patch_job;

/* ---- pairs.c */

/* Read the pair that the options give, or those of --pairs; patch_free_pairs() also after a failure. */
TG_MUST_CHECK tg_status patch_read_pairs(patch_job *job, tg_err *err);
void patch_free_pairs(patch_job *job);

/* Keep both runs of a pair; returns what is measured of it, relative to the clean run. */
tg_patch_metric patch_keep_pair(patch_job *job, const patch_pair *pair);

/* ---- effects.c */

/* What patches do to the metric, summed over pairs. */
typedef struct patch_effects {
    patch_job *job;
    size_t n;
    double *sum, *values;  /* [n] of all pairs; of one */
    double clean, corrupt; /* sums of the metric */
} patch_effects;

/* TG_ENOMEM.  patch_effects_free() also after a failure. */
TG_MUST_CHECK tg_status patch_effects_make(patch_effects *e, patch_job *job, size_t n, tg_err *err);
void patch_effects_free(patch_effects *e);

/* Both runs of a pair: that which is patched, and that whose activations it gets. */
typedef struct patch_sides {
    tg_patch_metric metric;
    tg_patch_kept *base, *source;
} patch_sides;

/* Find e->values of a pair whose prompts have been run. */
typedef tg_status patch_find_values(void *context, patch_effects *e, const patch_sides *sides,
                                    const tg_watch *watch, tg_err *err);

/* Run the prompts of each pair, find its values, and add them up.  TG_EDATA: the two prompts have the same
 * metric; and what `find` says. */
TG_MUST_CHECK tg_status patch_effects_of_pairs(patch_effects *e, patch_find_values *find, void *context,
                                               tg_err *err);

/* The values were estimated as changes of the base run's metric: make metrics of them.  TG_EDATA: one is not
 * finite. */
TG_MUST_CHECK tg_status patch_effects_estimated(patch_effects *e, const patch_sides *sides, tg_err *err);

/* A fraction as it is printed: never -0; and 0 where a line of text has five decimals of nothing, which the
 * sign of a rounding error would precede. */
double patch_fraction(const patch_options *o, double fraction);

/* (metric - corrupt) / (clean - corrupt), as printed. */
double patch_effect(const patch_effects *e, size_t i);

/* The lines before a table of text. */
void patch_effects_header(const patch_effects *e);

/* For an archive: the values become the means over pairs, and the sums the effects; and how they were made.
 */
tg_patch_settings patch_effects_finish(patch_effects *e);

/* Whether -o may be written.  TG_EUSAGE, TG_EIO. */
TG_MUST_CHECK tg_status patch_check_output(const patch_job *job, tg_err *err);

/* ---- what is done with them: each prints its lines */

TG_MUST_CHECK tg_status patch_sites(patch_job *job, tg_err *err);   /* grid.c */
TG_MUST_CHECK tg_status patch_edges(patch_job *job, tg_err *err);   /* edges.c */
TG_MUST_CHECK tg_status patch_circuit(patch_job *job, tg_err *err); /* circuit.c */

#endif
