/*
 * The gradient of a prediction's loss, down to one layer's attention: against
 * central differences, against the whole reference model, and against the gradients
 * that training would take.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/gpt/family.h"
#include "lib/gpt/gradient64.h"
#include "lib/attn/layers.h"
#include "lib/base/convert.h"
#include "lib/base/threads.h"
#include "lib/gpt/presets.h"
#include "lib/nn/linear64.h"
#include "lib/nn/ops.h"
#include "lib/gpt/pass.h"
#include "lib/nn/ref/ref.h"
#include "tests/unit/check.h"
#include "tests/unit/ref_gpt.h"
#include "tests/unit/small_model.h"

/* ---- products in another order of loops */

/* The same weights read as [out,in]: W w^T, in both directions, from the reference's other one. */
static void transposed_of(const tg_linear *linear, const double *w64, size_t N)
{
    const size_t C = linear->in, OC = linear->out;
    const tg_linear head = {.w = linear->w, .b = linear->b, .in = OC, .out = C, .transposed = true};
    const tg_linear no_bias = {.w = linear->w, .in = OC, .out = C, .transposed = true};
    double *inp = calloc(N * OC, sizeof *inp), *out = calloc(N * C, sizeof *out);
    double *want = calloc(N * C, sizeof *want), *none = calloc(C * OC, sizeof *none);
    double *dinp = calloc(N * OC, sizeof *dinp), *dwant = calloc(N * OC, sizeof *dwant);

    check_fill64(inp, N * OC, 4, 1);
    tg_linear_backward_ref64(want, none, NULL, inp, none, w64, N, C, OC);
    tg_linear64_forward(out, NULL, inp, &no_bias, N);
    CHECK(memcmp(out, want, N * C * sizeof *out) == 0);
    if (C <= OC) { /* the bias has OC elements: the first C serve here */
        tg_linear64_forward(out, NULL, inp, &head, N);
        for (size_t i = 0; i < N * C; i++)
            CHECK(out[i] == want[i] + (double)head.b[i % C]);
    }
    tg_linear_forward_ref64(dwant, want, w64, NULL, N, C, OC);
    tg_linear64_backward(dinp, want, &no_bias, N);
    CHECK(memcmp(dinp, dwant, N * OC * sizeof *dinp) == 0);
    free(inp), free(out), free(want), free(none), free(dinp), free(dwant);
}

static void products_of(size_t N, size_t C, size_t OC)
{
    double *inp = calloc(N * C, sizeof *inp), *out = calloc(N * OC, sizeof *out);
    double *want = calloc(N * OC, sizeof *want), *dinp = calloc(N * C, sizeof *dinp);
    double *dwant = calloc(N * C, sizeof *dwant), *w64 = calloc(C * OC, sizeof *w64);
    double *dw = calloc(C * OC, sizeof *dw), *b64 = calloc(OC, sizeof *b64);
    float *w = calloc(C * OC, sizeof *w), *b = calloc(OC, sizeof *b);
    tg_linear linear = {.w = w, .b = b, .in = C, .out = OC};

    check_fill64(inp, N * C, 1, 1);
    check_fill(w, C * OC, 2, 1);
    check_fill(b, OC, 3, 1);
    for (size_t i = 0; i < C * OC; i++)
        w64[i] = (double)w[i];
    for (size_t i = 0; i < OC; i++)
        b64[i] = (double)b[i];
    for (int bias = 0; bias < 2; bias++) {
        linear.b = bias ? b : NULL;
        memset(out, 0xff, N * OC * sizeof *out);
        tg_linear_forward_ref64(want, inp, w64, bias ? b64 : NULL, N, C, OC);
        tg_linear64_forward(out, NULL, inp, &linear, N);
        CHECK(memcmp(out, want, N * OC * sizeof *out) == 0);
    }
    memset(dinp, 0xff, N * C * sizeof *dinp);
    tg_linear_backward_ref64(dwant, dw, NULL, want, inp, w64, N, C, OC);
    tg_linear64_backward(dinp, want, &linear, N);
    CHECK(memcmp(dinp, dwant, N * C * sizeof *dinp) == 0);
    transposed_of(&linear, w64, N);
    free(inp), free(out), free(want), free(dinp), free(dwant), free(w64), free(dw), free(b64), free(w),
        free(b);
}

