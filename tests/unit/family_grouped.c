/*
 * The family's page, its operations, and its tables.
 *
 *     x = wte[ids]
 *     for each block
 *         q, k = norm_1(x) Wq, norm_1(x) Wk, each head rotated by its position;  v = norm_1(x) Wv
 *         att = softmax(q k^T / sqrt(D)) v, causal; H/KV heads of q read one head of k and v
 *         x2 = x + att W
 *         x  = x2 + (silu(norm_2(x2) Wg) * norm_2(x2) Wu) W
 *     logits = norm_f(x) W^T
 *
 * norm(x) = x / sqrt(mean of x^2 + epsilon) * w
 * Sources: Touvron et al. 2023, arXiv:2302.13971; Zhang and Sennrich 2019, arXiv:1910.07467; Su et al. 2021,
 * arXiv:2104.09864; Shazeer 2020, arXiv:2002.05202; Ainslie et al. 2023, arXiv:2305.13245.
 */
#include "tests/unit/family_grouped.h"

#include <math.h>

#include "lib/base/convert.h"
#include "lib/gpt/block.h"

/* A block's rows, in the order in which they are computed. */
enum {
    X = TG_ACT_X,
    NORM_1,
    NORM_1_RSTD,
    Q,
    K,
    V,
    Q_ROTATED,
    K_ROTATED,
    ATT,
    LSE,
    X2,
    NORM_2,
    NORM_2_RSTD,
    GATE,
    UP,
    GATED,
    NEXT,
    ACTS
};

/* ---- numbers of any type: slow, and one text for float, bf16 and double */

static double get(tg_matrix m, size_t n, size_t c)
{
    const size_t at = n * m.ld + c;

    switch (m.type) {
    case TG_TYPE_FLOAT:
        return (double)tg_floats(m)[at];
    case TG_TYPE_BF16:
        return (double)tg_float_from_bf16(tg_halves(m)[at]);
    case TG_TYPE_DOUBLE:
        return tg_doubles(m)[at];
    }
    return 0;
}

static void put(tg_matrix m, size_t n, size_t c, double x)
{
    const size_t at = n * m.ld + c;

    switch (m.type) {
    case TG_TYPE_FLOAT:
        tg_floats(m)[at] = (float)x;
        return;
    case TG_TYPE_BF16:
        tg_halves(m)[at] = tg_bf16_from_float((float)x);
        return;
    case TG_TYPE_DOUBLE:
        tg_doubles(m)[at] = x;
        return;
    }
}

/* ---- norm */

static void norm(const tg_acts *a, tg_matrix out, tg_matrix rstd, tg_matrix x, tg_param_kind w, size_t layer,
                 size_t rows)
{
    const float *gain = tg_bind_weight(&a->bound, w, layer);

    for (size_t n = 0; n < rows; n++) {
        double squares = 0;

        for (size_t c = 0; c < a->C; c++)
            squares += get(x, n, c) * get(x, n, c);
        put(rstd, n, 0, 1 / sqrt(squares / (double)a->C + a->bound.model->config.layer_norm_epsilon));
        for (size_t c = 0; c < a->C; c++)
            put(out, n, c, get(x, n, c) * get(rstd, n, 0) * (double)gain[c]);
    }
}

/* Adds to dx and to the gain's gradient. */
static void norm_backward(const tg_acts *a, tg_matrix dx, tg_matrix dout, tg_matrix rstd, tg_matrix x,
                          tg_param_kind w, size_t layer, size_t rows)
{
    const float *gain = tg_bind_weight(&a->bound, w, layer);
    float *dgain = tg_bind_gradient(&a->bound, w, layer);

    for (size_t n = 0; n < rows; n++) {
        const double r = get(rstd, n, 0);
        double mean = 0; /* of dout * gain * x */

        for (size_t c = 0; c < a->C; c++)
            mean += get(dout, n, c) * (double)gain[c] * get(x, n, c) / (double)a->C;
        for (size_t c = 0; c < a->C; c++) {
            const double d = get(dout, n, c) * (double)gain[c] - get(x, n, c) * r * r * mean;

            put(dx, n, c, get(dx, n, c) + r * d);
            if (dgain)
                dgain[c] += (float)(get(dout, n, c) * get(x, n, c) * r);
        }
    }
}

static void block_norm(tg_block *b, size_t out, size_t x, tg_param_kind w)
{
    if (!tg_block_begins(b, out))
        return;
    norm(b->a, tg_block_row(b, out), tg_block_row(b, out + 1), tg_block_row(b, x), w, b->layer,
         tg_block_tokens(b));
    tg_block_ends(b, out);
}

