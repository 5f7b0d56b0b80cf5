/*
 * options: the command line of tg-attn-dump: the options that several jobs share, and the jobs,
 * each with options of its own.
 */
#ifndef TG_CMD_ATTN_DUMP_OPTIONS_H
#define TG_CMD_ATTN_DUMP_OPTIONS_H

#include "cmd/cli/cli.h"
#include "lib/attn/attn.h"

#define NOT_GIVEN SIZE_MAX /* a number or a choice; a filter has TG_ATTN_ALL */

/* What several jobs share. */
typedef struct attn_options {
    const char *model, *text, *qkv; /* NULL: not given */
    size_t example, heads;          /* or NOT_GIVEN */
    tg_attn_filter filter;
    size_t format, stage, layout, mask; /* table_format, tg_attn_stage, _layout, _mask */
    size_t threads;
} attn_options;

/* One thing that the tool can make.  Its own options are kept in its own file. */
typedef struct job {
    const cli_option *options; /* its own; the first one asks for it; NULL: none */
    size_t n_options;
    const char *about;                   /* "--summary, which ...": why other options do not go with it */
    const char *const *accepts;          /* the shared options that go with it; ends with NULL */
    int (*check)(const attn_options *o); /* its own options; CLI_USAGE after a message; or NULL */
    tg_status (*run)(const attn_options *o, tg_err *err);
} job;

/* All jobs, in the order of --help.  NAME_job is in NAME.c. */
#define JOBS(JOB) JOB(rows) JOB(stage) JOB(archive) JOB(check) JOB(summary) JOB(ablate) JOB(trace)

#define DECLARE_JOB(name) extern const job name##_job;
JOBS(DECLARE_JOB)
#undef DECLARE_JOB

/* Read the command line; *what is then the job it asks for.  CLI_USAGE after a message. */
TG_MUST_CHECK int parse_options(int argc, char **argv, attn_options *o, const job **what);

#endif
