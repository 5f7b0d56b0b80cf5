#include "lib/gpt/block.h"

#include <assert.h>

#include "lib/gpt/family.h"
#include "lib/nn/ops.h"

bool tg_block_begins(const tg_block *b, size_t row)
{
    return !b->ended && row >= b->from && row < b->to;
}

void tg_block_ends(tg_block *b, size_t row)
{
    if (b->tap && !b->tap->after(b->tap->context, b->a, b->layer, row))
        b->ended = true;
}

tg_matrix tg_block_row(const tg_block *b, size_t row)
{
    return tg_acts_row(b->a, b->layer, row);
}

tg_matrix tg_block_gradient(const tg_block *b, size_t row)
{
    return tg_acts_gradient(b->a, row);
}

bool tg_block_adds(tg_block *b, size_t row)
{
    const uint64_t bit = (uint64_t)1 << row;
    const bool adds = b->has_gradient & bit;

    b->has_gradient |= bit;
    return adds;
}

/* The gradients of an operation's output and input, which are in different memory. */
static void check_apart(const tg_block *b, size_t out, size_t in)
{
    assert(tg_block_gradient(b, out).data != tg_block_gradient(b, in).data);
    (void)b, (void)out, (void)in;
}

static tg_norm_stats stats(const tg_block *b, size_t norm)
{
    assert(tg_block_row(b, norm + 1).cols == 1 && tg_block_row(b, norm + 2).cols == 1);
    return (tg_norm_stats){tg_block_row(b, norm + 1), tg_block_row(b, norm + 2)};
}

static tg_dropout drop_of(const tg_block *b, size_t row)
{
    return tg_acts_drop(b->a, b->layer, b->a->family->act[row].drop_site);
}

/* ---- layernorm */

void tg_block_layernorm(tg_block *b, size_t out, size_t in, tg_param_kind w)
{
    const tg_layernorm norm = tg_bind_layernorm(&b->a->bound, w, b->layer);

    if (!tg_block_begins(b, out))
        return;
    tg_layernorm_forward(tg_block_row(b, out), stats(b, out), tg_block_row(b, in), &norm, tg_block_tokens(b));
    tg_block_ends(b, out);
}

void tg_block_layernorm_again(tg_block *b, size_t out, size_t in, tg_param_kind w)
{
    const tg_layernorm norm = tg_bind_layernorm(&b->a->bound, w, b->layer);

    if (tg_block_begins(b, out))
        tg_layernorm_recompute(tg_block_row(b, out), stats(b, out), tg_block_row(b, in), &norm,
                               tg_block_tokens(b));
}

void tg_block_layernorm_backward(tg_block *b, size_t out, size_t in, tg_param_kind w)
{
    const tg_layernorm norm = tg_bind_layernorm(&b->a->bound, w, b->layer);

    if (!tg_block_begins(b, out))
        return;
    check_apart(b, out, in);
    if (!tg_block_adds(b, in))
        tg_zero_rows(tg_block_gradient(b, in), tg_block_tokens(b));
    tg_layernorm_backward(tg_block_gradient(b, in), tg_block_gradient(b, out), tg_block_row(b, in),
                          stats(b, out), &norm, tg_block_tokens(b));
    tg_block_ends(b, out);
}

/* ---- linear */

void tg_block_linear(tg_block *b, size_t out, size_t in, tg_param_kind w)
{
    const tg_linear linear = tg_bind_linear(&b->a->bound, w, b->layer);
    const tg_matrix none = {0};

    if (!tg_block_begins(b, out))
        return;
    tg_linear_forward(tg_block_row(b, out), none, tg_block_row(b, in), &linear, tg_block_tokens(b));
    tg_block_ends(b, out);
}

void tg_block_linear_backward(tg_block *b, size_t out, size_t in, tg_param_kind w)
{
    tg_linear linear = tg_bind_linear(&b->a->bound, w, b->layer);

    if (!tg_block_begins(b, out))
        return;
    check_apart(b, out, in);
    linear.adds = tg_block_adds(b, in);
    tg_linear_backward(tg_block_gradient(b, in), tg_block_gradient(b, out), tg_block_row(b, in), &linear,
                       tg_block_tokens(b));
    tg_block_ends(b, out);
}

/* ---- linear and gelu */

void tg_block_linear_gelu(tg_block *b, size_t out, size_t pre, size_t in, tg_param_kind w)
{
    const tg_linear linear = tg_bind_linear(&b->a->bound, w, b->layer);

    if (!tg_block_begins(b, out))
        return;
    tg_linear_gelu_forward(tg_block_row(b, out), tg_block_row(b, pre), tg_block_row(b, in), &linear,
                           b->a->bound.model->config.activation, tg_block_tokens(b));
    tg_block_ends(b, out);
}

