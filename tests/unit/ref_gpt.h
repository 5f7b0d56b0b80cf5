/*
 * ref_gpt: a whole GPT, forward, in double precision, out of the reference
 * operations.  The tests take central differences of its loss.
 */
#ifndef TG_TESTS_REF_GPT_H
#define TG_TESTS_REF_GPT_H

#include <stddef.h>
#include <stdint.h>

#include "lib/gpt/config.h"
#include "lib/gpt/params.h"

/* Dropout masks, 0 or 1/(1-p) each; a NULL one is a layer without dropout. */
typedef struct ref_gpt_masks {
    const double *embedding; /* [B,T,C]      on wte + wpe */
    const double *probs;     /* [L,B,H,T,T]  on the attention's probabilities */
    const double *att_proj;  /* [L,B,T,C]    on what attention adds to x */
    const double *fc_proj;   /* [L,B,T,C]    on what the MLP adds to x */
} ref_gpt_masks;

/*
 * The mean cross-entropy over the B*T targets (ignored ones, -1, count as 0).
 *
 *   x = dropout(wte[ids] + wpe)
 *   L times:  x += dropout(attention(layernorm(x)));  x += dropout(mlp(layernorm(x)))
 *   logits = layernorm(x) head^T + head bias;  head is wte when the config is tied
 *
 *   flat    [table->floats]  read; parameters at the table's offsets
 *   ids, targets  [B,T]      read
 *   masks                    read, or NULL for no dropout
 *   logits  [B,T,V]          written, or NULL
 *
 * Allocates its scratch and frees it; aborts when there is none.
 */
double ref_gpt_loss(const tg_config *config, const tg_params *table, const double *flat, const int32_t *ids,
                    const int32_t *targets, size_t B, size_t T, const ref_gpt_masks *masks, double *logits);

#endif
