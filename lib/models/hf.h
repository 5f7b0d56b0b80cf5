/*
 * hf: Hugging Face's checkpoints of GPT-2.  Only for the files hf*.c and the formats that borrow their parts.
 */
#ifndef TG_MODELS_HF_H
#define TG_MODELS_HF_H

#include <stddef.h>

#include "lib/base/status.h"
#include "lib/models/model_format.h"

/*
 * Read a config.json [n] into f->config, with what transformers assumes where it says nothing.  TG_EDATA,
 * with the name of what it asks for, if that is not GPT-2 as this library computes it; part of it becomes a
 * note.
 */
TG_MUST_CHECK tg_status tg_hf_config_read(tg_model_file *f, const void *text, size_t n,
                                          const tg_model_ask *ask, tg_err *err);

/* Write a config.json. */
TG_MUST_CHECK tg_status tg_hf_config_write(int fd, const tg_model_file *f, const tg_write_options *o,
                                           tg_err *err);

/* The files of a directory in which a tokenizer is looked for, ended by NULL. */
extern const char *const tg_hf_tokenizers[];

/*
 * Use the config.json in the directory of path (or in path, if that is a directory), if it exists, and the
 * tokenizer in the same directory.  Without a config.json, f->config_known stays 0, and a tokenizer file is
 * not trusted to belong to the model.  path NULL: a stream, which has neither.
 */
TG_MUST_CHECK tg_status tg_hf_read_around(tg_model_file *f, const char *path, bool directory,
                                          const tg_model_ask *ask, tg_err *err);

#endif
