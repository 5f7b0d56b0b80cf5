/*
 * npy: the header of an .npy file, versions 1.0 and 2.0.
 */
#ifndef TG_FORMATS_NPY_H
#define TG_FORMATS_NPY_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/tg/array.h"
#include "lib/base/status.h"

#define TG_NPY_PREFIX 12      /* bytes that include the header's length */
#define TG_NPY_HEAD_MAX 10240 /* max bytes of a header to read, prefix included */
#define TG_NPY_FORMAT_MAX 320 /* max bytes of a header to write, a multiple of 64 */

/* Compute the offset of the array's data from the first TG_NPY_PREFIX bytes of the file.
 * TG_EDATA: not an .npy, an unknown version, a header of more than 10,000 bytes. */
TG_MUST_CHECK tg_status tg_npy_length(const unsigned char *first, size_t *length, tg_err *err);

/* Parse the header head [length] into a->dtype, ndim, shape, count and bytes.  TG_EDATA. */
TG_MUST_CHECK tg_status tg_npy_parse(const unsigned char *head, size_t length, tg_array *a, tg_err *err);

/* Whether an .npy can hold elements of that type: any valid one except bfloat16. */
bool tg_npy_holds(tg_dtype dtype);

/* Write the canonical header for a->dtype, ndim and shape.  Returns its length. */
size_t tg_npy_format(unsigned char out[TG_NPY_FORMAT_MAX], const tg_array *a);

#endif