static void products_are_the_references(void)
{
    for (size_t threads = 1; threads <= 3; threads += 2) {
        tg_threads_set(threads);
        products_of(1, 1, 1);
        products_of(3, 5, 31);
        products_of(8, 33, 64);
        products_of(19, 70, 67);
    }
}

static tg_matrix doubles(double *x, size_t cols)
{
    return tg_matrix_of(x, TG_TYPE_DOUBLE, cols);
}

/* ---- the other operations: the references' bits, with float32 parameters */

static void check_layernorm(const float *w, const float *b, const double *w64, const double *b64)
{
    enum { N = 5, C = 11 };
    double inp[N * C], dout[N * C], out[N * C], want[N * C], again[N * C], mean[2][N], rstd[2][N];
    double dinp[N * C], dwant[N * C];
    const tg_norm_stats stats = {doubles(mean[0], 1), doubles(rstd[0], 1)};
    const tg_layernorm norm = {.w = w, .b = b, .C = C, .epsilon = 1e-5};

    check_fill64(inp, N * C, 5, 1);
    check_fill64(dout, N * C, 6, 1);
    check_fill64(dinp, N * C, 7, 1);
    memcpy(dwant, dinp, sizeof dinp);
    tg_layernorm_forward(doubles(out, C), stats, doubles(inp, C), &norm, N);
    tg_layernorm_forward_ref64(want, mean[1], rstd[1], inp, w64, b64, N, C, 1e-5);
    tg_layernorm_recompute(doubles(again, C), stats, doubles(inp, C), &norm, N);
    CHECK(memcmp(out, want, sizeof out) == 0 && memcmp(out, again, sizeof out) == 0);
    CHECK(memcmp(mean[0], mean[1], sizeof mean[0]) == 0 && memcmp(rstd[0], rstd[1], sizeof rstd[0]) == 0);
    tg_layernorm_backward(doubles(dinp, C), doubles(dout, C), doubles(inp, C), stats, &norm, N);
    tg_layernorm_backward_ref64(dwant, NULL, NULL, dout, mean[1], rstd[1], inp, w64, N, C);
    CHECK(memcmp(dinp, dwant, sizeof dinp) == 0);
}

static void layernorm_is_the_reference(void)
{
    float w[11], b[11];
    double w64[11], b64[11];

    check_fill(w, 11, 8, 1);
    check_fill(b, 11, 9, 1);
    tg_double_from_float(w64, w, 11);
    tg_double_from_float(b64, b, 11);
    check_layernorm(NULL, NULL, NULL, NULL);
    check_layernorm(w, NULL, w64, NULL);
    check_layernorm(w, b, w64, b64);
}

static void gelu_is_the_reference(void)
{
    enum { N = 33 };
    const float one = 1;
    const tg_dropout none = {0};
    const tg_linear same = {.w = &one, .in = 1, .out = 1};
    double inp[N], out[N], want[N], dout[N], dinp[N], dwant[N];

    for (tg_activation kind = TG_GELU_TANH; kind < TG_ACTIVATION_KINDS; kind++) {
        check_fill64(inp, N, 10, 4);
        check_fill64(dout, N, 11, 1);
        memset(dwant, 0, sizeof dwant);
        tg_activation_forward_ref64(want, inp, N, kind);
        tg_activation_backward_ref64(dwant, dout, inp, N, kind);
        tg_activation_forward(doubles(out, 1), doubles(inp, 1), N, kind);
        CHECK(memcmp(out, want, sizeof out) == 0);
        tg_residual_after_activation_backward(doubles(dinp, 1), doubles(dout, 1), doubles(out, 1),
                                              doubles(inp, 1), &same, kind, &none, (tg_matrix){0}, N);
        for (size_t i = 0; i < N; i++)
            CHECK(dinp[i] == dwant[i]); /* 0 of either sign */
    }
}

