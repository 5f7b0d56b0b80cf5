/*
 * mask: which tokens of a text are to be predicted, and which are only read (lib/tg/tokens.h).
 */
#ifndef TG_TOKENS_MASK_H
#define TG_TOKENS_MASK_H

#include "lib/tg/tokens.h"

#define TG_MASKS 3

#endif
