/*
 * GPT-2, top to bottom.
 *
 *     x = wte[ids] + wpe
 *     for each block
 *         q, k, v = ln_1(x) W + b
 *         att = softmax(q k^T / sqrt(D)) v, causal, by head
 *         x2 = x + att W + b
 *         x  = x2 + gelu(ln_2(x2) W + b) W + b
 *     logits = ln_f(x) wte^T
 *
 * All computation is done by operations of lib/nn on whole tensors of N = B*T rows; this file
 * puts them in order, forward and backward, for training, evaluation, decoding and derivations.
 * Source: Radford et al. 2019, "Language Models are Unsupervised Multitask Learners".
 */
#include "lib/gpt/gpt2.h"

#include "lib/nn/ops.h"

tg_dropout tg_gpt2_drop_at(const tg_acts *a, tg_gpt2_site site, size_t l)
{
    tg_dropout drop = {.p = a->dropout, .rng = a->rng};

    drop.rng.purpose = TG_RNG_DROPOUT | (uint32_t)(l * 4 + site) << 8;
    return drop;
}

static tg_attention attention_of(const tg_acts *a, const tg_block *P, const tg_dropout *drop, size_t l)
{
    return (tg_attention){.B = a->B,
                          .T = a->T,
                          .C = a->C,
                          .H = P->H,
                          .drop = drop,
                          .scratch = &a->attention,
                          .cache = a->cache,
                          .layer = l,
                          .first = a->first};
}

/* ---- forward */

/* x = wte[ids] + wpe */
void tg_gpt2_embed(tg_acts *a, const int32_t *ids)
{
    const tg_embedding wte_wpe = tg_bind_embedding(&a->bound);
    const tg_dropout drop = tg_gpt2_drop_at(a, TG_SITE_EMBEDDING, 0);

    tg_op_embedding_forward(a->block[0][TG_ACT_X], ids, &wte_wpe, a->cache ? a->cache->past : 0, a->B, a->T);
    tg_op_dropout_apply(a->block[0][TG_ACT_X], &drop, a->B * a->T);
}

/* qkv = ln_1(x) W + b */
void tg_gpt2_qkv(tg_acts *a, size_t l)
{
    const tg_block P = tg_bind_block(&a->bound, l);
    const tg_matrix *s = a->block[l];
    const size_t N = a->B * a->T;

    tg_op_layernorm_forward(a->normed, tg_acts_stats(s, TG_ACT_LN1_MEAN), s[TG_ACT_X], &P.ln_1, N);
    tg_op_linear_forward(s[TG_ACT_QKV], a->normed, &P.qkv, N);
}

/* att = softmax(q k^T / sqrt(D)) v, causal, each head by itself */
void tg_gpt2_att(tg_acts *a, size_t l)
{
    const tg_block P = tg_bind_block(&a->bound, l);
    const tg_matrix *s = a->block[l];
    const tg_dropout drop = tg_gpt2_drop_at(a, TG_SITE_PROBS, l);
    const tg_attention attention = attention_of(a, &P, &drop, l);

    tg_op_attention_forward(s[TG_ACT_ATT], s[TG_ACT_LSE], s[TG_ACT_QKV], &attention);
}

/* x2 = x + att W + b */
void tg_gpt2_x2(tg_acts *a, size_t l)
{
    const tg_block P = tg_bind_block(&a->bound, l);
    const tg_matrix *s = a->block[l];
    const tg_dropout drop = tg_gpt2_drop_at(a, TG_SITE_ATTENTION, l);

    tg_op_residual_forward(s[TG_ACT_X2], s[TG_ACT_X], s[TG_ACT_ATT], &P.att_proj, &drop, a->B * a->T);
}

/* the next x = x2 + gelu(ln_2(x2) W + b) W + b */
void tg_gpt2_x(tg_acts *a, size_t l)
{
    const tg_block P = tg_bind_block(&a->bound, l);
    const tg_matrix *s = a->block[l];
    const tg_dropout drop = tg_gpt2_drop_at(a, TG_SITE_MLP, l);
    const size_t N = a->B * a->T;

    tg_op_layernorm_forward(a->normed, tg_acts_stats(s, TG_ACT_LN2_MEAN), s[TG_ACT_X2], &P.ln_2, N);
    tg_op_linear_gelu_forward(s[TG_ACT_GELU], s[TG_ACT_FC], a->normed, &P.fc, P.activation, N);
    tg_op_residual_forward(tg_acts_next_x(a, l), s[TG_ACT_X2], s[TG_ACT_GELU], &P.fc_proj, &drop, N);
}

/* logits [rows,V] = ln_f(x) wte^T, for some rows of x */
void tg_gpt2_logits(tg_acts *a, tg_matrix logits, size_t first, size_t rows)
{
    const tg_layernorm ln_f = tg_bind_ln_f(&a->bound);
    const tg_linear head = tg_bind_head(&a->bound);

    tg_op_layernorm_forward(a->normed, a->ln_f, tg_matrix_from(a->x, first), &ln_f, rows);
    tg_op_linear_forward(logits, a->normed, &head, rows);
}

/* losses [N] = -log softmax(ln_f(x) wte^T)[target]; with gradients also dnormed, and the head's */
void tg_gpt2_loss(tg_acts *a, float *losses, const int32_t *targets, float *some_logits, float scale)
{
    const tg_layernorm ln_f = tg_bind_ln_f(&a->bound);
    const tg_linear head = tg_bind_head(&a->bound);
    const size_t N = a->B * a->T;

    tg_op_layernorm_forward(a->normed, a->ln_f, a->x, &ln_f, N);
    tg_op_head_loss(losses, a->bound.grads ? a->dnormed : (tg_matrix){0}, a->normed, targets, &head, scale, N,
                    some_logits);
}

