/*
 * again: what a reader of vocabularies accepts is written, and must read back the same.
 */
#ifndef TG_TESTS_FUZZ_AGAIN_H
#define TG_TESTS_FUZZ_AGAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/text/tokenizer.h"
#include "lib/vocab/vocab_file.h"

/* Write tok, and read that; false: the format cannot hold it. */
bool again(const tg_tokenizer *tok, tg_vocab_format format,
           tg_status (*read)(const tg_tokenizer **tok, const uint8_t *data, size_t size));

#endif
