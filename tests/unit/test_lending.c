/*
 * A lent model computes what the same model in memory does, bit for bit, whatever its files hold; a value
 * that is not finite is found when it is used.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/attn/derivation.h"
#include "lib/base/convert.h"
#include "lib/gpt/adapter.h"
#include "lib/gpt/infer.h"
#include "lib/gpt/pass.h"
#include "lib/gpt/sample.h"
#include "lib/models/model_open.h"
#include "tests/unit/check.h"
#include "tests/unit/gguf_written.h"
#include "tests/unit/hf_written.h"

#define N ((size_t)9)

static const int32_t ids[] = {7, 200, 7, 31, 255, 0, 9, 31, 64}, targets[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};

static void lend(tg_model *m, const char *path)
{
    tg_model_file f;
    tg_err err = {0};

    CHECK_OK(tg_model_file_open(&f, path, NULL, &err), &err);
    CHECK_OK(tg_model_file_lend(m, &f, &err), &err);
}

/* ---- values */

static void same_entry(const tg_model *want, const tg_model *lent, size_t i)
{
    const size_t n = want->table.entry[i].count;
    const tg_bf16 *halves = tg_model_values16(lent, i);

    CHECK(memcmp(want->weight[i], tg_model_values(lent, i), n * sizeof(float)) == 0);
    for (size_t e = 0; halves && e < n; e++)
        CHECK(want->weight[i][e] == tg_float_from_bf16(halves[e]));
}

/* Rows before the whole, and after it. */
static void same_values(const tg_model *want, const tg_model *lent)
{
    const size_t C = want->config.n_embd;
    const float *wte = tg_model_weight(want, TG_WTE, 0);

    for (size_t turn = 0; turn < 2; turn++) {
        const float *rows = tg_model_embedding(lent, ids, N);

        for (size_t t = 0; t < N; t++)
            CHECK(memcmp(rows + (size_t)ids[t] * C, wte + (size_t)ids[t] * C, C * sizeof *wte) == 0);
        for (size_t i = 0; i < want->table.n; i++)
            same_entry(want, lent, turn == 0 ? i : want->table.n - 1 - i);
    }
}

/* ---- what is computed */

struct passes {
    tg_infer infer;
    tg_pass pass;
    float *logits;
};

struct placement {
    struct passes *p;
    const tg_model *m;
};

static void place(tg_arena *arena, void *context)
{
    const struct placement *to = context;

    tg_infer_place(arena, &to->p->infer, to->m, N, 0, 0);
    tg_pass_place(arena, &to->p->pass, to->m, &(tg_pass_size){.B = 1, .T = N});
    to->p->logits = tg_arena_take_rows(arena, N, to->m->config.vocab_size, sizeof(float));
}

/* Logits [V] after n tokens, and the losses [N], into out. */
static void run(float *out, const tg_model *m, size_t n)
{
    const size_t V = m->config.vocab_size;
    struct passes p;
    tg_arena arena;
    tg_err err = {0};

    CHECK_OK(tg_arena_build(&arena, place, &(struct placement){&p, m}, &err), &err);
    tg_infer_run(&p.infer, ids, n, p.logits);
    memcpy(out, p.logits, V * sizeof *out);
    tg_pass_begin(&p.pass, ids);
    (void)tg_pass_layers(&p.pass, 0, tg_layers_end(&p.pass.acts), NULL);
    (void)tg_pass_loss(&p.pass, targets);
    memcpy(out + V, p.pass.losses, N * sizeof *out);
    tg_arena_free(&arena);
}

static void same_passes(const tg_model *want, const tg_model *lent)
{
    const size_t n = want->config.vocab_size + N;
    float *x = malloc(n * sizeof *x), *y = malloc(n * sizeof *y);

    for (size_t tokens = 1; tokens <= N; tokens += N - 1) {
        run(x, want, tokens);
        run(y, lent, tokens);
        CHECK(memcmp(x, y, n * sizeof *x) == 0);
    }
    free(x);
    free(y);
}

