/*
 * tokens: a line of tab-separated values, or a JSON object, for each token of a text, with what a model says
 * in its place:
 *
 *     t id from to text logprob rank entropy, and for each of the `top` most probable ones  id_K text_K
 * logprob_K
 *
 * Positions, bytes and ranks count from 0.  Log-probabilities and entropies are in nats (lib/gpt/score.h).
 */
#ifndef TG_CMD_LINES_TOKENS_H
#define TG_CMD_LINES_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/lines/record.h"
#include "lib/base/status.h"
#include "lib/gpt/score.h"
#include "lib/text/tokenizer.h"

typedef struct token_lines {
    record record; /* its tok is set */
    bool json;
    const char *number; /* a column before these, with the number of the token's text; NULL: none */
    size_t top;
} token_lines;

/* The place of a token in its text. */
typedef struct token_place {
    uint64_t number;    /* of the text */
    uint64_t t, from;   /* the token's position, and its first byte's */
    int32_t before, id; /* before: -1 at the beginning of a text */
} token_place;

/* What the model says there. */
typedef struct token_said {
    tg_score score;
    const int32_t *top;  /* [token_lines.top] the most probable tokens */
    const float *logits; /* of all */
} token_said;

void token_lines_free(token_lines *lines); /* accepts a zeroed one */

/* Print the line of titles; nothing in JSON. */
void token_lines_titles(token_lines *lines);

/* Print a token's line; said = NULL: nothing is before it, and what the model would say is empty, or null.
 * TG_ENOMEM. */
TG_MUST_CHECK tg_status token_lines_print(token_lines *lines, const token_place *place,
                                          const token_said *said, tg_err *err);

#endif