void tg_block_gelu_again(tg_block *b, size_t out, size_t pre)
{
    if (b->a->recomputed[out] && tg_block_begins(b, out))
        tg_gelu_forward(tg_block_row(b, out), tg_block_row(b, pre), tg_block_tokens(b),
                        b->a->bound.model->config.activation);
}

/* ---- attention */

static tg_attention attention_of(const tg_block *b, const tg_dropout *drop)
{
    tg_attention attention = tg_acts_attention(b->a);

    attention.layer = b->layer;
    attention.drop = drop;
    return attention;
}

void tg_block_attention(tg_block *b, size_t out, size_t q, size_t k, size_t v)
{
    const tg_dropout drop = drop_of(b, out);
    const tg_attention attention = attention_of(b, &drop);
    const tg_qkv qkv = {tg_block_row(b, q), tg_block_row(b, k), tg_block_row(b, v)};

    if (!tg_block_begins(b, out))
        return;
    tg_attention_forward(tg_block_row(b, out), tg_block_row(b, out + 1), &qkv, &attention);
    tg_block_ends(b, out);
}

void tg_block_attention_backward(tg_block *b, size_t out, size_t q, size_t k, size_t v)
{
    const tg_dropout drop = drop_of(b, out);
    const tg_attention attention = attention_of(b, &drop);
    const tg_qkv qkv = {tg_block_row(b, q), tg_block_row(b, k), tg_block_row(b, v)};
    const tg_qkv dqkv = {tg_block_gradient(b, q), tg_block_gradient(b, k), tg_block_gradient(b, v)};

    if (!tg_block_begins(b, out))
        return;
    tg_attention_backward(&dqkv, tg_block_gradient(b, out), tg_block_row(b, out), tg_block_row(b, out + 1),
                          &qkv, &attention);
    tg_block_ends(b, out);
}

/* ---- residual */

static void residual_forward(const tg_block *b, size_t out, size_t residual, size_t in, tg_param_kind w)
{
    const tg_linear linear = tg_bind_linear(&b->a->bound, w, b->layer);
    const tg_dropout drop = drop_of(b, out);

    tg_residual_forward(tg_block_row(b, out), tg_block_row(b, residual), tg_block_row(b, in), &linear, &drop,
                        tg_block_tokens(b));
}

void tg_block_residual(tg_block *b, size_t out, size_t residual, size_t in, tg_param_kind w)
{
    if (!tg_block_begins(b, out))
        return;
    residual_forward(b, out, residual, in, w);
    tg_block_ends(b, out);
}

void tg_block_residual_again(tg_block *b, size_t out, size_t residual, size_t in, tg_param_kind w)
{
    if (b->a->recomputed[out] && tg_block_begins(b, out))
        residual_forward(b, out, residual, in, w);
}

/* The gradient of `residual` is that of out, and is there already. */
static void check_residual(const tg_block *b, size_t out, size_t residual)
{
    assert(tg_block_gradient(b, out).data == tg_block_gradient(b, residual).data);
    (void)b, (void)out, (void)residual;
}

void tg_block_residual_backward(tg_block *b, size_t out, size_t residual, size_t in, tg_param_kind w)
{
    const tg_linear linear = tg_bind_linear(&b->a->bound, w, b->layer);
    const tg_dropout drop = drop_of(b, out);

    if (!tg_block_begins(b, out))
        return;
    check_residual(b, out, residual);
    check_apart(b, out, in);
    tg_residual_backward(tg_block_gradient(b, in), tg_block_gradient(b, out), tg_block_row(b, in), &linear,
                         &drop, tg_acts_scratch(b->a, TG_SCRATCH_NORMED, b->a->C), tg_block_tokens(b));
    tg_block_ends(b, out);
}

void tg_block_residual_gelu_backward(tg_block *b, size_t out, size_t residual, size_t in, size_t pre,
                                     tg_param_kind w)
{
    const tg_linear linear = tg_bind_linear(&b->a->bound, w, b->layer);
    const tg_dropout drop = drop_of(b, out);

    if (!tg_block_begins(b, out))
        return;
    check_residual(b, out, residual);
    check_apart(b, out, pre);
    tg_residual_after_gelu_backward(tg_block_gradient(b, pre), tg_block_gradient(b, out), tg_block_row(b, in),
                                    tg_block_row(b, pre), &linear, b->a->bound.model->config.activation,
                                    &drop, tg_acts_scratch(b->a, TG_SCRATCH_NORMED, b->a->C),
                                    tg_block_tokens(b));
    tg_block_ends(b, out);
}
