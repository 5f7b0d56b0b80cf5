/*
 * hf_families: Hugging Face's config.json of the families after GPT-2.  Only for hf_config.c.
 */
#ifndef TG_MODELS_HF_FAMILIES_H
#define TG_MODELS_HF_FAMILIES_H

#include "lib/models/hf_reading.h"

/* The values of "model_type", "llama|mistral|...". */
const char *tg_hf_families(void);

/* Read the config of the type with that number into r->f->config.  What is missing, or not supported, is
 * r->j's failure. */
void tg_hf_family_read(tg_hf_reading *r, size_t type);

#endif
