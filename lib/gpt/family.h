/*
 * family: what distinguishes a family of models: its parameters, what its blocks compute, and the order
 * of its operations.
 *
 * A family is its rows of parameters and of activations (lib/gpt/gpt2_params.c), and a page (lib/gpt/gpt2.c),
 * which relatives share: a block forward and backward, made of the operations of lib/gpt/block.h, and what
 * comes before and after the blocks.
 */
#ifndef TG_GPT_FAMILY_H
#define TG_GPT_FAMILY_H

#include "lib/base/choice.h"
#include "lib/gpt/acts.h"
#include "lib/gpt/params.h"

struct tg_block;

/* What a family's models are made of. */
typedef struct tg_family {
    const char *name;  /* "gpt2": in archives (config/family), and for users */
    const char *block; /* "h": a block's parameters are named "h.0.ln_1.weight" */
    bool transposed;   /* its matrices are [out,in], y = x W^T + b */
    bool bare_norms;   /* norms have no gains, and no parameter says that they are there */
    bool normed_embed; /* block 0 reads a norm of the embedding's rows, x / sqrt(mean of x^2 + epsilon) */
    bool layernorm;    /* the norm before the head is a LayerNorm, which subtracts a mean; else RMSNorm */
    uint64_t settings; /* the members of tg_config that its models have: bits of tg_config_id */
    const tg_param_row *row; /* [n_rows] in the order of the file and of memory */
    size_t n_rows;
    const tg_act_row *act; /* [n_acts] what a block computes, row 0 being empty */
    size_t n_acts;
    /*
     * The rows that attention reads and writes; norm is the input of the layers that make q, k and v, and qkv
     * all three in one, or 0.  After att a block needs only x and att (it may compute the norm again): a run
     * that has copies of both can resume there.  A derivation takes att W + b to be added to x as it is.
     */
    size_t norm, qkv, q, k, v, att;
    size_t mlp;    /* the MLP's first row, its norm */
    size_t mlp_in; /* the row that it reads: the stream after attention; x where both read the same */
    size_t units;  /* what the MLP's last layer reads, of n_inner channels */
    /* What q and k are made of, where they are not as projected: those, and then normed, if the model has
     * norms of them (TG_Q_NORM_W, TG_K_NORM_W), or 0.  They are computed in this order. */
    size_t q_projected, k_projected, q_normed, k_normed;
} tg_family;

/* What is done with that.  A derivation, in double precision, begins within a block and ends at the logits:
 * embed and its gradient are for floats.  Nothing here allocates or fails. */
typedef struct tg_page {
    void (*embed)(tg_acts *a, const int32_t *ids);                             /* ids [B,T] -> block 0's x */
    void (*forward)(struct tg_block *b);                                       /* a block: lib/gpt/block.h */
    void (*norm_forward)(tg_acts *a, tg_matrix out, tg_matrix x, size_t rows); /* after the blocks */
    /* Each is the gradient of the function with its name; dx is added to. */
    void (*norm_backward)(tg_acts *a, tg_matrix dx, tg_matrix dout, tg_matrix x, size_t rows);
    void (*backward)(struct tg_block *b);
    void (*embed_backward)(tg_acts *a, const int32_t *ids);
} tg_page;

extern const tg_family tg_gpt2, tg_llama, tg_qwen2, tg_qwen3, tg_gemma, tg_gemma2, tg_gemma3, tg_olmo2,
    tg_neox, tg_phi3, tg_stablelm, tg_nanochat;
extern const tg_page tg_gpt2_page, tg_llama_page, tg_gemma_page, tg_neox_page, tg_stablelm_page,
    tg_nanochat_page;

/*
 * All families, GPT-2 first, and their names, "gpt2|other"; and their pages, in a list apart, so that a
 * program that only reads models is linked without any computation.  A program that has more families defines
 * all three, as lib/gpt/families.c and lib/gpt/pages.c do, which are then not linked.
 */
extern const tg_family *const tg_families[];
extern const char tg_family_names[];
extern const tg_page *const tg_pages[];

/* The number of the family with that name; 0, GPT-2's, if there is none. */
static inline unsigned tg_family_number(const char *name)
{
    size_t number = 0;

    (void)tg_choice_find(&number, tg_family_names, name);
    return (unsigned)number;
}

static inline const tg_family *tg_config_family(const tg_config *config)
{
    return tg_families[config->family];
}

static inline const tg_page *tg_acts_page(const tg_acts *a)
{
    return tg_pages[a->bound.model->config.family];
}

#endif
