/*
 * The lens and the attribution of logits, on a small model of each family: against plain loops over the
 * activations, and by what must hold of them.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/threads.h"
#include "lib/gpt/family.h"
#include "lib/gpt/infer.h"
#include "lib/lens/attribute.h"
#include "lib/lens/lens.h"
#include "tests/unit/bodies.h"
#include "tests/unit/check.h"
#include "tests/unit/small_model.h"

enum { T = 9, V_MAX = 512, WIDE = 512, TOP = 4 };
static int32_t ids[T], targets[T];

/* ---- a row of logits, by definition */

static double log_sum(const float *x, size_t V)
{
    double max = -HUGE_VAL, sum = 0;

    for (size_t v = 0; v < V; v++)
        max = fmax(max, (double)x[v]);
    for (size_t v = 0; v < V; v++)
        sum += exp((double)x[v] - max);
    return max + log(sum);
}

static double entropy(const float *x, size_t V)
{
    const double z = log_sum(x, V);
    double sum = 0;

    for (size_t v = 0; v < V; v++)
        sum -= exp((double)x[v] - z) * ((double)x[v] - z);
    return sum;
}

static double divergence(const float *from, const float *x, size_t V)
{
    const double z = log_sum(from, V), other = log_sum(x, V);
    double sum = 0;

    for (size_t v = 0; v < V; v++)
        sum += exp((double)from[v] - z) * (((double)from[v] - z) - ((double)x[v] - other));
    return sum;
}

static size_t tokens_before(const float *x, size_t V, size_t target)
{
    size_t before = 0;

    for (size_t v = 0; v < V; v++)
        before += x[v] > x[target] || (x[v] == x[target] && v < target);
    return before;
}

static void scores_are_the_definition(void)
{
    static const size_t lengths[] = {1, 2, 31, 32, 33, 255, 256, 257, 500};
    float x[V_MAX], y[V_MAX];
    double p[V_MAX];

    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        const size_t V = lengths[i], target = V / 3;
        tg_score of_x, of_y;

        for (size_t v = 0; v < V; v++) {
            x[v] = (float)sin((double)(v * v + i)) * 20;
            y[v] = (float)(int)(cos((double)(v * 3 + i)) * 4); /* with ties */
        }
        of_x = tg_score_row(x, V, V, (int32_t)target);
        of_y = tg_score_row(y, V, V, (int32_t)target);
        CHECK_NEAR(of_x.max + of_x.log_sum, log_sum(x, V), 1e-14 * 20);
        CHECK_NEAR(of_x.entropy, entropy(x, V), 1e-13);
        CHECK_NEAR(of_y.entropy, entropy(y, V), 1e-13);
        CHECK_EQ(of_y.rank, tokens_before(y, V, target));
        tg_score_probs(p, &of_x, x, V);
        for (size_t v = 0; v < V; v++)
            CHECK_NEAR(p[v], exp((double)x[v] - log_sum(x, V)), 1e-14);
        CHECK_NEAR(tg_score_divergence(p, of_x.entropy, &of_y, y, V), divergence(x, y, V), 1e-13 * 40);
        CHECK_NEAR(tg_score_divergence(p, of_x.entropy, &of_x, x, V), 0, 1e-13 * 40);
    }
}

/* Logits of any size; one that is not finite makes the entropy so, wherever it is. */
static void extreme_logits(void)
{
    enum { V = 300 };
    float x[V];
    double p[V];

    for (size_t v = 0; v < V; v++)
        x[v] = v % 3 ? -3e38f : -2000;
    x[17] = 100;
    CHECK_NEAR(tg_score_row(x, V, V, 17).log_prob, 0, 0);
    CHECK_NEAR(tg_score_row(x, V, V, 0).log_prob, -2100, 1e-12);
    CHECK_NEAR(tg_score_row(x, V, V, 0).entropy, 0, 0);
    tg_score_probs(p, &(tg_score){.max = 100}, x, V);
    CHECK(p[17] == 1 && p[0] == 0 && p[1] == 0);
    for (size_t v = 0; v < V; v += 13) {
        const float was = x[v];

        x[v] = NAN;
        CHECK(!isfinite(tg_score_row(x, V, V, -1).entropy));
        x[v] = INFINITY;
        CHECK(!isfinite(tg_score_row(x, V, V, -1).entropy));
        x[v] = -INFINITY;
        CHECK(!isfinite(tg_score_row(x, V, V, -1).entropy));
        x[v] = was;
    }
}

