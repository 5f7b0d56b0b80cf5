#include "lib/nn/ops.h"

#include "lib/nn/crossentropy.h"
#include "lib/nn/elementwise.h"
#include "lib/nn/ops16.h"
#include "lib/nn/ops64.h"
#include "lib/nn/residual.h"

/* The one of three calls that is for m's type. */
#define BY_TYPE(m, floats, halves, doubles)                                                                  \
    ((m).type == TG_TYPE_FLOAT ? (floats) : (m).type == TG_TYPE_BF16 ? (halves) : (doubles))

void tg_op_zero(tg_matrix m, size_t N)
{
    if (m.type == TG_TYPE_DOUBLE)
        tg_zero64(tg_doubles(m), N * m.cols);
    else
        tg_zero(tg_floats(m), N * m.cols);
}

/* ---- float alone */

void tg_op_embedding_forward(tg_matrix out, const int32_t *ids, const tg_embedding *embedding, size_t first,
                             size_t B, size_t T)
{
    tg_embedding_forward(tg_floats(out), ids, embedding, first, B, T);
}

void tg_op_embedding_backward(tg_matrix dout, const int32_t *ids, const tg_embedding *embedding, size_t B,
                              size_t T)
{
    tg_embedding_backward(tg_floats(dout), ids, embedding, B, T);
}

void tg_op_dropout_apply(tg_matrix m, const tg_dropout *drop, size_t N)
{
    tg_dropout_apply(tg_floats(m), drop, N * m.cols);
}

void tg_op_head_loss(float *losses, tg_matrix dinp, tg_matrix inp, const int32_t *targets,
                     const tg_linear *head, float scale, size_t N, float *logits)
{
    if (inp.type == TG_TYPE_BF16)
        tg_head16_loss(losses, tg_floats(dinp), tg_halves(inp), targets, head, scale, N, logits);
    else
        tg_head_loss(losses, tg_floats(dinp), tg_floats(inp), targets, head, scale, N, logits);
}

/* ---- LayerNorm: a bf16 one has a bf16 result */

static tg_row_stats stats_of(tg_norm_stats stats)
{
    return (tg_row_stats){tg_floats(stats.mean), tg_floats(stats.rstd)};
}

static tg_row_stats64 stats64_of(tg_norm_stats stats)
{
    return (tg_row_stats64){tg_doubles(stats.mean), tg_doubles(stats.rstd)};
}

void tg_op_layernorm_forward(tg_matrix out, tg_norm_stats stats, tg_matrix inp, const tg_layernorm *norm,
                             size_t N)
{
    BY_TYPE(out, tg_layernorm_forward(tg_floats(out), stats_of(stats), tg_floats(inp), norm, N),
            tg_layernorm16_forward(tg_halves(out), stats_of(stats), tg_floats(inp), norm, N),
            tg_layernorm64_forward(tg_doubles(out), stats64_of(stats), tg_doubles(inp), norm, N));
}

void tg_op_layernorm_recompute(tg_matrix out, tg_norm_stats stats, tg_matrix inp, const tg_layernorm *norm,
                               size_t N)
{
    BY_TYPE(out, tg_layernorm_recompute(tg_floats(out), stats_of(stats), tg_floats(inp), norm, N),
            tg_layernorm16_recompute(tg_halves(out), stats_of(stats), tg_floats(inp), norm, N),
            tg_layernorm64_recompute(tg_doubles(out), stats64_of(stats), tg_doubles(inp), norm, N));
}

void tg_op_layernorm_backward(tg_matrix dinp, tg_matrix dout, tg_matrix inp, tg_norm_stats stats,
                              const tg_layernorm *norm, size_t N)
{
    if (inp.type == TG_TYPE_DOUBLE)
        tg_layernorm64_backward(tg_doubles(dinp), tg_doubles(dout), tg_doubles(inp), stats64_of(stats), norm,
                                N);
    else
        tg_layernorm_backward(tg_floats(dinp), tg_floats(dout), tg_floats(inp), stats_of(stats), norm, N);
}

/* ---- linear layers: their input is bf16 in a bf16 one */

void tg_op_linear_forward(tg_matrix out, tg_matrix inp, const tg_linear *linear, size_t N)
{
    BY_TYPE(inp, tg_linear_forward(tg_floats(out), NULL, tg_floats(inp), linear, N),
            tg_linear16_forward(tg_halves(out), NULL, tg_halves(inp), linear, N),
            tg_linear64_forward(tg_doubles(out), NULL, tg_doubles(inp), linear, N));
}

void tg_op_linear_gelu_forward(tg_matrix out, tg_matrix pre, tg_matrix inp, const tg_linear *linear,
                               tg_gelu_kind kind, size_t N)
{
    BY_TYPE(inp, tg_linear_gelu_forward(tg_floats(out), tg_floats(pre), tg_floats(inp), linear, kind, N),
            tg_linear16_gelu_forward(tg_halves(out), tg_halves(pre), tg_halves(inp), linear, kind, N),
            tg_linear64_gelu_forward(tg_doubles(out), tg_doubles(pre), tg_doubles(inp), linear, kind, N));
}

void tg_op_linear_backward(tg_matrix dinp, tg_matrix dout, tg_matrix inp, const tg_linear *linear, size_t N)
{
    BY_TYPE(inp, tg_linear_backward(tg_floats(dinp), tg_floats(dout), tg_floats(inp), linear, N),
            tg_linear16_backward(tg_floats(dinp), tg_halves(dout), tg_halves(inp), linear, N),
            tg_linear64_backward(tg_doubles(dinp), tg_doubles(dout), tg_doubles(inp), linear, N));
}

