#include "lib/lens/attribute.h"

#include <math.h>
#include <string.h>

#include "lib/attn/layers.h"
#include "lib/base/finite.h"
#include "lib/base/size.h"
#include "lib/gpt/family.h"
#include "lib/gpt/head.h"
#include "lib/nn/linear64.h"

#define ROWS 4 /* of logits: from so many on, the last digits are those of longer blocks */

/* ---- set-up */

static void place(tg_arena *arena, void *context)
{
    tg_attribution *a = context;
    const size_t Q = tg_dim_size(TG_DIM_Q, &a->model->config), widest = tg_size_max(Q, a->inner);
    const size_t heads = tg_size_mul_sat(a->L, a->H);

    tg_pass_place(arena, &a->pass, a->model, &(tg_pass_size){.B = 1, .T = a->T});
    tg_attn_scratch_place(arena, &a->scratch, 0, a->T, Q / a->H);
    a->head = tg_arena_take(arena, heads, sizeof *a->head);
    a->key = tg_arena_take_rows(arena, heads, a->T, sizeof *a->key);
    a->unit = tg_arena_take_rows(arena, a->L, a->inner, sizeof *a->unit);
    a->mlp = tg_arena_take(arena, a->L, sizeof *a->mlp);
    for (size_t s = 0; s < TG_SUBLAYERS; s++)
        a->bias[s] = tg_arena_take(arena, a->L, sizeof *a->bias[s]);
    a->u = tg_arena_take(arena, a->C, sizeof *a->u);
    a->through = tg_arena_take(arena, a->C, sizeof *a->through);
    a->out = tg_arena_take(arena, a->C, sizeof *a->out);
    a->gradient = tg_arena_take(arena, widest, sizeof *a->gradient);
    a->inputs = tg_arena_take(arena, widest, sizeof *a->inputs);
    a->probs = tg_arena_take_rows(arena, a->H, a->T, sizeof *a->probs);
}

tg_status tg_attribution_open(tg_attribution *a, const tg_model *model, size_t T,
                              const tg_attribute_plan *plan, tg_err *err)
{
    const tg_config *c = &model->config;

    *a = (tg_attribution){.model = model,
                          .plan = *plan,
                          .L = c->n_layer,
                          .T = T,
                          .C = c->n_embd,
                          .H = c->n_head,
                          .inner = tg_dim_size(TG_DIM_INNER, c)};
    if (plan->position >= T)
        return tg_fail(err, TG_EUSAGE, "position %zu is out of range: expected 0 to %zu", plan->position,
                       T - 1);
    if (plan->units > a->inner)
        return tg_fail(err, TG_EUSAGE, "%zu units are more than the %zu of an MLP", plan->units, a->inner);
    return tg_arena_build(&a->arena, place, a, err);
}

void tg_attribution_close(tg_attribution *a)
{
    tg_arena_free(&a->arena);
}

/* ---- sums */

