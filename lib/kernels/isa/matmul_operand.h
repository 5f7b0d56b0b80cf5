/*
 * matmul_operand: an operand of a product where packing reads it, in float32 or in bf16.
 *
 * Packing is compiled for both types: `type` is a constant wherever these are used.
 */
#ifndef TG_KERNELS_MATMUL_OPERAND_H
#define TG_KERNELS_MATMUL_OPERAND_H

#include "lib/kernels/isa/bf16.h"
#include "lib/kernels/matmul.h"

enum type { FLOATS, HALVES };

INLINE size_t size_of(const enum type type)
{
    return type == HALVES ? sizeof(tg_bf16) : sizeof(float);
}

/* Element i of x. */
INLINE const void *element(const void *x, size_t i, const enum type type)
{
    return (const char *)x + i * size_of(type);
}

/* The operands from an element on. */
INLINE const void *a_from(const tg_matmul *op, size_t i, size_t k)
{
    const size_t at = i * op->a_row + k * op->a_col;

    return op->a16 ? (const void *)(op->a16 + at) : op->a + at;
}

INLINE const void *b_from(const tg_matmul *op, size_t k, size_t j)
{
    const size_t at = k * op->b_row + j * op->b_col;

    return op->b16 ? (const void *)(op->b16 + at) : op->b + at;
}

INLINE enum type type_of_a(const tg_matmul *op)
{
    return op->a16 ? HALVES : FLOATS;
}

INLINE enum type type_of_b(const tg_matmul *op)
{
    return op->b16 ? HALVES : FLOATS;
}

#endif
