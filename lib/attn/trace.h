/*
 * trace: one score term by term, and its gradient.
 *
 * The numbers are the walk's (lib/attn/attn.h), bit for bit: the same reference operations in
 * double precision on the same float32 q, k and v.  Intermediate results that the operations do
 * not return (a sum before it is scaled, the exponentials) are recomputed here.
 */
#ifndef TG_ATTN_TRACE_H
#define TG_ATTN_TRACE_H

#include "lib/attn/attn.h"
#include "lib/base/api.h"

TG_API_BEGIN

/* Which score: scores[b,h,i,j]. */
typedef struct tg_attn_index {
    size_t b, h, i, j;
} tg_attn_index;

/* Check that the indices are below B, H, T and T.  TG_EUSAGE, with the range. */
TG_MUST_CHECK tg_status tg_attn_index_check(const tg_attn_index *at, size_t B, size_t H, size_t T,
                                            tg_err *err);

typedef struct tg_attn_trace {
    tg_qkv_view view;
    tg_attn_index at;
    /* forward */
    double *q, *k, *v;     /* [T,H*D], [T,KV*D] twice, of sequence b */
    size_t first;          /* the first key that i sees */
    double sum;            /* q_i . k_j before it is scaled; also for a masked j, where nothing uses it */
    double scaled;         /* the same, scaled, before the cap */
    double unmasked;       /* and after it: the score, if it is not masked */
    double *scores;        /* [T] of row i; TG_MASKED for masked keys */
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

/* Place the arrays in an arena (see arena.h), for scores of this view. */
void tg_attn_trace_place(tg_arena *arena, tg_attn_trace *trace, const tg_qkv_view *view);

/* Compute the forward half.  The index must be in range, and the view must have its arrays. */
void tg_attn_trace_forward(tg_attn_trace *trace, const tg_qkv_view *view, tg_attn_index at);

/* Then compute the backward half from datt [D], the gradient of the weighted sum of query i and head h. */
void tg_attn_trace_backward(tg_attn_trace *trace, const double *datt);

TG_API_END

#endif
