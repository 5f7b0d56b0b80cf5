/*
 * attention: the scores of a model that runs on a text, one row after another, with the offset of every
 * number; and the derivation of one score.
 *
 *     tg_attn_layers_new(&layers, model, ids, T, &err)
 *     tg_attn_layers_select(layers, &filter, &err)             unless everything is wanted
 *     tg_attn_layers_walk(layers, visit, context, &err)        visit() gets row after row
 *     tg_attn_layers_destroy(layers)
 *
 * Row-major, last index contiguous, C = H*D:
 *
 *     q, k, v   [B,T,C]    read as [B,T,H,D]: head h of token t starts at ((b*T + t)*H + h)*D (tg_attn_base)
 *               [B,H,T,D]  in a transposed copy: ((b*H + h)*T + t)*D
 *     scores    [B,H,T,T]  ((b*H + h)*T + i)*T + j (tg_attn_offset)
 *
 * With H = 1 these are (b*T + t)*C and (b*T + i)*T + j, the offsets in [B,T,T].  Where H/KV heads read the
 * same keys and values, there are KV heads of k and v, of which h reads h / (H/KV)  (tg_attn_kv_base).
 *
 * Scores are never stored.  Each row is computed in double precision from float32 q, k and v.  A row costs
 * O(T*D) time; the walk needs O(T*C) memory, whatever the number of layers and heads.
 */
#ifndef TG_TG_ATTENTION_H
#define TG_TG_ATTENTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/tg/api.h"
#include "lib/tg/model.h"
#include "lib/tg/status.h"

TG_API_BEGIN

/* The order of the indices of q, k, v and att wherever offsets are shown. */
typedef enum tg_attn_layout { TG_ATTN_BTHD, TG_ATTN_BHTD } tg_attn_layout;
#define TG_ATTN_LAYOUTS "bthd|bhtd"

/* What distinguishes the scores of some families from q k^T / sqrt(D) with the causal mask. */
typedef struct tg_attention_rule {
    double scale;  /* instead of 1 / sqrt(D); 0: that */
    double cap;    /* then scores s become cap * tanh(s / cap); 0: no cap */
    size_t window; /* then the last `window` keys are seen, with the query's own; 0: all */
} tg_attention_rule;

/* Where q, k and v are: the vectors of token (b,t) start at float (b*T + t)*ldq of q, and so on.
 * In GPT-2 all three are slices of qkv [T,3C], 3C apart. */
typedef struct tg_qkv_view {
    size_t B, T, C;  /* C: channels of the layer's input and output */
    size_t H, KV, D; /* heads of q; of k and v, a divisor of H; channels of each */
    size_t ldq, ldk, ldv;
    const float *q, *k, *v;
    tg_attention_rule rule; /* of the scores; zeros: q k^T / sqrt(D) with the causal mask */
    tg_attn_layout layout;  /* of the offsets that tg_attn_base() gives, not of q, k and v themselves */
} tg_qkv_view;

/* Where the vector of head h of token t begins, in q. */
static inline size_t tg_attn_base(const tg_qkv_view *a, size_t b, size_t t, size_t h)
{
    const size_t row = a->layout == TG_ATTN_BTHD ? (b * a->T + t) * a->H + h : (b * a->H + h) * a->T + t;

    return row * a->D;
}

/* The head of k and v that head h reads. */
static inline size_t tg_attn_kv_head(const tg_qkv_view *a, size_t h)
{
    return h / (a->H / a->KV);
}

/* In k and v, of their head g. */
static inline size_t tg_attn_kv_base(const tg_qkv_view *a, size_t b, size_t t, size_t g)
{
    const size_t row = a->layout == TG_ATTN_BTHD ? (b * a->T + t) * a->KV + g : (b * a->KV + g) * a->T + t;

    return row * a->D;
}

/* Where a score is. */
static inline size_t tg_attn_offset(const tg_qkv_view *a, size_t b, size_t h, size_t i, size_t j)
{
    return ((b * a->H + h) * a->T + i) * a->T + j;
}

/* The value shown or stored for a masked score.  Each is so far below every score that its
 * probability is exactly 0.  A walk itself uses -1e9. */
typedef enum tg_attn_mask { TG_ATTN_1E9, TG_ATTN_INF, TG_ATTN_MIN } tg_attn_mask;
#define TG_ATTN_MASKS "-1e9|-inf|min"
float tg_attn_mask_value(tg_attn_mask mask); /* -1e9, -infinity, -FLT_MAX */

