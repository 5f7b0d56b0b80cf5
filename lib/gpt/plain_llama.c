#include "lib/gpt/plain_llama.h"

#include <math.h>
#include <string.h>

#include "lib/base/size.h"
#include "lib/gpt/family.h"

#define PI 3.14159265358979323846

/* ---- what the config and the family's tables say */

/* The parameters that this page reads; the bias of each is the kind after it. */
static const tg_param_kind known[] = {
    TG_WTE,      TG_LN1_W,      TG_Q_W,         TG_K_W,   TG_V_W,    TG_Q_NORM_W,
    TG_K_NORM_W, TG_ATT_PROJ_W, TG_OUT_NORM_W,  TG_LN2_W, TG_FC_W,   TG_GATE_W,
    TG_UP_W,     TG_FC_PROJ_W,  TG_DOWN_NORM_W, TG_LNF_W, TG_HEAD_W,
};

static bool is_known(tg_param_kind kind)
{
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (kind == known[i] || kind == known[i] + 1)
            return kind != TG_WPE && kind != TG_HEAD_B;
    return false;
}

bool tg_plain_llama_knows(const tg_config *c)
{
    const tg_family *f = tg_config_family(c);

    for (size_t i = 0; i < f->n_rows; i++)
        if (!is_known(f->row[i].kind))
            return false;
    return true;
}

/* The channels that are normed together: C, those of a head, or, in OLMo 2, of all heads; 0: the model has no
 * such norm. */
static size_t norm_width(const tg_config *c, tg_param_kind w)
{
    const tg_family *f = tg_config_family(c);

    for (size_t i = 0; i < f->n_rows; i++)
        if (f->row[i].kind == w)
            return tg_config_when(f->row[i].when, c) ? tg_dim_size(f->row[i].dim[0], c) : 0;
    if (!f->bare_norms || w == TG_OUT_NORM_W || w == TG_DOWN_NORM_W)
        return 0;
    if (w == TG_Q_NORM_W || w == TG_K_NORM_W)
        return c->qk_norm ? tg_config_head_dim(c) : 0;
    return c->n_embd;
}

/* Whether attention and MLP read the same x. */
static bool is_parallel(const tg_config *c)
{
    return tg_config_family(c)->mlp_in == TG_ACT_X;
}

/* ---- memory */

static void place(tg_arena *arena, void *context)
{
    tg_plain_llama *p = context;
    const tg_config *c = p->config;
    const size_t T = p->T, C = c->n_embd, H = c->n_head, each = sizeof(double);
    const size_t Q = tg_dim_size(TG_DIM_Q, c), KV = tg_dim_size(TG_DIM_KV, c);
    const size_t F = tg_dim_size(TG_DIM_INNER, c), squares = tg_size_mul_sat(T, tg_size_mul_sat(H, T));

    p->x = tg_arena_take_rows(arena, T, C, each);
    p->block_x = tg_arena_take_rows(arena, T, C, each);
    p->normed = tg_arena_take_rows(arena, T, C, each);
    p->added = tg_arena_take_rows(arena, T, C, each);
    p->q = tg_arena_take_rows(arena, T, Q, each);
    p->k = tg_arena_take_rows(arena, T, KV, each);
    p->v = tg_arena_take_rows(arena, T, KV, each);
    p->q_normed = tg_arena_take_rows(arena, T, Q, each);
    p->k_normed = tg_arena_take_rows(arena, T, KV, each);
    p->q_rotated = tg_arena_take_rows(arena, T, Q, each);
    p->k_rotated = tg_arena_take_rows(arena, T, KV, each);
    p->scores = tg_arena_take(arena, squares, each);
    p->probs = tg_arena_take(arena, squares, each);
    p->att = tg_arena_take_rows(arena, T, Q, each);
    p->out = tg_arena_take_rows(arena, T, C, each);
    p->gate = tg_arena_take_rows(arena, T, F, each);
    p->up = tg_arena_take_rows(arena, T, F, each);
    p->mean = tg_arena_take_rows(arena, T, H, each);
    p->rstd = tg_arena_take_rows(arena, T, H, each);
    p->cosines = tg_arena_take_rows(arena, T, tg_config_rope_dim(c) / 2, each);
    p->sines = tg_arena_take_rows(arena, T, tg_config_rope_dim(c) / 2, each);
}

