/*
 * writes: by how much what each sender writes to the residual stream differs between two runs.
 *
 *     write[t,c] = sum over the sender's inputs i of in[t,i] W[i,c]
 *
 * where the inputs are a head's z, or an MLP's units, and the embedding writes the first block's x.  Where a
 * family norms what a sublayer adds, the write is multiplied by the norm's gain and by the scale that the
 * norm has in its run.  Biases are not a sender's.  In double precision, rounded to float32.
 */
#ifndef TG_PATCH_WRITES_H
#define TG_PATCH_WRITES_H

#include <stddef.h>

#include "lib/base/arena.h"
#include "lib/gpt/acts.h"
#include "lib/gpt/sublayer.h"
#include "lib/patch/graph.h"
#include "lib/patch/kept.h"

typedef struct tg_patch_writes {
    tg_patch_graph graph;
    size_t capacity, C;
    float *row; /* [senders,capacity,C] */
    /* while it computes */
    double *inputs;  /* [capacity, the wider of Q and n_inner] */
    double *one;     /* a row of them */
    double *written; /* [the greater of capacity and H, C] */
} tg_patch_writes;

/* Place those of runs of up to `capacity` tokens (see arena.h). */
void tg_patch_writes_place(tg_arena *arena, tg_patch_writes *w, const tg_config *config, size_t capacity);

/* A sender's row of token t. */
static inline float *tg_patch_write_at(const tg_patch_writes *w, size_t sender, size_t t)
{
    return w->row + (sender * w->capacity + t) * w->C;
}

/* What each sender writes in `source`, less what it writes in `base`, of as many tokens.  source: NULL, it
 * writes nothing.  acts are of any pass of the model. */
void tg_patch_writes_set(tg_patch_writes *w, const tg_acts *acts, const tg_patch_kept *source,
                         const tg_patch_kept *base);

/* The same of the senders of one sublayer: T rows of its inputs in the two runs.  source: empty, it writes
 * nothing. */
void tg_patch_writes_set_sublayer(tg_patch_writes *w, const tg_acts *acts, tg_sublayer_kind kind,
                                  size_t layer, tg_matrix source, tg_matrix base, size_t T);

#endif