static double dot(const double *a, const double *b, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static double dot_floats(const double *a, const float *b, size_t n)
{
    double sum = 0;

    for (size_t i = 0; b && i < n; i++)
        sum += a[i] * (double)b[i];
    return sum;
}

/* 1 / sqrt(the mean of (x - mean)^2 + epsilon) */
static double scale_of(const double *x, double mean, size_t C, double epsilon)
{
    double squares = 0;

    for (size_t c = 0; c < C; c++)
        squares += (x[c] - mean) * (x[c] - mean);
    return 1 / sqrt(squares / (double)C + (double)(float)epsilon); /* as the norms round it */
}

static double mean_of(const double *x, size_t C)
{
    double sum = 0;

    for (size_t c = 0; c < C; c++)
        sum += x[c];
    return sum / (double)C;
}

/* ---- the last norm and the head */

static const tg_family *family_of(const tg_attribution *a)
{
    return a->pass.acts.family;
}

/* u = the head's weights for the token, less those for the other one. */
static void take_weights(tg_attribution *a, const tg_linear *head)
{
    const size_t V = a->model->config.vocab_size, token = (size_t)a->plan.token;
    const float *w = head->w;

    for (size_t c = 0; c < a->C; c++) {
        const float *of_c = head->transposed ? w + c : w + c * V;
        const size_t step = head->transposed ? a->C : 1;

        a->u[c] = (double)of_c[token * step];
        if (a->plan.minus >= 0)
            a->u[c] -= (double)of_c[(size_t)a->plan.minus * step];
    }
}

static void take_head_bias(tg_attribution *a, const tg_linear *head)
{
    a->head_bias = head->b ? (double)head->b[a->plan.token] : 0;
    if (head->b && a->plan.minus >= 0)
        a->head_bias -= (double)head->b[a->plan.minus];
}

/* From the head's weights to u, through the gains of the last norm and the mean that it subtracts. */
static void pass_norm(tg_attribution *a)
{
    const tg_binding bound = {.model = a->model};
    const tg_layernorm ln = tg_bind_layernorm(&bound, TG_LNF_W, 0);
    const tg_rmsnorm rms = tg_bind_rmsnorm(&bound, TG_LNF_W, 0);
    const double offset = family_of(a)->layernorm || !rms.w ? 0 : (double)rms.offset;
    double mean;

    if (family_of(a)->layernorm)
        a->shift = dot_floats(a->u, ln.b, a->C);
    for (size_t c = 0; c < a->C && rms.w; c++)
        a->u[c] *= offset + (double)rms.w[c];
    mean = family_of(a)->layernorm ? mean_of(a->u, a->C) : 0;
    for (size_t c = 0; c < a->C; c++)
        a->u[c] -= mean;
}

static void take_direction(tg_attribution *a)
{
    const tg_linear head = tg_bind_head(&(tg_binding){.model = a->model});

    take_weights(a, &head);
    take_head_bias(a, &head);
    a->shift = 0;
    pass_norm(a);
}

static void widen(double *out, tg_matrix x, size_t row)
{
    const float *from = tg_floats(x) + row * x.ld;

    for (size_t c = 0; c < x.cols; c++)
        out[c] = (double)from[c];
}

static void take_scale(tg_attribution *a)
{
    widen(a->out, a->pass.acts.x, a->plan.position);
    a->scale = scale_of(a->out, family_of(a)->layernorm ? mean_of(a->out, a->C) : 0, a->C,
                        a->model->config.layer_norm_epsilon);
}

/* The logit, or the difference of two, that the model computes. */
static double logit_of(const tg_attribution *a, const float *row)
{
    const double logit = (double)row[a->plan.token];

    return a->plan.minus < 0 ? logit : logit - (double)row[a->plan.minus];
}

static void take_logits(tg_attribution *a)
{
    const size_t block = tg_size_min(a->T, ROWS), first = tg_size_min(a->plan.position, a->T - block);
    const size_t V = a->model->config.vocab_size;
    const tg_matrix x = tg_matrix_from(a->pass.acts.x, first);
    float *logits = a->pass.acts.logits;

    tg_head_forward_uncapped(&a->pass.acts, tg_matrix_of(logits, TG_TYPE_FLOAT, V), x, block);
    a->logit = logit_of(a, logits + (a->plan.position - first) * V);
    a->logits = tg_pass_logits(&a->pass, x, block) + (a->plan.position - first) * V;
    a->capped = logit_of(a, a->logits);
}

/* ---- what a sublayer writes */

/* With the sublayer's inputs in a->inputs: u through the norm after it, with the scale of this run, and then
 * through its matrix: a->gradient. */
static const double *pass_sublayer(tg_attribution *a, const tg_sublayer *s)
{
    const double *u = a->u;

    if (s->norm.C > 0) {
        const double scale = tg_sublayer_scale(s, a->out, a->inputs);

        for (size_t c = 0; c < a->C; c++)
            a->through[c] = a->u[c] * tg_rmsnorm_gain(&s->norm, c) * scale;
        u = a->through;
    }
    tg_linear64_backward(a->gradient, u, &s->map, 1);
    return u;
}

/* Of a walk: keep a head's probabilities and its weighted sum. */
static void take_row(void *context, const tg_attn_row *row, size_t thread)
{
    tg_attribution *a = context;
    const size_t D = row->view->D;

    (void)thread;
    memcpy(a->probs + row->h * a->T, row->probs, a->T * sizeof *a->probs);
    memcpy(a->inputs + row->h * D, row->att, D * sizeof *a->inputs);
}

/* A key's part is its probability times its value's part. */
static void take_head(tg_attribution *a, const tg_qkv_view *view, size_t layer, size_t h)
{
    const size_t D = view->D, at = layer * a->H + h, T = a->T;
    const float *v = view->v + tg_attn_kv_head(view, h) * D;
    double *key = a->key + at * T;

    a->head[at] = 0;
    for (size_t j = 0; j < T; j++) {
        const double p = a->probs[h * T + j];

        key[j] = p > 0 ? p * dot_floats(a->gradient + h * D, v + j * view->ldv, D) : 0;
        a->head[at] += key[j];
    }
}

static void take_attention(tg_attribution *a, size_t layer)
{
    const tg_sublayer s = tg_sublayer_of(&a->pass.acts, TG_SUBLAYER_ATTENTION, layer);
    const tg_qkv_view view = tg_attn_acts_view(&a->pass.acts, layer);
    const tg_attn_filter filter = {TG_ATTN_ALL, TG_ATTN_ALL, a->plan.position, TG_ATTN_ALL};
    const tg_attn_visitor visitor = {.row = take_row, .context = a, .att = true};

    (void)tg_attn_walk_parallel(&view, layer, &filter, &a->scratch, &visitor);
    a->bias[TG_SUBLAYER_ATTENTION][layer] = dot_floats(pass_sublayer(a, &s), s.map.b, a->C);
    for (size_t h = 0; h < a->H; h++)
        take_head(a, &view, layer, h);
}

static void take_mlp(tg_attribution *a, size_t layer)
{
    const tg_sublayer s = tg_sublayer_of(&a->pass.acts, TG_SUBLAYER_MLP, layer);
    double *unit = a->unit + layer * a->inner;

    widen(a->inputs, tg_acts_row(&a->pass.acts, layer, s.in), a->plan.position);
    a->bias[TG_SUBLAYER_MLP][layer] = dot_floats(pass_sublayer(a, &s), s.map.b, a->C);
    for (size_t n = 0; n < a->inner; n++)
        unit[n] = a->inputs[n] * a->gradient[n];
    a->mlp[layer] = dot(a->inputs, a->gradient, a->inner);
}

/* A tap. */
static bool take_sublayer(void *context, tg_acts *acts, size_t layer, size_t row)
{
    tg_attribution *a = context;

    if (row == tg_sublayer_row(acts, TG_SUBLAYER_ATTENTION))
        take_attention(a, layer);
    if (row == tg_sublayer_row(acts, TG_SUBLAYER_MLP)) {
        take_mlp(a, layer);
        (void)tg_watch_report(a->plan.watch, (double)(layer + 1) / (double)a->L);
    }
    return true;
}

static void take_embedding(tg_attribution *a)
{
    const float *wpe = tg_model_weight(a->model, TG_WPE, 0);

    widen(a->out, tg_acts_row(&a->pass.acts, 0, TG_ACT_X), a->plan.position);
    a->wpe = wpe ? dot_floats(a->u, wpe + a->plan.position * a->C, a->C) : 0;
    a->embedding = dot(a->u, a->out, a->C) - a->wpe;
}

/* ---- all of it */

static void multiply(double *x, size_t n, double scale)
{
    for (size_t i = 0; i < n; i++)
        x[i] *= scale;
}

static double total(const double *x, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return sum;
}

/* The last norm's scale is known at the end. */
static void apply_scale(tg_attribution *a)
{
    const size_t heads = a->L * a->H;

    take_scale(a);
    a->embedding *= a->scale;
    a->wpe *= a->scale;
    multiply(a->head, heads, a->scale);
    multiply(a->key, heads * a->T, a->scale);
    multiply(a->unit, a->L * a->inner, a->scale);
    multiply(a->mlp, a->L, a->scale);
    for (size_t s = 0; s < TG_SUBLAYERS; s++)
        multiply(a->bias[s], a->L, a->scale);
}

static void take_sum(tg_attribution *a)
{
    a->sum = a->embedding + a->wpe + a->shift + a->head_bias;
    a->sum += total(a->head, a->L * a->H) + total(a->mlp, a->L);
    for (size_t s = 0; s < TG_SUBLAYERS; s++)
        a->sum += total(a->bias[s], a->L);
}

tg_status tg_attribution_run(tg_attribution *a, const int32_t *ids, tg_err *err)
{
    take_direction(a);
    tg_pass_begin(&a->pass, ids);
    take_embedding(a);
    (void)tg_pass_layers(&a->pass, 0, tg_layers_end(&a->pass.acts), &(tg_tap){take_sublayer, a});
    apply_scale(a);
    take_logits(a);
    take_sum(a);
    if (tg_model_check_lent(a->model, err))
        return err->code;
    if (!isfinite(a->sum) || !isfinite(a->logit))
        return tg_fail(err, TG_EDATA, "the logit of token %ld at position %zu is not finite",
                       (long)a->plan.token, a->plan.position);
    return TG_OK;
}

void tg_attribution_top_units(size_t *units, size_t n, const tg_attribution *a, size_t layer)
{
    const double *unit = a->unit + layer * a->inner;
    size_t kept = 0;

    for (size_t u = 0; u < a->inner; u++) {
        size_t at = kept < n ? kept++ : n;

        for (; at > 0 && fabs(unit[u]) > fabs(unit[units[at - 1]]); at--)
            if (at < n)
                units[at] = units[at - 1];
        if (at < n)
            units[at] = u;
    }
}