/* ---- the lens */

/* The logits [T,V] of a run that ends after `layer` blocks. */
static void logits_after(float *logits, const tg_model *m, size_t layer)
{
    small_decoder d;

    small_decoder_open(&d, m, T, 0, 0);
    tg_infer_begin(&d.infer, ids, T);
    tg_infer_layers(&d.infer, 0, tg_place(&d.infer.acts, layer, 0));
    tg_infer_logits(&d.infer, 0, T, logits);
    tg_arena_free(&d.arena);
}

/* What is compared with the rows as they arrive. */
struct wanted {
    size_t V, n, layers;
    float *logits; /* [L+1,T,V] */
};

static tg_status compare_row(void *context, const tg_lens_row *row, tg_err *err)
{
    struct wanted *w = context;
    const size_t V = w->V, L = w->layers - 1;
    const float *x = w->logits + (row->layer * T + row->position) * V;
    const float *last = w->logits + (L * T + row->position) * V;

    (void)err;
    CHECK_EQ(row->position, w->n / w->layers);
    CHECK_EQ(row->layer, w->n % w->layers);
    CHECK_EQ(row->target, targets[row->position]);
    CHECK(row->logit == x[row->target]);
    CHECK_EQ(row->score.rank, tokens_before(x, V, (size_t)row->target));
    CHECK_NEAR(row->score.entropy, entropy(x, V), 1e-12);
    CHECK_NEAR(row->kl, divergence(last, x, V), 1e-12);
    for (size_t k = 0; k < TOP; k++) {
        CHECK_EQ(tokens_before(x, V, (size_t)row->top[k]), k);
        CHECK(row->top_logits[k] == x[row->top[k]]);
    }
    w->n++;
    return TG_OK;
}

static tg_status count_row(void *context, const tg_lens_row *row, tg_err *err)
{
    size_t *n = context;

    (void)err;
    CHECK_EQ(row->layer, 1);
    CHECK_EQ(row->position, T - 1);
    ++*n;
    return TG_OK;
}

static void check_filter(const tg_model *m)
{
    tg_lens_plan plan = {.targets = targets, .layer = 1, .position = T - 1};
    size_t n = 0;
    tg_lens lens;
    tg_err err;

    CHECK_OK(tg_lens_open(&lens, m, T, &plan, &err), &err);
    CHECK_OK(tg_lens_run(&lens, ids, count_row, &n, &err), &err);
    CHECK_EQ(n, 1);
    tg_lens_close(&lens);
    plan.layer = m->config.n_layer + 1;
    CHECK_EQ(tg_lens_open(&lens, m, T, &plan, &err), TG_EUSAGE);
    CHECK_HAS(err.message, "layer 3 is out of range: expected 0 to 2");
    plan.layer = TG_LENS_ALL;
    plan.position = T;
    CHECK_EQ(tg_lens_open(&lens, m, T, &plan, &err), TG_EUSAGE);
    CHECK_HAS(err.message, "position 9 is out of range: expected 0 to 8");
}

static void check_lens(const tg_model *m)
{
    const tg_lens_plan plan = {.targets = targets, .top = TOP, .layer = TG_LENS_ALL, .position = TG_LENS_ALL};
    struct wanted w = {.V = m->config.vocab_size, .layers = m->config.n_layer + 1};
    tg_lens lens;
    tg_err err;

    w.logits = malloc(w.layers * T * w.V * sizeof *w.logits);
    for (size_t l = 0; l < w.layers; l++)
        logits_after(w.logits + l * T * w.V, m, l);
    CHECK_OK(tg_lens_open(&lens, m, T, &plan, &err), &err);
    CHECK_OK(tg_lens_run(&lens, ids, compare_row, &w, &err), &err);
    CHECK_EQ(w.n, w.layers * T);
    tg_lens_close(&lens);
    free(w.logits);
    check_filter(m);
}

