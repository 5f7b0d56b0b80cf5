/*
 * gguf: reads llama.cpp's files, versions 2 and 3: named values, then tensors.
 *
 *     tg_gguf_read(&list, &g, file, n, &err)      the whole file is in memory
 *     n_layer = tg_gguf_get_size(&g, "gpt2.block_count")
 *     tg_stored_load(out, tg_tensor_list_find(&list, "token_embd.weight"), 0, n, &err)
 *     tg_gguf_free(&g), tg_tensor_list_free(&list)
 *
 * Nothing is copied: names, values and tensors point into the file's memory.  All that the file claims is
 * checked when it is read; the memory that this takes is at most a few times the file's size before its
 * first tensor, and less than 10 MB.  Source: docs/gguf.md of the ggml project.
 */
#ifndef TG_FORMATS_GGUF_H
#define TG_FORMATS_GGUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/span.h"
#include "formats/tensor_list.h"
#include "lib/base/status.h"

#define TG_GGUF_ALIGNMENT 32     /* bytes, unless general.alignment is another number */
#define TG_GGUF_NAME_MAX 64      /* bytes of a tensor's name */
#define TG_GGUF_DIMS_MAX 4       /* of a tensor */
#define TG_GGUF_VALUES_MAX 65536 /* named values that are read */

/* The types of values, with the file's numbers. */
typedef enum tg_gguf_type {
    TG_GGUF_U8,
    TG_GGUF_I8,
    TG_GGUF_U16,
    TG_GGUF_I16,
    TG_GGUF_U32,
    TG_GGUF_I32,
    TG_GGUF_F32,
    TG_GGUF_BOOL,
    TG_GGUF_TEXT,
    TG_GGUF_ARRAY,
    TG_GGUF_U64,
    TG_GGUF_I64,
    TG_GGUF_F64,
    TG_GGUF_TYPES
} tg_gguf_type;

extern const struct tg_gguf_type_info {
    const char *name; /* "u32", "text" */
    size_t size;      /* bytes; 0: not fixed */
} tg_gguf_types[TG_GGUF_TYPES];

/* Texts are spans of the file, UTF-8 if the file is right (that is not checked). */
typedef struct tg_gguf_value {
    tg_span key;       /* printable ASCII */
    tg_gguf_type type; /* of the value, or of an array's elements; never TG_GGUF_ARRAY */
    bool array;
    size_t n;                /* elements; 1 if it is no array */
    const unsigned char *at; /* [bytes] the elements, as they are in the file */
    size_t bytes;
} tg_gguf_value;

typedef struct tg_gguf {
    uint32_t version;
    size_t alignment;
    tg_gguf_value *value; /* [n_values] in the file's order; owned */
    size_t n_values;
    uint64_t data;    /* offset of the tensors' data */
    tg_status status; /* of the first failure of tg_gguf_get_*(); a caller may set it to that of its own */
    tg_err *err;      /* what tg_gguf_read() was given */
} tg_gguf;

/*
 * Read the whole file [n] up to its tensors' data, and arrange the list, which is empty before.  The data
 * of the tensors follow each other from g->data on, each at the next multiple of the alignment, and the
 * file ends with them.  err, which may be NULL, must outlive *g.
 * TG_EDATA: another version, a truncated file, two values of one key, arrays in arrays, a type that this
 * project does not know, or anything else that contradicts the format; TG_ENOMEM.  After a failure both
 * can be freed.
 */
TG_MUST_CHECK tg_status tg_gguf_read(tg_tensor_list *list, tg_gguf *g, const void *file, size_t n,
                                     tg_err *err);

/* A zeroed *g is fine. */
void tg_gguf_free(tg_gguf *g);

/* The value with that key, or NULL. */
const tg_gguf_value *tg_gguf_find(const tg_gguf *g, const char *key);

/*
 * The value with that key.  The first failure is kept in g->status and *g->err: TG_EDATA, with the key: there
 * is none, or it has another type.  After it they return zeros and NULL.  A size is an integer of any type
 * that is not negative, a real a float of either.
 */
size_t tg_gguf_get_size(tg_gguf *g, const char *key);
double tg_gguf_get_real(tg_gguf *g, const char *key);
tg_span tg_gguf_get_text(tg_gguf *g, const char *key);

/* The same of a truth that may be missing. */
bool tg_gguf_get_bool(tg_gguf *g, const char *key, bool otherwise);

/* An array of texts, or of integers of any type. */
const tg_gguf_value *tg_gguf_get_texts(tg_gguf *g, const char *key);
const tg_gguf_value *tg_gguf_get_integers(tg_gguf *g, const char *key);

/* The next text of an array.  *at is its `at` before the first one; to be called at most n times. */
tg_span tg_gguf_next_text(const unsigned char **at);

/* Element i of integers or truths; one beyond INT64_MAX becomes INT64_MAX. */
int64_t tg_gguf_integer(const tg_gguf_value *v, size_t i);

/* Element i of floats. */
double tg_gguf_real(const tg_gguf_value *v, size_t i);

#endif
