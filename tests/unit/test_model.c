/*
 * The whole model: every parameter's gradient against central differences of the
 * double-precision reference; inference against training's forward pass; the
 * parameter table and the archive.
 */
#define _GNU_SOURCE /* memfd_create */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/base/threads.h"
#include "lib/gpt/gpt2.h"
#include "lib/gpt/infer.h"
#include "lib/gpt/model.h"
#include "lib/gpt/pass.h"
#include "lib/gpt/presets.h"
#include "lib/models/model_archive.h"
#include "tests/unit/check.h"
#include "tests/unit/ref_gpt.h"
#include "tests/unit/small_model.h"

enum { B = 2, T = 5 };

static tg_config tiny(void)
{
    return small_config(2, 2, 8, 6);
}

/* With fewer parameters, for central differences of each: the vocabulary is no block's size. */
static tg_config tiny_letters(void)
{
    tg_config c = tiny();

    c.vocab_size = 43;
    return c;
}

static void tokens(int32_t *ids, int32_t *targets, int32_t vocab_size)
{
    for (int i = 0; i < B * T; i++) {
        ids[i] = (i * 37 + 11) % vocab_size;
        targets[i] = (i * 53 + 7) % vocab_size;
    }
    ids[3] = ids[4]; /* a row of the embedding that two places share */
}

#define BF16_ERROR 0x1p-6

static float *nans(size_t n)
{
    float *x = malloc(n * sizeof *x);

    for (size_t i = 0; i < n; i++)
        x[i] = NAN;
    return x;
}

struct setting {
    tg_model model;
    tg_pass pass;
    tg_arena arena;
    float *grads;
    double *flat;
    int32_t ids[B * T], targets[B * T];
};

/* Of a pass that computes everything it reads: its memory and the gradients begin as NaN. */
static void set_up_in(struct setting *s, const tg_config *config, tg_precision precision)
{
    const tg_pass_size size = {.B = B, .T = T, .gradients = true, .precision = precision};
    tg_err err;

    memset(s, 0, sizeof *s);
    small_model_create(&s->model, *config, 1);
    small_model_stir(&s->model, 100, 0.5, 0.3); /* no gradient near zero */
    tg_pass_place(&s->arena, &s->pass, &s->model, &size);
    CHECK_OK(tg_arena_alloc(&s->arena, &err), &err);
    tg_pass_place(&s->arena, &s->pass, &s->model, &size);
    check_fill_arena(&s->arena); /* NaN everywhere ... */
    tg_pass_place(&(tg_arena){.base = s->arena.base, .size = s->arena.size}, &s->pass, &s->model, &size);
    s->grads = nans(s->model.table.floats);
    s->flat = small_model_params64(&s->model);
    tokens(s->ids, s->targets, (int32_t)config->vocab_size);
}

static void set_up(struct setting *s, const tg_config *config)
{
    set_up_in(s, config, TG_PRECISION_FLOAT32);
}

static void tear_down(struct setting *s)
{
    free(s->grads);
    free(s->flat);
    tg_arena_free(&s->arena);
    tg_model_free(&s->model);
}

static double reference(const struct setting *s, const tg_plain_masks *masks)
{
    return ref_gpt_loss(&s->model.config, &s->model.table, s->flat, s->ids, s->targets, B, T, masks, NULL);
}

struct masked {
    const struct setting *s;
    const tg_plain_masks *masks;
};

static double loss_of(void *context)
{
    const struct masked *m = context;

    return reference(m->s, m->masks);
}

static void check_gradients(struct setting *s, const tg_plain_masks *masks)
{
    struct masked m = {s, masks};

    small_model_check_gradients(&s->model.table, s->grads, s->flat, check_soak(SMALL_MODEL_STEP, 1), loss_of,
                                &m);
}

static void gradients_of(const tg_config *config)
{
    struct setting s;
    double loss;

    set_up(&s, config);
    loss = tg_pass_run(&s.pass, s.ids, s.targets, s.grads, 1);
    CHECK_NEAR(loss, reference(&s, NULL), 1e-5);
    check_gradients(&s, NULL);
    tear_down(&s);
}

static void gradients_gpt2(void)
{
    tg_config c = tiny_letters();

    gradients_of(&c);
}

