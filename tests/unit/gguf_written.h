/*
 * gguf_written: models of the families after GPT-2 (tests/unit/hf_written.h), and the GGUF file of them.
 */
#ifndef TG_TESTS_GGUF_WRITTEN_H
#define TG_TESTS_GGUF_WRITTEN_H

#include "lib/models/model_file.h"

/* A model of which llama.cpp can hold everything. */
tg_config gguf_base(const char *family);

/* Whether it is refused. */
tg_status gguf_check(const tg_model_file *f, const tg_write_options *o, tg_notes *notes, tg_err *err);

/* Write a model as model.gguf in hf_directory. */
void gguf_write_file(const tg_model_file *f, const tg_write_options *o);

#endif
