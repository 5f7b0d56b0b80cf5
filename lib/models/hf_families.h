/*
 * hf_families: Hugging Face's config.json of the families after GPT-2.  Only for hf_config.c.
 */
#ifndef TG_MODELS_HF_FAMILIES_H
#define TG_MODELS_HF_FAMILIES_H

#include <stdbool.h>

#include "formats/json.h"
#include "lib/models/model_file.h"

/* Whether a "model_type" is one of these; the list of them, for a message. */
bool tg_hf_is_family(const char *type);
const char *tg_hf_families(void);

/* Read the config of such a type into f->config.  What is missing, or not supported, is j's failure. */
void tg_hf_family_read(tg_model_file *f, tg_json *j, const char *type);

#endif