/* Targets that are none add nothing to the loss, nor to any gradient. */
static void gradients_where_not_all_are_predicted(void)
{
    const tg_config c = tiny_letters();
    struct setting s;
    double loss, all;

    set_up(&s, &c);
    all = reference(&s, NULL);
    s.targets[0] = s.targets[3] = s.targets[9] = -1;
    loss = tg_pass_run(&s.pass, s.ids, s.targets, s.grads, 1);
    CHECK_NEAR(loss, reference(&s, NULL), 1e-5);
    CHECK(loss < all);
    check_gradients(&s, NULL);
    tear_down(&s);
}

static void gradients_tinygpt(void)
{
    tg_config c = tg_config_preset(0);

    c.n_embd = 6;
    c.n_ctx = 5;
    c.vocab_size = 43;
    gradients_of(&c);
}

static void gradients_nanogpt_without_biases(void)
{
    tg_config c = tiny_letters();

    c.layer_norm_bias = c.linear_bias = false;
    c.activation = TG_GELU_ERF;
    gradients_of(&c);
}

static void gradients_with_silu(void)
{
    tg_config c = tiny_letters();

    c.activation = TG_SILU;
    gradients_of(&c);
}

static void gradients_untied_with_head_bias(void)
{
    tg_config c = tiny_letters();

    c.n_head = 1;
    c.tied = false;
    c.head_bias = true;
    gradients_of(&c);
}

static void gradients_with_dropout(void)
{
    const tg_config c = tiny_letters();
    tg_plain_masks masks;
    double *m;
    struct setting s;
    double loss, plain;

    set_up(&s, &c);
    plain = reference(&s, NULL);
    s.pass.acts.dropout = 0.3f;
    s.pass.acts.rng = (tg_rng){.seed = 5, .step = 9};
    m = small_model_masks(&masks, &s.pass, &c);
    loss = tg_pass_run(&s.pass, s.ids, s.targets, s.grads, 1);
    CHECK_NEAR(loss, reference(&s, &masks), 1e-5);
    CHECK(fabs(loss - plain) > 1e-3);
    check_gradients(&s, &masks);
    tear_down(&s);
    free(m);
}

/* Two halves of a batch, each counted half, give the batch's gradient. */
static void gradients_add_up(void)
{
    const tg_config c = tiny();
    struct setting s;
    float *whole, *half;

    set_up(&s, &c);
    (void)tg_pass_run(&s.pass, s.ids, s.targets, s.grads, 1);
    whole = s.grads;
    s.grads = nans(s.model.table.floats);
    half = nans(s.model.table.floats);
    s.pass.acts.B = 1;
    (void)tg_pass_run(&s.pass, s.ids, s.targets, s.grads, 0.5f);
    (void)tg_pass_run(&s.pass, s.ids + T, s.targets + T, half, 0.5f);
    for (size_t i = 0; i < s.model.table.floats; i++)
        s.grads[i] += half[i];
    CHECK(check_distance(s.grads, whole, s.model.table.floats) < 1e-6);
    free(whole);
    free(half);
    tear_down(&s);
}

static void same_bits_in(tg_precision precision)
{
    tg_config c = tg_config_preset(TG_PRESET_DEFAULT);
    float *first = NULL;

    /* of no block's size, but enough to go parallel */
    c.n_embd = precision == TG_PRECISION_BF16 ? 60 : 68;
    for (size_t threads = 1; threads <= 4; threads++) {
        struct setting s;

        tg_threads_set(threads);
        set_up_in(&s, &c, precision);
        (void)tg_pass_run(&s.pass, s.ids, s.targets, s.grads, 1);
        if (first)
            CHECK(memcmp(first, s.grads, s.model.table.floats * sizeof(float)) == 0);
        else
            first = s.grads, s.grads = NULL;
        tear_down(&s);
    }
    free(first);
}

static void same_bits_at_any_thread_count(void)
{
    same_bits_in(TG_PRECISION_FLOAT32);
    same_bits_in(TG_PRECISION_BF16);
}

/* ---- bf16 between the products */

/* |x - y| / |y| of a tensor. */
static double relative_error(const float *x, const float *y, size_t n)
{
    double off = 0, size = 0;

    for (size_t i = 0; i < n; i++) {
        off += pow((double)x[i] - (double)y[i], 2);
        size += pow((double)y[i], 2);
    }
    return sqrt(off / (size > 0 ? size : 1));
}

