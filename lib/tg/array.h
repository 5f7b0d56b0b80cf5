/*
 * array: the description of an array in a file: name, element type, shape.
 *
 * Elements are little-endian, in C order (the last dimension is contiguous).
 */
#ifndef TG_TG_ARRAY_H
#define TG_TG_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/tg/api.h"

TG_API_BEGIN

/* The limits of an archive (formats/README.md). */
#define TG_NAME_MAX 127 /* bytes of a name: [A-Za-z0-9._/-]; in files of other projects, printable ASCII */
#define TG_DIMS_MAX 8
#ifndef TG_NAMES_MAX      /* the fuzzers' build has fewer */
#define TG_NAMES_MAX 4096 /* arrays in an archive, tensors in a file */
#endif

/* Element type. */
typedef struct tg_dtype {
    char kind;   /* 'u' 'i' unsigned, signed integer; 'f' IEEE float; 'B' bfloat16; 'b' bool; 'S' bytes */
    size_t size; /* bytes per element: u, i: 1 2 4 8; f: 2 4 8; B: 2; b: 1; S: any from 1 */
} tg_dtype;

#define TG_U8 (TG_VALUE(tg_dtype){'u', 1})
#define TG_U16 (TG_VALUE(tg_dtype){'u', 2})
#define TG_U32 (TG_VALUE(tg_dtype){'u', 4})
#define TG_I32 (TG_VALUE(tg_dtype){'i', 4})
#define TG_I64 (TG_VALUE(tg_dtype){'i', 8})
#define TG_F16 (TG_VALUE(tg_dtype){'f', 2})
#define TG_BF16 (TG_VALUE(tg_dtype){'B', 2}) /* the upper half of a float32; .npy cannot store it */
#define TG_F32 (TG_VALUE(tg_dtype){'f', 4})
#define TG_F64 (TG_VALUE(tg_dtype){'f', 8})

typedef struct tg_array {
    char name[TG_NAME_MAX + 1]; /* in an archive: without ".npy" */
    tg_dtype dtype;
    size_t ndim; /* 0: a scalar */
    size_t shape[TG_DIMS_MAX];
    size_t count; /* elements */
    size_t bytes; /* count * dtype.size */
    /* The elements, verified, if the input is mapped and stores them uncompressed; valid
     * until the reader is closed.  Otherwise NULL: read them.  Aligned to 64 bytes in
     * archives that tg wrote, arbitrarily in other files. */
    const void *data;
} tg_array;

/* Whether the type is one of the above. */
bool tg_dtype_is_valid(tg_dtype dtype);
bool tg_dtype_equal(tg_dtype a, tg_dtype b);

/* Compute a->count and a->bytes from dtype, ndim and shape.  False, with both unspecified,
 * if the type is invalid, ndim exceeds TG_DIMS_MAX, or the bytes exceed PTRDIFF_MAX (a
 * dimension of 0 counts as 1 in this check). */
bool tg_array_measure(tg_array *a);

/* The type as .npy writes it ("<f4"; "bf16" for bfloat16), and the shape as Python does
 * ("(2, 3)").  Both return `text`. */
#define TG_ARRAY_TEXT_MAX 192
const char *tg_dtype_text(char text[TG_ARRAY_TEXT_MAX], tg_dtype dtype);
const char *tg_shape_text(char text[TG_ARRAY_TEXT_MAX], size_t ndim, const size_t *shape);

TG_API_END

#endif
