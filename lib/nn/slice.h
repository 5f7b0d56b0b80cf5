/*
 * slice: columns start .. start + len - 1 of each row.
 * A reshape needs no operation: it is a view (lib/nn/tensor.h).
 */
#ifndef TG_NN_SLICE_H
#define TG_NN_SLICE_H

#include <stddef.h>

/* out[n,i] = inp[n,start+i]: out [N,len] written, inp [N,width] read. */
void tg_slice_forward(float *out, const float *inp, size_t N, size_t width, size_t start, size_t len);

#endif
