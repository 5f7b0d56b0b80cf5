/*
 * gguf_write_families: GGUF files of the families after GPT-2.  Only for gguf_write.c.
 */
#ifndef TG_MODELS_GGUF_WRITE_FAMILIES_H
#define TG_MODELS_GGUF_WRITE_FAMILIES_H

#include "formats/gguf_writer.h"
#include "lib/models/gguf_archs.h"
#include "lib/models/model_file.h"

/* Refuse a model that llama.cpp computes otherwise (TG_EUSAGE, with the setting and its value); note which
 * matrices are no blocks. */
TG_MUST_CHECK tg_status tg_gguf_family_check(const tg_model_file *f, const tg_write_options *o,
                                             tg_notes *notes, tg_err *err);

/* The named values of a checked model, and then, after the vocabulary's, all tensors. */
void tg_gguf_family_config(tg_gguf_writer *w, const tg_config *c, tg_write_type type);
TG_MUST_CHECK tg_status tg_gguf_family_tensors(tg_gguf_writer *w, const tg_model_file *f,
                                               const tg_write_options *o, tg_err *err);

/* ---- of GPT-2 as well */

/* The first named values. */
void tg_gguf_put_start(tg_gguf_writer *w, const char *architecture, tg_write_type type);

/* How a parameter is stored, in rows of `row`: vectors and positions in float32, as llama.cpp wants them; a
 * matrix whose rows are no whole blocks in float16, as its own tools do. */
tg_gguf_kind tg_gguf_kind_of(const tg_param *p, size_t row, tg_write_type type);

/* Note of which lengths rows are no whole blocks.  TG_ENOMEM. */
TG_MUST_CHECK tg_status tg_gguf_note_types(const tg_config *c, tg_write_type type, tg_notes *notes,
                                           tg_err *err);

#endif
