/*
 * GPT-2, top to bottom.
 *
 *     x = wte[ids] + wpe
 *     for each block
 *         q, k, v = ln_1(x) W + b                              project
 *         att = softmax(q k^T / sqrt(D)) v, causal, by head    attend
 *         x2 = x + att W + b                                   finish
 *         x  = x2 + gelu(ln_2(x2) W + b) W + b
 *     logits = ln_f(x) wte^T
 *
 * All computation is done by operations of lib/nn on whole tensors of N = B*T rows; this file
 * puts them in order, forward and backward, for training, evaluation and decoding.  It is
 * compiled three times: in float32; in double precision, for derivations; and for training with
 * bf16 between the products (lib/gpt/real.h).
 * Source: Radford et al. 2019, "Language Models are Unsupervised Multitask Learners".
 */
#include "lib/nn/crossentropy.h"
#include "lib/nn/elementwise.h"
#include "lib/nn/residual.h"

#include "lib/gpt/real.h"

/* Where training drops activations.  Each site has its own random numbers. */
enum site { SITE_EMBEDDING, SITE_PROBS, SITE_ATTENTION, SITE_MLP };

static tg_dropout drop_at(const tg_acts *a, enum site site, size_t l)
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

#if TG_REAL != 64 /* a derivation begins at a block's input */
/* x = wte[ids] + wpe */
static void embed(tg_acts *a, const int32_t *ids)
{
    const tg_embedding wte_wpe = tg_bind_embedding(&a->bound);
    const tg_dropout drop = drop_at(a, SITE_EMBEDDING, 0);

    tg_embedding_forward(a->block[0].x, ids, &wte_wpe, a->cache ? a->cache->past : 0, a->B, a->T);
    tg_dropout_apply(a->block[0].x, &drop, a->B * a->T * a->C);
}
#endif

/* qkv = ln_1(x) W + b */
static void project(tg_acts *a, size_t l)
{
    const tg_block P = tg_bind_block(&a->bound, l);
    const tg_block_acts *s = &a->block[l];
    const size_t N = a->B * a->T;

    tg_layernorm_forward(a->normed, s->ln_1, s->x, &P.ln_1, N);
    tg_linear_forward(s->qkv, NULL, a->normed, &P.qkv, N);
}

/* att = softmax(q k^T / sqrt(D)) v, causal, each head by itself */
static void attend(tg_acts *a, size_t l)
{
    const tg_block P = tg_bind_block(&a->bound, l);
    const tg_block_acts *s = &a->block[l];
    const tg_dropout drop = drop_at(a, SITE_PROBS, l);
    const tg_attention attention = attention_of(a, &P, &drop, l);

    tg_attention_forward(s->att, s->lse, s->qkv, &attention);
}

/* x2 = x + att W + b; the next x = x2 + gelu(ln_2(x2) W + b) W + b */
static void finish(tg_acts *a, size_t l)
{
    const tg_block P = tg_bind_block(&a->bound, l);
    const tg_block_acts *s = &a->block[l];
    const tg_dropout drop_att = drop_at(a, SITE_ATTENTION, l), drop_mlp = drop_at(a, SITE_MLP, l);
    const size_t N = a->B * a->T;
    real *out = l + 1 < a->L ? a->block[l + 1].x : a->x;

    tg_residual_forward(s->x2, s->x, s->att, &P.att_proj, &drop_att, N);
    tg_layernorm_forward(a->normed, s->ln_2, s->x2, &P.ln_2, N);
    tg_linear_gelu_forward(s->gelu, s->fc, a->normed, &P.fc, P.activation, N);
    tg_residual_forward(out, s->x2, s->gelu, &P.fc_proj, &drop_mlp, N);
}

#if TG_REAL != 16
/* logits [rows,V] = ln_f(x) wte^T, for some rows of x */
static void logits(tg_acts *a, real *logits, size_t first, size_t rows)
{
    const tg_layernorm ln_f = tg_bind_ln_f(&a->bound);
    const tg_linear head = tg_bind_head(&a->bound);

    tg_layernorm_forward(a->normed, a->ln_f, a->x + first * a->C, &ln_f, rows);
    tg_linear_forward(logits, NULL, a->normed, &head, rows);
}
#endif

#if TG_REAL != 64
/* losses [N] = -log softmax(ln_f(x) wte^T)[target]; with gradients also dnormed, and the head's */
static void loss(tg_acts *a, real *losses, const int32_t *targets, real *some_logits, real scale)
{
    const tg_layernorm ln_f = tg_bind_ln_f(&a->bound);
    const tg_linear head = tg_bind_head(&a->bound);
    const size_t N = a->B * a->T;

    tg_layernorm_forward(a->normed, a->ln_f, a->x, &ln_f, N);
    tg_head_loss(losses, a->bound.grads ? a->dnormed : NULL, a->normed, targets, &head, scale, N,
                 some_logits);
}
#endif

