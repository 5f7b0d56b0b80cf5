/*
 * llmc: the files of llm.c: models, tokens, tokenizers.  Each begins with 256 32-bit integers:
 *
 *     model       20240326, version 3 (float32) or 5 (bfloat16), n_ctx, vocab_size, n_layer, n_head, n_embd,
 *                 rows of wte.weight, zeros; then all tensors, those of a kind for all layers in a row
 *     tokens      20240520, version 1, number of ids, zeros; then the ids, 16 bits each
 *     tokenizer   20240328, version 2, number of tokens, id of the end of a text, zeros; then for each token
 *                 its length in a byte, and its bytes
 *
 * Matrices are [out,in].  All numbers are little-endian.
 */
#ifndef TG_FORMATS_LLMC_H
#define TG_FORMATS_LLMC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/tensor_list.h"
#include "lib/base/status.h"

#define TG_LLMC_HEADER 1024     /* bytes */
#define TG_LLMC_TOKEN_MAX 255   /* bytes of a token */
#define TG_LLMC_IDS_MAX 0x10000 /* ids that fit in a file of tokens */
#define TG_LLMC_EPSILON 1e-5    /* LayerNorm's, of every model */

/* ---- models */

typedef struct tg_llmc_config {
    bool bf16;
    size_t n_ctx, vocab_size, n_layer, n_head, n_embd;
    size_t rows; /* of wte.weight: tg_llmc_rows(vocab_size), the rest is padding */
} tg_llmc_config;

/* The rows for this many ids: the next multiple of 128. */
size_t tg_llmc_rows(size_t vocab_size);

/* Tensors in a model's file, and tensor i < that of them, in the file's order: name (nanoGPT's and Hugging
 * Face's: "h.3.attn.c_attn.weight"), type, shape ([out,in]) and size. */
size_t tg_llmc_tensors(const tg_llmc_config *config);
void tg_llmc_tensor(tg_array *a, const tg_llmc_config *config, size_t i);

/*
 * Read the header of file [n] and list its tensors, one for each layer; *list is zeroed before, and freed by
 * the caller even after a failure.  TG_EDATA: another version, numbers that make no model, a file of another
 * size than they say.  TG_ENOMEM.
 */
TG_MUST_CHECK tg_status tg_llmc_model_read(tg_tensor_list *list, tg_llmc_config *config, const void *file,
                                           size_t n, tg_err *err);

/* The header of a model; its tensors follow it. */
void tg_llmc_model_header(unsigned char out[TG_LLMC_HEADER], const tg_llmc_config *config);

/* ---- tokens */

/* The number of ids that a header says.  TG_EDATA: another version. */
TG_MUST_CHECK tg_status tg_llmc_tokens_count(size_t *count, const unsigned char header[TG_LLMC_HEADER],
                                             tg_err *err);

/* *ids: the `count` ids in file [n], 2 bytes each.  TG_EDATA: another version or size. */
TG_MUST_CHECK tg_status tg_llmc_tokens_read(const unsigned char **ids, size_t *count, const void *file,
                                            size_t n, tg_err *err);

/* TG_EUSAGE: more than 2^31 - 1 ids. */
TG_MUST_CHECK tg_status tg_llmc_tokens_header(unsigned char out[TG_LLMC_HEADER], size_t count, tg_err *err);

/* ---- tokenizers */

/* Walks through the tokens of a file. */
typedef struct tg_llmc_tokenizer {
    size_t n;                  /* tokens */
    size_t end_of_text;        /* id, below n */
    const unsigned char *next; /* the length of the next one */
} tg_llmc_tokenizer;

/* Check all of file [n].  TG_EDATA: another version, truncated, or bytes after the last token. */
TG_MUST_CHECK tg_status tg_llmc_tokenizer_read(tg_llmc_tokenizer *t, const void *file, size_t n, tg_err *err);

/* The bytes of the next token, [*n]; to be called t->n times. */
const unsigned char *tg_llmc_tokenizer_next(tg_llmc_tokenizer *t, size_t *n);

/* n, end_of_text: at most 2^24. */
void tg_llmc_tokenizer_header(unsigned char out[TG_LLMC_HEADER], size_t n, size_t end_of_text);

#endif
