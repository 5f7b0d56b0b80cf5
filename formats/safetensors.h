/*
 * safetensors: Hugging Face's file of tensors.
 *
 * A 64-bit length N, N bytes of JSON, the data of all tensors one after another, without gaps:
 *
 *     {"__metadata__": {"format": "pt"}, "wte.weight": {"dtype": "F32", "shape": [256, 64],
 *      "data_offsets": [0, 65536]}, ...}
 *
 * Source: the format's own description in github.com/huggingface/safetensors, README.md.
 */
#ifndef TG_FORMATS_SAFETENSORS_H
#define TG_FORMATS_SAFETENSORS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/tg/array.h"
#include "formats/tensor_list.h"
#include "lib/base/status.h"

#define TG_SAFETENSORS_HEADER_MAX ((size_t)100000000) /* bytes of JSON */

/* Texts of "__metadata__", in the order of their keys. */
typedef struct tg_metadata {
    struct tg_metadata_pair {
        char *key, *value; /* UTF-8 */
    } * pair;              /* [n]; owned */
    size_t n, capacity;
} tg_metadata;

void tg_metadata_free(tg_metadata *pairs); /* a zeroed one is fine */

/*
 * Read the directory of the file [n], whose bytes must outlive the list, into *list, arranged, and *metadata;
 * both are zeroed before, and freed by the caller even after a failure.
 * The whole file is described: data begin at offset 0 without gaps or overlap, and end where the file does.
 * TG_EDATA: truncated, or anything else; the message has the tensor, or the position in the JSON.  TG_ENOMEM.
 * Memory: at most TG_NAMES_MAX tensors and as many pairs, proportional to the header otherwise.
 */
TG_MUST_CHECK tg_status tg_safetensors_read(tg_tensor_list *list, tg_metadata *metadata, const void *file,
                                            size_t n, tg_err *err);

/*
 * The index of a checkpoint in several files (model.safetensors.index.json): which file has which tensor.
 */
typedef struct tg_shards {
    char **file; /* [n_files] names in the index's own directory, in order; owned */
    size_t n_files;
    struct tg_shard {
        char *name;       /* of the tensor; owned */
        const char *file; /* one of file[] */
    } * tensor;           /* [n_tensors] in the order of the names */
    size_t n_tensors, capacity;
} tg_shards;

/* Read an index [n]; *shards is zeroed before, and freed by the caller even after a failure.  TG_EDATA: a
 * file's name leads out of the directory, a tensor occurs twice, or the JSON is no index; TG_ENOMEM. */
TG_MUST_CHECK tg_status tg_shards_read(tg_shards *shards, const void *text, size_t n, tg_err *err);
void tg_shards_free(tg_shards *shards);

/*
 * Writing: the header, then the tensors in the same order, in any number of parts.
 *
 *     tg_safetensors_begin(&w, fd, arrays, n, &err)
 *     for each: tg_safetensors_put(&w, data, bytes, &err) ...
 *     tg_safetensors_end(&w)
 *
 * The header is padded with spaces so that the data begin on a multiple of 64 bytes.
 */
typedef struct tg_safetensors_writer {
    int fd;        /* the caller's */
    uint64_t left; /* bytes of data that have not been written */
} tg_safetensors_writer;

/* Write the header.  Only name, dtype and shape of arrays [n] are read.  TG_EUSAGE: a type that the format
 * lacks; TG_EIO.  Nothing needs to be freed. */
TG_MUST_CHECK tg_status tg_safetensors_begin(tg_safetensors_writer *w, int fd, const tg_array *arrays,
                                             size_t n, tg_err *err);
TG_MUST_CHECK tg_status tg_safetensors_put(tg_safetensors_writer *w, const void *data, size_t bytes,
                                           tg_err *err);
void tg_safetensors_end(const tg_safetensors_writer *w); /* asserts that nothing is missing */

#endif
