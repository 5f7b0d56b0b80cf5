/*
 * packed_panel: how packed weights lie in memory (lib/kernels/packed_matrix.h).
 *
 * A panel holds NR columns of B, k outermost: for each k, four vectors in float32, two in bf16,
 * one in int8.  In bf16, word i of the first vector has column i in the lower half and column
 * VL + i in the upper half, so that a shift and a mask make two vectors of float32; the second
 * vector has the next 2 VL columns.  In int8, word i has the columns i, VL + i, 2 VL + i and
 * 3 VL + i, from the lowest byte on.
 */
#ifndef TG_KERNELS_PACKED_PANEL_H
#define TG_KERNELS_PACKED_PANEL_H

#include "lib/kernels/isa/isa.h"
#include "lib/kernels/packed_matrix.h"

#define VECTORS 4 /* of float32 for each k */
#define NR (VECTORS * VL)

/* Bytes of a panel for one k. */
INLINE size_t row_bytes(tg_weight_type type)
{
    return type == TG_WEIGHT_FLOAT32 ? NR * 4 : type == TG_WEIGHT_BF16 ? NR * 2 : NR;
}

INLINE unsigned char *panel_at(const tg_packed_matrix *w, size_t j)
{
    return (unsigned char *)w->panels + j * w->K * (row_bytes(w->type) / NR);
}

/* Two vectors of a k, v and v + 1; v is even. */
INLINE void unpack_two(vf b[2], const unsigned char *row, const size_t v, const tg_weight_type type)
{
    if (type == TG_WEIGHT_FLOAT32) {
        b[0] = load((const float *)(const void *)row + v * VL);
        b[1] = load((const float *)(const void *)row + (v + 1) * VL);
    } else if (type == TG_WEIGHT_BF16) {
        const vu word = (vu)load((const float *)(const void *)row + v / 2 * VL);

        b[0] = (vf)(word << 16);
        b[1] = (vf)(word & 0xFFFF0000u);
    } else {
        const vu word = (vu)load((const float *)(const void *)row);

        b[0] = __builtin_convertvector((vi)(word << (24 - 8 * v)) >> 24, vf);
        b[1] = __builtin_convertvector((vi)(word << (16 - 8 * v)) >> 24, vf);
    }
}

#endif
