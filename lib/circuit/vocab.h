/*
 * vocab: both ends of a model, seen from the residual stream.
 *
 *     E [V,C]  the vectors of the tokens, W_E: the rows that the stream begins with
 *     U [C,V]  W_U = P diag(g) head^T: logits = norm(x) head^T ~ x U
 *
 * A row of E is the embedding's, with its scale (Gemma); where the embedding is normed (nanochat), the row is
 * divided by its root mean square, as in the model: this norm sees one token, and depends on no text.  The
 * gains g of the last norm are a part of U, and so is LayerNorm's subtraction of the mean (P, as in
 * lib/circuit/factors.h).  The last norm's bias, its scale and a cap on logits are left out.
 *
 * V is the number of the tokenizer's ids: rows of padding are no tokens.  Both are read in pieces.
 */
#ifndef TG_CIRCUIT_VOCAB_H
#define TG_CIRCUIT_VOCAB_H

#include "lib/base/arena.h"
#include "lib/base/watch.h"
#include "lib/gpt/model.h"

#define TG_VOCAB_ROWS ((size_t)512) /* of a piece */

size_t tg_vocab_tokens(const tg_model *model);

/* Rows [n,C] of the tables of the embedding and the head, from token `first` on, n <= TG_VOCAB_ROWS. */
const float *tg_vocab_embedding(const tg_model *model, size_t first, size_t n);
const float *tg_vocab_head(const tg_model *model, size_t first);

/* scale [n]: how many times rows of the embedding [n,C] E has. */
void tg_vocab_scales(double *scale, const float *rows, const tg_model *model, size_t n);

/* Rows of E [n,C], from token `first` on, n <= TG_VOCAB_ROWS. */
void tg_vocab_vectors(double *e, const tg_model *model, size_t first, size_t n);

/* x [n,C] become rows whose product with head^T is that of the given ones with U. */
void tg_vocab_norm(double *x, const tg_model *model, size_t n);

/* Column `token` of U: u [C]. */
void tg_vocab_column(double *u, const tg_model *model, size_t token);

/* What heads need of both: whatever V is, [C,C]. */
typedef struct tg_vocab_grams {
    double *ue; /* U E */
    double *ee; /* E^T E */
    double *e;  /* [TG_VOCAB_ROWS,C] scratch */
} tg_vocab_grams;
void tg_vocab_grams_place(tg_arena *arena, tg_vocab_grams *g, const tg_config *config);

/* Time V C^2, or half of it with a tied head.  False: the watch has abandoned it. */
bool tg_vocab_grams_set(tg_vocab_grams *g, const tg_model *model, const tg_watch *watch);

#endif
