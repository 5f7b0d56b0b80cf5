/*
 * Llama and its relatives, and a family of tests alone, tests/unit/family_grouped.c, whose blocks have
 * another shape than GPT-2's, through all that runs GPT-2: trained, decoded, dumped, traced, ablated and
 * stored.
 *
 * It is compared with the plain model (lib/gpt/plain_llama.h).
 */
#define _GNU_SOURCE /* memfd_create */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/attn/derivation.h"
#include "lib/base/threads.h"
#include "lib/dump/dump_check.h"
#include "lib/dump/dump_read.h"
#include "lib/dump/dump_rows.h"
#include "lib/dump/dump_write.h"
#include "lib/gpt/infer.h"
#include "lib/gpt/packed.h"
#include "lib/gpt/pass.h"
#include "lib/heads/ablate.h"
#include "lib/models/model_archive.h"
#include "lib/train/trainer.h"
#include "tests/unit/check.h"
#include "tests/unit/family_grouped.h"
#include "tests/unit/ref_grouped.h"
#include "tests/unit/small_model.h"

const tg_family *const tg_families[] = {&tg_gpt2, &family_grouped, &tg_llama,    &tg_gemma3,  &tg_olmo2,
                                        &tg_neox, &tg_gemma2,      &tg_stablelm, &tg_nanochat};
const tg_page *const tg_pages[] = {&tg_gpt2_page,  &family_grouped_page, &tg_llama_page,
                                   &tg_gemma_page, &tg_gemma_page,       &tg_neox_page,
                                   &tg_gemma_page, &tg_stablelm_page,    &tg_nanochat_page};
const char tg_family_names[] = "gpt2|grouped|llama|gemma3|olmo2|gpt_neox|gemma2|stablelm|nanochat";

static tg_config config; /* of the test that runs */

enum { L = 2, H = 6, KV = 2, D = 4, INNER = 14, T = 5, V = 121, C_MAX = H * D };

static const int32_t ids[T] = {84, 111, 111, 98, 101}, targets[T] = {111, 32, 98, 101, 44};

static tg_config grouped(void)
{
    return (tg_config){.family = 1,
                       .n_layer = L,
                       .n_head = H,
                       .n_embd = 10,
                       .n_ctx = 8,
                       .vocab_size = V,
                       .layer_norm_epsilon = 1e-5,
                       .n_kv_head = KV,
                       .head_dim = D,
                       .n_inner = INNER,
                       .rope_theta = 100};
}

