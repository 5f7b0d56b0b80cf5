/*
 * attn_dump: what the parts of tg-attn-dump share: its options, the subject (the
 * example, the arrays, or the model and its text), and the ways to show it, each in a
 * file of its own.
 */
#ifndef TG_CMD_ATTN_DUMP_H
#define TG_CMD_ATTN_DUMP_H

#include "cmd/cli.h"
#include "cmd/cli_model.h"
#include "lib/attn/layers.h"
#include "lib/attn/qkv.h"
#include "lib/attn/trace.h"

#define ATTN_NONE SIZE_MAX /* an option that was not given */
#define ATTN_LABEL_SIZE 64 /* a token's text as shown, quotes and NUL included */
#define ATTN_ATT_WIDEST 8  /* show the weighted sum of heads up to this wide */

enum attn_format { ATTN_TEXT, ATTN_TSV };

/* --trace and what belongs to it; NULL, ATTN_NONE and false: not given. */
typedef struct attn_trace_options {
    const char *element, *channel, *target;
    size_t through, target_id;
    bool backward;
    /* read from the texts by attn_trace_parse() */
    tg_attn_index at; /* h is ATTN_NONE when b,i,j were given */
    size_t att_channel, out_channel; /* ATTN_NONE: the same column */
} attn_trace_options;

typedef struct attn_options {
    const char *model, *text, *qkv;
    size_t example, heads, format, threads;
    tg_attn_pick pick;
    attn_trace_options trace;
} attn_options;

typedef struct attn_subject {
    tg_attn_layers layers; /* to be walked once */
    const char *path;      /* the file it came from, for messages; NULL: from none */
    char title[128];       /* what it is, in a line, */
    const char *remark;    /* and another line or NULL */
    char (*label)[ATTN_LABEL_SIZE]; /* [T] the tokens as shown, or NULL: there are none */
    size_t label_width;
    /* owned, as far as there */
    float *numbers; /* of an example that a formula gives */
    bool has_model;
    cli_model model;
    tg_prompt prompt;
    tg_attn_qkv qkv;
} attn_subject;

/* Read what the options name.  All errors name the file; after one there is nothing to
 * close. */
TG_MUST_CHECK tg_status attn_subject_open(attn_subject *s, const attn_options *o, tg_err *err);
void attn_subject_close(attn_subject *s);

/* A line for each element: the numbers and where they lie.  (attn_rows.c) */
TG_MUST_CHECK tg_status attn_show_rows(attn_subject *s, const attn_options *o, tg_err *err);

/* One score as a derivation.  Parsing looks at the texts and at what fits together;
 * returns CLI_OK, or CLI_USAGE after an error has been reported.  (attn_trace.c) */
TG_MUST_CHECK int attn_trace_parse(attn_options *o);
TG_MUST_CHECK tg_status attn_show_trace(attn_subject *s, const attn_options *o, tg_err *err);

#endif