/* Each tensor's gradient is that in float32 but for some roundings of relative error 2^-9: its own and
 * those of the activations and gradients before it, of which the largest parts cancel in places. */
static void check_bf16(const tg_config *config, float dropout)
{
    struct setting s, half;
    float loss;

    set_up(&s, config);
    set_up_in(&half, config, TG_PRECISION_BF16);
    for (size_t i = 0; i < s.model.table.floats; i++) /* weights of a usual size */
        s.model.params[i] = half.model.params[i] *= 0.25f;
    s.pass.acts.dropout = half.pass.acts.dropout = dropout;
    loss = (float)tg_pass_run(&s.pass, s.ids, s.targets, s.grads, 1);
    CHECK_NEAR(tg_pass_run(&half.pass, s.ids, s.targets, half.grads, 1), (double)loss, 0x1p-8);
    for (size_t i = 0; i < s.model.table.n; i++) {
        const tg_param *t = &s.model.table.entry[i];
        const double error = relative_error(half.grads + t->offset, s.grads + t->offset, t->count);

        if (!(error < BF16_ERROR))
            printf("%s: %g\n", t->name, error);
        CHECK(error < BF16_ERROR);
    }
    CHECK_NEAR(tg_pass_run(&half.pass, s.ids, s.targets, NULL, 1), (double)loss, dropout > 0 ? 1 : 0x1p-8);
    tear_down(&s);
    tear_down(&half);
}

static void gradients_in_bf16(void)
{
    tg_config c = tiny_letters();

    check_bf16(&c, 0);
    check_bf16(&c, 0.3f);
    c.layer_norm_bias = c.linear_bias = c.tied = false;
    c.head_bias = true;
    c.activation = TG_GELU_ERF;
    check_bf16(&c, 0);
    c = tg_config_preset(TG_PRESET_DEFAULT);
    c.n_embd = 64;
    check_bf16(&c, 0);
    c.n_embd = 60;
    c.n_head = 3;
    check_bf16(&c, 0.1f);
}

/* What a large pass does to save memory: the same numbers, made twice. */
static void blocks_may_share_x2(void)
{
    const tg_config c = tiny();
    struct setting s;
    float *kept, loss;

    set_up(&s, &c);
    s.pass.acts.dropout = 0.25f;
    if (s.pass.acts.recomputed[TG_GPT2_X2]) { /* the build with tiny blocks, where all tests do that */
        tear_down(&s);
        return;
    }
    loss = (float)tg_pass_run(&s.pass, s.ids, s.targets, s.grads, 1);
    kept = s.grads;
    s.grads = nans(s.model.table.floats);
    s.pass.acts.recomputed[TG_GPT2_X2] = true;
    for (size_t l = 0; l < c.n_layer; l++)
        s.pass.acts.row[l * TG_GPT2_ACTS + TG_GPT2_X2] = tg_acts_row(&s.pass.acts, 0, TG_GPT2_X2);
    CHECK((float)tg_pass_run(&s.pass, s.ids, s.targets, s.grads, 1) == loss);
    CHECK(memcmp(s.grads, kept, s.model.table.floats * sizeof *kept) == 0);
    free(kept);
    tear_down(&s);
}

/* ---- inference */

static void inference_is_the_forward_pass(void)
{
    const tg_config c = tiny();
    tg_arena plain_arena = {0}, cache_arena = {0};
    tg_infer plain, cached;
    struct setting s;
    float *logits = malloc(3 * c.vocab_size * sizeof *logits);
    double *want = malloc(T * c.vocab_size * sizeof *want);
    double row[256];
    tg_err err;

    set_up(&s, &c);
    (void)ref_gpt_loss(&c, &s.model.table, s.flat, s.ids, s.targets, 1, T, NULL, want);
    for (size_t v = 0; v < 256; v++)
        row[v] = want[(T - 1) * 256 + v];

    tg_infer_place(&plain_arena, &plain, &s.model, T, 0, 0);
    CHECK_OK(tg_arena_alloc(&plain_arena, &err), &err);
    tg_infer_place(&plain_arena, &plain, &s.model, T, 0, 0);
    tg_infer_place(&cache_arena, &cached, &s.model, 3, 1, s.model.config.n_ctx);
    CHECK_OK(tg_arena_alloc(&cache_arena, &err), &err);
    tg_infer_place(&cache_arena, &cached, &s.model, 3, 1, s.model.config.n_ctx);

    tg_infer_run(&plain, s.ids, T, logits);
    CHECK(check_distance64(logits, row, 256) < 1e-5);

    /* through the cache: three tokens, then one at a time; and again after a reset */
    for (int again = 0; again < 2; again++) {
        tg_infer_run(&cached, s.ids, 3, logits + 256);
        tg_infer_run(&cached, s.ids + 3, 1, logits + 256);
        tg_infer_run(&cached, s.ids + 4, 1, logits + 256);
        CHECK_EQ(cached.cache.past, T);
        CHECK(check_distance64(logits + 256, row, 256) < 1e-5);
        tg_infer_reset(&cached);
    }
    tg_arena_free(&plain_arena);
    tg_arena_free(&cache_arena);
    tear_down(&s);
    free(logits);
    free(want);
}

