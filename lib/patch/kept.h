/*
 * kept: what a run of a model computes at each site of each layer, kept to be carried into another run.
 *
 *     x        the residual stream, a block's input
 *     q, k, v  of a head, as attention reads them: normed and rotated where the family does that
 *     z        a head's weighted sums of values
 *     att      all heads' z: attention's output
 *     mlp      all of the MLP's units: its output
 *     pattern  a head's z with the probabilities of one run and the values of another
 *
 * What attention and the MLP add to the stream is a function of att and of the units of the same position
 * alone (lib/gpt/sublayer.h): to replace these rows is to replace what is added.
 */
#ifndef TG_PATCH_KEPT_H
#define TG_PATCH_KEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/arena.h"
#include "lib/gpt/pass.h"
#include "lib/gpt/sublayer.h"

typedef enum tg_patch_site {
    TG_PATCH_X,
    TG_PATCH_Q,
    TG_PATCH_K,
    TG_PATCH_V,
    TG_PATCH_PATTERN,
    TG_PATCH_Z,
    TG_PATCH_ATT,
    TG_PATCH_MLP,
    TG_PATCH_SITES
} tg_patch_site;
#define TG_PATCH_SITE_NAMES "x|q|k|v|pattern|z|att|mlp"

/* How many heads divide a site: KV of k and v, where heads share them; 0: none do. */
size_t tg_patch_heads(const tg_acts *a, tg_patch_site site);

/* The row of a block that holds a site; pattern's is att (lib/gpt/acts.h). */
size_t tg_patch_row(const tg_acts *a, tg_patch_site site);

typedef struct tg_patch_kept {
    size_t T, capacity;         /* tokens of the run, and those that it may have */
    float *row[TG_PATCH_SITES]; /* [L,capacity,cols]; att's is z's */
    size_t cols[TG_PATCH_SITES];
    float *last;   /* [C] the last token's row of the residual stream after all blocks */
    float *logits; /* [V] after it */
} tg_patch_kept;

/* Place the rows of up to `capacity` tokens (see arena.h). */
void tg_patch_kept_place(tg_arena *arena, tg_patch_kept *kept, const tg_acts *a, size_t capacity);

/* A layer's row of token t. */
static inline float *tg_patch_kept_at(const tg_patch_kept *kept, tg_patch_site site, size_t layer, size_t t)
{
    return kept->row[site] + (layer * kept->capacity + t) * kept->cols[site];
}

/* The site of a sublayer's inputs, z or mlp; and a layer's rows of it, an empty matrix of no run. */
tg_patch_site tg_patch_inputs_site(tg_sublayer_kind kind);
tg_matrix tg_patch_kept_inputs(const tg_patch_kept *kept, tg_sublayer_kind kind, size_t layer);

/*
 * The places of a layer (lib/gpt/layers.h) between which sites are read or written: x before its first
 * operation; q, k and v before attention; z, att and pattern after it; mlp after the units.
 */
typedef enum tg_patch_stop {
    TG_PATCH_AT_BEGINNING,
    TG_PATCH_BEFORE_ATTENTION,
    TG_PATCH_AFTER_ATTENTION,
    TG_PATCH_AFTER_UNITS,
    TG_PATCH_STOPS
} tg_patch_stop;

tg_patch_stop tg_patch_stop_of(tg_patch_site site);

/* The place of a stop; of TG_PATCH_STOPS, the layer's end. */
size_t tg_patch_place(const tg_acts *a, size_t layer, tg_patch_stop stop);

/* Run the model on ids [T] and keep all rows, except pattern's, and the last token's logits. */
void tg_patch_keep(tg_patch_kept *kept, tg_pass *pass, const int32_t *ids, size_t T);

/* Make a run's pattern rows: its probabilities on the values of another run, of as many tokens.
 * TG_ENOMEM. */
TG_MUST_CHECK tg_status tg_patch_keep_pattern(tg_patch_kept *kept, const tg_patch_kept *values,
                                              const tg_acts *a, tg_err *err);

/* Add a run to the mean of n others, of as many tokens: all rows that tg_patch_keep() writes. */
void tg_patch_add_to_mean(tg_patch_kept *mean, const tg_patch_kept *kept, size_t n, size_t L);

#endif
