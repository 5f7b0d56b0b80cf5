/*
 * block_types: GGUF's types that store a run of values as a block: a few scales, and a small integer for
 * each value.  They are decoded to float32; q8_0 is also written.
 *
 * A tensor's values, in order, are divided into blocks; a block never spans two rows.  Decoding takes
 * the float32 operations of ggml's reference functions in the same order, so that the results are equal
 * bit for bit; q8_0 is encoded as by its reference quantizer.
 * Source: the layouts in ggml, ggml-common.h; formats/README.md has them as a table.
 */
#ifndef TG_FORMATS_BLOCK_TYPES_H
#define TG_FORMATS_BLOCK_TYPES_H

#include <stddef.h>
#include <stdint.h>

typedef struct tg_blocks {
    const char *name;   /* "q8_0" */
    uint32_t gguf_type; /* its number in GGUF */
    size_t values;      /* per block: 32 or 256 */
    size_t bytes;       /* per block */
    /* Decode n blocks at `in`, which has any alignment, to out [n * values]. */
    void (*decode)(float *out, const unsigned char *in, size_t n);
} tg_blocks;

#define TG_BLOCK_VALUES_MAX 256 /* per block */

/* The type with that number in GGUF; NULL: there is none. */
const tg_blocks *tg_blocks_numbered(uint32_t gguf_type);

/* Decode values first .. first + n - 1 of the blocks that begin at `in`.  first may be anywhere in a
 * block.  Allocates nothing; cannot fail. */
void tg_blocks_decode(float *out, const tg_blocks *type, const void *in, size_t first, size_t n);

/*
 * Encode q8_0: out [n / 32 * 34 bytes], in [n], n a multiple of 32.  A block's scale is its largest
 * magnitude / 127, rounded to a half; its integers are rounded to nearest, halves away from zero.
 * A scale beyond a half's range becomes infinite: the caller checks magnitudes (at most
 * TG_Q8_0_LIMIT).  in must be finite.
 */
#define TG_Q8_0_VALUES 32
#define TG_Q8_0_BYTES 34
#define TG_Q8_0_LIMIT (65504.0f * 127)
void tg_q8_0_encode(void *out, const float *in, size_t n);

#endif