/* The models that each test runs through. */
static tg_config config_of(size_t i)
{
    tg_config c = grouped();

    if (i == 0)
        return c;
    c.family = 2;
    c.activation = TG_SILU;
    c.rope_factor = c.rope_low_freq = c.rope_high_freq = c.embed_scale = 1;
    c.rope_ctx = 1;
    switch (i) {
    case 1: /* Llama */
        break;
    case 2: /* Qwen3, tied */
        c.qk_norm = c.tied = true;
        break;
    case 3: /* Qwen2, one head of keys */
        c.qkv_bias = true;
        c.n_kv_head = 1;
        break;
    case 4: /* all biases, a wavelength in each of llama3's ranges */
        c.qkv_bias = c.out_bias = c.mlp_bias = true;
        c.rope_scaling = TG_ROPE_LLAMA3;
        c.rope_factor = 4;
        c.rope_ctx = 70;
        c.rope_low_freq = 2;
        c.rope_high_freq = 3;
        break;
    case 5: /* no grouping, GELU */
        c.n_kv_head = H;
        c.activation = TG_GELU_TANH;
        c.rope_scaling = TG_ROPE_LINEAR;
        c.rope_factor = 3;
        break;
    case 6: /* Gemma 1 */
        c.activation = TG_GELU_TANH;
        c.norm_offset = 1;
        c.embed_scale = sqrt(10);
        c.tied = true;
        break;
    case 7: /* Gemma 3 */
        c.family = 3;
        c.activation = TG_GELU_TANH;
        c.norm_offset = 1;
        c.embed_scale = sqrt(10);
        c.qk_norm = true;
        c.window = 2;
        c.window_layers = 1;
        c.rope_local_theta = 7;
        c.attn_scale = 0.4;
        c.attn_cap = 1.5;
        break;
    case 8:
        c.family = 4;
        c.qk_norm = true;
        break;
    case 9: /* Pythia */
        c.family = 5;
        c.activation = TG_GELU_ERF;
        c.n_embd = H * D; /* n_kv_head and head_dim are no settings of it */
        c.head_dim = c.n_kv_head = 0;
        c.embed_scale = 0;
        c.qkv_bias = c.out_bias = true;
        c.rope_dim = 2;
        break;
    case 10: /* Gemma 2 */
        c.family = 6;
        c.activation = TG_GELU_TANH;
        c.norm_offset = 1;
        c.embed_scale = sqrt(10);
        c.attn_cap = 1.5;
        c.final_logit_softcapping = 3;
        c.tied = true;
        break;
    case 11: /* StableLM */
        c.family = 7;
        c.n_embd = H * D; /* head_dim is no setting of it */
        c.head_dim = 0;
        c.embed_scale = 0;
        c.qkv_bias = true;
        c.rope_dim = 2;
        break;
    case 12: /* nanochat */
        c.family = 8;
        c.embed_scale = 0; /* no setting of it */
        c.activation = TG_RELU2;
        c.qk_norm = true;
        c.final_logit_softcapping = 3;
        break;
    case 13: /* the same without norms of q and k */
        c = config_of(12);
        c.qk_norm = false;
        break;
    case 14: /* Mistral's window, SmolLM3's layers without rotation */
        c.window = 2;
        c.window_layers = 3;
        c.unrotated_layers = 2;
        c.rope_dim = 2;
        break;
    }
    return c;
}
#define CONFIGS 15

static void create(tg_model *m, const tg_config *c)
{
    small_model_create(m, *c, 1);
    small_model_stir(m, 100, 0.5, 0.3);
}

/* ---- training */

struct setting {
    tg_model model;
    tg_pass pass;
    tg_arena arena;
    float *grads;
    ref_grouped ref;
};

static void set_up(struct setting *s, const tg_config *c, tg_precision precision)
{
    const tg_pass_size size = {.B = 1, .T = T, .gradients = true, .precision = precision};
    tg_err err;

    memset(s, 0, sizeof *s);
    create(&s->model, c);
    tg_pass_place(&s->arena, &s->pass, &s->model, &size);
    CHECK_OK(tg_arena_alloc(&s->arena, &err), &err);
    check_fill_arena(&s->arena); /* NaN everywhere */
    tg_pass_place(&s->arena, &s->pass, &s->model, &size);
    s->grads = malloc(s->model.table.floats * sizeof *s->grads);
    for (size_t i = 0; i < s->model.table.floats; i++)
        s->grads[i] = NAN;
    ref_grouped_open(&s->ref, &s->model, T);
}

static void tear_down(struct setting *s)
{
    free(s->grads);
    ref_grouped_close(&s->ref);
    tg_arena_free(&s->arena);
    tg_model_free(&s->model);
}

static double mean_loss(void *context)
{
    struct setting *s = context;

    return ref_grouped_loss(&s->ref, ids, targets) / T;
}

static void gradients_of(const tg_config *c, size_t step)
{
    struct setting s;

    set_up(&s, c, TG_PRECISION_FLOAT32);
    CHECK_NEAR(tg_pass_run(&s.pass, ids, targets, s.grads, 1), mean_loss(&s), 1e-5);
    small_model_check_gradients(&s.model.table, s.grads, s.ref.flat, step, mean_loss, &s);
    tear_down(&s);
}

static void gradients(void)
{
    gradients_of(&config, check_soak(SMALL_MODEL_STEP, 1));
}

/* What differs from those above: which tensors there are, and which heads add to one of keys. */
static void gradients_tied(void)
{
    const size_t step = check_soak(SMALL_MODEL_STEP, 1);
    tg_config c = config;

    c.tied = !c.tied;
    gradients_of(&c, step);
    if (c.n_kv_head > 0) {
        c.n_kv_head = 3;
        gradients_of(&c, step);
    }
}

