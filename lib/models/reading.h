/*
 * reading: parts of Hugging Face's checkpoints, and of PyTorch's files, that their readers borrow from each
 * other.
 */
#ifndef TG_MODELS_READING_H
#define TG_MODELS_READING_H

#include <stddef.h>

#include "formats/torch_file.h"
#include "lib/base/status.h"
#include "lib/models/model_format.h"

/*
 * Read a config.json [n] into f->config, with what transformers assumes where it says nothing.  TG_EDATA,
 * with the name of what it asks for, if this library does not compute that; part of it becomes a note.
 */
TG_MUST_CHECK tg_status tg_hf_config_read(tg_model_file *f, const void *text, size_t n,
                                          const tg_model_ask *ask, tg_err *err);

/* Write a config.json. */
TG_MUST_CHECK tg_status tg_hf_config_write(int fd, const tg_model_file *f, const tg_write_options *o,
                                           tg_err *err);

/* Its lines of the tokens that begin and end a text, into text, which is returned. */
#define TG_HF_ENDS_SIZE 96
char *tg_hf_ends(char text[TG_HF_ENDS_SIZE], const tg_model_file *f);

/* The files of a directory in which a tokenizer is looked for, ended by NULL. */
extern const char *const tg_hf_tokenizers[];

/*
 * Use the config.json in the directory of path (or in path, if that is a directory), if it exists, and the
 * tokenizer in the same directory.  Without a config.json, f->config_known stays 0, and a tokenizer file is
 * not trusted to belong to the model.  path NULL: a stream, which has neither.
 */
TG_MUST_CHECK tg_status tg_hf_read_around(tg_model_file *f, const char *path, bool directory,
                                          const tg_model_ask *ask, tg_err *err);

/*
 * Whether f->tokenizer, read from the file `tokenizer` in a directory, puts a token before a text, and which:
 * what tokenizer.json's post-processor does, or what tokenizer_config.json says of another file.  Errors name
 * the file.
 */
TG_MUST_CHECK tg_status tg_hf_bos_read(tg_model_file *f, const char *directory, const char *tokenizer,
                                       tg_err *err);

/* The scale of the embedding (Gemma's) in the type of its values, as transformers rounds it.  After the
 * tensors have been matched. */
void tg_hf_round_scale(tg_model_file *f);

/* Open a PyTorch file in memory, whose storages are read once for their checksums, and then taken out of it.
 * Errors as tg_torch_open(). */
TG_MUST_CHECK tg_status tg_torch_open_loaded(tg_torch *t, tg_loaded *file, tg_err *err);

/* The dict of tensors: under a name that training programs use, or the whole. */
const tg_pickle_value *tg_torch_find_state(const tg_torch *t);

/*
 * List the tensors of a file that is a state dict, or has one under "model", "state_dict" or
 * "model_state_dict".  TG_EDATA as tg_torch_open() and tg_torch_list(); transposed tensors are refused.
 * TG_ENOMEM.
 */
TG_MUST_CHECK tg_status tg_torch_read_tensors(tg_loaded *file, tg_err *err);

#endif
