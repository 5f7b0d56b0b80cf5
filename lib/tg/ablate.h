/*
 * ablate: the loss of a model with some of its heads silenced.
 *
 * A head is silenced by zeros in its slice of att [B,T,H,D], before the output projection: it adds nothing to
 * the residual stream.
 *
 *     tg_ablate_new(&a, model, &heads, &err)
 *     tg_ablate_run(a, stream, NULL, NULL, &err)
 *     tg_ablate_baseline(a), tg_ablate_loss(a, 0), ...
 *     tg_ablate_destroy(a)
 *
 * The text is cut into adjacent windows of n_ctx predictions.  The loss is the mean over all tokens except
 * the first, each predicted from the tokens before it in its window.  Losses are added in the order of the
 * tokens, whatever the number of threads.
 */
#ifndef TG_TG_ABLATE_H
#define TG_TG_ABLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/tg/api.h"
#include "lib/tg/model.h"
#include "lib/tg/status.h"
#include "lib/tg/tokens.h"

TG_API_BEGIN

struct tg_team; /* the processes of tg's own tools */

typedef struct tg_ablate_head {
    size_t layer, head;
} tg_ablate_head;

/* n >= 1 heads in any order, which the caller keeps. */
typedef struct tg_ablate_heads {
    const tg_ablate_head *head;
    size_t n;
    bool in_turn; /* each head is a case of its own; otherwise all of them together are the one case */
    const struct tg_team *team; /* NULL; tg's tools divide a text among processes */
} tg_ablate_heads;

/* The progress of a run. */
typedef struct tg_ablate_progress {
    uint64_t tokens;    /* predicted in all cases */
    size_t batch;       /* tokens being predicted now, */
    size_t done, cases; /* in `done` of the cases so far */
} tg_ablate_progress;

/* Called after each case of each batch. */
typedef void (*tg_ablate_watch)(void *context, const tg_ablate_progress *progress);

typedef struct tg_ablate tg_ablate;

/* TG_EUSAGE: no heads, or one is out of range.  TG_ENOMEM.  *a is NULL after a failure. */
TG_MUST_CHECK tg_status tg_ablate_new(tg_ablate **a, const tg_model *model, const tg_ablate_heads *heads,
                                      tg_err *err);
void tg_ablate_destroy(tg_ablate *a); /* NULL is fine */

/*
 * Predict all tokens of a stream of the same model, of any length.  Call it only once.  watch may be
 * NULL.
 * TG_EDATA: fewer than two tokens; what tg_tokens_stream_next() refuses.  TG_EIO, TG_ENOMEM.
 *
 * Everything before a case's first layer is computed once for all cases, so that a case costs about
 * half a pass on average.
 */
TG_MUST_CHECK tg_status tg_ablate_run(tg_ablate *a, tg_tokens_stream *stream, tg_ablate_watch watch,
                                      void *context, tg_err *err);

/* Mean losses after a run, in nats per token: of the model as it is, and of a case. */
double tg_ablate_baseline(const tg_ablate *a);
double tg_ablate_loss(const tg_ablate *a, size_t number);

/* TG_EDATA: one of these losses is not finite. */
TG_MUST_CHECK tg_status tg_ablate_check_finite(const tg_ablate *a, tg_err *err);

TG_API_END

#endif