/* A rounding to bf16 is 2^-9 of a number; gradients differ from float32's by a few of those, by more of them
 * where norms divide rounded results (Gemma, OLMo 2), or where gradients grow from layer to layer (StableLM).
 */
static void gradients_in_bf16(void)
{
    const tg_config c = config;
    struct setting s;
    double *want, apart = 0, size = 0;

    set_up(&s, &c, TG_PRECISION_FLOAT32);
    (void)tg_pass_run(&s.pass, ids, targets, s.grads, 1);
    want = calloc(s.model.table.floats, sizeof *want);
    for (size_t i = 0; i < s.model.table.floats; i++)
        want[i] = (double)s.grads[i];
    tear_down(&s);
    set_up(&s, &c, TG_PRECISION_BF16);
    CHECK_NEAR(tg_pass_run(&s.pass, ids, targets, s.grads, 1), mean_loss(&s), 0.02);
    for (size_t i = 0; i < s.model.table.floats; i++) {
        apart += pow((double)s.grads[i] - want[i], 2);
        size += want[i] * want[i];
    }
    CHECK(sqrt(apart / size) > 1e-4);
    CHECK_NEAR(sqrt(apart / size), 0,
               config.family == 3 || config.family == 4 || config.family >= 6 ? 0.04 : 0.02);
    free(want);
    tear_down(&s);
}

/* A window that no text reaches is none: the same kernels, and bits. */
static void wide_window(void)
{
    tg_config c = config;
    struct setting s[2];

    if (!tg_config_has(&c, TG_CONFIG_WINDOW))
        return;
    c.window = 0;
    set_up(&s[0], &c, TG_PRECISION_BF16);
    c.window = T;
    c.window_layers = 3;
    c.rope_local_theta = 0;
    set_up(&s[1], &c, TG_PRECISION_BF16);
    for (size_t i = 0; i < 2; i++)
        (void)tg_pass_run(&s[i].pass, ids, targets, s[i].grads, 1);
    CHECK(memcmp(s[0].grads, s[1].grads, s[0].model.table.floats * sizeof(float)) == 0);
    for (size_t i = 0; i < 2; i++)
        tear_down(&s[i]);
}

/* Only backward needs memory for gradients that heads add up. */
static void scratch_is_for_gradients(void)
{
    const tg_config c = config;
    small_decoder d;
    struct setting s;

    set_up(&s, &c, TG_PRECISION_FLOAT32);
    small_decoder_open(&d, &s.model, T, 1, T);
    CHECK_EQ(d.infer.acts.attention.each, d.infer.acts.attention.kernel);
    CHECK_EQ(s.pass.acts.attention.each > s.pass.acts.attention.kernel, tg_config_kv_heads(&c) < H);
    tg_arena_free(&d.arena);
    tear_down(&s);
}

static void trains(void)
{
    const tg_tokens text = {
        .count = 64,
        .width = 1,
        .data = (unsigned char
                     *)(uintptr_t) "to be or not to be to be or not to be to be or not to be to be or not"};
    const tg_config c = config;
    tg_step_report first = {0}, report = {0};
    tg_batches b;
    tg_trainer t;
    tg_model m;
    tg_run run;
    tg_err err;

    memset(&run, 0, sizeof run);
    small_model_create(&m, c, 1);
    CHECK_OK(tg_run_begin(&run, &m, &err), &err);
    run.settings.steps = 40;
    run.settings.batch = 4;
    run.settings.context = 8;
    run.settings.lr = 0.02;
    run.settings.warmup = 2;
    CHECK_OK(tg_batches_init(&b, &text, 1, 8, true, (tg_held_out){0.1, 1, NULL}, &err), &err);
    CHECK_OK(tg_trainer_open(&t, &run, &b, &tg_team_alone, &err), &err);
    for (size_t step = 0; step < 40; step++) {
        CHECK_OK(tg_trainer_step(&t, &report, &err), &err);
        if (step == 0)
            first = report;
    }
    CHECK_NEAR(first.loss, log(V), 0.1);
    CHECK(report.loss < log(V) / 2);
    tg_trainer_close(&t);
    tg_run_free(&run);
}

