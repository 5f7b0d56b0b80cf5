#include "lib/gpt/block.h"

#include <assert.h>

#include "lib/gpt/family.h"
#include "lib/gpt/rope.h"
#include "lib/nn/ops.h"

bool tg_block_begins(const tg_block *b, size_t row)
{
    return !b->ended && row >= b->from && row < b->to && tg_acts_has(b->a, row);
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
    tg_linear linear;
    const tg_matrix none = {0};

    if (!tg_block_begins(b, out))
        return;
    linear = tg_bind_linear(&b->a->bound, w, b->layer);
    tg_linear_forward(tg_block_row(b, out), none, tg_block_row(b, in), &linear, tg_block_tokens(b));
    tg_block_ends(b, out);
}

void tg_block_linear_backward(tg_block *b, size_t out, size_t in, tg_param_kind w)
{
    tg_linear linear;

    if (!tg_block_begins(b, out))
        return;
    linear = tg_bind_linear(&b->a->bound, w, b->layer);
    check_apart(b, out, in);
    linear.adds = tg_block_adds(b, in);
    tg_linear_backward(tg_block_gradient(b, in), tg_block_gradient(b, out), tg_block_row(b, in), &linear,
                       tg_block_tokens(b));
    tg_block_ends(b, out);
}

/* ---- linear and activation */

void tg_block_linear_activation(tg_block *b, size_t out, size_t pre, size_t in, tg_param_kind w)
{
    tg_linear linear;

    if (!tg_block_begins(b, out))
        return;
    linear = tg_bind_linear(&b->a->bound, w, b->layer);
    tg_linear_activation_forward(tg_block_row(b, out), tg_block_row(b, pre), tg_block_row(b, in), &linear,
                                 b->a->bound.model->config.activation, tg_block_tokens(b));
    tg_block_ends(b, out);
}

void tg_block_activation_again(tg_block *b, size_t out, size_t pre)
{
    if (b->a->recomputed[out] && tg_block_begins(b, out))
        tg_activation_forward(tg_block_row(b, out), tg_block_row(b, pre), tg_block_tokens(b),
                              b->a->bound.model->config.activation);
}

/* ---- attention */

static tg_attention attention_of(const tg_block *b, const tg_dropout *drop)
{
    tg_attention attention = tg_acts_attention(b->a);

    attention.layer = b->layer;
    attention.rule = tg_config_attention_rule(&b->a->bound.model->config, b->layer);
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
    tg_linear linear;
    const tg_dropout drop = drop_of(b, out);

    if (!tg_block_begins(b, out))
        return;
    linear = tg_bind_linear(&b->a->bound, w, b->layer);
    check_residual(b, out, residual);
    check_apart(b, out, in);
    tg_residual_backward(tg_block_gradient(b, in), tg_block_gradient(b, out), tg_block_row(b, in), &linear,
                         &drop, tg_acts_scratch(b->a, TG_SCRATCH_NORMED, b->a->C), tg_block_tokens(b));
    tg_block_ends(b, out);
}

void tg_block_residual_activation_backward(tg_block *b, size_t out, size_t residual, size_t in, size_t pre,
                                           tg_param_kind w)
{
    tg_linear linear;
    const tg_dropout drop = drop_of(b, out);

    if (!tg_block_begins(b, out))
        return;
    linear = tg_bind_linear(&b->a->bound, w, b->layer);
    check_residual(b, out, residual);
    check_apart(b, out, pre);
    tg_residual_after_activation_backward(
        tg_block_gradient(b, pre), tg_block_gradient(b, out), tg_block_row(b, in), tg_block_row(b, pre),
        &linear, b->a->bound.model->config.activation, &drop,
        tg_acts_scratch(b->a, TG_SCRATCH_NORMED, b->a->C), tg_block_tokens(b));
    tg_block_ends(b, out);
}

/* ---- rmsnorm */

/* The parts of each token's row that are normed by themselves, as rows: N * cols / C of them. */
static tg_matrix parts(tg_matrix m, const tg_rmsnorm *norm)
{
    assert(m.ld == m.cols && m.cols % norm->C == 0);
    return tg_matrix_of(m.data, m.type, norm->C);
}

static size_t count_parts(const tg_block *b, size_t in, const tg_rmsnorm *norm)
{
    return tg_block_tokens(b) * (tg_block_row(b, in).cols / norm->C);
}

typedef void rmsnorm_operation(tg_matrix out, tg_matrix rstd, tg_matrix inp, const tg_rmsnorm *norm,
                               size_t N);

static void rmsnorm(const tg_block *b, size_t out, size_t in, tg_param_kind w, rmsnorm_operation *compute)
{
    const tg_rmsnorm norm = tg_bind_rmsnorm(&b->a->bound, w, b->layer);

    if (norm.C == 0)
        tg_copy_rows(tg_block_row(b, out), tg_block_row(b, in), tg_block_tokens(b));
    else
        compute(parts(tg_block_row(b, out), &norm), tg_block_row(b, out + 1),
                parts(tg_block_row(b, in), &norm), &norm, count_parts(b, in, &norm));
}

