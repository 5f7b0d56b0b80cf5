/*
 * ref_gpt: the loss of the plain model (lib/gpt/plain.h).  The tests take central differences of it.
 */
#ifndef TG_TESTS_REF_GPT_H
#define TG_TESTS_REF_GPT_H

#include <stddef.h>
#include <stdint.h>

#include "lib/gpt/plain.h"

/*
 * The mean cross-entropy over the B*T targets (ignored ones, -1, count as 0).
 *
 *   flat    [table->floats]  read; parameters at the table's offsets
 *   ids, targets  [B,T]      read
 *   masks                    read, or NULL for no dropout
 *   logits  [B,T,V]          written, or NULL
 *
 * Allocates its scratch and frees it; aborts when there is none.
 */
double ref_gpt_loss(const tg_config *config, const tg_params *table, const double *flat, const int32_t *ids,
                    const int32_t *targets, size_t B, size_t T, const tg_plain_masks *masks, double *logits);

#endif