/* Which rows to compute, and which of their elements to show: in each field one index, or all. */
#define TG_ATTN_ALL SIZE_MAX
typedef struct tg_attn_filter {
    size_t layer, head, query, key;
} tg_attn_filter;
#define TG_ATTN_KEEP_ALL (TG_VALUE(tg_attn_filter){TG_ATTN_ALL, TG_ATTN_ALL, TG_ATTN_ALL, TG_ATTN_ALL})

/* One row: query i of head h, which sees the keys first <= j <= i; the others are masked.  The arrays belong
 * to the walk and are valid until the next row. */
typedef struct tg_attn_row {
    const tg_qkv_view *view;
    size_t layer, b, h, i;
    size_t first;          /* 0, unless the view's rule has a window */
    size_t j_begin, j_end; /* the keys that the filter keeps */
    const double *scores;  /* [T] (q_i . k_j)/sqrt(D), or by the view's rule; -1e9 for masked keys */
    const double *probs;   /* [T] softmax of scores; 0 for masked keys */
    const double *att;     /* [D] sum over j of probs[j] * v_j */
} tg_attn_row;

/* Called for each row in the order b, h, i, by ascending offset; false ends the walk. */
typedef bool (*tg_attn_visit)(void *context, const tg_attn_row *row);

/* ---- the rows of a model's layers */

typedef struct tg_attn_layers tg_attn_layers;

/* Of a model that runs on ids [T], 1 <= T <= n_ctx, which must outlive *layers, with the model.
 * TG_EUSAGE: T or an id is out of range.  TG_ENOMEM.  *layers is NULL after a failure. */
TG_MUST_CHECK tg_status tg_attn_layers_new(tg_attn_layers **layers, const tg_model *model, const int32_t *ids,
                                           size_t T, tg_err *err);
void tg_attn_layers_destroy(tg_attn_layers *layers); /* NULL is fine */

/* The shape and layout of all layers; the pointers are NULL. */
tg_qkv_view tg_attn_layers_shape(const tg_attn_layers *layers);

/* Keep only these layers, heads, queries and keys.  TG_EUSAGE, with the range: an index is out of
 * range, and the filter stays as it was. */
TG_MUST_CHECK tg_status tg_attn_layers_select(tg_attn_layers *layers, const tg_attn_filter *filter,
                                              tg_err *err);

/* Walk over the rows that are kept of the remaining layers, in the order layer, b, h, i, in this thread.
 * Returns TG_OK also if visit() ended the walk.  TG_EDATA: a tensor is not finite; TG_ENOMEM. */
TG_MUST_CHECK tg_status tg_attn_layers_walk(tg_attn_layers *layers, tg_attn_visit visit, void *context,
                                            tg_err *err);

/* Begin the walk again, with the model's parameters as they are now. */
void tg_attn_layers_rewind(tg_attn_layers *layers);

/* ---- the arrays between a layer's input and its output, as dumps have them (lib/tg/dump.h).
 * A tap (lib/tg/pass.h) gives its rows the names of the family: where q is rotated, the row "q" is q.proj
 * here, or q.normed, and the row "q.rotated" is q.
 *
 *     resid   [B,T,C]    the residual stream that reaches the layer
 *     x       [B,T,C]    the input, after ln_1
 *     qkv     [B,T,3C]   x w + bias; only in a model that computes all three at once
 *     q.proj, k.proj      like q and k: x w + bias; only where they are normed or rotated
 *     q.normed, k.normed  and then normed; only in a model that norms them
 *     q, k, v [B,T,H,D]  as attention reads them; or, with layout bhtd, [B,H,T,D]
 *     scores  [B,H,T,T]  of key j for query i, scaled and masked
 *     probs   [B,H,T,T]  softmax over j
 *     att     like q     the weighted sum of the values
 *     out     [B,T,C]    att projected, before the residual is added
 */

/* Every stage in order: its constant, and its name in options and archives. */
#define TG_ATTN_STAGE_TABLE(ROW)                                                                             \
    ROW(TG_ATTN_RESID, resid)                                                                                \
    ROW(TG_ATTN_X, x)                                                                                        \
    ROW(TG_ATTN_QKV, qkv)                                                                                    \
    ROW(TG_ATTN_Q_PROJECTED, q.proj)                                                                         \
    ROW(TG_ATTN_K_PROJECTED, k.proj)                                                                         \
    ROW(TG_ATTN_Q_NORMED, q.normed)                                                                          \
    ROW(TG_ATTN_K_NORMED, k.normed)                                                                          \
    ROW(TG_ATTN_Q, q)                                                                                        \
    ROW(TG_ATTN_K, k)                                                                                        \
    ROW(TG_ATTN_V, v)                                                                                        \
    ROW(TG_ATTN_SCORES, scores)                                                                              \
    ROW(TG_ATTN_PROBS, probs)                                                                                \
    ROW(TG_ATTN_ATT, att)                                                                                    \
    ROW(TG_ATTN_OUT, out)