static void same_derivation(const tg_model *want, const tg_model *lent)
{
    const tg_derive_what what = {.layer = 0, .at = {0, 1, 5, 2}, .backward = true, .target = 3};
    tg_attn_layers layers[2];
    tg_derivation d[2];
    tg_err err = {0};

    for (size_t i = 0; i < 2; i++) {
        CHECK_OK(tg_attn_layers_model(&layers[i], i == 0 ? want : lent, ids, N, &err), &err);
        CHECK_OK(tg_derive(&d[i], &layers[i], &what, &err), &err);
    }
    CHECK(memcmp(d[0].datt, d[1].datt, layers[0].D * sizeof *d->datt) == 0);
    CHECK(d[0].output.out == d[1].output.out && d[0].t.max == d[1].t.max);
    for (size_t i = 0; i < 2; i++) {
        tg_derivation_free(&d[i]);
        tg_attn_layers_close(&layers[i]);
    }
}

static void generate(int32_t *out, const tg_model *m, tg_weight_type type)
{
    const tg_sampling greedy = {.greedy = true};
    tg_generator g;
    tg_err err = {0};

    CHECK_OK(tg_generator_open(&g, m, type, 1, 2 * N, &err), &err);
    (void)tg_generator_begin(&g, ids, N);
    for (size_t t = 0; t < N; t++) {
        CHECK_OK(tg_generator_next(&g, t + 1 < N, &greedy, &err), &err);
        out[t] = g.ids[0];
    }
    tg_generator_close(&g);
}

static void same_texts(const tg_model *want, const tg_model *lent)
{
    for (tg_weight_type type = TG_WEIGHT_FLOAT32; type <= TG_WEIGHT_INT8; type++) {
        int32_t x[N], y[N];

        generate(x, want, type);
        generate(y, lent, type);
        CHECK(memcmp(x, y, sizeof x) == 0);
    }
}

static void same_model(const char *path)
{
    tg_model want, lent;
    tg_err err = {0};

    CHECK_OK(tg_model_open(&want, path, &err), &err);
    lend(&lent, path);
    same_passes(&want, &lent);
    same_values(&want, &lent);
    same_passes(&want, &lent);
    same_derivation(&want, &lent);
    same_texts(&want, &lent);
    CHECK_OK(tg_model_check_lent(&lent, &err), &err);
    tg_model_free(&want);
    tg_model_free(&lent);
}

/* ---- files */

static void hf(tg_config c, tg_write_type type)
{
    const tg_write_options o = {.type = type};
    tg_model_file f;

    hf_open_model(&f, &c);
    hf_write_directory(&f, &o);
    tg_model_file_close(&f);
    same_model(hf_directory);
}

static void directories(void)
{
    tg_config c = hf_base("llama");

    hf(c, TG_WRITE_F32); /* used where they are */
    hf(c, TG_WRITE_BF16);
    hf(c, TG_WRITE_F16);
    c.tied = c.qkv_bias = c.out_bias = c.mlp_bias = true;
    hf(c, TG_WRITE_BF16);
    c = hf_base("gemma3");
    c.qk_norm = c.tied = true;
    hf(c, TG_WRITE_F16);
    c = hf_base("gpt_neox"); /* q, k and v are in one tensor, by head */
    c.rope_dim = 2;
    hf(c, TG_WRITE_BF16);
}

static void gguf(const char *family, tg_write_type type)
{
    const tg_config c = gguf_base(family);
    const tg_write_options o = {.type = type};
    tg_model_file f;

    hf_open_model(&f, &c);
    gguf_write_file(&f, &o);
    tg_model_file_close(&f);
    same_model(hf_in_directory("model.gguf"));
    unlink(hf_in_directory("model.gguf"));
}

static void ggufs(void)
{
    gguf("llama", TG_WRITE_BF16); /* rows of q and k are in another order */
    gguf("qwen2", TG_WRITE_BF16);
    gguf("gpt_neox", TG_WRITE_Q8_0);
}

/* ---- a head that is read by rows */