/* ---- a model */

enum { T = 6 };

static const int32_t ids[T] = {84, 111, 32, 98, 101, 111};
static const int32_t target = 120, other = 7;

struct setting {
    tg_model model;
    tg_attn_layers layers;
    tg_attn_layer layer;
    tg_arena arena;
    tg_gradient64 g;
};

static tg_config small(void)
{
    return small_config(3, 2, 8, 7);
}

/* The loss and its gradient down to layer l's attention. */
static void set_up(struct setting *s, const tg_config *config, size_t l, int32_t token)
{
    tg_err err = {0};

    memset(s, 0, sizeof *s);
    small_model_create(&s->model, *config, 1);
    small_model_stir(&s->model, 100, 0.5, 0.3); /* no gradient near zero */
    CHECK_OK(tg_attn_layers_model(&s->layers, &s->model, ids, T, &err), &err);
    for (size_t n = 0; n <= l; n++)
        CHECK(tg_attn_layers_next(&s->layers, &s->layer));
    tg_gradient64_place(&s->arena, &s->g, &s->model, l, T);
    CHECK_OK(tg_arena_alloc(&s->arena, &err), &err);
    check_fill_arena(&s->arena); /* NaN everywhere */
    tg_gradient64_place(&s->arena, &s->g, &s->model, l, T);
    tg_gradient64_begin(&s->g, s->layer.residual, &s->layer.rows);
    tg_gradient64_loss(&s->g, token);
    tg_gradient64_run(&s->g);
}

static void tear_down(struct setting *s)
{
    tg_arena_free(&s->arena);
    tg_attn_layers_close(&s->layers);
    tg_model_free(&s->model);
}

/*
 * The loss is a function of att and x of the layer's block: every element's slope.  With
 * step 1e-5 the difference's own error is about 1e-10 (docs/numerics.md); the loss is of
 * order 10, the slopes of order 1.
 */
static void check_slopes(struct setting *s, double *x, const double *slopes, size_t n)
{
    const double h = 1e-5;
    double largest = 0;

    for (size_t i = 0; i < n; i++) {
        const double was = x[i];
        double up, down;

        x[i] = was + h;
        up = tg_gradient64_loss(&s->g, target);
        x[i] = was - h;
        down = tg_gradient64_loss(&s->g, target);
        x[i] = was;
        CHECK_NEAR(slopes[i], (up - down) / (2 * h), 1e-8);
        largest = fmax(largest, fabs(slopes[i]));
    }
    CHECK(largest > 1e-3);
}

static void differences_of(const tg_config *config)
{
    for (size_t l = 0; l < config->n_layer; l++) {
        struct setting s;

        set_up(&s, config, l, target);
        check_slopes(&s, tg_doubles(tg_acts_row(&s.g.acts, l, s.g.acts.family->att)), s.g.datt,
                     T * config->n_embd);
        check_slopes(&s, tg_doubles(tg_acts_row(&s.g.acts, l, TG_ACT_X)), s.g.dout, T * config->n_embd);
        tear_down(&s);
    }
}

static void differences_gpt2(void)
{
    tg_config c = small();

    differences_of(&c);
}

static void differences_tinygpt(void)
{
    tg_config c = tg_config_preset(0);

    c.n_embd = 6;
    c.n_ctx = 6;
    differences_of(&c);
}

static void differences_without_biases(void)
{
    tg_config c = small();

    c.n_head = 4;
    c.layer_norm_bias = c.linear_bias = false;
    c.activation = TG_GELU_ERF;
    differences_of(&c);
    c.activation = TG_SILU;
    differences_of(&c);
}