/* As backward needs it. */
static void block_norm_again(tg_block *b, size_t out, size_t x, tg_param_kind w)
{
    if (tg_block_begins(b, out))
        norm(b->a, tg_block_row(b, out), tg_block_row(b, out + 1), tg_block_row(b, x), w, b->layer,
             tg_block_tokens(b));
}

static void block_norm_backward(tg_block *b, size_t out, size_t x, tg_param_kind w)
{
    if (!tg_block_begins(b, out))
        return;
    norm_backward(b->a, tg_block_gradient(b, x), tg_block_gradient(b, out), tg_block_row(b, out + 1),
                  tg_block_row(b, x), w, b->layer, tg_block_tokens(b));
    tg_block_ends(b, out);
}

/* ---- rotation: channels c and c + D/2 of a head by position * theta^(-2c/D) */

static void rotate(const tg_acts *a, tg_matrix out, tg_matrix in, double sign)
{
    const tg_config *c = &a->bound.model->config;
    const size_t half = c->head_dim / 2, past = a->cache ? a->cache->past : 0;

    for (size_t n = 0; n < a->B * a->T; n++)
        for (size_t i = 0; i < in.cols; i++) {
            const size_t d = i % c->head_dim, other = d < half ? i + half : i - half;
            const double frequency = pow(c->rope_theta, -2.0 * (double)(d % half) / (double)c->head_dim);
            const double angle = sign * (double)(past + n % a->T) * frequency;
            const double x = get(in, n, i), y = get(in, n, other);

            if (d < half) { /* both, as out may be in */
                put(out, n, i, x * cos(angle) - y * sin(angle));
                put(out, n, other, y * cos(angle) + x * sin(angle));
            }
        }
}

static void block_rotate(tg_block *b, size_t out, size_t in)
{
    if (!tg_block_begins(b, out))
        return;
    rotate(b->a, tg_block_row(b, out), tg_block_row(b, in), 1);
    tg_block_ends(b, out);
}

static void block_rotate_backward(tg_block *b, size_t out, size_t in)
{
    if (!tg_block_begins(b, out))
        return;
    rotate(b->a, tg_block_gradient(b, in), tg_block_gradient(b, out), -1);
    tg_block_ends(b, out);
}

/* ---- gate: out = silu(gate) * up, silu(x) = x / (1 + exp(-x)) */

static void block_gate(tg_block *b, size_t out, size_t gate, size_t up)
{
    const tg_matrix o = tg_block_row(b, out), g = tg_block_row(b, gate), u = tg_block_row(b, up);

    if (!tg_block_begins(b, out))
        return;
    for (size_t n = 0; n < tg_block_tokens(b); n++)
        for (size_t c = 0; c < o.cols; c++)
            put(o, n, c, get(g, n, c) / (1 + exp(-get(g, n, c))) * get(u, n, c));
    tg_block_ends(b, out);
}

static void block_gate_backward(tg_block *b, size_t out, size_t gate, size_t up)
{
    const tg_matrix d = tg_block_gradient(b, out), dg = tg_block_gradient(b, gate),
                    du = tg_block_gradient(b, up);
    const tg_matrix g = tg_block_row(b, gate), u = tg_block_row(b, up);

    if (!tg_block_begins(b, out))
        return;
    for (size_t n = 0; n < tg_block_tokens(b); n++)
        for (size_t c = 0; c < d.cols; c++) {
            const double s = 1 / (1 + exp(-get(g, n, c))), x = get(g, n, c), dout = get(d, n, c);

            put(du, n, c, dout * x * s);
            put(dg, n, c, dout * get(u, n, c) * s * (1 + x * (1 - s)));
        }
    tg_block_ends(b, out);
}

/* ---- the page */

static void embed(tg_acts *a, const int32_t *ids)
{
    const float *wte = tg_bind_weight(&a->bound, TG_WTE, 0);

    for (size_t n = 0; n < a->B * a->T; n++)
        for (size_t c = 0; c < a->C; c++)
            put(tg_acts_row(a, 0, X), n, c, (double)wte[(size_t)ids[n] * a->C + c]);
}

static void embed_backward(tg_acts *a, const int32_t *ids)
{
    float *dwte = tg_bind_gradient(&a->bound, TG_WTE, 0);

    for (size_t n = 0; n < a->B * a->T; n++)
        for (size_t c = 0; c < a->C; c++)
            dwte[(size_t)ids[n] * a->C + c] += (float)get(tg_acts_gradient(a, X), n, c);
}