/* ---- decoding */

/* Three tokens, then one at a time: each one's logits, with the model's own matrices and packed ones. */
static void decoding(void)
{
    const tg_config c = config;
    tg_packed_model packed;
    small_decoder d;
    struct setting s;
    float logits[V];
    tg_err err;

    set_up(&s, &c, TG_PRECISION_FLOAT32);
    (void)mean_loss(&s);
    CHECK_OK(tg_packed_model_create(&packed, &s.model, TG_WEIGHT_FLOAT32, &err), &err);
    small_decoder_open(&d, &s.model, 3, 2, c.n_ctx);
    CHECK_EQ(d.infer.cache.width, tg_config_kv_heads(&c) * D);
    tg_infer_select(&d.infer, 1, 1);
    for (int round = 0; round < 2; round++) {
        d.infer.packed = round == 0 ? NULL : &packed;
        for (size_t t = 2; t < T; t++) {
            tg_infer_run(&d.infer, t == 2 ? ids : ids + t, t == 2 ? 3 : 1, logits);
            CHECK(check_distance64(logits, s.ref.logits + t * V, V) < 1e-5);
        }
        tg_infer_reset(&d.infer);
    }
    tg_packed_model_free(&packed);
    tg_arena_free(&d.arena);
    tear_down(&s);
}

/* ---- a tap reads, and replaces, any row; logits of any x */

struct lens {
    tg_pass *pass;
    size_t seen[L];  /* calls for each layer */
    float logits[V]; /* of the last token, from layer 0's x2 */
    bool silence;    /* zero GATED, so that the MLP adds nothing */
};

static bool look(void *context, tg_acts *a, size_t layer, size_t row)
{
    struct lens *lens = context;
    const tg_matrix m = tg_acts_row(a, layer, row);

    lens->seen[layer]++;
    if (layer == 0 && strcmp(a->family->act[row].name, "x2") == 0)
        memcpy(lens->logits, tg_pass_logits(lens->pass, tg_matrix_from(m, T - 1), 1), sizeof lens->logits);
    if (lens->silence &&
        (strcmp(a->family->act[row].name, "gated") == 0 || strcmp(a->family->act[row].name, "gelu") == 0 ||
         strcmp(a->family->act[row].name, "act") == 0))
        memset(m.data, 0, T * m.cols * sizeof(float));
    return true;
}

/* Zero a parameter of the reference, if the model has it. */
static void add_nothing(struct setting *s, tg_param_kind kind, size_t layer)
{
    const tg_params *table = &s->model.table;
    const size_t i = tg_params_index(table, kind, layer);

    if (i < table->n)
        memset(s->ref.flat + table->entry[i].offset, 0, table->entry[i].count * sizeof *s->ref.flat);
}

static void taps(void)
{
    const tg_config c = config;
    tg_arena arena = {0};
    tg_pass p;
    struct lens lens = {&p, {0}, {0}, false};
    struct setting s;
    double plain;
    tg_err err;

    set_up(&s, &c, TG_PRECISION_FLOAT32);
    tg_pass_place(&arena, &p, &s.model, &(tg_pass_size){.B = 1, .T = T});
    CHECK_OK(tg_arena_alloc(&arena, &err), &err);
    tg_pass_place(&arena, &p, &s.model, &(tg_pass_size){.B = 1, .T = T});
    tg_pass_begin(&p, ids);
    CHECK(tg_pass_layers(&p, 0, tg_layers_end(&p.acts), &(tg_tap){look, &lens}));
    plain = tg_pass_loss(&p, targets);
    CHECK_NEAR(plain, mean_loss(&s), 1e-5);
    CHECK(lens.seen[0] >= 11);
    CHECK_EQ(lens.seen[1], lens.seen[0]);

    /* the same by a model whose MLPs and second layer's attention add nothing */
    for (size_t l = 0; l < L; l++)
        add_nothing(&s, TG_FC_PROJ_W, l);
    lens.silence = true;
    tg_pass_begin(&p, ids);
    CHECK(tg_pass_layers(&p, 0, tg_layers_end(&p.acts), &(tg_tap){look, &lens}));
    CHECK_NEAR(tg_pass_loss(&p, targets), mean_loss(&s), 1e-5);
    CHECK(fabs(mean_loss(&s) - plain) > 1e-3);
    add_nothing(&s, TG_ATT_PROJ_W, 1);
    for (size_t l = 0; l < L; l++)
        add_nothing(&s, TG_FC_PROJ_B, l);
    add_nothing(&s, TG_ATT_PROJ_B, 1);
    (void)mean_loss(&s);
    CHECK(check_distance64(lens.logits, s.ref.logits + (T - 1) * V, V) < 1e-5);
    tg_arena_free(&arena);
    tear_down(&s);
}

