/*
 * llama2c: the models of llama2.c, its .bin files:
 *
 * Version 0 is seven 32-bit integers, dim, hidden_dim, n_layers, n_heads, n_kv_heads, vocab_size and seq_len
 * (a negative vocab_size: the head is stored), then the tensors.  Version 1 is 0x616B3432, the version, the
 * same integers, a byte that is 1 if the head is the embedding, zeros up to byte 256, then the tensors in
 * another order.  Version 2 has the size of a group after that byte, and matrices as integers of 8 bits, each
 * followed by its scales.
 *
 * All other tensors are float32, those of a kind for all layers in a row; matrices are [out,in].  All numbers
 * are little-endian.  Version 0 has no magic number: a file is taken for one if its integers are those of a
 * model.
 */
#ifndef TG_FORMATS_LLAMA2C_H
#define TG_FORMATS_LLAMA2C_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/tensor_list.h"
#include "lib/base/status.h"

#define TG_LLAMA2C_EPSILON 1e-5 /* RMSNorm's, of every model */
#define TG_LLAMA2C_THETA 10000  /* the base of its rotation */

typedef struct tg_llama2c_config {
    size_t version;
    size_t dim, hidden_dim, n_layers, n_heads, n_kv_heads, vocab_size, seq_len;
    bool tied;    /* the head is the embedding */
    size_t group; /* values of a matrix that share a scale; 0: it is float32 */
} tg_llama2c_config;

/* Whether a file that begins with first [n] is a model, or a part of one; 28 bytes suffice. */
bool tg_llama2c_begins(const void *first, size_t n);

/* Tensors in a model's file, and tensor i < that of them, in the file's order: name (the training program's:
 * "layers.3.attention.wq.weight"), type, shape ([out,in]) and size as float32; and the bytes that it takes.
 */
size_t tg_llama2c_tensors(const tg_llama2c_config *config);
void tg_llama2c_tensor(tg_array *a, const tg_llama2c_config *config, size_t i);
size_t tg_llama2c_stored(const tg_llama2c_config *config, const tg_array *a);

/*
 * Read the header of file [n] and list its tensors, one for each layer; *list is zeroed before, and freed by
 * the caller even after a failure.  TG_EDATA: another version, numbers that make no model, a file of another
 * size than they say.  TG_ENOMEM.
 */
TG_MUST_CHECK tg_status tg_llama2c_read(tg_tensor_list *list, tg_llama2c_config *config, const void *file,
                                        size_t n, tg_err *err);

#endif