static void forward(tg_block *b)
{
    block_norm(b, NORM_1, X, TG_LN1_W);
    tg_block_linear(b, Q, NORM_1, TG_Q_W);
    tg_block_linear(b, K, NORM_1, TG_K_W);
    tg_block_linear(b, V, NORM_1, TG_V_W);
    block_rotate(b, Q_ROTATED, Q);
    block_rotate(b, K_ROTATED, K);
    tg_block_attention(b, ATT, Q_ROTATED, K_ROTATED, V);
    tg_block_residual(b, X2, X, ATT, TG_ATT_PROJ_W);

    block_norm(b, NORM_2, X2, TG_LN2_W);
    tg_block_linear(b, GATE, NORM_2, TG_GATE_W);
    tg_block_linear(b, UP, NORM_2, TG_UP_W);
    block_gate(b, GATED, GATE, UP);
    tg_block_residual(b, NEXT, X2, GATED, TG_FC_PROJ_W);
}

static void backward(tg_block *b)
{
    tg_block_residual_backward(b, NEXT, X2, GATED, TG_FC_PROJ_W);
    block_gate_backward(b, GATED, GATE, UP);
    block_norm_again(b, NORM_2, X2, TG_LN2_W);
    tg_block_linear_backward(b, UP, NORM_2, TG_UP_W);
    tg_block_linear_backward(b, GATE, NORM_2, TG_GATE_W);
    block_norm_backward(b, NORM_2, X2, TG_LN2_W);

    tg_block_residual_backward(b, X2, X, ATT, TG_ATT_PROJ_W);
    tg_block_attention_backward(b, ATT, Q_ROTATED, K_ROTATED, V);
    block_rotate_backward(b, K_ROTATED, K);
    block_rotate_backward(b, Q_ROTATED, Q);
    block_norm_again(b, NORM_1, X, TG_LN1_W);
    tg_block_linear_backward(b, V, NORM_1, TG_V_W);
    tg_block_linear_backward(b, K, NORM_1, TG_K_W);
    tg_block_linear_backward(b, Q, NORM_1, TG_Q_W);
    block_norm_backward(b, NORM_1, X, TG_LN1_W);
}

static void last_norm(tg_acts *a, tg_matrix out, tg_matrix x, size_t rows)
{
    norm(a, out, a->final_stats.rstd, x, TG_LNF_W, 0, rows);
}

static void last_norm_backward(tg_acts *a, tg_matrix dx, tg_matrix dout, tg_matrix x, size_t rows)
{
    norm_backward(a, dx, dout, a->final_stats.rstd, x, TG_LNF_W, 0, rows);
}

/* ---- the tables */

/* clang-format off */
static const tg_act_row acts[ACTS] = {
    [X] = {"x", TG_DIM_C, .gradient = TG_SCRATCH_DX},
    [NORM_1] = {"norm_1", TG_DIM_C, TG_KEEP_NEVER, .between = true, .shared = TG_SCRATCH_NORMED, .gradient = TG_SCRATCH_DNORMED},
    [NORM_1_RSTD] = {"norm_1.rstd", TG_DIM_NONE, .keep = TG_KEEP_ALWAYS},
    [Q] = {"q", TG_DIM_Q, TG_KEEP_NEVER, .between = true, .shared = TG_SCRATCH_BETWEEN_1, .heads = TG_DIM_HEADS, .gradient = TG_SCRATCH_BETWEEN_1},
    [K] = {"k", TG_DIM_KV, TG_KEEP_NEVER, .between = true, .shared = TG_SCRATCH_BETWEEN_2, .heads = TG_DIM_KV_HEADS, .gradient = TG_SCRATCH_BETWEEN_2},
    [V] = {"v", TG_DIM_KV, .between = true, .heads = TG_DIM_KV_HEADS, .gradient = TG_SCRATCH_WIDE},
    [Q_ROTATED] = {"q rotated", TG_DIM_Q, .between = true, .heads = TG_DIM_HEADS, .gradient = TG_SCRATCH_BETWEEN_1, .over = Q},
    [K_ROTATED] = {"k rotated", TG_DIM_KV, .between = true, .heads = TG_DIM_KV_HEADS, .gradient = TG_SCRATCH_BETWEEN_2, .over = K},
    [ATT] = {"att", TG_DIM_Q, .between = true, .heads = TG_DIM_HEADS, .gradient = TG_SCRATCH_DATT},
    [LSE] = {"lse", TG_DIM_HEADS, .keep = TG_KEEP_ALWAYS},
    [X2] = {"x2", TG_DIM_C, .gradient = TG_SCRATCH_DX, .over = X},
    [NORM_2] = {"norm_2", TG_DIM_C, TG_KEEP_NEVER, .between = true, .shared = TG_SCRATCH_NORMED, .gradient = TG_SCRATCH_DNORMED},
    [NORM_2_RSTD] = {"norm_2.rstd", TG_DIM_NONE, .over = NORM_1_RSTD},
    [GATE] = {"gate", TG_DIM_INNER, .between = true, .shared = TG_SCRATCH_WIDE, .gradient = TG_SCRATCH_BETWEEN_1},
    [UP] = {"up", TG_DIM_INNER, .between = true, .shared = TG_SCRATCH_BETWEEN_1, .gradient = TG_SCRATCH_BETWEEN_2},
    [GATED] = {"gated", TG_DIM_INNER, .between = true, .gradient = TG_SCRATCH_WIDE, .over = GATE},
    [NEXT] = {"next", TG_DIM_C, .gradient = TG_SCRATCH_DX, .next = true},
};

