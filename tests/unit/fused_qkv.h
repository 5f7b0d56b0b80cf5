/*
 * fused_qkv: attention (lib/nn/attention.h) on rows that hold q, k and v side by side, qkv [B,T,3C], as many
 * heads of keys as of queries: GPT-2's.
 */
#ifndef TG_TESTS_FUSED_QKV_H
#define TG_TESTS_FUSED_QKV_H

#include "lib/attn/attn.h"
#include "lib/nn/attention.h"

/* Members of a tg_attention. */
#define FUSED_QKV(b, t, c, h) .B = (b), .T = (t), .H = (h), .KV = (h), .D = (c) / (h)

static inline tg_qkv_view fused_qkv_view(const float *qkv, size_t B, size_t T, size_t C, size_t H)
{
    tg_qkv_view view = tg_attn_shape_of(B, T, C, H);

    view.ldq = view.ldk = view.ldv = 3 * C;
    view.q = qkv;
    view.k = qkv + C;
    view.v = qkv + 2 * C;
    return view;
}

static inline tg_qkv fused_qkv_matrices(const void *qkv, tg_type type, const tg_attention *a)
{
    const size_t C = a->H * a->D;
    const tg_matrix all = tg_matrix_of((void *)qkv, type, 3 * C);

    return (tg_qkv){tg_matrix_columns(all, 0, C), tg_matrix_columns(all, C, C),
                    tg_matrix_columns(all, 2 * C, C)};
}

static inline void fused_qkv_forward(float *out, float *lse, const float *qkv, const tg_attention *a)
{
    const tg_qkv inp = fused_qkv_matrices(qkv, TG_TYPE_FLOAT, a);

    tg_attention_forward(tg_matrix_of(out, TG_TYPE_FLOAT, a->H * a->D),
                         tg_matrix_of(lse, TG_TYPE_FLOAT, a->H), &inp, a);
}

static inline void fused_qkv_backward(float *dqkv, float *dout, float *out, float *lse, float *qkv,
                                      const tg_attention *a)
{
    const size_t C = a->H * a->D;
    const tg_qkv inp = fused_qkv_matrices(qkv, TG_TYPE_FLOAT, a),
                 dinp = fused_qkv_matrices(dqkv, TG_TYPE_FLOAT, a);

    tg_attention_backward(&dinp, tg_matrix_of(dout, TG_TYPE_FLOAT, C), tg_matrix_of(out, TG_TYPE_FLOAT, C),
                          tg_matrix_of(lse, TG_TYPE_FLOAT, a->H), &inp, a);
}

#endif
