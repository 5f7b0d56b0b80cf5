/*
 * hf_written: models of the families after GPT-2, and the Hugging Face directory that a test writes them to.
 */
#ifndef TG_TESTS_HF_WRITTEN_H
#define TG_TESTS_HF_WRITTEN_H

#include "lib/models/model_file.h"
#include "tests/unit/hf_directory.h"

extern const tg_write_options hf_f32;

/* A config of two layers, of which the caller changes what it is about. */
tg_config hf_base(const char *family);

/* Open a new model of this config, with random weights. */
void hf_open_model(tg_model_file *f, const tg_config *c);

/* Write it, without a note. */
void hf_write_directory(const tg_model_file *f, const tg_write_options *o);

#endif
