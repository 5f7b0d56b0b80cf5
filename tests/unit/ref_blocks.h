/*
 * ref_blocks: the values of GGUF's block types, read one by one from the layout.
 */
#ifndef TG_TESTS_REF_BLOCKS_H
#define TG_TESTS_REF_BLOCKS_H

#include <stddef.h>
#include <string.h>

#include "formats/block_types.h"

/* The type with that name; NULL: there is none. */
static inline const tg_blocks *blocks_named(const char *name)
{
    const tg_blocks *type = NULL;

    for (uint32_t number = 0; number < 64 && !(type && strcmp(type->name, name) == 0); number++)
        type = tg_blocks_numbered(number);
    return type && strcmp(type->name, name) == 0 ? type : NULL;
}

/* Value i of the block p. */
float ref_block_value(const tg_blocks *type, const unsigned char *p, size_t i);

#endif