void tg_block_rmsnorm(tg_block *b, size_t out, size_t in, tg_param_kind w)
{
    if (!tg_block_begins(b, out))
        return;
    rmsnorm(b, out, in, w, tg_rmsnorm_forward);
    tg_block_ends(b, out);
}

void tg_block_rmsnorm_again(tg_block *b, size_t out, size_t in, tg_param_kind w)
{
    if (tg_block_begins(b, out))
        rmsnorm(b, out, in, w, tg_rmsnorm_recompute);
}

void tg_block_rmsnorm_backward(tg_block *b, size_t out, size_t in, tg_param_kind w)
{
    const tg_rmsnorm norm = tg_bind_rmsnorm(&b->a->bound, w, b->layer);
    const tg_matrix din = tg_block_gradient(b, in), dout = tg_block_gradient(b, out);
    bool adds;

    if (!tg_block_begins(b, out))
        return;
    check_apart(b, out, in);
    adds = tg_block_adds(b, in);
    if (norm.C > 0)
        tg_rmsnorm_backward(parts(din, &norm), adds, parts(dout, &norm), tg_block_row(b, out + 1),
                            parts(tg_block_row(b, in), &norm), &norm, count_parts(b, in, &norm));
    else if (adds)
        tg_add_rows(din, din, dout, tg_block_tokens(b));
    else
        tg_copy_rows(din, dout, tg_block_tokens(b));
    tg_block_ends(b, out);
}

/* ---- rotate */

static tg_rotary rotary_of(const tg_block *b)
{
    const tg_acts *a = b->a;

    return (tg_rotary){.angles = tg_rope_angles(a, b->layer),
                       .T = a->T,
                       .positions = a->positions,
                       .D = tg_config_head_dim(&a->bound.model->config)};
}

/* In a layer that does not rotate, out is in. */
static bool rotates(const tg_block *b, size_t out)
{
    assert(b->a->family->act[out].in_place);
    (void)out;
    return tg_config_rotates(&b->a->bound.model->config, b->layer);
}

void tg_block_rotate(tg_block *b, size_t out, size_t in)
{
    const tg_rotary rotary = rotary_of(b);

    if (!tg_block_begins(b, out))
        return;
    if (rotates(b, out))
        tg_rotary_forward(tg_block_row(b, out), tg_block_row(b, in), &rotary, tg_block_tokens(b));
    tg_block_ends(b, out);
}

void tg_block_rotate_backward(tg_block *b, size_t out, size_t in)
{
    const tg_rotary rotary = rotary_of(b);

    if (!tg_block_begins(b, out))
        return;
    if (rotates(b, out))
        tg_rotary_backward(tg_block_gradient(b, in), tg_block_gradient(b, out), &rotary, tg_block_tokens(b));
    tg_block_ends(b, out);
}

/* ---- gate */

static void gate(const tg_block *b, size_t out, size_t gate, size_t up)
{
    tg_gated_forward(tg_block_row(b, out), tg_block_row(b, gate), tg_block_row(b, up),
                     b->a->bound.model->config.activation, tg_block_tokens(b));
}

void tg_block_gate(tg_block *b, size_t out, size_t in, size_t up)
{
    if (!tg_block_begins(b, out))
        return;
    gate(b, out, in, up);
    tg_block_ends(b, out);
}

void tg_block_gate_again(tg_block *b, size_t out, size_t in, size_t up)
{
    if (b->a->recomputed[out] && tg_block_begins(b, out))
        gate(b, out, in, up);
}

void tg_block_gate_backward(tg_block *b, size_t out, size_t in, size_t up)
{
    if (!tg_block_begins(b, out))
        return;
    tg_gated_backward(tg_block_gradient(b, in), tg_block_gradient(b, up), tg_block_gradient(b, out),
                      tg_block_row(b, in), tg_block_row(b, up), b->a->bound.model->config.activation,
                      tg_block_tokens(b));
    tg_block_ends(b, out);
}

/* ---- add */

/* Dropout is of float alone; in double precision there is none. */
static void drop(const tg_block *b, size_t out, tg_matrix m)
{
    const tg_dropout drop = drop_of(b, out);

    if (drop.p > 0)
        tg_dropout_apply(tg_floats(m), &drop, tg_block_tokens(b) * m.cols);
}

void tg_block_add(tg_block *b, size_t out, size_t residual, size_t in)
{
    if (!tg_block_begins(b, out))
        return;
    drop(b, out, tg_block_row(b, in));
    tg_add_rows(tg_block_row(b, out), tg_block_row(b, residual), tg_block_row(b, in), tg_block_tokens(b));
    tg_block_ends(b, out);
}

void tg_block_add_backward(tg_block *b, size_t out, size_t residual, size_t in)
{
    if (!tg_block_begins(b, out))
        return;
    check_residual(b, out, residual);
    check_apart(b, out, in);
    tg_copy_rows(tg_block_gradient(b, in), tg_block_gradient(b, out), tg_block_tokens(b));
    drop(b, out, tg_block_gradient(b, in));
    tg_block_ends(b, out);
}
