/*
 * input: what tg-attn-dump shows: a worked example, given arrays, or a model and its text.
 */
#ifndef TG_CMD_ATTN_DUMP_INPUT_H
#define TG_CMD_ATTN_DUMP_INPUT_H

#include "cmd/cli/model.h"
#include "cmd/tg-attn-dump/columns.h"
#include "cmd/tg-attn-dump/options.h"
#include "lib/attn/layers.h"
#include "lib/attn/qkv.h"

#define LABEL_SIZE 64 /* bytes of a token's text as shown, with quotes and NUL */

typedef struct attn_input {
    tg_attn_layers layers;     /* to be walked once; its filter is the options' */
    const char *path;          /* the file it came from, for messages; NULL: none */
    char title[128];           /* what it is, in a line, */
    const char *remark;        /* and another line, or NULL */
    char (*label)[LABEL_SIZE]; /* [T] the tokens as shown; NULL: none */
    size_t label_width;
    /* owned */
    float *numbers; /* of an example that is a formula */
    bool has_model;
    cli_model model;
    tg_prompt prompt;
    tg_attn_qkv qkv;
} attn_input;

/* Ids that replace the user's text. */
typedef struct given_ids {
    const int64_t *ids; /* [n] */
    size_t n;
} given_ids;

/* Read what the options name; ids may be NULL.  TG_EUSAGE: also when the filter is out of range.
 * All errors name the file; after one there is nothing to close. */
TG_MUST_CHECK tg_status input_open(attn_input *in, const attn_options *o, const given_ids *ids, tg_err *err);
void input_close(attn_input *in);

/* Open, show, close; an error of the data gets the file's name. */
typedef tg_status (*input_show)(attn_input *in, const attn_options *o, tg_err *err);
TG_MUST_CHECK tg_status input_run(input_show show, const attn_options *o, tg_err *err);

/* For jobs that do not keep the text: only the model, read with the heads of --heads; to be
 * closed. */
TG_MUST_CHECK tg_status input_open_model(cli_model *m, const attn_options *o, tg_err *err);

/* The shape of what is shown, in its layout; the pointers are NULL. */
tg_qkv_view input_shape(const attn_input *in);

/* What the columns of these options depend on. */
columns_of input_columns(const attn_input *in, const attn_options *o);

/* Print the first lines of a header. */
void input_print_title(const attn_input *in);

/* The tokens' texts without their quotes, NUL-padded to *width each; the caller frees them.  NULL:
 * without tokens. */
TG_MUST_CHECK tg_status input_pack_text(char **text, size_t *width, const attn_input *in, tg_err *err);

#endif
