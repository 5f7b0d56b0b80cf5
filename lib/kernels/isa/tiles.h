/*
 * tiles: the tile unit (AMX).  It has eight registers of 16 rows of 64 bytes each.
 *
 *   begin_tiles(), end_tiles()     prepare a thread for what follows, all registers 0; and clean up
 *   tile_zero(t)                   all elements 0
 *   tile_load(t, from, stride)     row r from the 64 bytes at from + r * stride
 *   tile_store(t, to, stride)      row r to the 64 bytes at to + r * stride
 *   tile_multiply(c, a, b)         c += a b: float32 [16,16], bf16 [16,32] and [32,16]
 *
 * Row r of a is 32 consecutive k.  Row p of b is words of two, b[2p][n] and b[2p+1][n], for
 * the 16 columns n.  A stride is in bytes.  Registers are numbers, 0 to 7: the compiler makes
 * them part of the instructions, so these are macros.
 *
 * A test includes a model of them in C beforehand (tests/unit/tiles_model.h), which any processor runs.
 */
#ifndef TG_KERNELS_TILES_H
#define TG_KERNELS_TILES_H

#ifdef __AMX_BF16__

#include <immintrin.h>

#include "lib/kernels/isa/isa.h"

#define TG_TILES 1

/* The configuration of a thread's tile registers. */
struct tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};

INLINE void begin_tiles(void)
{
    struct tile_config config = {.palette = 1};

    for (size_t i = 0; i < 8; i++) {
        config.row_bytes[i] = 64;
        config.rows[i] = 16;
    }
    __asm__ volatile("" ::"r"(&config) : "memory"); /* gcc believes that 8 bytes are read */
    _tile_loadconfig(&config);
}

INLINE void end_tiles(void)
{
    _tile_release();
}

#define tile_zero(t) _tile_zero(t)
/* gcc's intrinsic does not say that it reads memory: what was stored there before must not come after.
 * clang's may read and write any, and clang 19 wants the size of what a constraint names. */
#ifdef __clang__
#define tile_load(t, from, stride) _tile_loadd(t, from, stride)
#else
#define tile_load(t, from, stride)                                                                           \
    do {                                                                                                     \
        __asm__ volatile("" ::"m"(*(const char(*)[])(from)));                                                \
        _tile_loadd(t, from, stride);                                                                        \
    } while (0)
#endif
#define tile_store(t, to, stride) _tile_stored(t, to, stride)
#define tile_multiply(c, a, b) _tile_dpbf16ps(c, a, b)

#endif
#endif
