/*
 * activation: the functions between the layers of an MLP, for the references and the fast operations.
 */
#ifndef TG_NN_REF_ACTIVATION_H
#define TG_NN_REF_ACTIVATION_H

typedef enum tg_activation {
    TG_GELU_TANH, /* 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))): GPT-2's */
    TG_GELU_ERF,  /* 0.5 x (1 + erf(x / sqrt 2)): exact */
    TG_SILU,      /* x / (1 + exp(-x)): Llama's */
    TG_RELU2,     /* the square of x above 0, else 0 */
    TG_ACTIVATION_KINDS
} tg_activation;

#endif
