#include "lib/circuit/factors.h"

#include "lib/gpt/bind.h"
#include "lib/gpt/family.h"

void tg_factors_place(tg_arena *arena, tg_factors *f, const tg_config *config)
{
    const size_t H = config->n_head, KV = tg_config_kv_heads(config), C = config->n_embd,
                 D = tg_config_head_dim(config);

    *f = (tg_factors){.H = H, .KV = KV, .C = C, .D = D};
    f->q = tg_arena_take_rows(arena, H * C, D, sizeof *f->q);
    f->k = tg_arena_take_rows(arena, KV * C, D, sizeof *f->k);
    f->v = tg_arena_take_rows(arena, KV * C, D, sizeof *f->v);
    f->o = tg_arena_take_rows(arena, H * D, C, sizeof *f->o);
}

bool tg_factors_centred(const tg_config *config)
{
    return tg_config_family(config)->layernorm;
}

void tg_factors_centre(double *x, size_t C, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double sum = 0;

        for (size_t c = 0; c < C; c++)
            sum += x[c * n + i];
        for (size_t c = 0; c < C; c++)
            x[c * n + i] -= sum / (double)C;
    }
}

static double weight_at(const tg_linear *l, size_t in, size_t out)
{
    return (double)((const float *)l->w)[l->transposed ? out * l->in + in : in * l->out + out];
}

/* What reads the stream for a head: out [C,D] from columns first .. first + D - 1, the head's number * D
 * after those of the first.  own: the norm of the result, of each head or of all at once. */
static void set_read(double *out, const tg_linear *l, size_t first, size_t head, size_t D,
                     const tg_rmsnorm *before, const tg_rmsnorm *own, bool centred)
{
    const size_t C = l->in;

    for (size_t c = 0; c < C; c++)
        for (size_t d = 0; d < D; d++) {
            const size_t at = own->C == D ? d : head * D + d;

            out[c * D + d] =
                tg_rmsnorm_gain(before, c) * weight_at(l, c, first + head * D + d) * tg_rmsnorm_gain(own, at);
        }
    if (centred)
        tg_factors_centre(out, C, D);
}

/* A layer's matrices, which of the heads of one kind make one of out [n,C,D]. */
static void set_reads(double *out, size_t n, const tg_factors *f, const tg_binding *bound, size_t layer,
                      tg_param_kind kind, size_t fused_first, tg_param_kind own_kind)
{
    const tg_config *config = &bound->model->config;
    const bool fused = tg_config_family(config)->qkv != 0;
    const tg_linear l = tg_bind_linear(bound, fused ? TG_QKV_W : kind, layer);
    const tg_rmsnorm before = tg_bind_rmsnorm(bound, TG_LN1_W, layer);
    const tg_rmsnorm own = own_kind ? tg_bind_rmsnorm(bound, own_kind, layer) : (tg_rmsnorm){0};

    for (size_t h = 0; h < n; h++)
        set_read(out + h * f->C * f->D, &l, fused ? fused_first : 0, h, f->D, &before, &own,
                 tg_factors_centred(config));
}

static void set_writes(tg_factors *f, const tg_binding *bound, size_t layer)
{
    const tg_linear l = tg_bind_linear(bound, TG_ATT_PROJ_W, layer);
    const tg_rmsnorm after = tg_bind_rmsnorm(bound, TG_OUT_NORM_W, layer);

    for (size_t i = 0; i < f->H * f->D; i++)
        for (size_t c = 0; c < f->C; c++)
            f->o[i * f->C + c] = weight_at(&l, i, c) * tg_rmsnorm_gain(&after, c);
}

void tg_factors_set(tg_factors *f, const tg_model *model, size_t layer)
{
    const tg_binding bound = {.model = model};
    const size_t q = f->H * f->D, kv = f->KV * f->D;

    set_reads(f->q, f->H, f, &bound, layer, TG_Q_W, 0, TG_Q_NORM_W);
    set_reads(f->k, f->KV, f, &bound, layer, TG_K_W, q, TG_K_NORM_W);
    set_reads(f->v, f->KV, f, &bound, layer, TG_V_W, q + kv, 0);
    set_writes(f, &bound, layer);
}