tg_status tg_plain_llama_open(tg_plain_llama *p, const tg_config *config, tg_plain_weights weights, size_t T,
                              tg_err *err)
{
    *p = (tg_plain_llama){.config = config, .weights = weights, .T = T};
    return tg_arena_build(&p->arena, place, p, err);
}

void tg_plain_llama_close(tg_plain_llama *p)
{
    tg_arena_free(&p->arena);
    *p = (tg_plain_llama){0};
}

/* ---- the operations, with their parameters */

static const double *weight(const tg_plain_llama *p, tg_param_kind kind, size_t l)
{
    return p->weights.get(p->weights.context, kind, l);
}

/* out [T,OC] = inp [T,C] W^T + b; a family may store W the other way */
static void linear(tg_plain_llama *p, double *out, const double *inp, tg_param_kind w, size_t l, size_t C,
                   size_t OC)
{
    const double *matrix = weight(p, w, l), *bias = weight(p, w + 1, l);

    if (tg_config_family(p->config)->transposed)
        tg_linear_transposed_forward_ref64(out, inp, matrix, bias, p->T, C, OC);
    else
        tg_linear_forward_ref64(out, inp, matrix, bias, p->T, C, OC);
}

/* out [T,C] = norm(inp [T,C]), of all channels, or of each head's by itself; without such a norm out = inp */
static void norm(tg_plain_llama *p, double *out, const double *inp, tg_param_kind w, size_t l, size_t C)
{
    const tg_config *c = p->config;
    const size_t width = norm_width(c, w), parts = width > 0 ? C / width : 1;
    const double *gain = weight(p, w, l), *bias = weight(p, w + 1, l);

    if (width == 0)
        memmove(out, inp, p->T * C * sizeof *out);
    else if (tg_config_family(c)->layernorm)
        tg_layernorm_forward_ref64(out, p->mean, p->rstd, inp, gain, bias, p->T * parts, width,
                                   c->layer_norm_epsilon);
    else
        tg_rmsnorm_forward_ref64(out, p->rstd, inp, gain, c->norm_offset, p->T * parts, width,
                                 c->layer_norm_epsilon);
}

/* Llama 3's: waves of 2 pi / f positions become longer by a factor if they are long, and stay as they are if
 * they are short; between the two it is a mixture. */
static double stretched(const tg_config *c, double f)
{
    const double wave = 2 * PI / f, ctx = (double)c->rope_ctx;
    const double share = (ctx / wave - c->rope_low_freq) / (c->rope_high_freq - c->rope_low_freq);

    if (wave > ctx / c->rope_low_freq)
        return f / c->rope_factor;
    if (wave < ctx / c->rope_high_freq)
        return f;
    return (1 - share) * f / c->rope_factor + share * f;
}

/* By how many radians pair j of a head is rotated from one position to the next: theta^(-2j/d), or, for
 * longer contexts than the model was first trained with, less. */
static double frequency(const tg_config *c, bool local, size_t j)
{
    const double theta = local ? c->rope_local_theta : c->rope_theta;
    const double f = pow(theta, -2 * (double)j / (double)tg_config_rope_dim(c));

    if (local || c->rope_scaling == TG_ROPE_PLAIN)
        return f;
    return c->rope_scaling == TG_ROPE_LINEAR ? f / c->rope_factor : stretched(c, f);
}

/* The angles of a layer: position times frequency. */
static void fill_angles(tg_plain_llama *p, size_t l)
{
    const size_t pairs = tg_config_rope_dim(p->config) / 2;
    const bool local = p->config->rope_local_theta > 0 && tg_config_window(p->config, l) > 0;

    for (size_t t = 0; t < p->T; t++)
        for (size_t j = 0; j < pairs; j++) {
            const double angle = (double)t * frequency(p->config, local, j);

            p->cosines[t * pairs + j] = cos(angle);
            p->sines[t * pairs + j] = sin(angle);
        }
}

/* out = inp [T,heads,D], rotated; in a layer without rotation out = inp */
static void rotate(tg_plain_llama *p, double *out, const double *inp, size_t l, size_t heads)
{
    const size_t D = tg_config_head_dim(p->config), d = tg_config_rope_dim(p->config);

    if (tg_config_rotates(p->config, l))
        tg_rotary_forward_ref64(out, inp, p->cosines, p->sines, 1, p->T, heads, D, d);
    else
        memcpy(out, inp, p->T * heads * D * sizeof *out);
}

