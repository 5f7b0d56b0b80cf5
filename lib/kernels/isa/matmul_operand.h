/*
 * matmul_operand: an operand of a product where packing reads it, in float32 or in bf16.
 *
 * Packing is compiled for both types: `type` is a constant wherever these are used.
 */
#ifndef TG_KERNELS_MATMUL_OPERAND_H
#define TG_KERNELS_MATMUL_OPERAND_H

#include "lib/kernels/isa/bf16.h"
#include "lib/kernels/matmul.h"

INLINE size_t size_of(const tg_type type)
{
    return type == TG_TYPE_BF16 ? sizeof(tg_bf16) : sizeof(float);
}

/* Element i of x. */
INLINE const void *element(const void *x, size_t i, const tg_type type)
{
    return (const char *)x + i * size_of(type);
}

/* The operands from an element on. */
INLINE const void *a_from(const tg_matmul *op, size_t i, size_t k)
{
    return element(op->a, i * op->a_row + k * op->a_col, op->a_type);
}

INLINE const void *b_from(const tg_matmul *op, size_t k, size_t j)
{
    return element(op->b, k * op->b_row + j * op->b_col, op->b_type);
}

#endif
