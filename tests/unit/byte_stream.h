/* A text of bytes, as tokens to train on. */
#ifndef TG_TESTS_BYTE_STREAM_H
#define TG_TESTS_BYTE_STREAM_H

#include "lib/tokens/tokens.h"

enum { BYTE_STREAM = 5000 }; /* tokens */

/* Letters in a fixed order, with a tokenizer that the caller frees. */
tg_tokens byte_stream(void);

#endif