/* ---- dumps */

static void check_stage(const tg_dump_layer *l, tg_attn_stage stage, const double *want, size_t n)
{
    CHECK(l->data[stage] != NULL);
    if (l->data[stage])
        CHECK(check_distance64(l->data[stage], want, n) < 2e-5);
}

/* Masked elements, after the query and before its window, have the mask's value, or probability 0. */
static void check_rows(const tg_dump_layer *l, tg_attn_stage stage, const double *want, float masked)
{
    const size_t window = tg_config_window(&config, l->number);

    for (size_t hi = 0; hi < H * T; hi++) {
        const size_t i = hi % T, first = window > 0 && i >= window ? i + 1 - window : 0;
        const float *row = l->data[stage] + hi * T;

        CHECK(check_distance64(row + first, want + hi * T + first, i + 1 - first) < 2e-5);
        for (size_t j = 0; j < T; j++)
            CHECK(row[j] == masked || (j >= first && j <= i));
    }
}

/* Rows computed from q and k alone are the dump's own. */
static void check_computed(const tg_dump *dump, const tg_dump_layer *l, tg_attn_stage show)
{
    const tg_dump_layer from_qk = {
        .number = l->number, .data = {[TG_ATTN_Q] = l->data[TG_ATTN_Q], [TG_ATTN_K] = l->data[TG_ATTN_K]}};
    double scratch[2 * T + 2 * D];
    float row[T], want[T];

    for (size_t h = 0; h < H; h++)
        for (size_t i = 0; i < T; i++) {
            tg_dump_row(row, dump, &from_qk, show, 0, h, i, scratch);
            tg_dump_row(want, dump, l, show, 0, h, i, scratch);
            CHECK(memcmp(row, want, (i + 1) * sizeof *row) == 0);
        }
}

static void dumps(void)
{
    const tg_dump_settings settings = {.stages = TG_DUMP_EVERY, .mask = TG_ATTN_INF};
    const int fd = memfd_create("dump", 0);
    tg_attn_layers layers;
    tg_dump dump;
    struct setting s;
    const tg_config c = config;
    tg_err err = {0};

    set_up(&s, &c, TG_PRECISION_FLOAT32);
    (void)mean_loss(&s);
    CHECK_OK(tg_attn_layers_model(&layers, &s.model, ids, T, &err), &err);
    CHECK_OK(tg_dump_write(fd, &layers, &settings, &err), &err);
    tg_attn_layers_close(&layers);
    CHECK_EQ(lseek(fd, 0, SEEK_SET), 0);
    CHECK_OK(tg_dump_read(&dump, fd, (tg_dump_want){TG_ATTN_ALL, TG_DUMP_EVERY, true}, &err), &err);
    CHECK(dump.n == L && dump.C == config.n_embd && dump.H == H && dump.KV == tg_config_kv_heads(&c) &&
          dump.D == D);
    for (size_t l = 0; l < L && dump.n == L; l++) {
        const ref_grouped_layer *want = &s.ref.layer[l];

        check_stage(&dump.layer[l], TG_ATTN_Q, want->q, T * H * D);
        check_stage(&dump.layer[l], TG_ATTN_K, want->k, T * tg_config_kv_heads(&c) * D);
        check_stage(&dump.layer[l], TG_ATTN_V, want->v, T * tg_config_kv_heads(&c) * D);
        check_stage(&dump.layer[l], TG_ATTN_ATT, want->att, T * H * D);
        check_rows(&dump.layer[l], TG_ATTN_SCORES, want->scores, -INFINITY);
        check_rows(&dump.layer[l], TG_ATTN_PROBS, want->probs, 0);
        check_computed(&dump, &dump.layer[l], TG_ATTN_SCORES);
        check_computed(&dump, &dump.layer[l], TG_ATTN_PROBS);
        CHECK(dump.layer[l].data[TG_ATTN_OUT] != NULL && dump.layer[l].data[TG_ATTN_QKV] == NULL);
    }
    tg_dump_free(&dump);
    close(fd);
    tear_down(&s);
}

