/*
 * options: the command line of tg-attn-dump: the options that several jobs share, and the jobs,
 * each with options of its own.
 */
#ifndef TG_CMD_ATTN_DUMP_OPTIONS_H
#define TG_CMD_ATTN_DUMP_OPTIONS_H

#include "cmd/cli/cli.h"
#include "cmd/cli/text.h"
#include "cmd/team/team.h"
#include "cmd/lines/table.h"
#include "lib/attn/shape.h"

#define NOT_GIVEN SIZE_MAX /* of a number or a choice; a filter has TG_ATTN_ALL instead */

/* The options that several jobs share. */
typedef struct attn_options {
    const char *model, *qkv; /* NULL: not given */
    cli_text text;
    size_t example, heads; /* or NOT_GIVEN */
    const char *target;    /* the token of the loss; NULL: not given; */
    size_t target_id;      /* or its id; or NOT_GIVEN */
    tg_attn_filter filter;
    table_format format;
    tg_attn_stage stage;
    tg_attn_layout layout;
    tg_attn_mask mask;
    bool no_header;
    size_t threads;
    const tg_team *team; /* not an option: the processes that run the job */
} attn_options;

struct attn_input;

/* Whether a target is given. */
static inline bool options_have_target(const attn_options *o)
{
    return o->target || o->target_id != NOT_GIVEN;
}

/* One kind of result.  A job keeps its own options in its own file. */
typedef struct job {
    const cli_option *options; /* its own; the first one selects the job; NULL: none */
    size_t n_options;
    const char *about;                   /* "--summary, which ...": ends the message that refuses an option */
    bool in_team;                        /* several processes can share it: it has `run` */
    const char *accepts;                 /* the shared options that go with it, "a|b|c"; NULL: all */
    int (*check)(const attn_options *o); /* checks the options; CLI_USAGE after a message; may be NULL */
    /* Show an input, for input_run(); or do all of it. */
    tg_status (*show)(struct attn_input *in, const attn_options *o, tg_err *err);
    tg_status (*run)(const attn_options *o, tg_err *err);
} job;

/* All jobs, in the order of --help.  NAME_job is in NAME.c. */
#define JOBS(JOB) JOB(rows) JOB(stage) JOB(pieces) JOB(archive) JOB(check) JOB(summary) JOB(ablate) JOB(trace)

#define DECLARE_JOB(name) extern const job name##_job;
JOBS(DECLARE_JOB)
#undef DECLARE_JOB

/* Parse the command line and select the job.  CLI_USAGE after a message. */
TG_MUST_CHECK int parse_options(int argc, char **argv, attn_options *o, const job **what);

#endif