/* Three sequences after a common beginning, against each one alone: with packed matrices
 * the rows of a product do not depend on one another, so the bits are the same. */
static void sequences_do_not_meet(tg_weight_type type)
{
    enum { S = 3, STEPS = 4, KEYS = 7 };
    static const int32_t next[STEPS][S] = {{1, 200, 3}, {77, 8, 9}, {0, 255, 128}, {5, 5, 6}};
    tg_config c = tiny();
    const size_t V = c.vocab_size;
    tg_arena arenas[2] = {{0}};
    tg_infer all, one;
    tg_packed_model packed;
    struct setting s;
    float *logits = malloc(S * V * sizeof *logits), *want = malloc(V * sizeof *want);
    tg_err err;

    c.n_ctx = KEYS + 1;
    set_up(&s, &c);
    CHECK_OK(tg_packed_model_create(&packed, &s.model, type, &err), &err);
    for (int pass = 0; pass < 2; pass++) {
        tg_infer_place(&arenas[0], &all, &s.model, 3, S, KEYS);
        tg_infer_place(&arenas[1], &one, &s.model, 3, 1, KEYS);
        for (int i = 0; pass == 0 && i < 2; i++)
            CHECK_OK(tg_arena_alloc(&arenas[i], &err), &err);
    }
    all.packed = one.packed = &packed;
    tg_infer_run(&all, s.ids, 3, logits);
    tg_kv_cache_broadcast(&all.cache);
    tg_infer_select(&all, 0, S);
    for (size_t t = 0; t < STEPS; t++) {
        tg_infer_run(&all, next[t], 1, logits);
        for (size_t i = 0; i < S; i++) {
            tg_infer_reset(&one);
            tg_infer_run(&one, s.ids, 3, want);
            for (size_t u = 0; u <= t; u++)
                tg_infer_run(&one, &next[u][i], 1, want);
            CHECK(memcmp(want, logits + i * V, V * sizeof *want) == 0);
        }
    }
    tg_packed_model_free(&packed);
    tg_arena_free(&arenas[0]);
    tg_arena_free(&arenas[1]);
    tear_down(&s);
    free(logits);
    free(want);
}

static void sequences_together(void)
{
    sequences_do_not_meet(TG_WEIGHT_FLOAT32);
    sequences_do_not_meet(TG_WEIGHT_BF16);
    sequences_do_not_meet(TG_WEIGHT_INT8);
}