/* ---- a trace */

static const int32_t last_target[T] = {-1, -1, -1, -1, 120};

/* The slope of the prediction's loss in element i of the layer's weighted sums. */
static double slope(struct setting *s, size_t l, size_t i)
{
    const double h = 1e-5;
    double att[T * H * D], x[T * C_MAX], up;

    memcpy(att, s->ref.layer[l].att, sizeof att);
    memcpy(x, s->ref.layer[l].x, T * config.n_embd * sizeof *x);
    att[i] += h;
    up = ref_grouped_loss_from(&s->ref, l, x, att, last_target);
    att[i] -= 2 * h;
    return (up - ref_grouped_loss_from(&s->ref, l, x, att, last_target)) / (2 * h);
}

static void trace_of(struct setting *s, size_t l, size_t h)
{
    const tg_derive_what what = {.layer = l, .at = {0, h, T - 1, 2}, .backward = true, .target = 120};
    const size_t kv = tg_config_kv_heads(&s->model.config), g = h * kv / H;
    tg_attn_layers layers;
    tg_derivation d;
    double largest = 0;
    tg_err err = {0};

    CHECK_OK(tg_attn_layers_model(&layers, &s->model, ids, T, &err), &err);
    CHECK_OK(tg_derive(&d, &layers, &what, &err), &err);
    CHECK_NEAR(d.g.loss, ref_grouped_loss(&s->ref, ids, last_target), 2e-5);
    CHECK(d.q_base == ((T - 1) * H + h) * D && d.k_base == (2 * kv + g) * D &&
          d.offset == (h * T + T - 1) * T + 2);
    for (size_t j = 0; j < T; j++)
        CHECK_NEAR(d.t.scores[j], s->ref.layer[l].scores[(h * T + T - 1) * T + j], 2e-5);
    for (size_t i = 0; i < D; i++) {
        CHECK_NEAR(d.datt[i], slope(s, l, ((T - 1) * H + h) * D + i), 2e-5);
        largest = fmax(largest, fabs(d.datt[i]));
        (void)ref_grouped_loss(&s->ref, ids, last_target);
    }
    CHECK(largest > 1e-3);
    tg_derivation_free(&d);
    tg_attn_layers_close(&layers);
}

static void traces(void)
{
    const tg_config c = config;
    struct setting s;

    set_up(&s, &c, TG_PRECISION_FLOAT32);
    for (size_t l = 0; l < L; l++)
        for (size_t h = 0; h < H; h++)
            trace_of(&s, l, h);
    tear_down(&s);
}

/* ---- heads that are silenced: zeros in the rows of the projection that read them */

/* Zero what reads a head's channels in W [H*D,C], or [C,H*D]. */
static void silence(double *w, bool transposed, size_t head)
{
    for (size_t i = head * D; i < (head + 1) * D; i++)
        for (size_t c = 0; c < config.n_embd; c++)
            w[transposed ? c * H * D + i : i * config.n_embd + c] = 0;
}