/* ---- the parts of a logit, in plain loops */

struct parts {
    const tg_model *m;
    size_t position, C;
    double u[WIDE]; /* [C] */
    double head[64], unit[256], bias[2][2], embedding;
};

static double gain(const tg_model *m, tg_param_kind kind, size_t layer, size_t c)
{
    const float *w = tg_model_weight(m, kind, layer);
    const bool offset = !tg_config_family(&m->config)->layernorm;

    return w ? (offset ? m->config.norm_offset : 0) + (double)w[c] : 1;
}

static void find_direction(struct parts *p, int32_t token, int32_t minus)
{
    const tg_model *m = p->m;
    const float *head = tg_model_weight(m, m->config.tied ? TG_WTE : TG_HEAD_W, 0);
    double mean = 0;

    for (size_t c = 0; c < p->C; c++) {
        p->u[c] = (double)head[(size_t)token * p->C + c];
        p->u[c] -= minus < 0 ? 0 : (double)head[(size_t)minus * p->C + c];
        p->u[c] *= gain(m, TG_LNF_W, 0, c);
        mean += p->u[c] / (double)p->C;
    }
    for (size_t c = 0; c < p->C && tg_config_family(&m->config)->layernorm; c++)
        p->u[c] -= mean;
}

/* Element (i,o) of a matrix that is applied as x W. */
static double element(const tg_model *m, tg_param_kind kind, size_t layer, size_t i, size_t o)
{
    const tg_param *p = &m->table.entry[tg_params_index(&m->table, kind, layer)];
    const float *w = tg_model_weight(m, kind, layer);

    return (double)(p->transposed ? w[o * p->shape[1] + i] : w[i * p->shape[1] + o]);
}

/* u through the norm after a sublayer with these inputs, if it has one. */
static void pass_norm(double *through, const struct parts *p, tg_param_kind w, tg_param_kind norm,
                      size_t layer, const float *x, size_t n)
{
    const float *b = tg_model_weight(p->m, w + 1, layer);
    double out[WIDE], squares = 0;

    for (size_t c = 0; c < p->C; c++) {
        out[c] = b ? (double)b[c] : 0;
        for (size_t i = 0; i < n; i++)
            out[c] += (double)x[i] * element(p->m, w, layer, i, c);
        squares += out[c] * out[c] / (double)p->C;
    }
    for (size_t c = 0; c < p->C; c++)
        through[c] =
            !tg_model_weight(p->m, norm, layer)
                ? p->u[c]
                : p->u[c] * gain(p->m, norm, layer, c) / sqrt(squares + p->m->config.layer_norm_epsilon);
}

/* Of n inputs, each `width` in a row are a part. */
static void add_sublayer(double *part, double *bias, const struct parts *p, tg_param_kind w,
                         tg_param_kind norm, size_t layer, const float *x, size_t n, size_t width)
{
    const float *b = tg_model_weight(p->m, w + 1, layer);
    double through[WIDE];

    pass_norm(through, p, w, norm, layer, x, n);
    *bias = 0;
    for (size_t c = 0; c < p->C && b; c++)
        *bias += (double)b[c] * through[c];
    for (size_t i = 0; i < n; i++) {
        if (i % width == 0)
            part[i / width] = 0;
        for (size_t c = 0; c < p->C; c++)
            part[i / width] += (double)x[i] * element(p->m, w, layer, i, c) * through[c];
    }
}

static bool add_parts(void *context, tg_acts *a, size_t layer, size_t row)
{
    struct parts *p = context;
    const tg_matrix m = tg_acts_row(a, layer, row);
    const float *x = (const float *)m.data + p->position * m.ld;
    const size_t H = p->m->config.n_head, inner = tg_dim_size(TG_DIM_INNER, &p->m->config);

    if (row == a->family->att)
        add_sublayer(p->head + layer * H, &p->bias[0][layer], p, TG_ATT_PROJ_W, TG_OUT_NORM_W, layer, x,
                     m.cols, m.cols / H);
    if (row == a->family->units)
        add_sublayer(p->unit + layer * inner, &p->bias[1][layer], p, TG_FC_PROJ_W, TG_DOWN_NORM_W, layer, x,
                     m.cols, 1);
    return true;
}