#define TG_ATTN_STAGE_CONSTANT(constant, name) constant,
#define TG_ATTN_STAGE_CHOICE(constant, name) "|" #name

typedef enum tg_attn_stage {
    TG_ATTN_STAGE_TABLE(TG_ATTN_STAGE_CONSTANT) TG_ATTN_STAGE_COUNT,
    TG_ATTN_EVERY = TG_ATTN_STAGE_COUNT /* instead of one stage: all of them */
} tg_attn_stage;

/* "resid|x|qkv|...": their names, in that order. */
#define TG_ATTN_STAGES (&TG_ATTN_STAGE_TABLE(TG_ATTN_STAGE_CHOICE)[1])

const char *tg_attn_stage_name(tg_attn_stage stage); /* "resid" */

/* ---- the derivation of one score */

/* Which score: scores[b,h,i,j]. */
typedef struct tg_attn_index {
    size_t b, h, i, j;
} tg_attn_index;

/* What to derive. */
typedef struct tg_derive_what {
    size_t layer;
    tg_attn_index at;
    size_t channel;     /* of the head's weighted sum; without a model, the loss is this channel */
    size_t out_channel; /* of the layer's output; used only with a model */
    bool backward;      /* also derive the gradient */
    size_t target;      /* with a model: the loss is that of predicting this token after the text */
} tg_derive_what;

typedef struct tg_attn_trace {
    tg_qkv_view view;
    tg_attn_index at;
    /* forward */
    double *q, *k, *v;     /* [T,H*D], [T,KV*D] twice, of sequence b */
    size_t first;          /* the first key that i sees */
    double sum;            /* q_i . k_j before it is scaled; also for a masked j, where nothing uses it */
    double scaled;         /* the same, scaled, before the cap */
    double unmasked;       /* and after it: the score, if it is not masked */
    double *scores;        /* [T] of row i; -1e9 for masked keys */
    double max;            /* of scores[first..i] */
    double *exps, exp_sum; /* [T] exp(scores[j] - max), 0 for masked keys; and their sum */
    double plain_sum;      /* of exp(scores[j]), without max; inf if it is too large */
    double *probs;         /* [T] exps / exp_sum; 0 for masked keys */
    double *att;           /* [H*D] of query i, all heads */
    /* backward */
    double *dprobs;  /* [T] of row i; 0 for masked keys */
    double mean;     /* sum over m of probs[m] * dprobs[m] */
    double *dscores; /* [T] of row i; 0 for masked keys */
    double dscaled;  /* of the score before its cap */
    double *dq, *dk; /* [D] what this score alone adds to the gradients of q_i and k_j */
    double *dv;      /* [T,KV*D] scratch */
} tg_attn_trace;

/* One channel of the output projection: sum over m of att[m] * w[m,c], plus bias[c]. */
typedef struct tg_derived_output {
    const char *name; /* the matrix's name, which belongs to the model */
    double *w;        /* [H*D] column c of the matrix, [H*D,C] or transposed */
    bool transposed;
    const char *norm;    /* of the norm that the output goes through before it is added; NULL: none */
    double sum, of_head; /* over all m; over the head's channels only */
    double out;          /* sum + bias */
} tg_derived_output;

typedef struct tg_derivation tg_derivation;

/*
 * Begin the walk again, run the layers up to what->layer, and derive the score.
 * TG_EUSAGE, with the range: an index, a channel or the target is out of range.  TG_EDATA, with the
 * place: a number is not finite.  TG_ENOMEM.  *d is NULL after a failure.  The arrays of the trace's view are
 * valid until another layer is run.
 */
TG_MUST_CHECK tg_status tg_derivation_new(tg_derivation **d, tg_attn_layers *layers,
                                          const tg_derive_what *what, tg_err *err);
void tg_derivation_destroy(tg_derivation *d); /* NULL is fine */

/* The score term by term, and its gradient; the channel of the layer's output that it is part of; and the
 * gradient [D] of the head's weighted sum, from which the score's follows.  Valid as long as d. */
const tg_attn_trace *tg_derivation_trace(const tg_derivation *d);
const tg_derived_output *tg_derivation_output(const tg_derivation *d);
const double *tg_derivation_datt(const tg_derivation *d);

TG_API_END

#endif
