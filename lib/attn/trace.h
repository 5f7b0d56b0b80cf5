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
#include "lib/tg/attention.h"

/* Check that the indices are below B, H, T and T.  TG_EUSAGE, with the range. */
TG_MUST_CHECK tg_status tg_attn_index_check(const tg_attn_index *at, size_t B, size_t H, size_t T,
                                            tg_err *err);

/* Place the arrays in an arena (see arena.h), for scores of this view. */
void tg_attn_trace_place(tg_arena *arena, tg_attn_trace *trace, const tg_qkv_view *view);

/* Compute the forward half.  The index must be in range, and the view must have its arrays. */
void tg_attn_trace_forward(tg_attn_trace *trace, const tg_qkv_view *view, tg_attn_index at);

/* Then compute the backward half from datt [D], the gradient of the weighted sum of query i and head h. */
void tg_attn_trace_backward(tg_attn_trace *trace, const double *datt);

#endif
