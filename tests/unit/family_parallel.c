/*
 * The family's parameters and its steps.
 *
 *     x = wte[ids] + wpe
 *     for each block
 *         q, k, v = ln_1(x) W + b                              project
 *         att = softmax(q k^T / sqrt(D)) v, causal, by head    attend
 *         x2 = x + att W + b                                   finish
 *         x  = x2 + gelu(ln_1(x) W + b) W + b
 *     logits = ln_f(x) wte^T
 *
 * Only finish differs from GPT-2's, and in backward what undoes it.  Compiled three times, like
 * lib/gpt/gpt2.c.
 * Source: Black et al. 2022, arXiv:2204.06745, section 2.1, after GPT-J's.
 */
#include "lib/nn/elementwise.h"
#include "lib/nn/residual.h"
#include "tests/unit/family_parallel.h"

#include "lib/gpt/real.h"

#if TG_REAL == 64
#define family_parallel_steps family_parallel_steps64
#elif TG_REAL == 16
#define family_parallel_steps family_parallel_steps16
#endif

/* ---- GPT-2's */

static void project(tg_acts *a, size_t l)
{
    tg_gpt2_steps.project(a, l);
}

static void attend(tg_acts *a, size_t l)
{
    tg_gpt2_steps.attend(a, l);
}

#if TG_REAL != 16
static void logits(tg_acts *a, real *logits, size_t first, size_t rows)
{
    tg_gpt2_steps.logits(a, logits, first, rows);
}
#endif

static void attend_backward(tg_acts *a, size_t l)
{
    tg_gpt2_steps.attend_backward(a, l);
}

#if TG_REAL != 64
static void embed(tg_acts *a, const int32_t *ids)
{
    tg_gpt2_steps.embed(a, ids);
}

static void loss(tg_acts *a, real *losses, const int32_t *targets, real *some_logits, real scale)
{
    tg_gpt2_steps.loss(a, losses, targets, some_logits, scale);
}
#else
static void logits_backward(tg_acts *a, const real *dlogits, size_t first, size_t rows)
{
    tg_gpt2_steps.logits_backward(a, dlogits, first, rows);
}
#endif

/* Where training drops activations: GPT-2's sites and random numbers, SITE_PROBS in its attend. */
enum site { SITE_EMBEDDING, SITE_PROBS, SITE_ATTENTION, SITE_MLP };

static tg_dropout drop_at(const tg_acts *a, enum site site, size_t l)
{
    tg_dropout drop = {.p = a->dropout, .rng = a->rng};

    drop.rng.purpose = TG_RNG_DROPOUT | (uint32_t)(l * 4 + site) << 8;
    return drop;
}

/* ---- forward */

/*
 * x2 = x + att W + b; the next x = x2 + gelu(ln_1(x) W + b) W + b
 *
 * ln_1(x) is recomputed: x and att are all that finish may rely on.  The MLP's first half comes
 * first: in place, x2 overwrites x.
 */
static void finish(tg_acts *a, size_t l)
{
    const tg_block P = tg_bind_block(&a->bound, l);
    const tg_block_acts *s = &a->block[l];
    const tg_dropout drop_att = drop_at(a, SITE_ATTENTION, l), drop_mlp = drop_at(a, SITE_MLP, l);
    const size_t N = a->B * a->T;
    real *out = l + 1 < a->L ? a->block[l + 1].x : a->x;

    tg_layernorm_forward(a->normed, s->ln_1, s->x, &P.ln_1, N);
    tg_linear_gelu_forward(s->gelu, s->fc, a->normed, &P.fc, P.activation, N);
    tg_residual_forward(s->x2, s->x, s->att, &P.att_proj, &drop_att, N);
    tg_residual_forward(out, s->x2, s->gelu, &P.fc_proj, &drop_mlp, N);
}

/* ---- backward */

/* From dx of the block's output, which is dx of x2 too, to datt.  The gradient of
 * ln_1's output as the MLP's input waits in x2 for project_backward. */
static void finish_backward(tg_acts *a, size_t l)
{
    const tg_block P = tg_bind_block(&a->bound, l);
    const tg_block_acts *s = &a->block[l];
    const tg_dropout drop_att = drop_at(a, SITE_ATTENTION, l), drop_mlp = drop_at(a, SITE_MLP, l);
    const size_t N = a->B * a->T;

    /* out = x2 + wide W + b, wide = gelu(fc) */
    if (a->recompute_gelu)
        tg_gelu_forward(s->gelu, s->fc, N * P.fc.out, P.activation);
    tg_residual_after_gelu_backward(a->wide, a->dx, s->gelu, s->fc, &P.fc_proj, P.activation, &drop_mlp,
                                    a->normed, N);

    /* fc = ln_1(x) W + b */
    tg_layernorm_recompute(a->normed, s->ln_1, s->x, &P.ln_1, N);
    tg_linear_backward(s->x2, a->wide, a->normed, &P.fc, N);

    /* x2 = x + att W + b */
    tg_residual_backward(a->datt, a->dx, s->att, &P.att_proj, &drop_att, a->normed, N);
}

