/*
 * acts_real: the activations of a pass, in the precision `real`, and a family's operations on
 * them.  What passes between two products is of the type `act`: void stands for float, or for
 * bf16 in a pass of that precision.  A derivation begins at a block's input and ends at the logits
 * of one token: in double precision embed, loss and their gradients are NULL; in float32
 * logits_backward is; in bf16 both that and logits.  No include guard: lib/gpt/acts.h includes
 * this once for float32 and bf16, and once for double.  Included alone it is empty.
 */
#ifdef real

/* What one block computes.  N = B*T rows. */
typedef struct tg_block_acts {
    real *x;           /* [N,C] its input, the residual stream */
    tg_row_stats ln_1; /* [N] */
    act *qkv;          /* [N,3C] */
    act *att;          /* [N,C] */
    real *lse;         /* [B,H,T] */
    real *x2;          /* [N,C] the residual stream after attention */
    tg_row_stats ln_2; /* [N] */
    act *fc;           /* [N,4C] the MLP before GELU */
    act *gelu;         /* [N,4C] and after it */
} tg_block_acts;

typedef struct tg_acts {
    tg_binding bound;     /* the model to run */
    size_t B, T, C, L;    /* sequences, the new tokens of each, channels, blocks */
    tg_block_acts *block; /* [L] */
    real *x;              /* [N,C] the last block's output */
    tg_row_stats ln_f;    /* [N] */
    act *normed;          /* [N,C] the current LayerNorm's output; also scratch */
    act *wide;            /* [N,4C] the gradients of fc and of qkv; the blocks' gelu if that is recomputed */
    real *logits;         /* scratch of loss; the memory of wide */
    real *dx;             /* [N,C] gradient of the residual stream */
    real *dnormed;        /* [N,C] gradient of normed */
    act *datt;            /* [N,C] gradient of att; in one precision the memory of dnormed */
    bool recompute_x2;    /* the blocks share one x2, to save memory */
    bool recompute_gelu;  /* and one gelu, which is wide */
    float dropout;        /* p, for the embedding, the probabilities and each sublayer's result */
    tg_rng rng;           /* seed and step of dropout's numbers; drop_at() sets the purpose */
    tg_attention_scratch attention;
    tg_kv_cache *cache; /* of the preceding tokens; NULL: no cache */
    size_t first;       /* the first of the B sequences in the cache */
} tg_acts;

/*
 * The steps of a pass, in order, on the model in a->bound.  Each backward step is the gradient
 * of the forward step with its name.  Nothing allocates or fails.
 */
typedef struct tg_steps {
    void (*embed)(tg_acts *a, const int32_t *ids); /* ids [B,T] -> the first block's x */
    void (*project)(tg_acts *a, size_t layer);     /* x -> qkv */
    void (*attend)(tg_acts *a, size_t layer);      /* qkv -> att */
    void (*finish)(tg_acts *a, size_t layer);      /* only x, att -> the next block's x, or a->x */

    /* A pass ends in one of two ways.
     * logits: rows first .. first + rows - 1 of a->x -> logits [rows,V].
     * loss: all of a->x -> losses [N]; if gradients are bound, also dnormed, the gradient of
     * scale * (sum of the losses).  Its `logits` is scratch of tg_head_logits() floats. */
    void (*logits)(tg_acts *a, real *logits, size_t first, size_t rows);
    void (*loss)(tg_acts *a, real *losses, const int32_t *targets, real *logits, real scale);

    void (*logits_backward)(tg_acts *a, const real *dlogits, size_t first, size_t rows); /* -> dx */
    void (*loss_backward)(tg_acts *a);                      /* dnormed, as loss leaves it -> dx */
    void (*finish_backward)(tg_acts *a, size_t layer);      /* dx -> dx of x + att W + b, and datt */
    void (*attend_backward)(tg_acts *a, size_t layer);      /* datt -> dqkv in wide */
    void (*project_backward)(tg_acts *a, size_t layer);     /* dqkv -> dx of x */
    void (*embed_backward)(tg_acts *a, const int32_t *ids); /* dx of the first block's x -> the embedding's */
} tg_steps;

#endif
