/*
 * gguf_names: the names of GPT-2's tensors in GGUF, which its reader and its writer share.
 */
#ifndef TG_MODELS_GGUF_NAMES_H
#define TG_MODELS_GGUF_NAMES_H

#include <stddef.h>

#include "lib/models/model_format.h"

/* The tensors in the order in which they are written; the first TG_GGUF_NAMES_BLOCK are before the blocks,
 * the last TG_GGUF_NAMES_AFTER after them. */
#define TG_GGUF_NAMES_BEFORE 2
#define TG_GGUF_NAMES_BLOCK 12
#define TG_GGUF_NAMES_AFTER 3
#define TG_GGUF_NAMES (TG_GGUF_NAMES_BEFORE + TG_GGUF_NAMES_BLOCK + TG_GGUF_NAMES_AFTER)

extern const tg_names tg_names_gguf; /* these, and others that only the reader knows; [out,in] */

#endif
