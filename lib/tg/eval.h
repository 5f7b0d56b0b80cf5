/*
 * eval: how well a model predicts a text.
 *
 *     tg_eval_new(&e, model, &plan, &err)
 *     tg_eval_run(e, stream, take, context, &err)      for each text
 *     sums = tg_eval_result(e), tg_eval_loss(&sums), ...
 *     tg_eval_destroy(e)
 *
 * A text is cut into windows.  Each token is scored once, in the first window that has it as a target.  The
 * first token of a text has nothing before it, so it is scored only if the plan has a prefix.
 *
 * Logits are float32, as the model computes them; everything else is double precision.  Sums are taken in the
 * order of the text, whatever the number of threads.
 */
#ifndef TG_TG_EVAL_H
#define TG_TG_EVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/tg/api.h"
#include "lib/tg/model.h"
#include "lib/tg/status.h"
#include "lib/tg/tokens.h"

TG_API_BEGIN

struct tg_team; /* the processes of tg's own tools */

/* The prediction of a token by a row of logits. */
typedef struct tg_score {
    double max, log_sum; /* the greatest logit; log sum_v exp(logits[v] - max) */
    double log_prob, entropy;
    size_t rank; /* how many are more probable */
} tg_score;

/*
 * Score logits [V].  target: the token that follows; -1: none, and log_prob and rank are 0.  Only the first
 * `ids` logits are of tokens (tg_tokenizer_vocab_size()), and ranked; all are part of the softmax: the
 * logarithm of the probability of token v is logits[v] - max - log_sum.  If a logit is NaN or infinite,
 * entropy is NaN or infinite.
 */
tg_score tg_score_row(const float *logits, size_t V, size_t ids, int32_t target);

typedef struct tg_eval_plan {
    size_t context;             /* inputs of a window, 1 to n_ctx */
    size_t stride;              /* from one window to the next, 1 to context */
    size_t top;                 /* how many of the most probable tokens to find, 0 to the tokenizer's ids */
    int32_t prefix;             /* a token before each text; -1: none */
    bool every_row;             /* also the row after the last token, which predicts nothing that is known */
    const struct tg_team *team; /* NULL; tg's tools divide a text among processes */
} tg_eval_plan;

/* What the model says after one token of the text. */
typedef struct tg_eval_row {
    int32_t input;  /* the token */
    int32_t target; /* the next one; -1: the text has ended; below -1: -2 - its id, of a token that is only
                     * read and not scored (a loss mask) */
    tg_score score;
    const int32_t *top;  /* [plan.top] the most probable tokens, the most probable first */
    const float *logits; /* [V] */
} tg_eval_row;

/*
 * Take the next rows of the text, in its order; they are valid until this returns.  Calls with n = 0 say that
 * the sums have grown.  A failure ends the run, which returns it.
 */
typedef tg_status tg_eval_take(void *context, const tg_eval_row *rows, size_t n, tg_err *err);

typedef struct tg_eval_sums {
    uint64_t tokens;  /* read, prefixes excluded */
    uint64_t scored;  /* of them */
    uint64_t bytes;   /* that the scored ones stand for: special tokens stand for none */
    uint64_t right;   /* of the scored ones, those of rank 0 */
    uint64_t windows; /* run */
    double log_prob;  /* sum over the scored ones */
    double entropy;   /* of the distributions that predict them: sum */
} tg_eval_sums;

typedef struct tg_eval tg_eval;

/* TG_EUSAGE: a number of the plan is out of range.  TG_ENOMEM.  *e is NULL after a failure. */
TG_MUST_CHECK tg_status tg_eval_new(tg_eval **e, const tg_model *model, const tg_eval_plan *plan,
                                    tg_err *err);
void tg_eval_destroy(tg_eval *e); /* NULL is fine */

/*
 * Evaluate a text of the same model, of any length; of a stream with a loss mask the next document, without a
 * prefix, whose predicted tokens are scored (tg_tokens_stream_goes_on()).  take may be NULL.  TG_EDATA:
 * nothing to score, unless every_row is set; what tg_tokens_stream_next() refuses; a logit is NaN or
 * infinite.  TG_EIO, TG_ENOMEM, and what take() returns.
 */
TG_MUST_CHECK tg_status tg_eval_run(tg_eval *e, tg_tokens_stream *stream, tg_eval_take *take, void *context,
                                    tg_err *err);

/* Over all texts so far. */
tg_eval_sums tg_eval_result(const tg_eval *e);

/* The mean loss in nats per token, and its exponential; the same information in bits per byte.  NaN: nothing
 * was scored, or no bytes. */
double tg_eval_loss(const tg_eval_sums *sums);
double tg_eval_perplexity(const tg_eval_sums *sums);
double tg_eval_bits_per_byte(const tg_eval_sums *sums);

/* The bytes of text that a token stands for after the token `before`, or -1 at the start of a text: none if
 * it is special, or if tokens have no text. */
size_t tg_eval_token_bytes(const tg_tokenizer *tok, int32_t before, int32_t id);

TG_API_END

#endif
