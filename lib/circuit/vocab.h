/*
 * vocab: both ends of a model, seen from the residual stream.
 *
 *     E [V,C]  the vectors of the tokens, W_E: rows of the embedding, with its scale
 *     U [C,V]  W_U: logits = norm(x) head^T ~ x U; the gains of the last norm, and LayerNorm's subtraction of
 * the mean, are a part of it: P diag(g) head^T.  Its bias, its scale and a cap are left out.
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

/* How many times E is what the model's table has. */
double tg_vocab_scale(const tg_model *model);

/* Rows [n,C] of the embedding without its scale, or of the head, from token `first` on, n <= TG_VOCAB_ROWS.
 */
const float *tg_vocab_embedding(const tg_model *model, size_t first, size_t n);
const float *tg_vocab_head(const tg_model *model, size_t first);

/* x [n,C] become rows whose product with head^T is that of the given ones with U. */
void tg_vocab_norm(double *x, const tg_model *model, size_t n);

/* Column `token` of U: u [C]. */
void tg_vocab_column(double *u, const tg_model *model, size_t token);

/* What heads need of both: whatever V is, [C,C]. */
typedef struct tg_vocab_grams {
    double *ue; /* U E */
    double *ee; /* E^T E */
} tg_vocab_grams;
void tg_vocab_grams_place(tg_arena *arena, tg_vocab_grams *g, const tg_config *config);

/* Time V C^2, or half of it with a tied head.  False: the watch has abandoned it. */
bool tg_vocab_grams_set(tg_vocab_grams *g, const tg_model *model, const tg_watch *watch);

#endif
