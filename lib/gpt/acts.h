/*
 * acts: the activations of a pass through the model.
 *
 * What a block computes is a table of its family (lib/gpt/family.h), as its parameters are: a row has a name,
 * its size, what is kept of it, its type, and how heads divide it.  From the rows follow the placement in
 * memory, the key/value cache, the precision, the stages of a dump and their offsets, and the places at which
 * a run can begin, end or be watched (lib/gpt/layers.h).
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

#include "lib/base/arena.h"
#include "lib/base/matrix.h"
#include "lib/gpt/bind.h"
#include "lib/nn/attention.h"
#include "lib/tg/pass.h"

/* Matrices that all blocks have in common, each as wide as the widest row that uses it. */
typedef enum tg_scratch {
    TG_SCRATCH_NONE,
    /* between two products: bf16 in a pass of that precision */
    TG_SCRATCH_NORMED, /* the outputs of norms; also what backward needs for a short time */
    TG_SCRATCH_WIDE,   /* also the logits of a loss, before the first gradient */
    TG_SCRATCH_BETWEEN_1,
    TG_SCRATCH_BETWEEN_2,
    TG_SCRATCH_BETWEEN_3,
    TG_SCRATCH_BETWEEN_4,
    TG_SCRATCH_DATT, /* in one precision the memory of DNORMED */
    /* never bf16 */
    TG_SCRATCH_DX,      /* the gradient of the residual stream */
    TG_SCRATCH_DNORMED, /* the gradient of the last norm's output */
    TG_SCRATCH_FULL_1,
    TG_SCRATCHES
} tg_scratch;

/* What backward finds of an activation. */
typedef enum tg_keep {
    TG_KEEP_ALWAYS,   /* each block's, in memory of its own */
    TG_KEEP_IF_SMALL, /* the same, if all blocks' take KEPT_MAX or less (acts.c); else it is computed again */
    TG_KEEP_NEVER     /* it is computed again */
} tg_keep;

/* A row's number in its family's table.  Each family has names of its own for the others. */
enum { TG_ACT_NONE, TG_ACT_X };
#define TG_ACTS_MAX 40

/* A row of a family's table of activations: the rows are in the order in which a block computes them. */
typedef struct tg_act_row {
    const char *name; /* "qkv" */
    tg_dim cols;      /* elements for each token */
    tg_keep keep;
    bool between;        /* between two matrix products: bf16 in a pass of that precision */
    tg_scratch shared;   /* where it is if blocks have none of their own: because it is not kept, or in a pass
                          * without gradients; NONE: in one matrix for all blocks */
    tg_scratch gradient; /* where its gradient is, in backward */
    size_t over;         /* without gradients, it overwrites this row, of the same size; 0: none */
    bool in_place;       /* with gradients too, and its gradient is where that row's is */
    tg_when when;        /* the config that has it; in others it is row `over` itself, or nothing */
    size_t part_of;      /* it is some columns of this row, from `first` on; 0: none */
    tg_dim first;
    tg_dim heads;       /* how heads divide it: TG_DIM_HEADS, TG_DIM_KV_HEADS; NONE: not at all */
    bool next;          /* it is the next block's x, or a->x: without gradients x itself */
    unsigned drop_site; /* of dropout, within a layer: 1 to 3; 0: none (tg_acts_drop()) */
} tg_act_row;

/* Which activations have memory of their own. */
typedef enum tg_acts_kind {
    TG_ACTS_IN_PLACE, /* one set for all blocks, each of which overwrites its input.  No gradients */
    TG_ACTS_KEPT,     /* a set per block, kept from forward to backward, and the gradients */
    TG_ACTS_X_KEPT    /* the same of x alone; backward recomputes the others, one set for all blocks */
} tg_acts_kind;

typedef struct tg_acts {
    tg_binding bound; /* the model to run */
    const struct tg_family *family;
    tg_acts_kind kind;
    size_t B, T, C, L; /* sequences, the new tokens of each, channels, blocks */
    tg_matrix *row;    /* [L,n_acts]: tg_acts_row() */
    tg_matrix x;       /* [N,C] the last block's output; N = B*T rows */
    tg_matrix scratch[TG_SCRATCHES];
    tg_norm_stats final_stats; /* [N] of the last norm */
    tg_matrix angles[2];       /* [T,d] of rotation, of the new tokens' positions (lib/nn/rotary.h): of layers
                                * without a window, and with one if these differ */
    size_t angles_past;        /* 1 + the position of the first of them; 0: not filled yet */
    size_t angles_rows;        /* that are filled */
    float *logits;             /* scratch of a loss; the memory of TG_SCRATCH_WIDE */
    int32_t *targets;          /* [N] likewise, of the tokens that are predicted */
    bool recomputed[TG_ACTS_MAX]; /* rows that backward computes again, because they are not small */
    const int32_t *positions; /* [B,T] of each token in its document (lib/nn/attention.h); set by the caller;
                               * NULL: each sequence is one */
    float dropout;            /* p, for the embedding, the probabilities and each sublayer's result */
    tg_rng rng;               /* seed and step of dropout's numbers; tg_acts_drop() sets the purpose */
    tg_attention_scratch attention;
    tg_kv_cache *cache; /* of the preceding tokens; NULL: no cache */
    size_t first;       /* the first of the B sequences in the cache */
} tg_acts;

/* A block's activation. */
tg_matrix tg_acts_row(const tg_acts *a, size_t layer, size_t row);

/* Whether the model's blocks compute this row. */
bool tg_acts_has(const tg_acts *a, size_t row);

/* Where backward has, or puts, the gradient of a row: the same for all blocks. */
tg_matrix tg_acts_gradient(const tg_acts *a, size_t row);

/* A scratch matrix as one of this many columns, at most its own. */
tg_matrix tg_acts_scratch(const tg_acts *a, tg_scratch scratch, size_t cols);

/* Attention of the new tokens, its heads as the rows q and k have them, without its layer and dropout. */
tg_attention tg_acts_attention(const tg_acts *a);

/* Dropout at a site of a layer, 1 to 3, or of the embedding, layer 0's 0. */
tg_dropout tg_acts_drop(const tg_acts *a, size_t layer, unsigned site);

/* What is placed. */
typedef struct tg_acts_size {
    size_t B, T;
    size_t keys;   /* that a query may see; 0: T */
    size_t layer;  /* the first block of those that are run */
    size_t logits; /* floats of the scratch of a loss */
    tg_acts_kind kind;
    tg_type between; /* of what passes between products: float, bf16, double */
    tg_type type;    /* of all else: float, double */
} tg_acts_size;

/* Place the activations and attention's scratch (see arena.h). */
void tg_acts_place(tg_arena *arena, tg_acts *a, const tg_binding *bound, const tg_acts_size *size);

#endif
