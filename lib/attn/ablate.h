/*
 * ablate: what the loss of a model becomes when heads are silent.
 *
 * A head is silenced by zeros in its slice of att [B,T,H,D], before the output projection:
 * it adds nothing to the residual stream.  (The same as zeros in the D rows of the
 * projection that its slice meets.)
 *
 *     tg_ablate_open(&a, model, &heads, &err)
 *     copy ids to a->ids, add them: as often as there are some
 *     tg_ablate_loss(&a, TG_ABLATE_NONE), tg_ablate_loss(&a, 0) ...
 *     tg_ablate_close(&a)
 *
 * The text is cut into windows of n_ctx predictions that lie side by side: the loss is the
 * mean over all of its tokens but the first, each predicted from those before it in its
 * window.  Sums run in the order of the tokens, whatever the number of threads.
 */
#ifndef TG_ATTN_ABLATE_H
#define TG_ATTN_ABLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/arena.h"
#include "lib/gpt/pass.h"

typedef struct tg_ablate_head {
    size_t layer, head;
} tg_ablate_head;

/* n >= 1 heads in any order, which the caller keeps.  Together they are one case; in turn
 * each is a case of its own. */
typedef struct tg_ablate_heads {
    const tg_ablate_head *head;
    size_t n;
    bool in_turn;
} tg_ablate_heads;

/* Told each time that a batch has been run for a case, how many cases are done. */
typedef void (*tg_ablate_watch)(void *context, size_t done);

typedef struct tg_ablate {
    tg_ablate_watch watch; /* the caller may set it, and what it is given */
    void *context;
    tg_ablate_heads heads;
    size_t cases;
    tg_pass pass;
    size_t T;        /* n_ctx */
    size_t room;     /* tokens that are predicted at a time: windows of T */
    int32_t *ids;    /* [room + 1] for the caller to fill */
    float *x, *att;  /* [room,C] of a layer, kept while its cases are run from there */
    double *sum;     /* [cases] of losses */
    double base;     /* the same with no head silent */
    uint64_t tokens; /* that were predicted */
    size_t done;     /* cases of the batch under way */
    tg_arena arena;
} tg_ablate;

/* The heads are in range.  TG_ENOMEM; then there is nothing to close. */
TG_MUST_CHECK tg_status tg_ablate_open(tg_ablate *a, const tg_model *model, const tg_ablate_heads *heads,
                                       tg_err *err);
void tg_ablate_close(tg_ablate *a);

/*
 * Predict ids[1] ... ids[n] from a->ids [n + 1], 1 <= n <= room.  All calls but the last
 * have n = room, and begin with the id that the one before ended with.
 *
 * What comes before the first layer of a case is computed once for all: each head in turn
 * costs about half of what its own passes would.
 */
void tg_ablate_add(tg_ablate *a, size_t n);

/* The mean loss of a case, in nats a token. */
#define TG_ABLATE_NONE SIZE_MAX
double tg_ablate_loss(const tg_ablate *a, size_t number);

#endif
