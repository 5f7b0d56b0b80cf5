/*
 * acts: the activations of a pass through the model, and the steps that compute them.
 *
 * One description serves training, evaluation and decoding, in float32 or with bf16 between the matrix
 * products, and derivations in double precision: each activation is a matrix that carries its type
 * (lib/base/matrix.h).
 */
#ifndef TG_GPT_ACTS_H
#define TG_GPT_ACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/api.h"
#include "lib/base/arena.h"
#include "lib/base/matrix.h"
#include "lib/gpt/bind.h"
#include "lib/nn/attention.h"
#include "lib/nn/ops.h"

TG_API_BEGIN

/* What a block computes.  A family uses some of these. */
typedef enum tg_act {
    TG_ACT_X, /* [N,C] its input, the residual stream; N = B*T rows */
    TG_ACT_LN1_MEAN,
    TG_ACT_LN1_RSTD, /* [N] */
    TG_ACT_QKV,      /* [N,3C] */
    TG_ACT_ATT,      /* [N,C] */
    TG_ACT_LSE,      /* [B,H,T] */
    TG_ACT_X2,       /* [N,C] the residual stream after attention */
    TG_ACT_LN2_MEAN,
    TG_ACT_LN2_RSTD, /* [N] */
    TG_ACT_FC,       /* [N,4C] the MLP before GELU */
    TG_ACT_GELU,     /* [N,4C] and after it */
    TG_ACTS
} tg_act;

/* Where all blocks may have an activation, instead of memory for each. */
typedef enum tg_common {
    TG_COMMON_ONE, /* in one matrix */
    TG_COMMON_WIDE /* in tg_acts.wide, the scratch that is as wide as the widest activation */
} tg_common;

/* A row of a family's table of activations. */
typedef struct tg_act_row {
    tg_act act;
    const char *name; /* "qkv" */
    tg_dim cols;      /* elements for each token */
    bool between;     /* between two matrix products: bf16 in a pass of that precision */
    bool again; /* backward can compute it again, if memory is short: then the blocks have it in common */
    tg_common common;
    tg_act over; /* without gradients, it overwrites this one, of the same size; itself: none */
} tg_act_row;

/* A block's, by tg_act; what the family does not use is empty. */
typedef tg_matrix tg_block_acts[TG_ACTS];

typedef struct tg_acts {
    tg_binding bound;     /* the model to run */
    size_t B, T, C, L;    /* sequences, the new tokens of each, channels, blocks */
    tg_block_acts *block; /* [L] block[l][TG_ACT_X] */
    tg_matrix x;          /* [N,C] the last block's output */
    tg_norm_stats ln_f;   /* [N] */
    tg_matrix normed;     /* [N,C] between: the current LayerNorm's output; also scratch */
    tg_matrix wide;       /* [N,4C] the gradients of fc and of qkv; what blocks have there in common */
    float *logits;        /* scratch of loss; the memory of wide */
    tg_matrix dx;         /* [N,C] gradient of the residual stream */
    tg_matrix dnormed;    /* [N,C] gradient of normed */
    tg_matrix datt;       /* [N,C] gradient of att; in one precision the memory of dnormed */
    bool again[TG_ACTS];  /* backward computes it again: the blocks have it in common */
    float dropout;        /* p, for the embedding, the probabilities and each sublayer's result */
    tg_rng rng;           /* seed and step of dropout's numbers; drop_at() sets the purpose */
    tg_attention_scratch attention;
    tg_kv_cache *cache; /* of the preceding tokens; NULL: no cache */
    size_t first;       /* the first of the B sequences in the cache */
} tg_acts;

/* The steps of a block, in order, by what they compute; lib/gpt/layers.h runs them. */
typedef enum tg_step {
    TG_STEP_QKV, /* x -> qkv */
    TG_STEP_ATT, /* qkv -> att */
    TG_STEP_X2,  /* only x, att -> x2, and what else the family's last step needs */
    TG_STEP_X,   /* x2 -> the next block's x, or a->x */
    TG_STEPS_OF_BLOCK
} tg_step;

typedef void tg_step_function(tg_acts *a, size_t layer);

/*
 * The steps of a pass on the model in a->bound.  Each backward step is the gradient of the forward step with
 * its name.  Nothing allocates or fails.  A derivation, in double precision, begins within a block and ends
 * at the logits of one token: embed, loss and their gradients are for floats.
 */
typedef struct tg_steps {
    void (*embed)(tg_acts *a, const int32_t *ids); /* ids [B,T] -> the first block's x */
    tg_step_function *forward[TG_STEPS_OF_BLOCK];

    /* A pass ends in one of two ways.
     * logits: rows first .. first + rows - 1 of a->x -> logits [rows,V]; not in bf16.
     * loss: all of a->x -> losses [N]; if gradients are bound, also dnormed, the gradient of
     * scale * (sum of the losses).  Its `logits` is scratch of tg_head_logits() floats. */
    void (*logits)(tg_acts *a, tg_matrix logits, size_t first, size_t rows);
    void (*loss)(tg_acts *a, float *losses, const int32_t *targets, float *logits, float scale);

    void (*logits_backward)(tg_acts *a, tg_matrix dlogits, size_t first, size_t rows); /* -> dx */
    void (*loss_backward)(tg_acts *a); /* dnormed, as loss leaves it -> dx */
    /* X: dx of the block's output -> dx of x2.  X2: -> dx of x + att W + b, and datt.  ATT: datt -> dqkv in
     * wide. QKV: dqkv -> dx of x. */
    tg_step_function *backward[TG_STEPS_OF_BLOCK];
    void (*embed_backward)(tg_acts *a, const int32_t *ids); /* dx of the first block's x -> the embedding's */
} tg_steps;

/* What a block's last step writes: the next block's x, or a->x. */
static inline tg_matrix tg_acts_next_x(const tg_acts *a, size_t layer)
{
    return layer + 1 < a->L ? a->block[layer + 1][TG_ACT_X] : a->x;
}

/* A LayerNorm's statistics, whose activations are neighbours. */
static inline tg_norm_stats tg_acts_stats(const tg_matrix *block, tg_act mean)
{
    const tg_norm_stats stats = {block[mean], block[mean + 1]};

    return stats;
}

/* Which activations have memory of their own. */
typedef enum tg_acts_kind {
    TG_ACTS_IN_PLACE, /* one set for all blocks, each of which overwrites its input.  No gradients */
    TG_ACTS_KEPT      /* a set per block, kept from forward to backward, and the gradients */
} tg_acts_kind;

/* What is placed. */
typedef struct tg_acts_size {
    size_t B, T;
    size_t layer;  /* the first block of those that are run */
    size_t logits; /* floats of the scratch of loss */
    tg_acts_kind kind;
    tg_type between; /* of what passes between products: float, bf16, double */
    tg_type type;    /* of all else: float, double */
} tg_acts_size;

/* Place the activations (see arena.h).  The caller places attention's scratch and the cache. */
void tg_acts_place(tg_arena *arena, tg_acts *a, const tg_binding *bound, const tg_acts_size *size);

TG_API_END

#endif
