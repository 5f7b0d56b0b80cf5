/*
 * muon: momentum, whose matrices are made orthogonal.
 *
 *   m = mu m + (1 - mu) g'                  g' is the clipped gradient (lib/gpt/adamw.h)
 *   u = mu m + (1 - mu) g'                  Nesterov's momentum
 *   o = P Q^T for u = P S Q^T               approximately: see below
 *   w = w - lr (0.2 sqrt(max(rows, columns)) o + decay w)
 *
 * It updates the matrices of products in the blocks (tg_param.hidden), and AdamW all other parameters.
 * Queries, keys and values that are columns of one matrix are made orthogonal separately.  The factor gives
 * an update the root mean square that AdamW's typically have, 0.2, so that both take one learning rate.
 *
 * o is approximated from x = u / max(|u|, 1e-7) by TG_MUON_ROUNDS rounds of
 *
 *   a = x x^T        x = c0 x + c1 a x + c2 a a x
 *
 * if rows <= columns; otherwise a = x^T x, on the other side of x.  Products are float32, or round their
 * operands to bf16.  The singular values of x are then between 0.68 and 1.21, except those that were below
 * 0.0015.
 *
 * Sources: Jordan et al. 2024, kellerjordan.github.io/posts/muon (coefficients); Liu et al. 2025,
 * arXiv:2502.16982 (the factor).  docs/recipe.md has measurements of other polynomials.
 */
#ifndef TG_GPT_MUON_H
#define TG_GPT_MUON_H

#include <stddef.h>

#include "lib/base/arena.h"
#include "lib/gpt/adamw.h"
#include "lib/gpt/params.h"
#include "lib/kernels/matmul.h"

#define TG_MUON_ROUNDS 5

/* A matrix, or some columns of one: where it begins in a flat buffer, and how far apart its rows are. */
typedef struct tg_muon_part {
    size_t offset, rows, cols, ld;
    size_t param; /* index in the table */
} tg_muon_part;

typedef struct tg_muon {
    const tg_params *table;
    tg_muon_part *part; /* [n] in the table's order */
    size_t n;
    size_t slots;  /* parts that are made orthogonal at once, each by one thread; 1: by all threads */
    size_t floats; /* of a slot */
    float *work;   /* [slots,floats] */
} tg_muon;

/* Place what a model's updates need, for tg_threads() threads (see arena.h). */
void tg_muon_place(tg_arena *arena, tg_muon *muon, const tg_params *table, const tg_config *config);

/* The settings of a step.  What it updates is float32. */
typedef struct tg_muon_step {
    double momentum, weight_decay, learning_rate;
    double grad_scale; /* of clipping */
} tg_muon_step;

/* m, and u in the place of v, of the hidden parameters among the floats begin .. end - 1. */
void tg_muon_momentum(const tg_params *table, const tg_adamw_state *state, const tg_muon_step *step,
                      size_t begin, size_t end);

/* Update n parts, whose numbers are part [n], by u, which is in the place of v.  The scratch, for as many
 * threads, has the precision of the products. */
void tg_muon_update(const tg_muon *muon, const tg_matmul_scratch *scratch, const tg_adamw_state *state,
                    const tg_muon_step *step, const size_t *part, size_t n);

#endif