/* Only the last token predicts, and in the last layer it alone is heard. */
static void last_layer_hears_the_last_token(void)
{
    tg_config c = small();
    struct setting s;

    set_up(&s, &c, c.n_layer - 1, target);
    for (size_t i = 0; i < (T - 1) * c.n_embd; i++)
        CHECK(s.g.datt[i] == 0);
    for (size_t i = (T - 1) * c.n_embd; i < T * c.n_embd; i++)
        CHECK(s.g.datt[i] != 0);
    tear_down(&s);
}

/* ---- against the whole reference model, which begins with the embedding */

/* The layers in front are the tool's, in float32: some ten roundings of numbers of order
 * 1, magnified by LayerNorm's 1/deviation, a few at most. */
#define FLOAT_TOLERANCE 2e-5

static double reference_loss(const tg_model *m, const double *flat)
{
    const int32_t targets[T] = {-1, -1, -1, -1, -1, target};

    return T * ref_gpt_loss(&m->config, &m->table, flat, ids, targets, 1, T, NULL, NULL);
}

/* The projection's bias is added for every token: its slope is the sum of dout. */
static void check_bias(const struct setting *s, double *flat, size_t l)
{
    const tg_params *table = &s->model.table;
    const size_t at = table->entry[tg_params_index(table, TG_ATT_PROJ_B, l)].offset;
    const size_t C = s->model.config.n_embd;
    const double h = 1e-5;

    for (size_t c = 0; c < C; c++) {
        const double was = flat[at + c];
        double sum = 0, slope;

        for (size_t t = 0; t < T; t++)
            sum += s->g.dout[t * C + c];
        flat[at + c] = was + h;
        slope = reference_loss(&s->model, flat);
        flat[at + c] = was - h;
        slope = (slope - reference_loss(&s->model, flat)) / (2 * h);
        flat[at + c] = was;
        CHECK_NEAR(sum, slope, FLOAT_TOLERANCE);
    }
}

static void equals_the_whole_model(void)
{
    const tg_config c = small();

    for (size_t l = 0; l < c.n_layer; l++) {
        struct setting s;
        double *flat;

        set_up(&s, &c, l, target);
        flat = small_model_params64(&s.model);
        CHECK_NEAR(s.g.loss, reference_loss(&s.model, flat), FLOAT_TOLERANCE);
        CHECK_NEAR(exp(-s.g.loss), exp(-reference_loss(&s.model, flat)), FLOAT_TOLERANCE);
        check_bias(&s, flat, l);
        free(flat);
        tear_down(&s);
    }
}

/* ---- against training */

/* Adds sign * dw of c_attn [C,3C]: x^T dqkv, with dqkv by the reference from datt. */
static void add_weight_gradient(double *dw, double sign, const struct setting *s)
{
    const size_t C = s->model.config.n_embd, H = s->model.config.n_head, n = T * C;
    double *all = calloc(9 * n + 4 * H * T * T, sizeof *all);
    double *q = all, *k = q + n, *v = k + n, *dq = v + n, *dk = dq + n, *dv = dk + n, *att = dv + n;
    double *probs = all + 9 * n, *scores = probs + H * T * T, *dprobs = scores + H * T * T;
    const double *d[3] = {dq, dk, dv};

    for (size_t i = 0; i < n; i++) {
        q[i] = (double)s->layer.view.q[i / C * 3 * C + i % C];
        k[i] = (double)s->layer.view.k[i / C * 3 * C + i % C];
        v[i] = (double)s->layer.view.v[i / C * 3 * C + i % C];
    }
    tg_attention_mha_forward_ref64(att, probs, scores, q, k, v, NULL, 1, T, H, C / H);
    CHECK(memcmp(att, tg_doubles(tg_acts_row(&s->g.acts, s->g.layer, s->g.acts.family->att)),
                 n * sizeof *att) == 0);
    tg_attention_mha_backward_ref64(dq, dk, dv, dprobs, dprobs + H * T * T, s->g.datt, probs, q, k, v, NULL,
                                    1, T, H, C / H);
    for (size_t t = 0; t < T; t++)
        for (size_t c = 0; c < C; c++)
            for (size_t o = 0; o < 3 * C; o++)
                dw[c * 3 * C + o] += sign * (double)s->layer.x[t * C + c] * d[o / C][t * C + o % C];
    free(all);
}