/* Open hf_directory with an adapter to its matrices, lent or not; *a is the model's. */
static void open_adapted(tg_model *m, tg_adapter **a, bool lent)
{
    tg_adapter_shape shape = {.rank = 2, .alpha = 4};
    tg_model_file f;
    tg_err err = {0};

    CHECK_OK(tg_model_file_open(&f, hf_directory, NULL, &err), &err);
    shape.targets = tg_adapter_all_targets(&f.table);
    CHECK_OK(tg_model_file_adapt(&f, a, &err), &err);
    CHECK_OK(tg_adapter_create(*a, &f.table, &shape, &err), &err);
    check_fill((*a)->params, (*a)->table.floats, 3, 0.3);
    CHECK_OK(lent ? tg_model_file_lend(m, &f, &err) : tg_model_file_to_model(m, &f, false, &err), &err);
    m->adapter = *a;
}

/* Losses [N], and the gradients of the adapter, into out. */
static void train(float *out, const tg_model *m, tg_precision precision)
{
    const tg_pass_size size = {.B = 1, .T = N, .gradients = true, .precision = precision};
    tg_arena arena = {0};
    tg_pass pass;
    tg_err err = {0};

    tg_pass_place(&arena, &pass, m, &size);
    CHECK_OK(tg_arena_alloc(&arena, &err), &err);
    tg_pass_place(&arena, &pass, m, &size);
    (void)tg_pass_run(&pass, ids, targets, out + N, 1);
    memcpy(out, pass.losses, N * sizeof *out);
    tg_arena_free(&arena);
}

/* Of the head's size: all in memory, lent, and by rows. */
static void same_training(bool is_split)
{
    tg_model want, lent;
    tg_adapter *a[2];
    tg_err err = {0};
    float *x, *y;
    size_t n, bytes;

    open_adapted(&want, &a[0], false);
    open_adapted(&lent, &a[1], true);
    bytes = lent.lent_bytes;
    tg_model_split_head(&lent);
    CHECK_EQ(lent.head_is_split, is_split);
    CHECK_EQ(lent.lent_bytes < bytes, is_split);
    n = N + a[0]->table.floats;
    x = calloc(n, sizeof *x);
    y = calloc(n, sizeof *y);
    for (tg_precision p = TG_PRECISION_FLOAT32; p <= TG_PRECISION_BF16; p++)
        for (size_t turn = 0; turn < 2; turn++) {
            train(x, &want, p);
            train(y, &lent, p);
            CHECK(memcmp(x, y, n * sizeof *x) == 0);
        }
    CHECK_OK(tg_model_check_lent(&lent, &err), &err);
    free(x);
    free(y);
    tg_model_free(&want);
    tg_model_free(&lent);
}

/* Large enough for three strips, with logits that are near one another: all count. */
static tg_config with_large_head(const char *family, bool tied)
{
    tg_config c = hf_base(family);

    c.vocab_size = 363637; /* no multiple of a part */
    c.tied = tied;
    c.qk_norm = strcmp(family, "gemma3") == 0;
    return c;
}

static void write_model(tg_config c, tg_write_type type)
{
    const tg_write_options o = {.type = type};
    tg_model_file f;

    hf_open_model(&f, &c);
    hf_write_directory(&f, &o);
    tg_model_file_close(&f);
}

static void head_by_rows(void)
{
    write_model(with_large_head("gemma3", true), TG_WRITE_F16);
    same_training(true);
    write_model(with_large_head("llama", false), TG_WRITE_F16);
    same_training(true);
    write_model(with_large_head("llama", true), TG_WRITE_BF16); /* used where it is */
    same_training(false);
}

/* ---- values that are not finite */

/* Write the model, with a NaN as element e of a tensor of the last layer that has one, which is found by its
 * values. */