static float to_bf16(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Column n of w [K,N], rounded to int8 with its scale. */
static void column_to_int8(float *w, size_t K, size_t N, size_t n)
{
    float scale = 0;

    for (size_t k = 0; k < K; k++)
        scale = fmaxf(scale, fabsf(w[k * N + n]) / 127);
    for (size_t k = 0; k < K; k++)
        w[k * N + n] = rintf(w[k * N + n] / scale) * scale;
}

/* The matrices as packing rounds them; a tied output head stays as it is. */
static void round_matrices(tg_model *m, tg_weight_type type)
{
    for (size_t i = 0; i < m->table.n; i++) {
        const tg_param *p = &m->table.entry[i];
        float *w = m->params + p->offset;

        if (p->ndim != 2 || p->kind == TG_WTE || p->kind == TG_WPE)
            continue;
        for (size_t j = 0; type == TG_WEIGHT_BF16 && j < p->count; j++)
            w[j] = to_bf16(w[j]);
        for (size_t n = 0; type == TG_WEIGHT_INT8 && p->kind != TG_HEAD_W && n < p->shape[1]; n++)
            column_to_int8(w, p->shape[0], p->shape[1], n);
        for (size_t n = 0; type == TG_WEIGHT_INT8 && p->kind == TG_HEAD_W && n < p->shape[0]; n++)
            column_to_int8(w + n * p->shape[1], p->shape[1], 1, 0);
    }
}

/* Packed matrices are the model's, or those rounded: embeddings, vectors and what flows between
 * are not rounded. */
static void packed_is_the_model(tg_weight_type type, bool tied, size_t vocab_size, double most, double least)
{
    tg_config c = tiny();
    tg_arena arenas[2] = {{0}};
    tg_infer plain, fast;
    tg_packed_model packed;
    struct setting s;
    float *logits = malloc(2 * vocab_size * sizeof *logits);
    tg_err err;

    c.tied = tied; /* a tied head is rounded where it is a matrix, not where it is looked up */
    c.vocab_size = vocab_size;
    c.head_bias = !tied;
    set_up(&s, &c);
    CHECK_OK(tg_packed_model_create(&packed, &s.model, type, &err), &err);
    for (int pass = 0; pass < 2; pass++) {
        tg_infer_place(&arenas[0], &plain, &s.model, T, 0, 0);
        tg_infer_place(&arenas[1], &fast, &s.model, T, 0, 0);
        for (int i = 0; pass == 0 && i < 2; i++)
            CHECK_OK(tg_arena_alloc(&arenas[i], &err), &err);
    }
    fast.packed = &packed;
    tg_infer_run(&fast, s.ids, T, logits);
    tg_infer_run(&plain, s.ids, T, logits + c.vocab_size);
    CHECK(check_distance(logits, logits + c.vocab_size, c.vocab_size) >= least);
    round_matrices(&s.model, type);
    tg_infer_run(&plain, s.ids, T, logits + c.vocab_size);
    CHECK(check_distance(logits, logits + c.vocab_size, c.vocab_size) < most);
    tg_packed_model_free(&packed);
    tg_arena_free(&arenas[0]);
    tg_arena_free(&arenas[1]);
    tear_down(&s);
    free(logits);
}

static void packed_matrices(void)
{
    packed_is_the_model(TG_WEIGHT_FLOAT32, false, 256, 1e-5, 0);
    packed_is_the_model(TG_WEIGHT_FLOAT32, false, 259, 1e-5, 0); /* of no panel's width */
    packed_is_the_model(TG_WEIGHT_FLOAT32, true, 256, 1e-5, 0);
    packed_is_the_model(TG_WEIGHT_FLOAT32, true, 287, 1e-5, 0);
    packed_is_the_model(TG_WEIGHT_BF16, false, 256, 1e-5, 1e-4);
    packed_is_the_model(TG_WEIGHT_BF16, false, 259, 1e-5, 1e-4);
    packed_is_the_model(TG_WEIGHT_INT8, false, 256, 1e-5, 1e-4);
    packed_is_the_model(TG_WEIGHT_INT8, false, 259, 1e-5, 1e-4);
}

/* A long prompt with matrices in bf16 rounds both operands where the kernels have instructions for that: its
 * logits differ from those with rounded matrices alone, within the roundings, and have the same bits at any
 * number of threads.  A shorter one, and other types, round the matrices alone. */
static void prompt_is_rounded(tg_weight_type type, size_t n)
{
    const bool rounds = type == TG_WEIGHT_BF16 && n >= TG_INFER_ROWS16 && tg_matmul_has_bf16();
    tg_config c = small_config(2, 2, 64, TG_INFER_ROWS16);
    const size_t V = c.vocab_size, threads = tg_threads();
    tg_packed_model packed;
    struct setting s;
    int32_t ids[TG_INFER_ROWS16];
    float *logits[4];
    double off;
    tg_err err;

    c.tied = false;
    set_up(&s, &c);
    CHECK_OK(tg_packed_model_create(&packed, &s.model, type, &err), &err);
    for (size_t i = 0; i < n; i++)
        ids[i] = (int32_t)(i * 37 % V);
    for (size_t i = 0; i < 4; i++) {
        tg_arena arena = {0};
        tg_infer f;

        tg_threads_set(i < 3 ? i + 1 : threads);
        tg_infer_place(&arena, &f, &s.model, n, 0, 0);
        CHECK_OK(tg_arena_alloc(&arena, &err), &err);
        tg_infer_place(&arena, &f, &s.model, n, 0, 0);
        f.packed = i < 3 ? &packed : NULL;
        logits[i] = malloc(V * sizeof *logits[i]);
        if (i == 3)
            round_matrices(&s.model, type);
        tg_infer_run(&f, ids, n, logits[i]);
        CHECK(i == 3 || memcmp(logits[i], logits[0], V * sizeof *logits[i]) == 0);
        tg_arena_free(&arena);
    }
    off = relative_error(logits[0], logits[3], V);
    CHECK(rounds ? off > 1e-4 && off < BF16_ERROR : off < 1e-5);
    for (size_t i = 0; i < 4; i++)
        free(logits[i]);
    tg_packed_model_free(&packed);
    tear_down(&s);
}

static void long_prompts(void)
{
    prompt_is_rounded(TG_WEIGHT_BF16, TG_INFER_ROWS16);
    prompt_is_rounded(TG_WEIGHT_BF16, TG_INFER_ROWS16 - 1);
    prompt_is_rounded(TG_WEIGHT_INT8, TG_INFER_ROWS16);
    prompt_is_rounded(TG_WEIGHT_FLOAT32, TG_INFER_ROWS16);
}

/* The last value that bf16 rounds to a finite one, and the one above it; for int8, what is not finite;
 * in matrices alone. */
static void what_packing_cannot_hold(void)
{
    static const struct {
        tg_param_kind kind;
        bool tied, matrix;
    } places[] = {{TG_QKV_W, true, true},     {TG_ATT_PROJ_W, true, true}, {TG_FC_W, true, true},
                  {TG_FC_PROJ_W, true, true}, {TG_WTE, true, true},        {TG_WTE, false, false},
                  {TG_HEAD_W, false, true},   {TG_WPE, true, false},       {TG_FC_B, true, false}};
    tg_config c = tiny();
    tg_packed_model packed;
    struct setting s;
    tg_err err;

    CHECK((double)to_bf16(TG_BF16_MAX) < HUGE_VAL);
    CHECK(isinf(to_bf16(nextafterf(TG_BF16_MAX, INFINITY))));
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const tg_param *p;

        c.tied = places[i].tied;
        set_up(&s, &c);
        p = &s.model.table.entry[tg_params_index(&s.model.table, places[i].kind, 0)];
        s.model.params[p->offset + p->count - 1] = -TG_BF16_MAX;
        CHECK_OK(tg_packed_model_create(&packed, &s.model, TG_WEIGHT_BF16, &err), &err);
        tg_packed_model_free(&packed);
        s.model.params[p->offset + p->count - 1] = -nextafterf(TG_BF16_MAX, INFINITY);
        CHECK_EQ(tg_packed_model_create(&packed, &s.model, TG_WEIGHT_BF16, &err),
                 places[i].matrix ? TG_EDATA : TG_OK);
        if (places[i].matrix)
            CHECK_HAS(err.message, p->name);
        else
            tg_packed_model_free(&packed);
        CHECK_OK(tg_packed_model_create(&packed, &s.model, TG_WEIGHT_INT8, &err), &err);
        tg_packed_model_free(&packed);
        CHECK_OK(tg_packed_model_create(&packed, &s.model, TG_WEIGHT_FLOAT32, &err), &err);
        tg_packed_model_free(&packed);
        for (int nan = 0; nan < 2; nan++) {
            s.model.params[p->offset + p->count - 1] = nan ? NAN : INFINITY;
            CHECK_EQ(tg_packed_model_create(&packed, &s.model, TG_WEIGHT_INT8, &err),
                     places[i].matrix ? TG_EDATA : TG_OK);
            tg_packed_model_free(&packed);
        }
        tear_down(&s);
    }
}

