/*
 * mask: which tokens of a text are to be predicted, and which are only read.
 *
 * A text with a loss mask is a list of documents.  A document is predicted from itself alone: its first token
 * has nothing before it.  Of a conversation, only the answers are predicted.  A text without a mask is one
 * document, all of whose tokens are predicted, except the first.
 */
#ifndef TG_TOKENS_MASK_H
#define TG_TOKENS_MASK_H

#include "lib/base/api.h"

TG_API_BEGIN

/* A byte for each token; these are the values in an archive. */
enum {
    TG_MASK_READ,      /* the token is only read */
    TG_MASK_PREDICTED, /* and predicted */
    TG_MASK_FIRST      /* a document begins with it; it is only read */
};

#define TG_MASKS 3

TG_API_END

#endif
