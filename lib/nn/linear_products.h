/*
 * linear_products: the three matrix products of a linear layer, except its activations, which
 * lib/nn/linear.c has in float32 and lib/nn/linear16.c in bf16.
 */
#ifndef TG_NN_LINEAR_PRODUCTS_H
#define TG_NN_LINEAR_PRODUCTS_H

#include "lib/nn/linear.h"

/* y = x W + b: A is x [N,in], C is y [N,out]. */
tg_matmul tg_linear_product(const tg_linear *linear, size_t N);

/* dx = dy W^T: A is dy [N,out], with rows ld apart, C is dx [N,in]. */
tg_matmul tg_linear_input_product(const tg_linear *linear, size_t ld, size_t N);

/* dw += x^T dy, or for a transposed W dw += dy^T x (= if linear->overwrite): A is x [N,in], or dy; B is the
 * other.  The rows of dy are ld apart. */
tg_matmul tg_linear_weight_product(const tg_linear *linear, size_t ld, size_t N);

#endif