static void ablation(void)
{
    static const tg_ablate_head every[] = {{0, 1}, {0, 5}, {1, 0}, {1, 3}};
    const tg_ablate_heads heads = {every, 4, true, NULL};
    const tg_config c = config;
    tg_tokens_stream stream;
    tg_ablate a;
    struct setting s;
    tg_err err = {0};
    int32_t text[T + 1];

    memcpy(text, ids, sizeof ids);
    text[T] = targets[T - 1];
    set_up(&s, &c, TG_PRECISION_FLOAT32);
    CHECK_OK(tg_ablate_open(&a, &s.model, &heads, &err), &err);
    tg_tokens_stream_open_ids(&stream, s.model.tokenizer, text, T + 1);
    CHECK_OK(tg_ablate_run(&a, &stream, NULL, NULL, &err), &err);
    for (size_t i = 0; i < 4; i++) {
        const tg_params *table = &s.model.table;
        const tg_param *p = &table->entry[tg_params_index(table, TG_ATT_PROJ_W, every[i].layer)];
        double kept[H * D * C_MAX];

        memcpy(kept, s.ref.flat + p->offset, p->count * sizeof *kept);
        silence(s.ref.flat + p->offset, p->transposed, every[i].head);
        CHECK_NEAR(tg_ablate_loss(&a, i), ref_grouped_loss(&s.ref, ids, text + 1) / T, 1e-5);
        memcpy(s.ref.flat + p->offset, kept, p->count * sizeof *kept);
        CHECK(fabs(tg_ablate_loss(&a, i) - tg_ablate_baseline(&a)) > 1e-4);
    }
    tg_tokens_stream_close(&stream);
    tg_ablate_close(&a);
    tear_down(&s);
}

/* ---- files */

static void is_stored(void)
{
    const tg_config c = config;
    tg_model m, back;
    tg_err err;
    int fd = memfd_create("model", 0);

    create(&m, &c);
    CHECK_OK(tg_model_write(&m, fd, &err), &err);
    CHECK_EQ(lseek(fd, 0, SEEK_SET), 0);
    CHECK_OK(tg_model_read(&back, fd, true, NULL, NULL, &err), &err);
    CHECK(tg_config_family(&back.config) == tg_families[c.family]);
    CHECK(small_config_equal(&back.config, &m.config));
    CHECK_EQ(back.table.n, m.table.n);
    for (size_t i = 0; i < m.table.n; i++)
        CHECK(memcmp(back.weight[i], m.weight[i], m.table.entry[i].count * sizeof *m.weight[i]) == 0);
    tg_model_free(&back);
    tg_model_free(&m);
    close(fd);
}

/* Widths of their own, shared keys, and rotations leave no other reading of the parameters. */
static void heads_are_fixed(void)
{
    const tg_config c = config;
    tg_model m;
    tg_err err = {0};

    create(&m, &c);
    CHECK_OK(tg_model_set_heads(&m, H, &err), &err);
    CHECK_EQ(tg_model_set_heads(&m, 2, &err), TG_EUSAGE);
    CHECK_HAS(err.message, "the 6 heads of the family ");
    CHECK(small_config_equal(&m.config, &c));
    tg_model_free(&m);
}

static void expect_refused(const tg_config *c, const char *what)
{
    tg_err err = {0};

    CHECK_EQ(tg_config_check(c, &err), TG_EDATA);
    CHECK_HAS(err.message, what);
}

static void settings_are_checked(void)
{
    tg_config c = grouped();

    c.n_kv_head = 4;
    expect_refused(&c, "config/n_kv_head is 4, expected a divisor of config/n_head, 6");
    c = grouped();
    c.head_dim = TG_SIZE_LIMIT / 2;
    expect_refused(&c, "6 heads of 8388608 channels, expected at most 16777216 channels in all");
    c = grouped();
    c.n_inner = 0;
    expect_refused(&c, "config/n_inner must be between 1 and");
}

static void tests(void)
{
    RUN(gradients);
    RUN(gradients_tied);
    RUN(gradients_in_bf16);
    RUN(wide_window);
    RUN(scratch_is_for_gradients);
    RUN(trains);
    RUN(decoding);
    RUN(taps);
    RUN(dumps);
    RUN(traces);
    RUN(ablation);
    RUN(is_stored);
    RUN(heads_are_fixed);
}

int main(void)
{
    for (size_t i = 0; i < CONFIGS; i++) {
        printf("# config %zu, family %s\n", i, tg_families[config_of(i).family]->name);
        config = config_of(i);
        tests();
    }
    RUN(settings_are_checked);
    return check_done();
}