/* From dqkv in wide, and the MLP's part in x2, to dx of x. */
static void project_backward(tg_acts *a, size_t l)
{
    const tg_block P = tg_bind_block(&a->bound, l);
    const tg_block_acts *s = &a->block[l];

    tg_gpt2_steps.project_backward(a, l);
    tg_layernorm_backward(a->dx, s->x2, s->x, s->ln_1, &P.ln_1, a->B * a->T);
}

#if TG_REAL != 64
static void loss_backward(tg_acts *a)
{
    tg_gpt2_steps.loss_backward(a);
}

static void embed_backward(tg_acts *a, const int32_t *ids)
{
    tg_gpt2_steps.embed_backward(a, ids);
}
#endif

const tg_steps family_parallel_steps = {
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

/* ---- the parameters */

#if TG_REAL == 32
static const tg_param_row rows[] = {
    {TG_WPE, "positions.weight", false, {TG_DIM_CTX, TG_DIM_C}, TG_ALWAYS, TG_START_NORMAL},
    {TG_WTE, "tokens.weight", false, {TG_DIM_VOCAB, TG_DIM_C}, TG_ALWAYS, TG_START_NORMAL},
    {TG_FC_W, "mlp.up.weight", true, {TG_DIM_C, TG_DIM_4C}, TG_ALWAYS, TG_START_NORMAL},
    {TG_FC_B, "mlp.up.bias", true, {TG_DIM_4C, TG_DIM_NONE}, TG_IF_LINEAR_BIAS, TG_START_ZERO},
    {TG_FC_PROJ_W, "mlp.down.weight", true, {TG_DIM_4C, TG_DIM_C}, TG_ALWAYS, TG_START_RESIDUAL},
    {TG_FC_PROJ_B, "mlp.down.bias", true, {TG_DIM_C, TG_DIM_NONE}, TG_IF_LINEAR_BIAS, TG_START_ZERO},
    {TG_ATT_PROJ_W, "attention.dense.weight", true, {TG_DIM_C, TG_DIM_C}, TG_ALWAYS, TG_START_RESIDUAL},
    {TG_ATT_PROJ_B, "attention.dense.bias", true, {TG_DIM_C, TG_DIM_NONE}, TG_IF_LINEAR_BIAS, TG_START_ZERO},
    {TG_QKV_W, "attention.qkv.weight", true, {TG_DIM_C, TG_DIM_3C}, TG_ALWAYS, TG_START_NORMAL},
    {TG_QKV_B, "attention.qkv.bias", true, {TG_DIM_3C, TG_DIM_NONE}, TG_IF_LINEAR_BIAS, TG_START_ZERO},
    {TG_LN1_B, "norm.bias", true, {TG_DIM_C, TG_DIM_NONE}, TG_IF_LN_BIAS, TG_START_ZERO},
    {TG_LN1_W, "norm.weight", true, {TG_DIM_C, TG_DIM_NONE}, TG_IF_LN_WEIGHT, TG_START_ONE},
    {TG_HEAD_B, "head.bias", false, {TG_DIM_VOCAB, TG_DIM_NONE}, TG_IF_HEAD_BIAS, TG_START_ZERO},
    {TG_HEAD_W, "head.weight", false, {TG_DIM_VOCAB, TG_DIM_C}, TG_IF_UNTIED, TG_START_NORMAL},
    {TG_LNF_B, "final_norm.bias", false, {TG_DIM_C, TG_DIM_NONE}, TG_IF_LN_BIAS, TG_START_ZERO},
    {TG_LNF_W, "final_norm.weight", false, {TG_DIM_C, TG_DIM_NONE}, TG_IF_LN_WEIGHT, TG_START_ONE},
};

const tg_family family_parallel = {
    .name = "parallel",
    .block = "transformer.layers",
    .row = rows,
    .n_rows = sizeof rows / sizeof rows[0],
    .steps = &family_parallel_steps,
    .steps16 = &family_parallel_steps16,
    .steps64 = &family_parallel_steps64,
};
#endif
