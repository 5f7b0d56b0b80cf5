/*
 * input: what tg-attn-dump shows: a worked example, given arrays, or a model and its text.
 */
#ifndef TG_CMD_ATTN_DUMP_INPUT_H
#define TG_CMD_ATTN_DUMP_INPUT_H

#include "cmd/cli/text.h"
#include "cmd/tg-attn-dump/columns.h"
#include "cmd/tg-attn-dump/labels.h"
#include "cmd/tg-attn-dump/options.h"
#include "lib/attn/layers.h"
#include "lib/attn/qkv.h"

typedef struct attn_input {
    tg_attn_layers layers; /* walked once; filtered by the options */
    const char *path;      /* the file it came from, for messages; NULL: none */
    char title[128];       /* what it is, in one line, and */
    const char *remark;    /* a second line, or NULL */
    /* owned */
    token_labels labels; /* of the tokens; without text: none */
    token_labels values; /* their texts, in TSV and JSON */
    float *numbers;      /* of an example that follows a formula */
    bool has_model;
    cli_model model;
    tg_tokens_prompt prompt;
    tg_attn_qkv qkv;
    cli_job job; /* the walk */
} attn_input;

/* Ids that take the place of the user's text. */
typedef struct given_ids {
    const int64_t *ids; /* [n] */
    size_t n;
} given_ids;

/* Read the input that the options name; ids may be NULL.  TG_EUSAGE also if the filter is out of range.
 * Errors name the file and leave nothing to close. */
TG_MUST_CHECK tg_status input_open(attn_input *in, const attn_options *o, const given_ids *ids, tg_err *err);
void input_close(attn_input *in);

/* Open the input, call `show`, and close it.  An error of the data gets the file's name.  The progress of the
 * walk is shown if standard output is a file. */
typedef tg_status (*input_show)(attn_input *in, const attn_options *o, tg_err *err);
TG_MUST_CHECK tg_status input_run(input_show show, const attn_options *o, tg_err *err);

/* Show the progress of the walk. */
void input_watch(attn_input *in);

/* Open only the model, for jobs that do not keep the text, and apply --heads.  The caller closes it. */
TG_MUST_CHECK tg_status input_open_model(cli_model *m, const attn_options *o, tg_err *err);

/* The shape and layout of what is shown; the pointers are NULL. */
tg_qkv_view input_shape(const attn_input *in);

/* What the columns depend on, for these options. */
columns_of input_columns(const attn_input *in, const attn_options *o);

/* Whether the input has tokens: it is a model and its text. */
bool input_has_tokens(const attn_input *in);

/* The text of token t as records have it, without quotes; a longer one is cut and ends with "…".
 * Returns its length. */
size_t input_token(char out[TOKEN_TEXT_SIZE], const attn_input *in, size_t t);

/* Print the first lines of a header. */
void input_print_title(const attn_input *in);

/* Copy the tokens' texts without quotes, NUL-padded to *width each.  The caller frees *text, which is
 * NULL if there are no tokens. */
TG_MUST_CHECK tg_status input_pack_text(char **text, size_t *width, const attn_input *in, tg_err *err);

#endif
