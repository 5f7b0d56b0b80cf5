/*
 * bf16: bfloat16, the upper 16 bits of a float32.
 */
#ifndef TG_BASE_BF16_H
#define TG_BASE_BF16_H

#include <stdint.h>

typedef uint16_t tg_bf16;

#endif
