/*
 * hf_write_families: Hugging Face's directories of the families after GPT-2.  Only for hf_write.c.
 */
#ifndef TG_MODELS_HF_WRITE_FAMILIES_H
#define TG_MODELS_HF_WRITE_FAMILIES_H

#include "lib/models/hf_classes.h"
#include "lib/models/model_file.h"

/* Refuse what Hugging Face's class of the family cannot hold.  TG_EUSAGE. */
TG_MUST_CHECK tg_status tg_hf_family_check(const tg_model_file *f, const tg_write_options *o, tg_err *err);

/* Write the config.json and the model.safetensors of a checked model. */
TG_MUST_CHECK tg_status tg_hf_family_config(int fd, const tg_model_file *f, const tg_write_options *o,
                                            tg_err *err);
TG_MUST_CHECK tg_status tg_hf_family_tensors(int fd, const tg_model_file *f, const tg_write_options *o,
                                             tg_err *err);

/* Whether 1 can be taken from all gains, in this type, without a change of their sums with 1. */
TG_MUST_CHECK tg_status tg_hf_gains_less(bool *exact, const tg_model_file *f, tg_write_type type,
                                         tg_err *err);

#endif
