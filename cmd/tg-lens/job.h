/*
 * job: the task of tg-lens, its options and its text.
 */
#ifndef TG_CMD_LENS_JOB_H
#define TG_CMD_LENS_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/cli/cli.h"
#include "cmd/cli/text.h"
#include "cmd/lines/labels.h"
#include "cmd/lines/table.h"
#include "lib/lens/attribute.h"
#include "lib/lens/lens.h"

#define NOT_GIVEN SIZE_MAX /* of a number */

typedef struct lens_options {
    const char *model, *output; /* NULL: not given */
    cli_text text;
    size_t layer, position; /* or NOT_GIVEN */
    const char *target;     /* NULL: not given */
    size_t target_id;       /* its id; or NOT_GIVEN */
    const char *attribute, *attribute_ids;
    size_t top, neurons, threads;
    bool keys, no_header, format_given;
    table_format format;
} lens_options;

/* CLI_USAGE after a message. */
TG_MUST_CHECK int lens_parse(int argc, char **argv, lens_options *o);

typedef struct lens_job {
    const lens_options *o;
    cli_model m;
    tg_tokens_prompt prompt;
    bool is_probe;
    cli_job progress;
} lens_job;

/* What the model would predict after each layer: lines, or an archive. */
TG_MUST_CHECK tg_status lens_predictions(lens_job *job, tg_err *err);

/* A logit, or the difference of two, as a sum of parts: lines, or an archive. */
TG_MUST_CHECK tg_status lens_attribution(lens_job *job, tg_err *err);

/* Write an archive to --output with `put`, which has the same error as this. */
TG_MUST_CHECK tg_status lens_write(lens_job *job, cli_archive_put put, void *context, tg_err *err);

/* The id, or TG_EUSAGE: the model has none like it. */
TG_MUST_CHECK tg_status lens_check_id(int32_t *id, const lens_job *job, const char *option, size_t number,
                                      tg_err *err);

#endif
