/*
 * model_open: a model from its file, whichever project wrote it.  The beginning of most programs:
 *
 *     tg_model m;
 *     tg_err err;
 *
 *     if (tg_model_open(&m, "model.npz", &err))
 *         fprintf(stderr, "%s\n", err.message);
 *     ...                                          docs/examples/heads.c continues
 *     tg_model_free(&m);
 */
#ifndef TG_MODELS_MODEL_OPEN_H
#define TG_MODELS_MODEL_OPEN_H

#include "lib/base/status.h"
#include "lib/gpt/model.h"

/*
 * Open the model at path: an archive of tg's, trained or not; a directory or a file of Hugging Face's; GGUF,
 * PyTorch's, llm.c's or llama2.c's.  Its kind is recognized by its first bytes, or by the names in a
 * directory.
 *
 *   m->config          layers n_layer, heads n_head, channels n_embd, context n_ctx, vocab_size
 *   m->tokenizer       its own; of kind "ids" if the files have none: tg_tokenizer_has_text()
 *   tg_model_weight()  one tensor, float32, row-major; matrices are [in,out] in GPT-2's family, [out,in] in
 *                      others (lib/gpt/params.h: transposed)
 *
 * The caller frees *m with tg_model_free().  Values that lie in the file as they are wanted stay there,
 * mapped: the file may be replaced or removed meanwhile, but not overwritten or cut.  The others are
 * converted in memory, with all threads.
 *
 * The message of an error begins with the path.  TG_EDATA: no model, a damaged one, a value that is not
 * finite, or a model that this library cannot compute.  TG_EUSAGE: another project's file does not give the
 * number of heads.  TG_EIO: it cannot be opened or read.  TG_ENOMEM.  After a failure *m needs no free.
 */
TG_MUST_CHECK tg_status tg_model_open(tg_model *m, const char *path, tg_err *err);

#endif
