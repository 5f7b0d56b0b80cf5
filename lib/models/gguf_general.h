/*
 * gguf_general: what a GGUF file says of its model in texts for people, general.name, general.license and the
 * like, which a changed model should still have.  Only for GGUF's reader and writer.
 */
#ifndef TG_MODELS_GGUF_GENERAL_H
#define TG_MODELS_GGUF_GENERAL_H

#include "formats/gguf.h"
#include "formats/gguf_writer.h"
#include "lib/models/model_file.h"

/* Keep g's texts, of whose bytes they are parts, in f->general: the first TG_GENERAL_MAX, with a note if
 * there are more.  TG_ENOMEM. */
TG_MUST_CHECK tg_status tg_gguf_general_keep(tg_model_file *f, const tg_gguf *g, tg_err *err);

/* Write them. */
void tg_gguf_general_put(tg_gguf_writer *w, const tg_model_file *f);

#endif