struct run {
    tg_pass pass;
    const tg_model *m;
};

static void place_pass(tg_arena *arena, void *context)
{
    struct run *r = context;

    tg_pass_place(arena, &r->pass, r->m, &(tg_pass_size){.B = 1, .T = T});
}

/* Fill in the parts, and the last norm's scale. */
static double run_parts(struct parts *p)
{
    struct run r = {.m = p->m};
    double mean = 0, squares = 0;
    const float *x;
    tg_arena arena;
    tg_err err;

    CHECK_OK(tg_arena_build(&arena, place_pass, &r, &err), &err);
    tg_pass_begin(&r.pass, ids);
    x = tg_floats(tg_acts_row(&r.pass.acts, 0, TG_ACT_X)) + p->position * p->C;
    for (size_t c = 0; c < p->C; c++)
        p->embedding += (double)x[c] * p->u[c];
    (void)tg_pass_layers(&r.pass, 0, tg_layers_end(&r.pass.acts), &(tg_tap){add_parts, p});
    x = tg_floats(r.pass.acts.x) + p->position * p->C;
    for (size_t c = 0; c < p->C && tg_config_family(&p->m->config)->layernorm; c++)
        mean += (double)x[c] / (double)p->C;
    for (size_t c = 0; c < p->C; c++)
        squares += ((double)x[c] - mean) * ((double)x[c] - mean) / (double)p->C;
    tg_arena_free(&arena);
    return 1 / sqrt(squares + p->m->config.layer_norm_epsilon);
}

/* ---- compared */

static double largest(const tg_attribution *a)
{
    double max = fmax(fabs(a->embedding), fabs(a->wpe));

    for (size_t i = 0; i < a->L * a->H; i++)
        max = fmax(max, fabs(a->head[i]));
    for (size_t i = 0; i < a->L * a->inner; i++)
        max = fmax(max, fabs(a->unit[i]));
    return max;
}

static void check_keys(const tg_attribution *a, double tolerance)
{
    for (size_t h = 0; h < a->L * a->H; h++) {
        double sum = 0;

        for (size_t j = 0; j < T; j++) {
            sum += a->key[h * T + j];
            if (j > a->plan.position)
                CHECK(a->key[h * T + j] == 0);
        }
        CHECK_NEAR(sum, a->head[h], 1e-3 * tolerance);
    }
}

static void check_units(const tg_attribution *a, double tolerance)
{
    size_t top[3];

    for (size_t l = 0; l < a->L; l++) {
        const double *unit = a->unit + l * a->inner;
        double sum = 0;

        for (size_t n = 0; n < a->inner; n++)
            sum += unit[n];
        CHECK_NEAR(sum, a->mlp[l], 1e-3 * tolerance);
        tg_attribution_top_units(top, 3, a, l);
        for (size_t i = 0; i < 3; i++) {
            size_t larger = 0;

            for (size_t n = 0; n < a->inner; n++)
                larger += fabs(unit[n]) > fabs(unit[top[i]]);
            CHECK_EQ(larger, i);
        }
    }
}

static void check_attribution(const tg_model *m, size_t position, int32_t token, int32_t minus)
{
    const tg_attribute_plan plan = {.position = position, .token = token, .minus = minus, .units = 3};
    struct parts p = {.m = m, .position = position, .C = m->config.n_embd};
    tg_attribution a;
    double scale, tolerance;
    tg_err err;

    find_direction(&p, token, minus);
    scale = run_parts(&p);
    CHECK_OK(tg_attribution_open(&a, m, T, &plan, &err), &err);
    CHECK_OK(tg_attribution_run(&a, ids, &err), &err);
    tolerance = 1e-5 * largest(&a);
    CHECK_NEAR(tg_attribution_residue(&a), 0, tolerance);
    CHECK_NEAR(a.scale, scale, 1e-12 * scale);
    CHECK_NEAR(a.embedding + a.wpe, scale * p.embedding, tolerance);
    for (size_t i = 0; i < a.L * a.H; i++)
        CHECK_NEAR(a.head[i], scale * p.head[i], tolerance);
    for (size_t i = 0; i < a.L * a.inner; i++)
        CHECK_NEAR(a.unit[i], scale * p.unit[i], tolerance);
    for (size_t s = 0; s < TG_SUBLAYERS; s++)
        for (size_t l = 0; l < a.L; l++)
            CHECK_NEAR(a.bias[s][l], scale * p.bias[s][l], tolerance);
    check_keys(&a, tolerance);
    check_units(&a, tolerance);
    tg_attribution_close(&a);
}