/* Training's gradients of T times the mean loss, in which the last target is `token`. */
static void training_gradients(float *grads, const tg_model *m, int32_t token)
{
    const int32_t targets[T] = {1, 2, 3, 4, 5, token};
    tg_arena arena = {0};
    tg_pass pass;
    tg_err err = {0};

    tg_pass_place(&arena, &pass, m, &(tg_pass_size){.B = 1, .T = T, .gradients = true});
    CHECK_OK(tg_arena_alloc(&arena, &err), &err);
    tg_pass_place(&arena, &pass, m, &(tg_pass_size){.B = 1, .T = T, .gradients = true});
    tg_pass_run(&pass, ids, targets, grads, T);
    tg_arena_free(&arena);
}

/*
 * Training has no loss of a single token; but two targets of the last one differ by just
 * that one's losses, and so do the gradients.  They are float32's: sums of some 50 terms
 * of order 1, hence 1e-4 of the largest, as in test_model.c.
 */
static void equals_training(void)
{
    const tg_config c = small();

    for (size_t l = 0; l < c.n_layer; l++) {
        struct setting s, s2;
        double dw[8 * 24] = {0}, largest = 0;
        float *grads[2];
        size_t at;

        set_up(&s, &c, l, target);
        set_up(&s2, &c, l, other);
        add_weight_gradient(dw, 1, &s);
        add_weight_gradient(dw, -1, &s2);
        for (size_t n = 0; n < 2; n++) {
            grads[n] = calloc(s.model.table.floats, sizeof *grads[n]);
            training_gradients(grads[n], &s.model, n == 0 ? target : other);
        }
        at = s.model.table.entry[tg_params_index(&s.model.table, TG_QKV_W, l)].offset;
        for (size_t i = 0; i < 8 * 24; i++)
            largest = fmax(largest, fabs(dw[i]));
        CHECK(largest > 1e-2);
        for (size_t i = 0; i < 8 * 24; i++)
            CHECK_NEAR((double)(grads[0][at + i] - grads[1][at + i]), dw[i], 1e-4 * largest);
        free(grads[0]);
        free(grads[1]);
        tear_down(&s);
        tear_down(&s2);
    }
}

/* The same bytes with any number of threads. */
static void threads_change_nothing(void)
{
    const tg_config c = small();
    struct setting s[2];

    for (size_t n = 0; n < 2; n++) {
        tg_threads_set(1 + 2 * n);
        set_up(&s[n], &c, 0, target);
    }
    CHECK(s[0].g.loss == s[1].g.loss);
    CHECK(memcmp(s[0].g.datt, s[1].g.datt, T * c.n_embd * sizeof(double)) == 0);
    CHECK(memcmp(s[0].g.dlogits, s[1].g.dlogits, c.vocab_size * sizeof(double)) == 0);
    tear_down(&s[0]);
    tear_down(&s[1]);
}

int main(void)
{
    RUN(products_are_the_references);
    RUN(layernorm_is_the_reference);
    RUN(gelu_is_the_reference);
    RUN(differences_gpt2);
    RUN(differences_tinygpt);
    RUN(differences_without_biases);
    RUN(last_layer_hears_the_last_token);
    RUN(equals_the_whole_model);
    RUN(equals_training);
    RUN(threads_change_nothing);
    return check_done();
}