/* ---- the table and the archive */

static void parameter_counts(void)
{
    /* by hand: 12 C^2 + 13 C a block, V C + n_ctx C outside, 2 C at the end; tinygpt:
     * 12 C^2 + 9 C a block, and a head of its own, V C + V */
    static const unsigned long long want[] = {136576, 834304, 124439808, 354823168, 774030080, 1557611200};

    for (size_t i = 0; i < 6; i++) {
        tg_config c = tg_config_preset(i);
        tg_params table;
        tg_err err;

        CHECK_OK(tg_config_check(&c, &err), &err);
        CHECK_OK(tg_params_build(&table, &c, &err), &err);
        CHECK_EQ(table.count, want[i]);
        tg_params_free(&table);
    }
}

static void table_entries_do_not_overlap(void)
{
    const tg_config c = tiny();
    tg_params t;
    tg_err err;

    CHECK_OK(tg_params_build(&t, &c, &err), &err);
    for (size_t i = 0; i < t.n; i++) {
        const tg_param *p = &t.entry[i];
        size_t end = i + 1 < t.n ? t.entry[i + 1].offset : t.floats;

        CHECK(p->offset % 16 == 0 && p->offset + p->count <= end);
        CHECK_EQ(tg_params_index(&t, p->kind, p->layer), i);
        CHECK(tg_params_find(&t, p->name) == p);
    }
    CHECK(tg_params_find(&t, "h.2.ln_1.weight") == NULL);
    tg_params_free(&t);
}