/* The logits are the model's, before and after a cap. */
static void check_logits(const tg_model *m)
{
    const tg_attribute_plan plan = {.position = T - 1, .token = 7, .minus = -1};
    const size_t V = m->config.vocab_size;
    const double cap = m->config.final_logit_softcapping;
    float *logits = malloc(T * V * sizeof *logits);
    tg_attribution a;
    tg_err err;

    logits_after(logits, m, m->config.n_layer);
    CHECK_OK(tg_attribution_open(&a, m, T, &plan, &err), &err);
    CHECK_OK(tg_attribution_run(&a, ids, &err), &err);
    CHECK(a.capped == (double)logits[(T - 1) * V + 7]);
    CHECK_NEAR(a.capped, cap > 0 ? cap * tanh(a.logit / cap) : a.logit, 1e-6);
    tg_attribution_close(&a);
    free(logits);
}

static void check_model(const tg_model *m)
{
    check_lens(m);
    check_attribution(m, T - 1, 5, -1);
    check_attribution(m, 4, 17, 200);
    check_attribution(m, 0, 3, 4);
    check_logits(m);
}

static void gpt2(void)
{
    tg_model m;

    small_model_create(&m, small_config(2, 3, 12, 16), 3);
    small_model_stir(&m, 4, 0.5, 0.3);
    check_model(&m);
    tg_model_free(&m);
}

static void families(void)
{
    for (size_t i = 0; i < BODIES; i++) {
        tg_model m;

        body_create(&m, i);
        check_model(&m);
        tg_model_free(&m);
    }
}

/* Not a bit depends on the number of threads. */
static void threads(void)
{
    const tg_attribute_plan plan = {.position = T - 1, .token = 7, .minus = 9};
    const size_t before = tg_threads();
    double sum[2], key[2];
    tg_model m;
    tg_err err;

    body_create(&m, 0);
    for (size_t n = 0; n < 2; n++) {
        tg_attribution a;

        tg_threads_set(1 + 2 * n);
        CHECK_OK(tg_attribution_open(&a, &m, T, &plan, &err), &err);
        CHECK_OK(tg_attribution_run(&a, ids, &err), &err);
        sum[n] = a.sum;
        key[n] = a.key[T - 2];
        tg_attribution_close(&a);
    }
    CHECK(sum[0] == sum[1] && key[0] == key[1]);
    tg_threads_set(before);
    tg_model_free(&m);
}

static void out_of_range(void)
{
    tg_attribute_plan plan = {.position = T, .token = 7, .minus = -1};
    tg_attribution a;
    tg_model m;
    tg_err err;

    small_model_create(&m, small_config(2, 3, 12, 16), 3);
    CHECK_EQ(tg_attribution_open(&a, &m, T, &plan, &err), TG_EUSAGE);
    CHECK_HAS(err.message, "position 9 is out of range: expected 0 to 8");
    plan.position = 0;
    plan.units = 49;
    CHECK_EQ(tg_attribution_open(&a, &m, T, &plan, &err), TG_EUSAGE);
    CHECK_HAS(err.message, "49 units are more than the 48 of an MLP");
    tg_model_free(&m);
}

static void tests(void)
{
    for (size_t t = 0; t < T; t++) {
        ids[t] = (int32_t)((t * 79 + t * t * 13) % 256);
        targets[t] = (int32_t)((t * 31 + 7) % 256);
    }
    RUN(scores_are_the_definition);
    RUN(extreme_logits);
    RUN(gpt2);
    RUN(families);
    RUN(threads);
    RUN(out_of_range);
}

int main(int argc, char **argv)
{
    return check_each_isa(argc, argv, tests);
}