/* ---- backward: dx is the gradient of the residual stream, from its end to its beginning */

/* From dnormed, the gradient of ln_f's output, to dx, for the rows that logits or loss used. */
static void norm_backward(tg_acts *a, size_t first, size_t rows)
{
    const tg_layernorm ln_f = tg_bind_ln_f(&a->bound);

    tg_op_zero(a->dx, a->B * a->T);
    tg_op_layernorm_backward(tg_matrix_from(a->dx, first), a->dnormed, tg_matrix_from(a->x, first), a->ln_f,
                             &ln_f, rows);
}

/* From dlogits [rows,V] to dx. */
void tg_gpt2_logits_backward(tg_acts *a, tg_matrix dlogits, size_t first, size_t rows)
{
    const tg_linear head = tg_bind_head(&a->bound);

    tg_op_linear_backward(a->dnormed, dlogits, a->normed, &head, rows);
    norm_backward(a, first, rows);
}
void tg_gpt2_loss_backward(tg_acts *a)
{
    norm_backward(a, 0, a->B * a->T);
}

/* From dx of the block's output to dx of x2. */
void tg_gpt2_x_backward(tg_acts *a, size_t l)
{
    const tg_block P = tg_bind_block(&a->bound, l);
    const tg_matrix *s = a->block[l];
    const tg_dropout drop = tg_gpt2_drop_at(a, TG_SITE_MLP, l);
    const size_t N = a->B * a->T;

    if (a->again[TG_ACT_X2])
        tg_gpt2_x2(a, l);

    /* out = x2 + gelu W + b, gelu = gelu(fc) */
    if (a->again[TG_ACT_GELU])
        tg_op_gelu_forward(s[TG_ACT_GELU], s[TG_ACT_FC], N, P.activation);
    tg_op_residual_after_gelu_backward(a->wide, a->dx, s[TG_ACT_GELU], s[TG_ACT_FC], &P.fc_proj, P.activation,
                                       &drop, a->normed, N);

    /* fc = ln_2(x2) W + b */
    tg_op_layernorm_recompute(a->normed, tg_acts_stats(s, TG_ACT_LN2_MEAN), s[TG_ACT_X2], &P.ln_2, N);
    tg_op_linear_backward(a->dnormed, a->wide, a->normed, &P.fc, N);
    tg_op_layernorm_backward(a->dx, a->dnormed, s[TG_ACT_X2], tg_acts_stats(s, TG_ACT_LN2_MEAN), &P.ln_2, N);
}

/* From dx of x2, which is also dx of x, to datt. */
void tg_gpt2_x2_backward(tg_acts *a, size_t l)
{
    const tg_block P = tg_bind_block(&a->bound, l);
    const tg_dropout drop = tg_gpt2_drop_at(a, TG_SITE_ATTENTION, l);

    tg_op_residual_backward(a->datt, a->dx, a->block[l][TG_ACT_ATT], &P.att_proj, &drop, a->normed,
                            a->B * a->T);
}

/* From datt to dqkv in wide. */
void tg_gpt2_att_backward(tg_acts *a, size_t l)
{
    const tg_block P = tg_bind_block(&a->bound, l);
    const tg_matrix *s = a->block[l];
    const tg_dropout drop = tg_gpt2_drop_at(a, TG_SITE_PROBS, l);
    const tg_attention attention = attention_of(a, &P, &drop, l);

    tg_op_attention_backward(a->wide, a->datt, s[TG_ACT_ATT], s[TG_ACT_LSE], s[TG_ACT_QKV], &attention);
}

/* From dqkv in wide to dx of x. */
void tg_gpt2_qkv_backward(tg_acts *a, size_t l)
{
    const tg_block P = tg_bind_block(&a->bound, l);
    const tg_matrix *s = a->block[l];
    const size_t N = a->B * a->T;

    tg_op_layernorm_recompute(a->normed, tg_acts_stats(s, TG_ACT_LN1_MEAN), s[TG_ACT_X], &P.ln_1, N);
    tg_op_linear_backward(a->dnormed, a->wide, a->normed, &P.qkv, N);
    tg_op_layernorm_backward(a->dx, a->dnormed, s[TG_ACT_X], tg_acts_stats(s, TG_ACT_LN1_MEAN), &P.ln_1, N);
}

void tg_gpt2_embed_backward(tg_acts *a, const int32_t *ids)
{
    const tg_embedding wte_wpe = tg_bind_embedding(&a->bound);
    const tg_dropout drop = tg_gpt2_drop_at(a, TG_SITE_EMBEDDING, 0);

    tg_op_dropout_apply(a->dx, &drop, a->B * a->T);
    tg_op_embedding_backward(a->dx, ids, &wte_wpe, a->B, a->T);
}

const tg_steps tg_gpt2_steps = {
    .embed = tg_gpt2_embed,
    .forward = {tg_gpt2_qkv, tg_gpt2_att, tg_gpt2_x2, tg_gpt2_x},
    .logits = tg_gpt2_logits,
    .loss = tg_gpt2_loss,
    .logits_backward = tg_gpt2_logits_backward,
    .loss_backward = tg_gpt2_loss_backward,
    .backward = {tg_gpt2_qkv_backward, tg_gpt2_att_backward, tg_gpt2_x2_backward, tg_gpt2_x_backward},
    .embed_backward = tg_gpt2_embed_backward,
};