static void initialisation(void)
{
    tg_model m;

    small_model_create(&m, tg_config_preset(TG_PRESET_DEFAULT), 42);
    for (size_t i = 0; i < m.table.n; i++) {
        const tg_param *p = &m.table.entry[i];
        double sum = 0, squares = 0, n = (double)p->count;

        for (size_t e = 0; e < p->count; e++) {
            sum += (double)m.weight[i][e];
            squares += (double)m.weight[i][e] * (double)m.weight[i][e];
        }
        /* five standard errors */
        CHECK_NEAR(sum / n, p->mean, 5 * p->std / sqrt(n) + 1e-9);
        CHECK_NEAR(sqrt(squares / n - p->mean * p->mean), p->std, 5 * p->std / sqrt(2 * n) + 1e-7);
        if (p->kind == TG_FC_PROJ_W)
            CHECK_NEAR(p->std, 0.02 / sqrt(8), 1e-12);
    }
    tg_model_free(&m);
}

static void archive_round_trip(void)
{
    for (int flat = 0; flat < 2; flat++) {
        tg_model m, again;
        tg_err err;
        int fd = memfd_create("model", 0);

        small_model_create(&m, tiny(), 7);
        CHECK_OK(tg_model_write(&m, fd, &err), &err);
        CHECK(lseek(fd, 0, SEEK_SET) == 0);
        CHECK_OK(tg_model_read(&again, fd, flat, NULL, NULL, &err), &err);
        CHECK((again.params != NULL) == (flat == 1));
        CHECK_EQ(again.table.n, m.table.n);
        for (size_t i = 0; i < m.table.n; i++)
            CHECK(memcmp(again.weight[i], m.weight[i], m.table.entry[i].count * sizeof(float)) == 0);
        tg_model_free(&again);
        tg_model_free(&m);
        close(fd);
    }
}

static void weights_must_be_finite(void)
{
    tg_model m, again;
    tg_err err;
    int fd = memfd_create("model", 0);

    small_model_create(&m, tiny(), 7);
    m.params[tg_params_find(&m.table, "h.1.mlp.c_fc.weight")->offset + 17] = NAN;
    CHECK_OK(tg_model_write(&m, fd, &err), &err);
    CHECK(lseek(fd, 0, SEEK_SET) == 0);
    CHECK_EQ(tg_model_read(&again, fd, true, NULL, NULL, &err), TG_EDATA);
    CHECK_HAS(err.message, "h.1.mlp.c_fc.weight[17] is nan");
    tg_model_free(&m);
    close(fd);
}

static void heads_must_divide(void)
{
    tg_model m;
    tg_err err;

    small_model_create(&m, tiny(), 7);
    CHECK_OK(tg_model_set_heads(&m, 8, &err), &err);
    CHECK_EQ(tg_model_set_heads(&m, 3, &err), TG_EUSAGE);
    CHECK_HAS(err.message, "1 2 4 8");
    CHECK_EQ(tg_model_set_heads(&m, 0, &err), TG_EUSAGE);
    CHECK_EQ(m.config.n_head, 8);
    tg_model_free(&m);
}