/* ---- backward: dx is the gradient of the residual stream, from its end to its beginning */

/* From dnormed, the gradient of ln_f's output, to dx, for the rows that logits or loss used. */
static void norm_backward(tg_acts *a, size_t first, size_t rows)
{
    const tg_layernorm ln_f = tg_bind_ln_f(&a->bound);

    tg_zero(a->dx, a->B * a->T * a->C);
    tg_layernorm_backward(a->dx + first * a->C, a->dnormed, a->x + first * a->C, a->ln_f, &ln_f, rows);
}

#if TG_REAL == 64
/* From dlogits [rows,V] to dx. */
static void logits_backward(tg_acts *a, const real *dlogits, size_t first, size_t rows)
{
    const tg_linear head = tg_bind_head(&a->bound);

    tg_linear_backward(a->dnormed, dlogits, a->normed, &head, rows);
    norm_backward(a, first, rows);
}
#else
static void loss_backward(tg_acts *a)
{
    norm_backward(a, 0, a->B * a->T);
}
#endif

/* From dx of the block's output to dx of x2, and datt. */
static void finish_backward(tg_acts *a, size_t l)
{
    const tg_block P = tg_bind_block(&a->bound, l);
    const tg_block_acts *s = &a->block[l];
    const tg_dropout drop_att = drop_at(a, SITE_ATTENTION, l), drop_mlp = drop_at(a, SITE_MLP, l);
    const size_t N = a->B * a->T;

    if (a->recompute_x2)
        tg_residual_forward(s->x2, s->x, s->att, &P.att_proj, &drop_att, N);

    /* out = x2 + gelu W + b, gelu = gelu(fc) */
    if (a->recompute_gelu)
        tg_gelu_forward(s->gelu, s->fc, N * P.fc.out, P.activation);
    tg_residual_after_gelu_backward(a->wide, a->dx, s->gelu, s->fc, &P.fc_proj, P.activation, &drop_mlp,
                                    a->normed, N);

    /* fc = ln_2(x2) W + b */
    tg_layernorm_recompute(a->normed, s->ln_2, s->x2, &P.ln_2, N);
    tg_linear_backward(a->dnormed, a->wide, a->normed, &P.fc, N);
    tg_layernorm_backward(a->dx, a->dnormed, s->x2, s->ln_2, &P.ln_2, N);

    /* x2 = x + att W + b */
    tg_residual_backward(a->datt, a->dx, s->att, &P.att_proj, &drop_att, a->normed, N);
}

/* From datt to dqkv in wide. */
static void attend_backward(tg_acts *a, size_t l)
{
    const tg_block P = tg_bind_block(&a->bound, l);
    const tg_block_acts *s = &a->block[l];
    const tg_dropout drop = drop_at(a, SITE_PROBS, l);
    const tg_attention attention = attention_of(a, &P, &drop, l);

    tg_attention_backward(a->wide, a->datt, s->att, s->lse, s->qkv, &attention);
}

/* From dqkv in wide to dx of x. */
static void project_backward(tg_acts *a, size_t l)
{
    const tg_block P = tg_bind_block(&a->bound, l);
    const tg_block_acts *s = &a->block[l];
    const size_t N = a->B * a->T;

    tg_layernorm_recompute(a->normed, s->ln_1, s->x, &P.ln_1, N);
    tg_linear_backward(a->dnormed, a->wide, a->normed, &P.qkv, N);
    tg_layernorm_backward(a->dx, a->dnormed, s->x, s->ln_1, &P.ln_1, N);
}

#if TG_REAL != 64
static void embed_backward(tg_acts *a, const int32_t *ids)
{
    const tg_embedding wte_wpe = tg_bind_embedding(&a->bound);
    const tg_dropout drop = drop_at(a, SITE_EMBEDDING, 0);

    tg_dropout_apply(a->dx, &drop, a->B * a->T * a->C);
    tg_embedding_backward(a->dx, ids, &wte_wpe, a->B, a->T);
}
#endif

const tg_steps tg_gpt2_steps = {
#if TG_REAL != 64
    .embed = embed,
    .embed_backward = embed_backward,
    .loss = loss,
    .loss_backward = loss_backward,
#else
    .logits_backward = logits_backward,
#endif
    .project = project,
    .project_backward = project_backward,
    .attend = attend,
    .attend_backward = attend_backward,
    .finish = finish,
    .finish_backward = finish_backward,
#if TG_REAL != 16
    .logits = logits,
#endif
};
