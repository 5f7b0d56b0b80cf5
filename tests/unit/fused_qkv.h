/*
 * fused_qkv: attention (lib/nn/attention.h) on rows that hold q, k and v side by side, qkv [B,T,3C], as many
 * heads of keys as of queries: GPT-2's.
 */
#ifndef TG_TESTS_FUSED_QKV_H
#define TG_TESTS_FUSED_QKV_H

#include "lib/attn/attn.h"
#include "lib/nn/attention.h"

/* Members of a tg_attention. */
#define FUSED_QKV(b, t, c, h)                                                                                \
    .B = (b), .T = (t), .H = (h), .KV = (h), .D = (c) / (h), .ldq = 3 * (c), .ldk = 3 * (c), .ldv = 3 * (c)

static inline tg_qkv_view fused_qkv_view(const float *qkv, size_t B, size_t T, size_t C, size_t H)
{
    tg_qkv_view view = tg_attn_shape_of(B, T, C, H);

    view.ldq = view.ldk = view.ldv = 3 * C;
    view.q = qkv;
    view.k = qkv + C;
    view.v = qkv + 2 * C;
    return view;
}

static inline void fused_qkv_forward(float *out, float *lse, const float *qkv, const tg_attention *a)
{
    const size_t C = a->H * a->D;

    tg_attention_forward(out, lse, qkv, qkv + C, qkv + 2 * C, a);
}

static inline void fused_qkv_backward(float *dqkv, const float *dout, const float *out, const float *lse,
                                      const float *qkv, const tg_attention *a)
{
    const size_t C = a->H * a->D;
    const tg_attention_gradient g = {dqkv, dqkv + C, dqkv + 2 * C, dout, out, lse};

    tg_attention_backward(&g, qkv, qkv + C, qkv + 2 * C, a);
}

#endif
