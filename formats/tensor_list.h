/*
 * tensor_list: the tensors of a file that lists them: safetensors, GGUF, PyTorch's, models of llm.c and
 * llama2.c.
 *
 * A reader of such a format is a function over the whole file in memory (mapped, or read):
 *
 *     for each tensor: tg_tensor_list_add(&list, &stored, &err)
 *     tg_tensor_list_arrange(&list, &err)
 *
 * It checks what the file claims of each tensor, before it adds it: type, shape (tg_array_measure()), and
 * that the data lie within the file.  The values stay where they are; tg_stored_load() converts some of them.
 */
#ifndef TG_FORMATS_TENSOR_LIST_H
#define TG_FORMATS_TENSOR_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/tg/array.h"
#include "lib/base/status.h"

typedef struct tg_blocks tg_blocks; /* a type whose values are quantised in blocks, formats/block_types.h */

typedef struct tg_stored {
    tg_array array; /* name, shape, dtype of its values (TG_F32 for blocks), count, bytes; data = at when
                       the values lie there plainly, else NULL; any alignment */
    const tg_blocks *blocks; /* NULL: plain values of array.dtype, or, as in llama2.c's files: */
    size_t group; /* integers of 8 bits, and after all of them a scale, float32, for each group of so many */
    const unsigned char *at; /* [stored] the bytes in the file's memory */
    size_t stored;
    uint64_t offset; /* of at, from the start of the file */
    bool transposed; /* the data of an array [rows,columns] lie as [columns,rows]; only in PyTorch's files */
} tg_stored;

typedef struct tg_tensor_list {
    tg_stored *tensor; /* [n], once arranged in the order of their offsets; owned */
    size_t n, capacity;
    const tg_stored **by_name; /* [n], once arranged: the tensors in the order of their names; owned */
} tg_tensor_list;

/*
 * Append a copy of *s.  TG_EDATA: its name is empty or has characters that are neither letters nor digits nor
 * printable signs of ASCII, or there are more than TG_NAMES_MAX tensors.  TG_ENOMEM.
 */
TG_MUST_CHECK tg_status tg_tensor_list_add(tg_tensor_list *list, const tg_stored *s, tg_err *err);

/* Append an array whose values are byte *at of the file and those after it, and set *at to what follows them.
 */
TG_MUST_CHECK tg_status tg_tensor_list_add_next(tg_tensor_list *list, const tg_array *a,
                                                const unsigned char *file, size_t *at, tg_err *err);

/* Set s->array.name.  TG_EDATA: it is longer than TG_NAME_MAX bytes, or not allowed as above. */
TG_MUST_CHECK tg_status tg_stored_set_name(tg_stored *s, const char *name, size_t n, tg_err *err);

/*
 * Call after the last tensor: sort by offset, and refuse two tensors of one name, or data that partly
 * overlap. Several tensors may be the very same bytes: PyTorch's files store tied weights once.  TG_EDATA,
 * TG_ENOMEM.
 */
TG_MUST_CHECK tg_status tg_tensor_list_arrange(tg_tensor_list *list, tg_err *err);

/* A tensor of an arranged list, or NULL. */
const tg_stored *tg_tensor_list_find(const tg_tensor_list *list, const char *name);

/* A zeroed list is fine. */
void tg_tensor_list_free(tg_tensor_list *list);

/*
 * Convert values first .. first + n - 1, counted in C order, to float32: float64 is rounded, all other
 * types are exact.  TG_EDATA: the values are no floating-point numbers.
 */
TG_MUST_CHECK tg_status tg_stored_load(float *out, const tg_stored *s, size_t first, size_t n, tg_err *err);

/* The name of its type as tg-info shows it: "f32", "bf16", "i64", "q8_0".  Returns text, or a constant. */
const char *tg_stored_type(char text[TG_ARRAY_TEXT_MAX], const tg_stored *s);

#endif