void tg_op_gelu_forward(tg_matrix out, tg_matrix inp, size_t N, tg_gelu_kind kind)
{
    BY_TYPE(inp, tg_gelu_forward(tg_floats(out), tg_floats(inp), N * inp.cols, kind),
            tg_gelu16_forward(tg_halves(out), tg_halves(inp), N * inp.cols, kind),
            tg_gelu64_forward(tg_doubles(out), tg_doubles(inp), N * inp.cols, kind));
}

/* ---- attention */

void tg_op_attention_place(tg_arena *arena, tg_attention_scratch *scratch, tg_type type, size_t keys,
                           const tg_attention *a)
{
    switch (type) {
    case TG_TYPE_FLOAT:
        tg_attention_place(arena, scratch, keys, a->D, a->H / a->KV);
        return;
    case TG_TYPE_BF16:
        tg_attention16_place(arena, scratch, keys, a->D, a->H / a->KV);
        return;
    case TG_TYPE_DOUBLE:
        tg_attention64_place(arena, scratch, a->B, keys, a->H);
        return;
    }
}

static tg_attention with_rows_of(const tg_attention *a, const tg_qkv *inp)
{
    tg_attention with = *a;

    with.ldq = inp->q.ld;
    with.ldk = inp->k.ld;
    with.ldv = inp->v.ld;
    return with;
}

void tg_op_attention_forward(tg_matrix out, tg_matrix lse, const tg_qkv *inp, const tg_attention *a)
{
    const tg_attention with = with_rows_of(a, inp);
    const tg_matrix q = inp->q, k = inp->k, v = inp->v;

    BY_TYPE(
        q,
        tg_attention_forward(tg_floats(out), tg_floats(lse), tg_floats(q), tg_floats(k), tg_floats(v), &with),
        tg_attention16_forward(tg_halves(out), tg_floats(lse), tg_halves(q), tg_halves(k), tg_halves(v),
                               &with),
        tg_attention64_forward(tg_doubles(out), tg_doubles(q), tg_doubles(k), tg_doubles(v), &with));
}

void tg_op_attention_backward(const tg_qkv *dinp, tg_matrix dout, tg_matrix out, tg_matrix lse,
                              const tg_qkv *inp, const tg_attention *a)
{
    const tg_attention with = with_rows_of(a, inp);
    const tg_matrix q = inp->q, k = inp->k, v = inp->v, dq = dinp->q, dk = dinp->k, dv = dinp->v;

    BY_TYPE(
        q,
        tg_attention_backward(&(tg_attention_gradient){tg_floats(dq), tg_floats(dk), tg_floats(dv),
                                                       tg_floats(dout), tg_floats(out), tg_floats(lse)},
                              tg_floats(q), tg_floats(k), tg_floats(v), &with),
        tg_attention16_backward(&(tg_attention16_gradient){tg_halves(dq), tg_halves(dk), tg_halves(dv),
                                                           tg_halves(dout), tg_halves(out), tg_floats(lse)},
                                tg_halves(q), tg_halves(k), tg_halves(v), &with),
        tg_attention64_backward(
            &(tg_attention64_gradient){tg_doubles(dq), tg_doubles(dk), tg_doubles(dv), tg_doubles(dout)},
            tg_doubles(q), tg_doubles(k), tg_doubles(v), &with));
}

/* ---- residual layers: likewise */

void tg_op_residual_forward(tg_matrix out, tg_matrix residual, tg_matrix inp, const tg_linear *linear,
                            const tg_dropout *drop, size_t N)
{
    BY_TYPE(inp, tg_residual_forward(tg_floats(out), tg_floats(residual), tg_floats(inp), linear, drop, N),
            tg_residual16_forward(tg_floats(out), tg_floats(residual), tg_halves(inp), linear, drop, N),
            tg_residual64_forward(tg_doubles(out), tg_doubles(residual), tg_doubles(inp), linear, drop, N));
}

void tg_op_residual_backward(tg_matrix dinp, tg_matrix dout, tg_matrix inp, const tg_linear *linear,
                             const tg_dropout *drop, tg_matrix scratch, size_t N)
{
    BY_TYPE(inp,
            tg_residual_backward(tg_floats(dinp), tg_floats(dout), tg_floats(inp), linear, drop,
                                 tg_floats(scratch), N),
            tg_residual16_backward(tg_halves(dinp), tg_floats(dout), tg_halves(inp), linear, drop,
                                   tg_halves(scratch), N),
            tg_residual64_backward(tg_doubles(dinp), tg_doubles(dout), tg_doubles(inp), linear, drop, N));
}

void tg_op_residual_after_gelu_backward(tg_matrix dpre, tg_matrix dout, tg_matrix inp, tg_matrix pre,
                                        const tg_linear *linear, tg_gelu_kind kind, const tg_dropout *drop,
                                        tg_matrix scratch, size_t N)
{
    BY_TYPE(inp,
            tg_residual_after_gelu_backward(tg_floats(dpre), tg_floats(dout), tg_floats(inp), tg_floats(pre),
                                            linear, kind, drop, tg_floats(scratch), N),
            tg_residual16_after_gelu_backward(tg_halves(dpre), tg_floats(dout), tg_halves(inp),
                                              tg_halves(pre), linear, kind, drop, tg_halves(scratch), N),
            tg_residual64_after_gelu_backward(tg_doubles(dpre), tg_doubles(dout), tg_doubles(inp),
                                              tg_doubles(pre), linear, kind, drop, N));
}
