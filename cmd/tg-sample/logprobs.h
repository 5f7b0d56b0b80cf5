/*
 * logprobs: --logprobs: a line for each token that is generated, with what the model says in its place.
 */
#ifndef TG_CMD_SAMPLE_LOGPROBS_H
#define TG_CMD_SAMPLE_LOGPROBS_H

#include "cmd/lines/tokens.h"
#include "cmd/tg-sample/options.h"
#include "lib/tokens/stream.h"

/* Where a text stands. */
typedef struct logprobs_text {
    uint64_t at;    /* bytes so far */
    int32_t before; /* the last token; -1: none */
} logprobs_text;

typedef struct sample_logprobs {
    token_lines lines;
    uint64_t t;          /* the next token's position */
    logprobs_text *text; /* [count] owned */
    int32_t *top;        /* [lines.top] owned */
    size_t ids;          /* of the tokenizer */
} sample_logprobs;

/* Begin after a prompt, whose tokens count, except one that has been put before them; with the line of
 * titles. TG_EUSAGE: --top exceeds the model's ids.  TG_ENOMEM.  The caller frees *p, also after a failure.
 */
TG_MUST_CHECK tg_status logprobs_begin(sample_logprobs *p, const sample_options *o, const tg_model *model,
                                       const tg_tokens_prompt *prompt, tg_err *err);
void logprobs_free(sample_logprobs *p); /* accepts a zeroed one */

/* Print the token that has been chosen for text s; then, after all texts' tokens, go to the next position. */
TG_MUST_CHECK tg_status logprobs_print(sample_logprobs *p, const tg_generator *g, size_t s, tg_err *err);
void logprobs_next(sample_logprobs *p);

#endif
