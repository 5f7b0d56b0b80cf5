/*
 * hf_read: a Hugging Face directory that a test writes by hand, with a small model, and what it is read as.
 */
#ifndef TG_TESTS_HF_READ_H
#define TG_TESTS_HF_READ_H

#include "lib/models/model_file.h"
#include "tests/unit/hf_directory.h"

#define SIZES                                                                                                \
    "\"hidden_size\": 12, \"intermediate_size\": 20, \"num_hidden_layers\": 2, \"num_attention_heads\": 4, " \
    "\"vocab_size\": 256, \"max_position_embeddings\": 64"

/* Another model, whose other sizes are left to the class. */
#define FEW                                                                                                  \
    "\"hidden_size\": 64, \"intermediate_size\": 20, \"num_hidden_layers\": 2, \"num_attention_heads\": "    \
    "32, "                                                                                                   \
    "\"vocab_size\": 256, \"model_type\": "

#define LLAMA "\"model_type\": \"llama\", \"head_dim\": 4"

/* How tensors are named and stored. */
extern struct hf_stored {
    const char *prefix; /* before "model.", or else after it */
    const char *inner;
    const char *besides; /* a tensor of images' */
    tg_dtype dtype;
} hf_stored;

/* The config of such a model, as a family has it. */
tg_config hf_config(const char *family);

/* Write config.json: sizes and other members, or SIZES and members. */
void hf_write_json(const char *sizes, const char *members);
void hf_write_config(const char *members);

/* The tensors of a model with that config, each with a number of its own; all but `missing`, and `other` with
 * a column more. */
void hf_write_tensors(const tg_config *c, const char *missing, const char *other);

/* The directory is read as that config, with the values of hf_write_tensors(); with SIZES and these members.
 */
void hf_expect_read(tg_config want);
void hf_expect(const char *members, tg_config want);

/* It is refused, with a message that names the directory; with SIZES and these members; if this is asked for.
 */
void hf_refuse_read(const char *message);
void hf_refuse(const char *members, const char *message);
void hf_refuse_asked(const char *members, const tg_model_ask *ask, tg_status status, const char *message);

#endif
