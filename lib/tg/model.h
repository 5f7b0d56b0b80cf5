/*
 * model: a model of any family, read from the files of any project, or new.
 *
 *     tg_model_load(&m, "model.npz", &err)
 *     tg_model_shape_of(m).n_layer, ...
 *     tg_model_destroy(m)
 */
#ifndef TG_TG_MODEL_H
#define TG_TG_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "lib/tg/api.h"
#include "lib/tg/status.h"
#include "lib/tg/tokenizer.h"

TG_API_BEGIN

typedef struct tg_model tg_model;

/*
 * Load the model at path: an archive of tg's, trained or not; a directory or a file of Hugging Face's; GGUF,
 * PyTorch's, llm.c's or llama2.c's.  Its kind is recognized by its first bytes, or by the names in a
 * directory.  Values that are already in the right format are used in place, mapped: the file may be replaced
 * or removed meanwhile, but not overwritten or cut.  The others are converted in memory, with all threads.
 *
 * The message of an error begins with the path.  TG_EDATA: no model, a damaged one, a value that is not
 * finite, or a model that this library cannot compute.  TG_EUSAGE: another project's file does not give the
 * number of heads.  TG_EIO: it cannot be opened or read.  TG_ENOMEM.  *m is NULL after a failure.
 */
TG_MUST_CHECK tg_status tg_model_load(tg_model **m, const char *path, tg_err *err);

/*
 * A new model for a tokenizer's texts, initialised from seed: of the shape of a preset, "tinygpt", "baby",
 * "gpt2", ..., but with the tokenizer's vocabulary.  It takes a reference to the tokenizer.  TG_EUSAGE: there
 * is no such preset; the message lists them, and tg_config_presets() returns them: "tinygpt|baby|...".
 * TG_ENOMEM.  *m is NULL after a failure.
 */
TG_MUST_CHECK tg_status tg_model_new(tg_model **m, const char *preset, const tg_tokenizer *tokenizer,
                                     uint64_t seed, tg_err *err);
const char *tg_config_presets(void);
void tg_model_destroy(tg_model *m); /* NULL is fine */

typedef struct tg_model_shape {
    const char *family; /* "gpt2", "llama", ... */
    size_t n_layer;
    size_t n_head, n_kv_head; /* heads of queries; of keys and values, a divisor of n_head */
    size_t head_dim;          /* channels of a head */
    size_t n_embd;            /* channels of the residual stream */
    size_t n_inner;           /* units of the MLP */
    size_t n_ctx;             /* positions */
    size_t vocab_size;        /* rows of the embedding, V of the logits: at least the tokenizer's ids */
} tg_model_shape;

tg_model_shape tg_model_shape_of(const tg_model *m);

/* The model's own; of kind "ids" if its files have none (tg_tokenizer_has_text()). */
const tg_tokenizer *tg_model_tokenizer(const tg_model *m);

/* The token that begins a text: the config's, else the one that the tokenizer has for it
 * (tg_tokenizer_start_of_text()); -1: none. */
int32_t tg_model_bos(const tg_model *m);

/* The ids of a text [n bytes], as the tools read one: with that token before them, where the model says that
 * its texts begin with it.  Fails like tg_tokens_prompt_text(). */
TG_MUST_CHECK tg_status tg_model_prompt(tg_tokens_prompt *p, const tg_model *m, const void *text, size_t n,
                                        tg_err *err);

/* One tensor.  Matrices are [in,out] in GPT-2's family, [out,in] in others. */
typedef struct tg_model_tensor {
    const char *name;    /* "h.0.attn.c_attn.weight" */
    const float *values; /* [shape[0]], or [shape[0],shape[1]] row-major */
    size_t ndim, shape[2];
    size_t offset; /* of its gradient, in a flat buffer of gradients, in floats (lib/tg/pass.h) */
} tg_model_tensor;

/* How many there are, and number i of them, i below that. */
size_t tg_model_tensors(const tg_model *m);
tg_model_tensor tg_model_tensor_at(const tg_model *m, size_t i);

/* The floats of a flat buffer with a place for each tensor, and padding in between.  tg_model_parameters():
 * the one that has a new model's values, which may be changed between passes; NULL: the values are mapped
 * from a file. */
size_t tg_model_floats(const tg_model *m);
float *tg_model_parameters(tg_model *m);

/* Read the same parameters as those of H heads, C/H wide.  TG_EUSAGE, with *m unchanged: H < 1, or H does not
 * divide C (the message has the possible numbers); or the model's heads have a width of their own, share
 * keys, or are rotated, and cannot be divided otherwise. */
TG_MUST_CHECK tg_status tg_model_set_heads(tg_model *m, size_t heads, tg_err *err);

/* Write it to fd, which stays open, as an archive of a model that has not been trained.  TG_EIO, TG_ENOMEM.
 * What other projects read: tg-convert. */
TG_MUST_CHECK tg_status tg_model_write(const tg_model *m, int fd, tg_err *err);

TG_API_END

#endif
