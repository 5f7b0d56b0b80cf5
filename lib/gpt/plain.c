#include "lib/gpt/plain.h"

#include "lib/base/size.h"

static void place(tg_arena *arena, void *context)
{
    tg_plain *p = context;
    const size_t N = tg_size_mul_sat(p->B, p->T), C = p->config->n_embd, each = sizeof(double);
    const size_t squares = tg_size_mul_sat(N, tg_size_mul_sat(p->config->n_head, p->T));

    p->x = tg_arena_take_rows(arena, N, C, each);
    p->normed = tg_arena_take_rows(arena, N, C, each);
    p->added = tg_arena_take_rows(arena, N, C, each);
    p->fc = tg_arena_take_rows(arena, N, 4 * C, each);
    p->mean = tg_arena_take(arena, N, each);
    p->rstd = tg_arena_take(arena, N, each);
    p->att.qkv = tg_arena_take_rows(arena, N, 3 * C, each);
    p->att.q = tg_arena_take_rows(arena, N, C, each);
    p->att.k = tg_arena_take_rows(arena, N, C, each);
    p->att.v = tg_arena_take_rows(arena, N, C, each);
    p->att.scores = tg_arena_take(arena, squares, each);
    p->att.probs = tg_arena_take(arena, squares, each);
    p->att.att = tg_arena_take_rows(arena, N, C, each);
}

tg_status tg_plain_open(tg_plain *p, const tg_config *config, tg_plain_weights weights, size_t B, size_t T,
                        tg_err *err)
{
    *p = (tg_plain){.config = config, .weights = weights, .B = B, .T = T};
    return tg_arena_build(&p->arena, place, p, err);
}

void tg_plain_close(tg_plain *p)
{
    tg_arena_free(&p->arena);
    *p = (tg_plain){0};
}

static const double *weight(const tg_plain *p, tg_param_kind kind, size_t l)
{
    return p->weights.get(p->weights.context, kind, l);
}

/* The masks of one layer; each has n numbers for a layer. */
static const double *of_layer(const double *masks, size_t l, size_t n)
{
    return masks ? masks + l * n : NULL;
}

/* normed = layernorm(x); the bias follows its gain. */
static void norm(tg_plain *p, tg_param_kind w, size_t l)
{
    tg_layernorm_forward_ref64(p->normed, p->mean, p->rstd, p->x, weight(p, w, l), weight(p, w + 1, l),
                               p->B * p->T, p->config->n_embd, p->config->layer_norm_epsilon);
}

/* x += dropout(added) */
static void add(tg_plain *p, const double *mask)
{
    const size_t n = p->B * p->T * p->config->n_embd;

    if (mask)
        tg_dropout_forward_ref64(p->added, p->added, mask, n);
    for (size_t i = 0; i < n; i++)
        p->x[i] += p->added[i];
}

void tg_plain_embed(tg_plain *p, const int32_t *ids)
{
    const size_t C = p->config->n_embd;

    tg_embedding_forward_ref64(p->x, ids, weight(p, TG_WTE, 0), weight(p, TG_WPE, 0), p->B, p->T, C);
    if (p->masks.embedding)
        tg_dropout_forward_ref64(p->x, p->x, p->masks.embedding, p->B * p->T * C);
}

void tg_plain_attend(tg_plain *p, size_t l)
{
    const size_t B = p->B, T = p->T, C = p->config->n_embd, H = p->config->n_head;

    norm(p, TG_LN1_W, l);
    tg_self_attention_mha_forward_ref64(p->added, &p->att, p->normed, weight(p, TG_QKV_W, l),
                                        weight(p, TG_QKV_B, l), weight(p, TG_ATT_PROJ_W, l),
                                        weight(p, TG_ATT_PROJ_B, l),
                                        of_layer(p->masks.probs, l, B * H * T * T), B, T, H, C / H);
    add(p, of_layer(p->masks.att_proj, l, B * T * C));
}

void tg_plain_mlp(tg_plain *p, size_t l)
{
    const size_t N = p->B * p->T, C = p->config->n_embd;

    norm(p, TG_LN2_W, l);
    tg_linear_forward_ref64(p->fc, p->normed, weight(p, TG_FC_W, l), weight(p, TG_FC_B, l), N, C, 4 * C);
    tg_activation_forward_ref64(p->fc, p->fc, N * 4 * C, p->config->activation);
    tg_linear_forward_ref64(p->added, p->fc, weight(p, TG_FC_PROJ_W, l), weight(p, TG_FC_PROJ_B, l), N, 4 * C,
                            C);
    add(p, of_layer(p->masks.fc_proj, l, N * C));
}

void tg_plain_logits(tg_plain *p, double *logits)
{
    norm(p, TG_LNF_W, 0);
    tg_linear_transposed_forward_ref64(logits, p->normed, weight(p, tg_head_kind(p->config), 0),
                                       weight(p, TG_HEAD_B, 0), p->B * p->T, p->config->n_embd,
                                       p->config->vocab_size);
}
