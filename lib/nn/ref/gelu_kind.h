/*
 * gelu_kind: the two forms of GELU, which the references and the fast operations share.
 */
#ifndef TG_NN_REF_GELU_KIND_H
#define TG_NN_REF_GELU_KIND_H

#include "lib/base/api.h"

TG_API_BEGIN

typedef enum tg_gelu_kind {
    TG_GELU_TANH, /* 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))): GPT-2's */
    TG_GELU_ERF,  /* 0.5 x (1 + erf(x / sqrt 2)): exact */
    TG_SILU       /* x / (1 + exp(-x)): Llama's */
} tg_gelu_kind;
typedef tg_gelu_kind tg_activation;

TG_API_END

#endif
