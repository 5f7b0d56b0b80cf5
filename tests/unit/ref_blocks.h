/*
 * ref_blocks: the values of GGUF's block types, read one by one from the layout.
 */
#ifndef TG_TESTS_REF_BLOCKS_H
#define TG_TESTS_REF_BLOCKS_H

#include <stddef.h>

#include "formats/block_types.h"

/* Value i of the block p. */
float ref_block_value(const tg_blocks *type, const unsigned char *p, size_t i);

#endif
