/*
 * ablate: the loss of a model with some of its heads silenced; lib/tg/ablate.h says of which tokens, and has
 * the types.  (Zeros in the D rows of the output projection that read a head's slice of att would do the
 * same.)
 *
 *     tg_ablate_open(&a, model, &heads, &err)
 *     tg_ablate_run(&a, &stream, NULL, NULL, &err)
 *     tg_ablate_baseline(&a), tg_ablate_loss(&a, 0), ...
 *     tg_ablate_close(&a)
 *
 * The members of a team take turns with batches of windows (lib/tokens/window_map.h).
 */
#ifndef TG_HEADS_ABLATE_H
#define TG_HEADS_ABLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/arena.h"
#include "lib/base/team.h"
#include "lib/gpt/pass.h"
#include "lib/tg/ablate.h"
#include "lib/tokens/window_map.h"
#include "lib/tokens/windows.h"

/* Zero the slices of a layer's att that these of the heads [n] have written: those of this layer. */
void tg_ablate_silence(tg_acts *acts, size_t layer, const tg_ablate_head *heads, size_t n);

typedef struct tg_ablate {
    const tg_model *model;
    tg_ablate_heads heads;
    size_t cases;
    size_t T;        /* n_ctx */
    int32_t prefix;  /* a token before the text, which the caller may set before the run; -1: none */
    uint64_t tokens; /* predicted */
    double base;     /* sum of the losses of the model as it is */
    double *sum;     /* [cases] sums of losses */
    tg_tokens_window_map map;
    /* a batch */
    tg_pass pass;
    size_t capacity; /* tokens predicted at a time: whole windows */
    tg_tokens_windows windows;
    float *x, *att; /* copies of a layer's x and att, from which its cases start */
    tg_ablate_watch watch;
    void *context;
    tg_ablate_progress progress;
    tg_arena arena;
} tg_ablate;

/* The heads must be in range.  TG_ENOMEM: nothing to close. */
TG_MUST_CHECK tg_status tg_ablate_open(tg_ablate *a, const tg_model *model, const tg_ablate_heads *heads,
                                       tg_err *err);
void tg_ablate_close(tg_ablate *a);

#endif
