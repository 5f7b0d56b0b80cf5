/*
 * vectors: means of the residual stream, as an archive of kind "vectors" (formats/README.md): directions to
 * steer by (steer.h).
 */
#ifndef TG_HEADS_VECTORS_H
#define TG_HEADS_VECTORS_H

#include <stddef.h>

#include "lib/attn/layers.h"

#define TG_VECTORS_VERSION 1

/* Write, for each of the remaining layers that the filter keeps, the mean over the text's tokens of the
 * residual stream that reaches it, and, if it keeps all, of the one that leaves the last.  TG_EDATA: a number
 * is not finite.  TG_EIO, TG_ENOMEM.  After a failure the bytes already written are no valid archive. */
TG_MUST_CHECK tg_status tg_vectors_write(int fd, tg_attn_layers *layers, tg_err *err);

/* Read that of a layer into x [C].  TG_EDATA: the archive is of another kind, has no such layer, or vectors
 * of another size; TG_EIO, TG_ENOMEM. */
TG_MUST_CHECK tg_status tg_vectors_read(float *x, int fd, size_t layer, size_t C, tg_err *err);

#endif
