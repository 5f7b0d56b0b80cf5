/*
 * gpt2: the steps of GPT-2 (lib/gpt/acts.h), of which a family that differs in some takes the others.
 */
#ifndef TG_GPT_GPT2_H
#define TG_GPT_GPT2_H

#include "lib/gpt/acts.h"

void tg_gpt2_embed(tg_acts *a, const int32_t *ids);
void tg_gpt2_project(tg_acts *a, size_t l);
void tg_gpt2_attend(tg_acts *a, size_t l);
void tg_gpt2_finish(tg_acts *a, size_t l);
void tg_gpt2_logits(tg_acts *a, tg_matrix logits, size_t first, size_t rows);
void tg_gpt2_loss(tg_acts *a, float *losses, const int32_t *targets, float *some_logits, float scale);
void tg_gpt2_logits_backward(tg_acts *a, tg_matrix dlogits, size_t first, size_t rows);
void tg_gpt2_loss_backward(tg_acts *a);
void tg_gpt2_finish_backward(tg_acts *a, size_t l);
void tg_gpt2_attend_backward(tg_acts *a, size_t l);
void tg_gpt2_project_backward(tg_acts *a, size_t l);
void tg_gpt2_embed_backward(tg_acts *a, const int32_t *ids);

extern const tg_steps tg_gpt2_steps;

#endif
