/*
 * gpt2: the steps of GPT-2 (lib/gpt/acts.h), of which a family that differs in some takes the others.
 */
#ifndef TG_GPT_GPT2_H
#define TG_GPT_GPT2_H

#include "lib/gpt/acts.h"

/* Where training drops activations.  Each site of a layer has its own random numbers. */
typedef enum tg_gpt2_site { TG_SITE_EMBEDDING, TG_SITE_PROBS, TG_SITE_ATTENTION, TG_SITE_MLP } tg_gpt2_site;

tg_dropout tg_gpt2_drop_at(const tg_acts *a, tg_gpt2_site site, size_t l);

void tg_gpt2_embed(tg_acts *a, const int32_t *ids);
void tg_gpt2_qkv(tg_acts *a, size_t l);
void tg_gpt2_att(tg_acts *a, size_t l);
void tg_gpt2_x2(tg_acts *a, size_t l);
void tg_gpt2_x(tg_acts *a, size_t l);
void tg_gpt2_logits(tg_acts *a, tg_matrix logits, size_t first, size_t rows);
void tg_gpt2_loss(tg_acts *a, float *losses, const int32_t *targets, float *some_logits, float scale);
void tg_gpt2_logits_backward(tg_acts *a, tg_matrix dlogits, size_t first, size_t rows);
void tg_gpt2_loss_backward(tg_acts *a);
void tg_gpt2_x_backward(tg_acts *a, size_t l);
void tg_gpt2_x2_backward(tg_acts *a, size_t l);
void tg_gpt2_att_backward(tg_acts *a, size_t l);
void tg_gpt2_qkv_backward(tg_acts *a, size_t l);
void tg_gpt2_embed_backward(tg_acts *a, const int32_t *ids);

extern const tg_steps tg_gpt2_steps;

#define TG_GPT2_ACTS 11
extern const tg_act_row tg_gpt2_acts[TG_GPT2_ACTS];

#endif
