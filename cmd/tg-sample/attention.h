/*
 * attention: --attention: a dump of all that the model has seen and generated, or lines for each token.
 *
 * Either has the bits that tg-attn-dump gives for the same tokens.  Decoding sums in another order, so these
 * are computed by themselves: a dump by one pass over the whole text at its end, which is fast because its
 * tokens share each read of the weights; lines token by token (lib/attn/growing.h).
 */
#ifndef TG_CMD_SAMPLE_ATTENTION_H
#define TG_CMD_SAMPLE_ATTENTION_H

#include "cmd/lines/columns.h"
#include "cmd/tg-sample/options.h"
#include "lib/attn/growing.h"

typedef struct sample_attention {
    const sample_options *o;
    const cli_model *m;
    int32_t *ids; /* [n] the tokens so far, [capacity]; owned */
    size_t n, capacity;
    cli_output out; /* of a file */
    /* of lines */
    tg_attn_growing growing;
    columns columns;
    token_labels labels; /* owned */
    char *text;          /* [text_size] of a row; of a file [n][text_size], of the tokens; owned */
    size_t text_size;
    table_text row;
    tg_status status; /* of the rows, and their error */
    tg_err err;
} sample_attention;

/* How many tokens to generate after a beginning of n: those of -n, or, if it is not given, as many as the
 * context has room for.  TG_EUSAGE: --attention, and the context is shorter than the whole. */
TG_MUST_CHECK tg_status attention_tokens(size_t *tokens, const sample_options *o, const tg_model *model,
                                         size_t n, tg_err *err);

/* Begin with the n >= 1 tokens that the model begins with, of a text of at most `most`.  TG_EUSAGE, TG_EIO,
 * as by cli_output_begin(); TG_ENOMEM.  The caller frees *a, which begins zeroed, also after a failure. */
TG_MUST_CHECK tg_status attention_begin(sample_attention *a, const sample_options *o, const cli_model *m,
                                        const int32_t *ids, size_t n, size_t most, tg_err *err);
void attention_free(sample_attention *a);

/* Take the next token, and print its lines.  TG_EDATA: a number is not finite. */
TG_MUST_CHECK tg_status attention_add(sample_attention *a, int32_t id, tg_err *err);

/* After the last token: write the file. */
TG_MUST_CHECK tg_status attention_end(sample_attention *a, tg_err *err);

#endif