/* A model whose config asks for weights that are not there: 2^24 positions, 512 MiB. */
static int claim(void)
{
    tg_model m;
    tg_archive_writer *w;
    tg_err err;
    int fd = memfd_create("claim", 0);

    small_model_create(&m, tiny(), 7);
    m.config.n_ctx = TG_SIZE_LIMIT;
    CHECK_OK(tg_archive_create(&w, fd, &err), &err);
    CHECK_OK(tg_model_put_header(&m, w, &err), &err);
    CHECK_OK(tg_archive_put(w, "wte.weight", TG_F32, 2, (size_t[]){256, 8}, m.weight[0], &err), &err);
    CHECK_OK(tg_archive_finish(w, &err), &err);
    tg_archive_abandon(w);
    tg_model_free(&m);
    CHECK(lseek(fd, 0, SEEK_SET) == 0);
    return fd;
}

static long peak_kib(void)
{
    struct rusage usage;

    CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
    return usage.ru_maxrss;
}

/* Nothing is paid for a claim: a file that cannot hold it is refused at once, and a pipe,
 * of which that is not known, when it ends. */
static void claims_cost_nothing(void)
{
    static unsigned char bytes[65536];
    long before = peak_kib();
    int fd = claim(), ends[2];
    ssize_t n;
    tg_model m;
    tg_err err;

    CHECK_EQ(tg_model_read(&m, fd, true, NULL, NULL, &err), TG_EDATA);
    CHECK_HAS(err.message, "the config needs 5368");
    CHECK_HAS(err.message, "bytes of weights, the file holds at most ");
    CHECK(lseek(fd, 0, SEEK_SET) == 0 && pipe(ends) == 0);
    n = read(fd, bytes, sizeof bytes);
    CHECK(n > 8192 && n < (ssize_t)sizeof bytes && write(ends[1], bytes, (size_t)n) == n);
    close(ends[1]);
    CHECK_EQ(tg_model_read(&m, ends[0], true, NULL, NULL, &err), TG_EDATA);
    CHECK_HAS(err.message, "wpe.weight is missing");
    CHECK(peak_kib() - before < 100 * 1024);
    close(ends[0]);
    close(fd);
}

static void presets_have_names(void)
{
    char joined[512] = "";

    for (size_t i = 0; tg_config_preset_name(i); i++) {
        size_t used = strlen(joined);

        snprintf(joined + used, sizeof joined - used, "%s%s", i > 0 ? "|" : "", tg_config_preset_name(i));
    }
    CHECK(strcmp(joined, tg_config_presets()) == 0);
    CHECK(strcmp(tg_config_preset_name(TG_PRESET_DEFAULT), "baby") == 0);
}

/* Below the smallest normal float an epsilon may be 0 by the time that it is used. */
static void epsilon_is_a_float(void)
{
    const double bad[] = {0, -1e-5, 1e-40, 1e-300, 1.1, nan("")};
    static const double good[] = {1.2e-38, 1e-5, 1};
    tg_config c = tiny();
    tg_err err;

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        c.layer_norm_epsilon = bad[i];
        CHECK_EQ(tg_config_check(&c, &err), TG_EDATA);
        CHECK_HAS(err.message, "layer_norm_epsilon must be between 1.17549e-38 and 1, got ");
    }
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        c.layer_norm_epsilon = good[i];
        CHECK_OK(tg_config_check(&c, &err), &err);
    }
}

static void tests(void)
{
    RUN(gradients_gpt2);
    RUN(gradients_where_not_all_are_predicted);
    RUN(gradients_tinygpt);
    RUN(gradients_nanogpt_without_biases);
    RUN(gradients_with_silu);
    RUN(gradients_untied_with_head_bias);
    RUN(gradients_with_dropout);
    RUN(gradients_add_up);
    RUN(same_bits_at_any_thread_count);
    RUN(gradients_in_bf16);
    RUN(blocks_may_share_x2);
    RUN(inference_is_the_forward_pass);
    RUN(sequences_together);
    RUN(packed_matrices);
    RUN(long_prompts);
    RUN(what_packing_cannot_hold);
}

/* What no kernel computes. */
static void tests_without_kernels(void)
{
    RUN(parameter_counts);
    RUN(table_entries_do_not_overlap);
    RUN(initialisation);
    RUN(archive_round_trip);
    RUN(weights_must_be_finite);
    RUN(heads_must_divide);
    RUN(claims_cost_nothing);
    RUN(presets_have_names);
    RUN(epsilon_is_a_float);
}

int main(int argc, char **argv)
{
    if (argc < 2 || strcmp(argv[1], "portable") == 0) /* once, with the set that every machine has */
        tests_without_kernels();
    return check_each_isa(argc, argv, tests);
}
