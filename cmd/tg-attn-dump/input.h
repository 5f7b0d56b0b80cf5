/*
 * input: what tg-attn-dump shows: a worked example, given arrays, or a model and its text.
 */
#ifndef TG_CMD_ATTN_DUMP_INPUT_H
#define TG_CMD_ATTN_DUMP_INPUT_H

#include "cmd/cli/text.h"
#include "cmd/lines/columns.h"
#include "cmd/lines/labels.h"
#include "cmd/tg-attn-dump/options.h"
#include "lib/attn/layers.h"
#include "lib/attn/qkv.h"
#include "lib/dump/dump_read.h"
#include "lib/dump/dump_write.h"

typedef struct attn_input {
    tg_attn_layers layers; /* walked once; filtered by the options */
    const char *path;      /* the file it came from, for messages; NULL: none */
    char title[128];       /* what it is, in one line, and */
    const char *remark;    /* a second line, or NULL */
    /* owned */
    token_labels labels; /* of the tokens; without a model and its text: none, the text is NULL */
    token_labels values; /* their texts, in TSV and JSON */
    float *numbers;      /* of an example that follows a formula */
    bool has_model;
    cli_model model;
    tg_tokens_prompt prompt;
    tg_attn_qkv qkv;
    cli_job job; /* the walk */
} attn_input;

/* Read the input that the options name; a dump's ids, unless it is NULL, take the place of the user's text.
 * TG_EUSAGE also if the filter is out of range.  Errors name the file and leave nothing to close. */
TG_MUST_CHECK tg_status input_open(attn_input *in, const attn_options *o, const tg_dump *dump, tg_err *err);
void input_close(attn_input *in);

/* Open the input, call the job's `show`, and close it.  An error of the data gets the file's name.  The
 * progress of the walk is shown if standard output is a file. */
TG_MUST_CHECK tg_status input_run(const job *what, const attn_options *o, tg_err *err);

/* Show the progress of the walk. */
void input_watch(attn_input *in);

/* Open only the model, for jobs that do not keep the text, and apply --heads.  The caller closes it. */
TG_MUST_CHECK tg_status input_open_model(cli_model *m, const attn_options *o, tg_err *err);

/* What the columns depend on, for these options. */
columns_of input_columns(const attn_input *in, const attn_options *o);

/* TG_EUSAGE: the input does not have the stage of --stage. */
TG_MUST_CHECK tg_status input_check_stage(const attn_input *in, const attn_options *o, tg_err *err);

/* Find the token that --target or --target-id names, one of which is given.  TG_EUSAGE: it is not one token.
 */
TG_MUST_CHECK tg_status input_find_target(size_t *target, const attn_options *o, const tg_model *model,
                                          tg_err *err);

/* Print the first lines of a header. */
void input_print_title(const attn_input *in);

/* Copy the tokens' texts without quotes, NUL-padded to packed->size each.  The caller frees them. */
TG_MUST_CHECK tg_status input_pack_text(token_labels *packed, const attn_input *in, tg_err *err);

#endif