/* x += added */
static void add(tg_plain_llama *p)
{
    for (size_t i = 0; i < p->T * p->config->n_embd; i++)
        p->x[i] += p->added[i];
}

/* ---- the model */

void tg_plain_llama_embed(tg_plain_llama *p, const int32_t *ids)
{
    const tg_config *c = p->config;
    const size_t C = c->n_embd;
    const double *wte = weight(p, TG_WTE, 0);

    for (size_t t = 0; t < p->T; t++)
        memcpy(p->x + t * C, wte + (size_t)ids[t] * C, C * sizeof *wte);
    for (size_t i = 0; tg_config_has(c, TG_CONFIG_EMBED_SCALE) && i < p->T * C; i++)
        p->x[i] *= c->embed_scale;
    if (tg_config_family(c)->normed_embed)
        norm(p, p->x, p->x, TG_LNF_W, 0, C);
}

void tg_plain_llama_attend(tg_plain_llama *p, size_t l)
{
    const tg_config *c = p->config;
    const tg_attention_rule rule = tg_config_attention_rule(c, l);
    const size_t C = c->n_embd, H = c->n_head, KV = tg_config_kv_heads(c), D = tg_config_head_dim(c);

    memcpy(p->block_x, p->x, p->T * C * sizeof *p->x);
    norm(p, p->normed, p->x, TG_LN1_W, l, C);
    linear(p, p->q, p->normed, TG_Q_W, l, C, H * D);
    linear(p, p->k, p->normed, TG_K_W, l, C, KV * D);
    linear(p, p->v, p->normed, TG_V_W, l, C, KV * D);
    norm(p, p->q_normed, p->q, TG_Q_NORM_W, l, H * D);
    norm(p, p->k_normed, p->k, TG_K_NORM_W, l, KV * D);
    fill_angles(p, l);
    rotate(p, p->q_rotated, p->q_normed, l, H);
    rotate(p, p->k_rotated, p->k_normed, l, KV);
    tg_attention_gqa_forward_ref64(p->att, p->probs, p->scores, p->q_rotated, p->k_rotated, p->v, &rule, 1,
                                   p->T, H, KV, D);
}

void tg_plain_llama_project(tg_plain_llama *p, size_t l)
{
    const size_t C = p->config->n_embd, H = p->config->n_head, D = tg_config_head_dim(p->config);

    linear(p, p->out, p->att, TG_ATT_PROJ_W, l, H * D, C);
    norm(p, p->added, p->out, TG_OUT_NORM_W, l, C);
    add(p);
}

void tg_plain_llama_mlp(tg_plain_llama *p, size_t l)
{
    const tg_config *c = p->config;
    const size_t T = p->T, C = c->n_embd, F = tg_dim_size(TG_DIM_INNER, c);
    const double *inp = is_parallel(c) ? p->block_x : p->x;

    norm(p, p->normed, inp, TG_LN2_W, l, C);
    if (weight(p, TG_GATE_W, l)) {
        linear(p, p->gate, p->normed, TG_GATE_W, l, C, F);
        linear(p, p->up, p->normed, TG_UP_W, l, C, F);
        tg_gated_forward_ref64(p->gate, p->gate, p->up, T * F, c->activation);
    } else {
        linear(p, p->gate, p->normed, TG_FC_W, l, C, F);
        tg_activation_forward_ref64(p->gate, p->gate, T * F, c->activation);
    }
    linear(p, p->added, p->gate, TG_FC_PROJ_W, l, F, C);
    norm(p, p->added, p->added, TG_DOWN_NORM_W, l, C);
    add(p);
}

void tg_plain_llama_logits(tg_plain_llama *p, double *logits)
{
    const tg_config *c = p->config;
    const size_t T = p->T, C = c->n_embd, V = c->vocab_size;

    norm(p, p->normed, p->x, TG_LNF_W, 0, C);
    tg_linear_transposed_forward_ref64(logits, p->normed, weight(p, tg_head_kind(c), 0), NULL, T, C, V);
    if (c->final_logit_softcapping > 0)
        tg_softcap_forward_ref64(logits, logits, T * V, c->final_logit_softcapping);
}