static void write_damaged(tg_param_kind kind, size_t e)
{
    const tg_config c = hf_base("llama");
    const tg_write_options o = {.type = TG_WRITE_BF16};
    const tg_bf16 nan = 0x7FC0;
    unsigned char bytes[1 << 17];
    tg_model_file f;
    tg_model m;
    ssize_t n, at = 0;
    size_t i;
    int fd;

    hf_open_model(&f, &c);
    hf_write_directory(&f, &o);
    tg_model_file_close(&f);
    lend(&m, hf_directory);
    i = tg_params_index(&m.table, kind, kind == TG_WTE ? 0 : 1);
    fd = open(hf_in_directory("model.safetensors"), O_RDWR);
    n = read(fd, bytes, sizeof bytes);
    while (at + 24 < n && memcmp(bytes + at, tg_model_values16(&m, i), 24) != 0)
        at += 2;
    CHECK_EQ(pwrite(fd, &nan, sizeof nan, at + 2 * (ssize_t)e), sizeof nan);
    close(fd);
    tg_model_free(&m);
}

static void is_told(const char *name, tg_status status, const tg_err *err)
{
    CHECK_EQ(status, TG_EDATA);
    CHECK_HAS(err->message, name);
    CHECK_HAS(err->message, "] is nan: it must be finite");
}

/* It is found in the layer that needs it. */
static void a_matrix(void)
{
    const char *name = "model.layers.1.mlp.gate_proj.weight[3";
    const tg_derive_what deep = {.layer = 0, .backward = true};
    tg_packed_model packed;
    tg_model m;
    tg_attn_layers layers;
    tg_attn_layer layer;
    tg_derivation d;
    tg_err err = {0};

    write_damaged(TG_GATE_W, 3);
    lend(&m, hf_directory);
    CHECK_OK(tg_attn_layers_model(&layers, &m, ids, N, &err), &err);
    CHECK(tg_attn_layers_next(&layers, &layer) && tg_attn_layers_next(&layers, &layer));
    CHECK_OK(tg_attn_layers_check(&layers, &err), &err); /* the attention of layer 1 does not need it */
    tg_attn_layers_close(&layers);
    CHECK_OK(tg_attn_layers_model(&layers, &m, ids, N, &err), &err);
    is_told(name, tg_derive(&d, &layers, &deep, &err), &err);
    tg_attn_layers_close(&layers);
    is_told(name, tg_model_check_lent(&m, &err), &err);
    CHECK_OK(tg_attn_layers_model(&layers, &m, ids, N, &err), &err);
    CHECK(!tg_attn_layers_next(&layers, &layer));
    is_told(name, tg_attn_layers_check(&layers, &err), &err);
    tg_attn_layers_close(&layers);
    tg_model_free(&m);

    for (tg_weight_type type = TG_WEIGHT_FLOAT32; type <= TG_WEIGHT_INT8; type++) {
        lend(&m, hf_directory);
        is_told(name, tg_packed_model_create(&packed, &m, type, &err), &err);
        tg_model_free(&m);
    }
}

/* Before the model is used. */
static void a_vector(void)
{
    tg_model_file f;
    tg_model m;
    tg_err err = {0};

    write_damaged(TG_LN2_W, 11);
    CHECK_OK(tg_model_file_open(&f, hf_directory, NULL, &err), &err);
    is_told("model.layers.1.post_attention_layernorm.weight[11", tg_model_file_lend(&m, &f, &err), &err);
}

/* Of a token that is in the text. */
static void a_token(void)
{
    const size_t C = 12;
    tg_generator g;
    tg_model m;
    tg_err err = {0};

    for (int32_t token = 30; token <= 31; token++) {
        write_damaged(TG_WTE, (size_t)token * C);
        lend(&m, hf_directory);
        CHECK_OK(tg_generator_open(&g, &m, TG_WEIGHT_BF16, 1, 2 * N, &err), &err);
        (void)tg_generator_begin(&g, ids, N);
        if (token == 31)
            is_told("model.embed_tokens.weight[372", tg_model_check_lent(&m, &err), &err);
        else
            CHECK_OK(tg_model_check_lent(&m, &err), &err);
        tg_generator_close(&g);
        tg_model_free(&m);
    }
}

int main(void)
{
    if (!hf_begin())
        return 1;
    RUN(directories);
    RUN(ggufs);
    RUN(head_by_rows);
    RUN(a_matrix);
    RUN(a_vector);
    RUN(a_token);
    return hf_done();
}