static const tg_param_row params[] = {
    {TG_WTE, TG_USE_TABLE, "embedding.weight", false, {TG_DIM_VOCAB, TG_DIM_C}, TG_ALWAYS, TG_START_NORMAL},
    {TG_LN1_W, TG_USE_NORM, "norm_1.weight", true, {TG_DIM_C, TG_DIM_NONE}, TG_ALWAYS, TG_START_GAIN},
    {TG_Q_W, TG_USE_MATRIX, "wq.weight", true, {TG_DIM_C, TG_DIM_Q}, TG_ALWAYS, TG_START_NORMAL},
    {TG_K_W, TG_USE_MATRIX, "wk.weight", true, {TG_DIM_C, TG_DIM_KV}, TG_ALWAYS, TG_START_NORMAL},
    {TG_V_W, TG_USE_MATRIX, "wv.weight", true, {TG_DIM_C, TG_DIM_KV}, TG_ALWAYS, TG_START_NORMAL},
    {TG_ATT_PROJ_W, TG_USE_MATRIX, "wo.weight", true, {TG_DIM_Q, TG_DIM_C}, TG_ALWAYS, TG_START_RESIDUAL},
    {TG_LN2_W, TG_USE_NORM, "norm_2.weight", true, {TG_DIM_C, TG_DIM_NONE}, TG_ALWAYS, TG_START_GAIN},
    {TG_GATE_W, TG_USE_MATRIX, "gate.weight", true, {TG_DIM_C, TG_DIM_INNER}, TG_ALWAYS, TG_START_NORMAL},
    {TG_UP_W, TG_USE_MATRIX, "up.weight", true, {TG_DIM_C, TG_DIM_INNER}, TG_ALWAYS, TG_START_NORMAL},
    {TG_FC_PROJ_W, TG_USE_MATRIX, "down.weight", true, {TG_DIM_INNER, TG_DIM_C}, TG_ALWAYS, TG_START_RESIDUAL},
    {TG_LNF_W, TG_USE_NORM, "norm.weight", false, {TG_DIM_C, TG_DIM_NONE}, TG_ALWAYS, TG_START_GAIN},
    {TG_HEAD_W, TG_USE_MATRIX, "output.weight", false, {TG_DIM_VOCAB, TG_DIM_C}, TG_IF_UNTIED, TG_START_NORMAL},
};
/* clang-format on */

const tg_family family_grouped = {
    .name = "grouped",
    .block = "layers",
    .settings = TG_CONFIG_BIT(TG_CONFIG_N_LAYER) | TG_CONFIG_BIT(TG_CONFIG_N_HEAD) |
                TG_CONFIG_BIT(TG_CONFIG_N_EMBD) | TG_CONFIG_BIT(TG_CONFIG_N_CTX) |
                TG_CONFIG_BIT(TG_CONFIG_VOCAB_SIZE) | TG_CONFIG_BIT(TG_CONFIG_LAYER_NORM_EPSILON) |
                TG_CONFIG_BIT(TG_CONFIG_TIED) | TG_CONFIG_BIT(TG_CONFIG_N_KV_HEAD) |
                TG_CONFIG_BIT(TG_CONFIG_HEAD_DIM) | TG_CONFIG_BIT(TG_CONFIG_N_INNER) |
                TG_CONFIG_BIT(TG_CONFIG_ROPE_THETA),
    .row = params,
    .n_rows = sizeof params / sizeof params[0],
    .act = acts,
    .n_acts = ACTS,
    .norm = NORM_1,
    .q = Q_ROTATED,
    .k = K_ROTATED,
    .v = V,
    .att = ATT,
    .mlp = NORM_2,
    .mlp_in = X2,
    .units = GATED,
    .q_projected = Q,
    .k_projected = K,
};

const tg_page family_grouped_page = {
    .embed = embed,
    .forward = forward,
    .norm_forward = last_norm,
    .norm_backward = last_norm_backward,
    .backward = backward,
    .embed_backward = embed_backward,
};
