/*
 * Models in other projects' files: names, layouts and types, what is missing or too much; what is written
 * is read again.
 */
#define _GNU_SOURCE /* memfd_create */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/archive.h"
#include "formats/safetensors.h"
#include "lib/base/convert.h"
#include "lib/models/model_archive.h"
#include "lib/models/model_file.h"
#include "lib/models/model_format.h"
#include "lib/models/model_open.h"
#include "lib/models/writing.h"
#include "lib/text/bare_ids.h"
#include "lib/tokens/stream.h"
#include "tests/unit/check.h"
#include "tests/unit/deflated.h"
#include "tests/unit/failing.h"
#include "tests/unit/refusing.h"
#include "tests/unit/small_model.h"

/* ---- a directory for the files of a test */

static char directory[] = "/tmp/test_model_file.XXXXXX";
static char path[4096];

static const char *in_directory(const char *name)
{
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

static bool is_foreign(const char *name)
{
    bool foreign = false;
    tg_err err;

    CHECK_OK(tg_model_file_is_foreign(name, &foreign, &err), &err);
    return foreign;
}

static void clean(void)
{
    static const char *const names[] = {
        "model.safetensors", "config.json",   "tokenizer.json", "model.npz",
        "names.txt",         "a.safetensors", "b.safetensors",  "model.safetensors.index.json"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        unlink(in_directory(names[i]));
}

static void write_text(const char *name, const char *text)
{
    FILE *file = fopen(in_directory(name), "w");

    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

/* ---- what other projects save of a model */

#define LIST_MAX 128

typedef struct list {
    tg_array array[LIST_MAX];
    void *bytes[LIST_MAX];
    size_t n;
} list;

/* Append an array; returns its bytes, zeros. */
static void *list_add(list *l, const char *name, tg_dtype dtype, size_t ndim, const size_t *shape)
{
    tg_array *a = &l->array[l->n];

    *a = (tg_array){.dtype = dtype, .ndim = ndim};
    strcpy(a->name, name);
    for (size_t i = 0; i < ndim; i++)
        a->shape[i] = shape[i];
    CHECK(tg_array_measure(a) && l->n < LIST_MAX);
    l->bytes[l->n] = calloc(1, a->bytes + 1);
    return l->bytes[l->n++];
}

static size_t list_find(const list *l, const char *name)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->array[i].name, name) == 0)
            return i;
    fprintf(stderr, "%s is not in the list\n", name);
    CHECK(false);
    return 0;
}

static void list_free(list *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->bytes[i]);
    *l = (list){0};
}

/* |x| is 0 or in [2^-10, 4) and a multiple of 2^-10. */
static uint16_t half_of(float x)
{
    int exponent;
    const float fraction = frexpf(fabsf(x), &exponent); /* in [0.5, 1) */
    const unsigned sign = x < 0 ? 0x8000 : 0;

    if (x == 0)
        return 0;
    return (uint16_t)(sign | (unsigned)(exponent + 14) << 10 | ((unsigned)(fraction * 2048) & 0x3FF));
}

static void store(void *bytes, tg_dtype dtype, size_t i, float x)
{
    uint32_t bits;
    uint16_t half = half_of(x);

    memcpy(&bits, &x, sizeof bits);
    if (dtype.size == 8)
        ((double *)bytes)[i] = (double)x;
    else if (dtype.size == 4)
        ((float *)bytes)[i] = x;
    else if (dtype.kind == 'B')
        ((uint16_t *)bytes)[i] = (uint16_t)(bits >> 16);
    else
        ((uint16_t *)bytes)[i] = half;
}

static bool is_linear(const tg_param *p)
{
    return p->ndim == 2 && p->kind != TG_WTE && p->kind != TG_WPE && p->kind != TG_HEAD_W;
}

/* Every tensor of m, last first, under `prefix`; matrices of linear layers as [out,in] if so wished. */
static void list_model(list *l, const tg_model *m, const char *prefix, tg_dtype dtype, bool out_in)
{
    for (size_t i = m->table.n; i-- > 0;) {
        const tg_param *p = &m->table.entry[i];
        const bool turn = out_in && is_linear(p);
        const size_t R = p->shape[0], C = p->shape[1], shape[2] = {turn ? C : R, turn ? R : C};
        char name[TG_NAME_MAX + 1];
        void *bytes;

        snprintf(name, sizeof name, "%s%s", prefix, p->name);
        bytes = list_add(l, name, dtype, p->ndim, shape);
        for (size_t r = 0; r < R; r++)
            for (size_t c = 0; c < C; c++)
                store(bytes, dtype, turn ? c * R + r : r * C + c, m->weight[i][r * C + c]);
    }
}

/* The file of a list. */
static void write_safetensors(const list *l, const char *name)
{
    const int fd = open(in_directory(name), O_RDWR | O_CREAT | O_TRUNC, 0600);
    tg_safetensors_writer w;
    tg_err err = {0};

    CHECK_OK(tg_safetensors_begin(&w, fd, l->array, l->n, &err), &err);
    for (size_t i = 0; i < l->n; i++)
        CHECK_OK(tg_safetensors_put(&w, l->bytes[i], l->array[i].bytes, &err), &err);
    tg_safetensors_end(&w);
    close(fd);
}

static void write_npz(const list *l, bool deflated)
{
    const int fd = open(in_directory("model.npz"), O_RDWR | O_CREAT | O_TRUNC, 0600);
    tg_archive_writer *w;
    tg_err err = {0};

    CHECK_OK(tg_archive_create(&w, fd, &err), &err);
    for (size_t i = 0; i < l->n; i++)
        CHECK_OK(tg_archive_put(w, l->array[i].name, l->array[i].dtype, l->array[i].ndim, l->array[i].shape,
                                l->bytes[i], &err),
                 &err);
    CHECK_OK(tg_archive_finish(w, &err), &err);
    tg_archive_abandon(w);
    if (deflated)
        deflate_archive(fd);
    close(fd);
}

/* A model whose parameters are multiples of 2^-`bits`. */
static tg_model make(bool tied, int bits)
{
    tg_config c = small_config(3, 2, 36, 40); /* widths that are no multiple of a tile */
    tg_model m;

    c.tied = tied;
    c.vocab_size = 300;
    small_model_create(&m, c, 1);
    small_model_stir(&m, 100, 0.9, 0.3);
    for (size_t i = 0; bits < 24 && i < m.table.floats; i++)
        m.params[i] = ldexpf(rintf(ldexpf(m.params[i], bits)), -bits) + 0.0f; /* no -0 */
    return m;
}

static const tg_model_ask two_heads = {.heads = 2};

/* Every parameter of `want`, and of no other, as it is and transposed. */
static void expect_values(const tg_model_file *f, const tg_model *want)
{
    tg_float_buffer buffer = {0};
    const float *x;
    tg_err err = {0};

    CHECK_EQ(f->table.n, want->table.n);
    for (size_t i = 0; i < want->table.n; i++) {
        const tg_param *p = &want->table.entry[i];
        const float *w = want->weight[i];

        CHECK_OK(tg_model_file_get(&x, &buffer, f, i, false, &err), &err);
        CHECK(memcmp(x, w, p->count * sizeof *x) == 0);
        tg_model_file_release(f, i);
        CHECK_OK(tg_model_file_get(&x, &buffer, f, i, true, &err), &err);
        for (size_t r = 0; p->ndim == 2 && r < p->shape[0]; r++)
            for (size_t c = 0; c < p->shape[1]; c++)
                CHECK(x[c * p->shape[0] + r] == w[r * p->shape[1] + c]);
    }
    free(buffer.x);
}

static void save_own(const tg_model *m)
{
    const int fd = open(in_directory("model.npz"), O_RDWR | O_CREAT | O_TRUNC, 0600);
    tg_err err = {0};

    CHECK_OK(tg_model_write(m, fd, &err), &err);
    close(fd);
}

static void expect_model(const char *name, const tg_model_ask *ask, const tg_model *want)
{
    for (int flat = 0; flat < 2; flat++) {
        tg_model_file f;
        tg_model got;
        tg_err err = {0};

        CHECK_OK(tg_model_file_open(&f, in_directory(name), ask, &err), &err);
        expect_values(&f, want);
        CHECK_OK(tg_model_file_to_model(&got, &f, flat, &err), &err);
        CHECK(!flat || got.params);
        CHECK_OK(tg_model_check_complete(&got, &err), &err);
        for (size_t i = 0; i < want->table.n; i++)
            CHECK(memcmp(got.weight[i], want->weight[i], want->table.entry[i].count * sizeof(float)) == 0);
        tg_model_free(&got);
    }
}

static void expect_refused(const char *name, const tg_model_ask *ask, tg_status code, const char *message)
{
    tg_model_file f;
    tg_err err = {0};

    CHECK_EQ(tg_model_file_open(&f, in_directory(name), ask, &err), code);
    CHECK_HAS(err.message, message);
    CHECK_HAS(err.message, directory);
    CHECK(!f.file && !f.values); /* nothing to close */
}

/* ---- whole models */

static void layouts(void)
{
    static const char *const prefixes[] = {"transformer.", "", "module._orig_mod.transformer."};

    for (int c = 0; c < 6; c++) {
        tg_model want = make(c % 2, 24);
        list l = {0};

        list_model(&l, &want, prefixes[c / 2], TG_F32, c % 2);
        list_add(&l, "transformer.h.0.attn.bias", (tg_dtype){'b', 1}, 4, (size_t[]){1, 1, 40, 40});
        list_add(&l, "transformer.h.0.attn.masked_bias", TG_F32, 0, NULL);
        write_safetensors(&l, "model.safetensors");
        expect_model("model.safetensors", &two_heads, &want);
        write_npz(&l, c / 2);
        expect_model("model.npz", &two_heads, &want);
        list_free(&l);
        tg_model_free(&want);
    }
    clean();
}

static void types(void)
{
    const struct {
        tg_dtype dtype;
        int bits;
    } types[] = {{TG_F16, 10}, {TG_BF16, 7}, {TG_F64, 24}};

    for (size_t i = 0; i < 6; i++) {
        tg_model want = make(true, types[i % 3].bits);
        list l = {0};

        list_model(&l, &want, "", types[i % 3].dtype, i < 3);
        write_safetensors(&l, "model.safetensors");
        expect_model("model.safetensors", &two_heads, &want);
        list_free(&l);
        tg_model_free(&want);
    }
    clean();
}

/* Mapped values are used where they are. */
static void in_place(void)
{
    tg_model want = make(true, 24), got;
    list l = {0};
    tg_model_file f;
    tg_err err = {0};

    list_model(&l, &want, "", TG_F32, false);
    write_safetensors(&l, "model.safetensors");
    CHECK_OK(tg_model_file_open(&f, in_directory("model.safetensors"), &two_heads, &err), &err);
    for (size_t i = 0; i < f.table.n; i++)
        CHECK(tg_model_file_direct(&f, i) != NULL);
    CHECK_EQ(tg_model_file_copied(&f), 0);
    CHECK_OK(tg_model_file_to_model(&got, &f, false, &err), &err);
    CHECK(!got.params);
    CHECK(strcmp(tg_tokenizer_kind_name(got.tokenizer), "ids") == 0);
    tg_model_free(&got);
    list_free(&l);
    tg_model_free(&want);
    clean();
}

/* Any vector that other layers have may be missing: gains are ones, biases zeros. */
static void each_missing_vector(void)
{
    tg_model want = make(true, 24);

    for (size_t i = 0; i < want.table.n; i++) {
        const tg_param *p = &want.table.entry[i];
        list l = {0};
        tg_model_file f;
        tg_float_buffer buffer = {0};
        const float *x;
        tg_err err = {0};

        if (p->ndim == 2 || p->layer > 1)
            continue;
        list_model(&l, &want, "", TG_F32, false);
        strcpy(l.array[list_find(&l, p->name)].name, "h.0.attn.masked_bias");
        write_safetensors(&l, "model.safetensors");
        CHECK_OK(tg_model_file_open(&f, in_directory("model.safetensors"), &two_heads, &err), &err);
        CHECK_EQ(f.notes.n, 2);
        CHECK_HAS(f.notes.line[1], p->name);
        CHECK_OK(tg_model_file_get(&x, &buffer, &f, i, false, &err), &err);
        for (size_t e = 0; e < p->count; e++)
            CHECK(x[e] == (strstr(p->name, "bias") ? 0 : 1));
        tg_model_file_close(&f);
        free(buffer.x);
        list_free(&l);
    }
    tg_model_free(&want);
    clean();
}

/* Three matrices instead of one, [in,out] and [out,in]. */
static void separate_qkv(void)
{
    static const char *const parts[] = {"q_proj", "k_proj", "v_proj"};
    tg_model_ask ask = two_heads;

    for (int out_in = 0; out_in < 2; out_in++) {
        tg_model want = make(true, 24);
        list l = {0}, split = {0};

        list_model(&l, &want, "", TG_F32, out_in);
        for (size_t i = 0; i < l.n; i++) {
            const tg_array *a = &l.array[i];
            const char *at = strstr(a->name, "c_attn");
            const size_t along = a->ndim == 1 || out_in ? 0 : 1, third = at ? a->shape[along] / 3 : 0;
            const size_t rows = along == 1 ? a->shape[0] : 1, width = at ? a->count / rows / 3 : 0;
            size_t shape[2] = {a->shape[0], a->shape[1]};

            if (!at)
                memcpy(list_add(&split, a->name, a->dtype, a->ndim, a->shape), l.bytes[i], a->bytes);
            for (size_t part = 0; at && part < 3; part++) {
                char name[TG_NAME_MAX + 1];
                float *to;

                snprintf(name, sizeof name, "%.*s%s%s", (int)(at - a->name), a->name, parts[part], at + 6);
                shape[along] = third;
                to = list_add(&split, name, a->dtype, a->ndim, shape);
                for (size_t r = 0; r < rows; r++)
                    memcpy(to + r * width, (float *)l.bytes[i] + (3 * r + part) * width, width * sizeof *to);
            }
        }
        write_safetensors(&split, "model.safetensors");
        ask.fuse_qkv = false;
        expect_refused("model.safetensors", &ask, TG_EUSAGE, "--fuse-qkv");
        ask.fuse_qkv = true;
        expect_model("model.safetensors", &ask, &want);
        strcpy(split.array[list_find(&split, "h.1.attn.k_proj.weight")].name, "h.1.attn.masked_bias");
        write_safetensors(&split, "model.safetensors");
        expect_refused("model.safetensors", &ask, TG_EDATA,
                       "h.1.attn.c_attn.weight: one of q, k, v is missing");
        list_free(&l);
        list_free(&split);
        tg_model_free(&want);
    }
    clean();
}

/* Biases and gains that are missing everywhere are not the model's; that are missing somewhere, constants. */
static void missing_vectors(void)
{
    tg_model want = make(true, 24);
    list l = {0}, some = {0};
    tg_model_file f;
    tg_float_buffer buffer = {0};
    const float *x;
    tg_err err = {0};

    list_model(&l, &want, "", TG_F32, false);
    for (size_t i = 0; i < l.n; i++)
        if (!strstr(l.array[i].name, ".bias") && strcmp(l.array[i].name, "h.1.ln_2.weight") != 0)
            memcpy(list_add(&some, l.array[i].name, l.array[i].dtype, l.array[i].ndim, l.array[i].shape),
                   l.bytes[i], l.array[i].bytes);
    memset(list_add(&some, "h.2.attn.c_attn.bias", TG_F32, 1, (size_t[]){108}), 0, 108 * 4);
    write_safetensors(&some, "model.safetensors");
    CHECK_OK(tg_model_file_open(&f, in_directory("model.safetensors"), &two_heads, &err), &err);
    CHECK(f.config.layer_norm_weight && !f.config.layer_norm_bias && f.config.linear_bias);
    CHECK_OK(tg_model_file_get(&x, &buffer, &f, tg_params_index(&f.table, TG_LN2_W, 1), false, &err), &err);
    for (size_t i = 0; i < 36; i++)
        CHECK(x[i] == 1);
    CHECK_OK(tg_model_file_get(&x, &buffer, &f, tg_params_index(&f.table, TG_FC_B, 1), false, &err), &err);
    for (size_t i = 0; i < 4 * 36; i++)
        CHECK(x[i] == 0);
    CHECK(f.notes.n > 2);
    tg_model_file_close(&f);
    free(buffer.x);
    list_free(&l);
    list_free(&some);
    tg_model_free(&want);
    clean();
}

/* ---- configs */

#define CONFIG(more)                                                                                         \
    "{\"model_type\": \"gpt2\", \"architectures\": [\"GPT2LMHeadModel\"], \"n_layer\": 3, \"n_head\": 2, "   \
    "\"n_embd\": 36, \"n_positions\": 40, \"vocab_size\": 300" more "}"

static void expect_config(const tg_model *want, const char *config, tg_activation activation, double epsilon,
                          bool tied, size_t notes)
{
    tg_model_file f;
    tg_err err = {0};

    write_text("config.json", config);
    CHECK_OK(tg_model_file_open(&f, in_directory(""), NULL, &err), &err);
    CHECK(f.config.n_head == 2 && f.config.activation == activation && f.config.tied == tied);
    CHECK(f.config.layer_norm_epsilon == epsilon);
    CHECK_EQ(f.notes.n, notes);
    if (f.table.n == want->table.n)
        expect_values(&f, want);
    tg_model_file_close(&f);
}

static void expect_bad_config(const char *config, const char *message)
{
    write_text("config.json", config);
    expect_refused("", NULL, TG_EDATA, message);
}

static void configs(void)
{
    static const char *const wrong_types[] = {"architectures",
                                              "pruned_heads",
                                              "scale_attn_weights",
                                              "scale_attn_by_inverse_layer_idx",
                                              "reorder_and_upcast_attn",
                                              "add_cross_attention",
                                              "n_layer",
                                              "n_head",
                                              "n_embd",
                                              "n_ctx",
                                              "n_positions",
                                              "vocab_size",
                                              "n_inner",
                                              "activation_function",
                                              "tie_word_embeddings"};
    static const tg_model_ask exact = {.activation = "gelu"};
    static char long_text[(1 << 20) + 2];
    tg_model want = make(true, 24);
    list l = {0};
    tg_model_file f;
    tg_err err = {0};

    memset(long_text, ' ', sizeof long_text - 1);
    list_model(&l, &want, "transformer.", TG_F32, false);
    write_safetensors(&l, "model.safetensors");
    expect_config(&want, CONFIG(""), TG_GELU_TANH, 1e-5, true, 0);
    expect_config(&want, CONFIG(", \"activation_function\": \"gelu\", \"n_inner\": 144"), TG_GELU_ERF, 1e-5,
                  true, 0);
    expect_config(&want,
                  CONFIG(", \"activation_function\": \"gelu_pytorch_tanh\", \"layer_norm_epsilon\": 1e-06"),
                  TG_GELU_TANH, 1e-6, true, 0);
    expect_config(&want, CONFIG(", \"reorder_and_upcast_attn\": true, \"n_inner\": null"), TG_GELU_TANH, 1e-5,
                  true, 1);
    write_text("config.json", CONFIG(", \"activation_function\": \"gelu\""));
    CHECK_OK(tg_model_file_open(&f, in_directory(""), &exact, &err), &err); /* which it says itself */
    CHECK(f.config.activation == TG_GELU_ERF);
    tg_model_file_close(&f);
    expect_bad_config(CONFIG(", \"activation_function\": \"gelu_fast\""), "gelu_fast");
    expect_bad_config(CONFIG(", \"scale_attn_weights\": false"), "scale_attn_weights");
    expect_bad_config(CONFIG(", \"scale_attn_by_inverse_layer_idx\": true"),
                      "scale_attn_by_inverse_layer_idx");
    expect_bad_config(CONFIG(", \"add_cross_attention\": true"), "add_cross_attention");
    expect_bad_config(CONFIG(", \"pruned_heads\": {\"0\": [1]}"), "pruned_heads");
    expect_bad_config(CONFIG(", \"quantization_config\": {}"), "quantization_config");
    expect_bad_config(CONFIG(", \"n_inner\": 100"), "\"n_inner\" is 100");
    expect_bad_config(CONFIG(", \"n_inner\": 99999999999999999999999"), "line 1");
    expect_bad_config(CONFIG(", \"layer_norm_epsilon\": 0"), "layer_norm_epsilon");
    expect_bad_config(CONFIG(", \"layer_norm_epsilon\": 1e999"), "beyond the range");
    expect_bad_config(CONFIG(", \"n_head\": 2"), "twice");
    for (size_t i = 0; i < sizeof wrong_types / sizeof wrong_types[0]; i++) {
        char text[1024];

        snprintf(text, sizeof text, "{\"model_type\": \"gpt2\", \"%s\": 5.5}", wrong_types[i]);
        expect_bad_config(text, "line 1");
    }
    expect_config(&want, CONFIG(", \"pruned_heads\": {}"), TG_GELU_TANH, 1e-5, true, 0);
    expect_bad_config(CONFIG(", \"n_inner\": 145"), "\"n_inner\" is 145");
    expect_bad_config(long_text, "expected at most 1048576");
    expect_bad_config("{\"model_type\": \"mixtral\"}", "\"mixtral\", expected one of gpt2|llama");
    expect_bad_config("{}", "model_type");
    expect_bad_config("{\"model_type\": \"gpt2\", \"architectures\": [\"GPT2ForTokenClassification\"]}",
                      "GPT2ForTokenClassification");
    expect_bad_config("{\"model_type\": \"gpt2\", \"n_layer\": 3, \"n_head\": 5, \"n_embd\": 36}", "5 heads");
    expect_bad_config("{\"model_type\": \"gpt2\", \"n_layer\": 2, \"n_head\": 2, \"n_embd\": 36}",
                      "n_layer = 2");
    expect_bad_config("{\"model_type\": \"gpt2\", \"n_layer\": 3, \"n_head\": 2, \"n_embd\": 36}",
                      "wte.weight has shape (300, 36), expected (50257, 36)");
    expect_bad_config(CONFIG("") "x", "line 1");
    expect_bad_config("", "line 1");
    list_free(&l);
    tg_model_free(&want);
    clean();
}

/* Names in messages are cut. */
static void long_architecture(void)
{
    static const tg_model_ask lossy = {.lossy = true};
    static const char config[] =
        "{\"model_type\": \"gpt2\", \"n_layer\": 3, \"n_head\": 2, \"n_embd\": 36, \"n_positions\": 40, "
        "\"vocab_size\": 300, \"architectures\": "
        "[\"GPT2ForSomethingElse456789012345678901234567890123456789012345678901234567890\"]}";
    tg_model want = make(true, 24);
    list l = {0};
    tg_model_file f;
    tg_err err = {0};

    list_model(&l, &want, "transformer.", TG_F32, false);
    write_safetensors(&l, "model.safetensors");
    expect_bad_config(config, "Else4567890123456789012345678901234567890123\", expected");
    CHECK_OK(tg_model_file_open(&f, in_directory(""), &lossy, &err), &err);
    CHECK(f.notes.n == 1 && strstr(f.notes.line[0], "4567890123\": only its GPT-2"));
    tg_model_file_close(&f);
    list_free(&l);
    tg_model_free(&want);
    clean();
}

/* A head of another type than the embedding is compared by its values. */
static void tied_head_of_another_type(void)
{
    for (int same = 0; same < 2; same++) {
        tg_model want = make(true, 24);
        list l = {0};
        tg_model_file f;
        double *head;
        tg_err err = {0};

        list_model(&l, &want, "", TG_F32, false);
        head = list_add(&l, "lm_head.weight", TG_F64, 2, (size_t[]){300, 36});
        for (size_t i = 0; i < 300 * 36; i++)
            head[i] = (double)tg_model_weight(&want, TG_WTE, 0)[i];
        if (!same)
            head[0] += 1;
        write_safetensors(&l, "model.safetensors");
        CHECK_OK(tg_model_file_open(&f, in_directory("model.safetensors"), &two_heads, &err), &err);
        CHECK_EQ(f.config.tied, same);
        tg_model_file_close(&f);
        list_free(&l);
        tg_model_free(&want);
    }
    clean();
}

/* A stored head that is the embedding, or is not, with the config's opinion and without. */
static void tied_heads(void)
{
    static const char *const configs[] = {CONFIG(""), CONFIG(", \"tie_word_embeddings\": true"),
                                          CONFIG(", \"tie_word_embeddings\": false"), NULL};

    for (int same = 0; same < 2; same++)
        for (size_t i = 0; i < 4; i++) {
            const bool says_tied = i < 2, tied = same && i != 2;
            tg_model want = make(true, 24);
            list l = {0};
            tg_model_file f;
            float *head;
            tg_err err = {0};

            list_model(&l, &want, "transformer.", TG_F32, false);
            head = list_add(&l, "lm_head.weight", TG_F32, 2, (size_t[]){300, 36});
            memcpy(head, tg_model_weight(&want, TG_WTE, 0), 300 * 36 * sizeof *head);
            if (!same)
                head[300 * 36 - 1] += 1;
            write_safetensors(&l, "model.safetensors");
            if (configs[i])
                write_text("config.json", configs[i]);
            CHECK_OK(tg_model_file_open(&f, in_directory("model.safetensors"), configs[i] ? NULL : &two_heads,
                                        &err),
                     &err);
            CHECK_EQ(f.config.tied, tied);
            CHECK_EQ(f.notes.n, (says_tied && !same) || !configs[i]);
            tg_model_file_close(&f);
            list_free(&l);
            tg_model_free(&want);
            clean();
        }
}

/* In two files, with an index. */
static void shards(void)
{
    tg_model want = make(true, 24);
    list l = {0}, a = {0}, b = {0};
    char index[16384] = "{\"weight_map\": {\"wte.weight\": \"a.safetensors\"";

    list_model(&l, &want, "", TG_F32, false);
    for (size_t i = 0; i < l.n; i++) {
        list *half = i % 2 || strcmp(l.array[i].name, "wte.weight") == 0 ? &a : &b;

        half->array[half->n] = l.array[i];
        half->bytes[half->n++] = l.bytes[i];
        if (strcmp(l.array[i].name, "wte.weight") != 0)
            sprintf(index + strlen(index), ", \"%s\": \"%s.safetensors\"", l.array[i].name,
                    half == &a ? "a" : "b");
    }
    strcat(index, "}}");
    write_safetensors(&a, "a.safetensors");
    write_safetensors(&b, "b.safetensors");
    write_text("model.safetensors.index.json", index);
    write_text("config.json", CONFIG(""));
    expect_model("", NULL, &want);
    *strstr(index, "\"b.safe") = ' ';
    write_text("model.safetensors.index.json", index);
    expect_refused("", NULL, TG_EDATA, "line 1");
    *strstr(index, " b.safe") = '"';
    memcpy(strstr(index, "h.2.mlp.c_fc.bias"), "h.2.mlp.c_fc.bjas", 17);
    write_text("model.safetensors.index.json", index);
    expect_refused("", NULL, TG_EDATA, "lacks h.2.mlp.c_fc.bjas");
    unlink(in_directory("b.safetensors"));
    expect_refused("", NULL, TG_EIO, "b.safetensors: No such file or directory");
    list_free(&l);
    tg_model_free(&want);
    clean();
}

/* ---- what is refused */

static void refusals(void)
{
    enum {
        MISSING,
        MISSHAPED,
        NOT_TRANSPOSED,
        INTEGERS,
        NAN_VALUE,
        UNKNOWN,
        TWICE,
        DEEP,
        FLAT,
        NO_MATRIX,
        FAULTS
    };
    static const char *const why[FAULTS] = {"h.1.mlp.c_proj.weight is missing",
                                            "h.2.attn.c_proj.bias has shape (37,), expected (36,)",
                                            "h.2.attn.c_attn.weight has shape (36, 108), expected (108, 36)",
                                            "wpe.weight has type i64, expected floating-point numbers",
                                            "wpe.weight[1439] is nan: it must be finite",
                                            "rotary.freqs is not a tensor of GPT-2",
                                            "are the same tensor",
                                            "h.112.ln_1.weight: at most 112 layers",
                                            "h.0.attn.c_attn.weight has shape (3888,), expected (36, 108)",
                                            "h.0.attn.c_attn.weight is missing"};

    for (int fault = 0; fault < FAULTS; fault++) {
        tg_model want = make(false, 24), got;
        list l = {0};
        tg_model_file f;
        tg_err err = {0};
        size_t wpe;

        list_model(&l, &want, "", TG_F32, true);
        wpe = list_find(&l, "wpe.weight");
        if (fault == MISSING)
            strcpy(l.array[list_find(&l, "h.1.mlp.c_proj.weight")].name, "h.0.attn.masked_bias");
        if (fault == MISSHAPED) {
            strcpy(l.array[list_find(&l, "h.2.attn.c_proj.bias")].name, "h.0.attn.masked_bias");
            list_add(&l, "h.2.attn.c_proj.bias", TG_F32, 1, (size_t[]){37});
        }
        if (fault == NOT_TRANSPOSED) {
            tg_array *a = &l.array[list_find(&l, "h.2.attn.c_attn.weight")];

            a->shape[0] = 36;
            a->shape[1] = 108;
        }
        if (fault == INTEGERS) {
            strcpy(l.array[wpe].name, "h.0.attn.masked_bias");
            list_add(&l, "wpe.weight", TG_I64, 2, (size_t[]){40, 36});
        }
        if (fault == NAN_VALUE)
            ((float *)l.bytes[wpe])[40 * 36 - 1] = NAN;
        if (fault == UNKNOWN)
            list_add(&l, "rotary.freqs", TG_F32, 0, NULL);
        if (fault == TWICE)
            list_add(&l, "transformer.wte.weight", TG_F32, 2, (size_t[]){300, 36});
        if (fault == DEEP)
            list_add(&l, "h.112.ln_1.weight", TG_F32, 1, (size_t[]){36});
        if (fault == FLAT) {
            tg_array *a = &l.array[list_find(&l, "h.0.attn.c_attn.weight")];

            a->ndim = 1;
            a->shape[0] = a->count;
        }
        for (size_t i = 0; fault == NO_MATRIX && i < l.n; i++)
            if (strstr(l.array[i].name, "c_attn.weight") || strstr(l.array[i].name, "c_fc.weight"))
                sprintf(l.array[i].name, "h.%zu.attn.masked_bias", i);
        write_safetensors(&l, "model.safetensors");
        if (fault != NAN_VALUE) {
            expect_refused("model.safetensors", &two_heads, TG_EDATA, why[fault]);
        } else {
            CHECK_OK(tg_model_file_open(&f, in_directory("model.safetensors"), &two_heads, &err), &err);
            CHECK_EQ(tg_model_file_to_model(&got, &f, false, &err), TG_EDATA);
            CHECK_HAS(err.message, why[fault]);
        }
        list_free(&l);
        tg_model_free(&want);
    }
    clean();
}

static void heads(void)
{
    static const tg_model_ask none = {0}, five = {.heads = 5}, three = {.heads = 3},
                              lossy = {.heads = 2, .lossy = true}, exact = {.heads = 2, .activation = "gelu"},
                              rounded = {.heads = 2, .activation = "gelu_new"};
    tg_model want = make(true, 24);
    list l = {0};
    tg_model_file f;
    tg_err err = {0};

    list_model(&l, &want, "", TG_F32, true);
    list_add(&l, "rotary.freqs", TG_F32, 0, NULL);
    write_safetensors(&l, "model.safetensors");
    expect_refused("model.safetensors", &none, TG_EDATA, "rotary");
    CHECK_OK(tg_model_file_open(&f, in_directory("model.safetensors"), &lossy, &err), &err);
    CHECK(f.notes.n == 2 && strstr(f.notes.line[0], "rotary.freqs is left out"));
    tg_model_file_close(&f);
    l.n--;
    write_safetensors(&l, "model.safetensors");
    expect_refused("model.safetensors", &none, TG_EUSAGE, "does not give the number of heads");
    expect_refused("model.safetensors", &five, TG_EUSAGE, "5 heads do not divide C = 36");
    CHECK_OK(tg_model_file_open(&f, in_directory("model.safetensors"), &exact, &err), &err);
    CHECK(f.config.activation == TG_GELU_ERF && strstr(f.notes.line[0], "1e-5"));
    tg_model_file_close(&f);
    write_text("config.json", CONFIG(""));
    expect_refused("model.safetensors", &three, TG_EUSAGE, "the file says 2 heads, not 3");
    expect_refused("model.safetensors", &exact, TG_EUSAGE, "the file says gelu_new (tanh), not gelu");
    write_text("config.json", CONFIG(", \"activation_function\": \"gelu\""));
    expect_refused("model.safetensors", &rounded, TG_EUSAGE, "the file says gelu (exact), not gelu_new");
    free(l.bytes[l.n++]);
    l.n--;
    list_free(&l);
    tg_model_free(&want);
    clean();
}

static void no_models(void)
{
    unsigned char junk[64] = {0};
    char longer[3000] = {0};

    clean();
    expect_refused("", NULL, TG_EDATA, "a directory without a model's files");
    expect_refused("none", NULL, TG_EIO, "No such file or directory");
    write_text("model.npz", "");
    expect_refused("model.npz", NULL, TG_EDATA, "empty");
    write_text("model.npz", "plain text");
    expect_refused("model.npz", NULL, TG_EDATA, "this is plain text");
    junk[0] = 56;
    junk[8] = '{';
    memset(junk + 9, 'x', sizeof junk - 9);
    write_text("model.npz", "");
    for (size_t n = 9; n <= sizeof junk; n++) {
        FILE *file = fopen(in_directory("model.npz"), "w");

        CHECK(fwrite(junk, 1, n, file) == n && fclose(file) == 0);
        expect_refused("model.npz", NULL, TG_EDATA, n < sizeof junk ? "truncated" : "line 1");
    }
    CHECK(is_foreign(in_directory("model.npz")));
    CHECK(is_foreign(directory));
    write_text("model.npz", "plain text");
    CHECK(!is_foreign(in_directory("model.npz")));
    CHECK(!is_foreign(in_directory("none")));
    write_text("model.npz", "PK\3\4 a zip file that ends early");
    CHECK(!is_foreign(in_directory("model.npz")));
    memset(longer, 'a', sizeof longer - 1);
    expect_refused(longer, NULL, TG_EIO, "aaaa"); /* too long for a name */
    clean();
}

/* The beginning of a model, in memory of exactly that size. */
static void beginnings(void)
{
    tg_model m = make(true, 24);
    FILE *file;
    unsigned char first[512];

    save_own(&m);
    file = fopen(in_directory("model.npz"), "r");
    CHECK(file && fread(first, 1, sizeof first, file) == sizeof first && fclose(file) == 0);
    CHECK(tg_model_file_begins(first, sizeof first));
    for (size_t n = 0; n < sizeof first; n++) {
        unsigned char *some = malloc(n + 1);

        memcpy(some + 1, first, n);
        CHECK(!tg_model_file_begins(some + 1, n) || n > 128);
        free(some);
    }
    tg_model_free(&m);
    clean();
}

/* ---- formats */

/* One format says of a directory that it is its own. */
static void directories(void)
{
    size_t n = 0;

    for (const tg_model_format *const *format = tg_model_formats; *format; format++)
        if ((*format)->directory) {
            CHECK(strcmp((*format)->text, "a Hugging Face checkpoint") == 0);
            n++;
        }
    CHECK_EQ(n, 1);
}

static void names_of_formats(void)
{
    char all[100], some[11];

    CHECK(strcmp(tg_model_writer_names(all, sizeof all), "npz|hf|safetensors|gguf|llmc|peft") == 0);
    CHECK(strcmp(tg_model_writer_names(some, sizeof some), "npz|hf|saf") == 0);
}

static void many_notes(void)
{
    tg_notes notes = {0};
    tg_err err = {0};

    for (int i = 0; i < TG_NOTES_MAX + 3; i++)
        CHECK_OK(tg_notes_add(&notes, &err, "note %d", i), &err);
    CHECK_EQ(notes.n, TG_NOTES_MAX);
    CHECK(strcmp(notes.line[TG_NOTES_MAX - 1], "note 63") == 0);
    tg_notes_free(&notes);
}

/* ---- names */

static void expect_name(const tg_names *names, const char *name, int kind, int part, size_t layer)
{
    size_t l;
    const tg_name *row = tg_names_find(names, name, &l);

    CHECK(row && row->kind == kind && row->part == part && l == layer);
}

static void names(void)
{
    static const char *const none[] = {"",
                                       "h.01.ln_1.weight",
                                       "h..ln_1.weight",
                                       "h.100000.ln_1.weight",
                                       "h.N.ln_1.weight",
                                       "h.0.ln_1.weight.",
                                       "h.0.ln_1",
                                       "xtransformer.wte.weight"};
    size_t layer;

    expect_name(&tg_names_gpt2, "wte.weight", TG_WTE, 0, 0);
    expect_name(&tg_names_gpt2, "_orig_mod.transformer.wte.weight", TG_WTE, 0, 0);
    expect_name(&tg_names_gpt2, "transformer.h.11.attn.c_attn.weight", TG_QKV_W, TG_NAME_WHOLE, 11);
    expect_name(&tg_names_gpt2, "h.10.mlp.c_proj.weight", TG_FC_PROJ_W, 0, 10);
    expect_name(&tg_names_gpt2, "h.10.attn.v_proj.bias", TG_QKV_B, TG_NAME_V, 10);
    expect_name(&tg_names_gpt2, "h.3.attn.masked_bias", TG_NAME_IGNORED, 0, 3);
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        CHECK(tg_names_find(&tg_names_gpt2, none[i], &layer) == NULL);
}

static void expect_bad_map(const char *text, const char *message)
{
    tg_name_map map;
    tg_err err = {0};

    write_text("names.txt", text);
    CHECK_EQ(tg_name_map_read(&map, in_directory("names.txt"), &err), TG_EDATA);
    CHECK_HAS(err.message, message);
    CHECK_HAS(err.message, directory);
    CHECK(!map.row && !map.text);
}

static void name_maps(void)
{
    static const char text[] =
        "# a comment\n\n  layers/N/LayerNorm.w \t h.N.ln_1.weight\r\n"
        "blocks.7.W_Q h.7.attn.q_proj.weight transposed # why not\nEmbed wte.weight\nmask.N -\n"
        "end h.2.ln_2.bias\nblock:N:bias h.N.ln_1.bias\n{N} h.N.ln_2.bias\nlayer2N.w h.2.ln_2.weight";
    static char long_text[(1 << 20) + 2];
    tg_name_map map;
    size_t layer;
    tg_err err = {0};

    write_text("names.txt", text);
    CHECK_OK(tg_name_map_read(&map, in_directory("names.txt"), &err), &err);
    CHECK_EQ(map.names.n, 8);
    expect_name(&map.names, "block:4:bias", TG_LN1_B, 0, 4);
    expect_name(&map.names, "{5}", TG_LN2_B, 0, 5);
    expect_name(&map.names, "layer2N.w", TG_LN2_W, 0, 2); /* no number */
    expect_name(&map.names, "layers/12/LayerNorm.w", TG_LN1_W, 0, 12);
    expect_name(&map.names, "blocks.7.W_Q", TG_QKV_W, TG_NAME_Q, 7);
    CHECK(tg_names_find(&map.names, "blocks.7.W_Q", &layer)->transposed);
    expect_name(&map.names, "Embed", TG_WTE, 0, 0);
    expect_name(&map.names, "mask.3", TG_NAME_IGNORED, 0, 3);
    expect_name(&map.names, "end", TG_LN2_B, 0, 2);
    CHECK(tg_names_find(&map.names, "transformer.Embed", &layer) == NULL);
    tg_name_map_free(&map);
    expect_bad_map("a b", "line 1: \"b\" is not a parameter");
    expect_bad_map("\na", "line 2: expected a tensor's name");
    expect_bad_map("a wte.weight flipped", "line 1: expected");
    expect_bad_map("a wte.weight transposed x", "line 1: expected");
    expect_bad_map("a h.0.attn.bias", "is not a parameter");
    expect_bad_map("a h.N.ln_1.weight", "only one has N");
    expect_bad_map("a.N h.0.ln_1.weight", "only one has N");
    for (size_t i = 0, at = 0; i <= TG_NAMES_MAX; i++)
        at += (size_t)sprintf(long_text + at, "t%zu -\n", i);
    expect_bad_map(long_text, "line 4097: more than 4096 names");
    memset(long_text, '#', sizeof long_text - 1);
    expect_bad_map(long_text, "expected at most 1048576");
    clean();
    write_text("names.txt", "");
    CHECK_OK(tg_name_map_read(&map, in_directory("names.txt"), &err), &err);
    CHECK_EQ(map.names.n, 0);
    tg_name_map_free(&map);
    CHECK_EQ(tg_name_map_read(&map, directory, &err), TG_EIO);
    CHECK_HAS(err.message, directory);
    clean();
}

/* A file of other names, some of them transposed. */
static void mapped_names(void)
{
    tg_model_ask ask = two_heads;
    tg_model want = make(true, 24);
    char map[16384] = "", map_path[4200];
    list l = {0};

    list_model(&l, &want, "", TG_F32, true);
    for (size_t i = 0; i < l.n; i++) {
        const tg_param *p = tg_params_find(&want.table, l.array[i].name);

        sprintf(map + strlen(map), "t%zu %s%s\n", i, l.array[i].name,
                is_linear(p) || p->ndim == 1 ? " transposed" : ""); /* a vector has no other order */
        sprintf(l.array[i].name, "t%zu", i);
    }
    write_text("names.txt", map);
    snprintf(map_path, sizeof map_path, "%s/names.txt", directory);
    ask.map = map_path;
    write_npz(&l, false);
    expect_model("model.npz", &ask, &want);
    strstr(map, "t5 ")[0] = 'x';
    write_text("names.txt", map);
    expect_refused("model.npz", &ask, TG_EDATA, "t5 is not a tensor of the list of names");
    list_free(&l);
    tg_model_free(&want);
    clean();
}

/* ---- writing */

static void write_parts(const tg_model_file *f, const char *format, const tg_write_options *o)
{
    const tg_model_writer *to = tg_model_writer_named(format);
    tg_notes notes = {0};
    tg_err err = {0};

    CHECK_OK(to->check(f, o, &notes, &err), &err);
    for (size_t i = 0; i < to->n_parts; i++) {
        const char *name = to->part[i].name ? to->part[i].name : "model.safetensors";
        int fd;

        bool wanted = true;

        if (to->part[i].wanted)
            CHECK_OK(to->part[i].wanted(&wanted, f, &err), &err);
        if (!wanted)
            continue;
        fd = open(in_directory(name), O_RDWR | O_CREAT | O_TRUNC, 0600);
        CHECK_OK(to->part[i].write(fd, f, o, &err), &err);
        close(fd);
    }
    tg_notes_free(&notes);
}

/* From our own to Hugging Face's and back: the same model.  What it lacks is added as zeros and ones. */
static void there_and_back(void)
{
    for (int c = 0; c < 8; c++) {
        const tg_write_options plain = {0}, split = {.split_qkv = true};
        const tg_model_ask fuse = {.heads = 2, .fuse_qkv = true};
        tg_model want = make(c & 1, 24);
        tg_model_file f;
        tg_err err = {0};

        save_own(&want);
        CHECK_OK(tg_model_file_open(&f, in_directory("model.npz"), NULL, &err), &err);
        expect_values(&f, &want);
        write_parts(&f, "hf", &plain);
        tg_model_file_close(&f);
        CHECK_OK(tg_model_file_open(&f, directory, NULL, &err), &err);
        expect_values(&f, &want);
        CHECK(f.tokenizer && tg_tokenizer_vocab_size(f.tokenizer) == 256);
        tg_model_file_close(&f);
        clean();
        save_own(&want);
        CHECK_OK(tg_model_file_open(&f, in_directory("model.npz"), NULL, &err), &err);
        write_parts(&f, "safetensors", &split);
        tg_model_file_close(&f);
        expect_model("model.safetensors", &fuse, &want);
        tg_model_free(&want);
        clean();
    }
}

static void without_biases(void)
{
    const tg_write_options plain = {0};
    tg_config c = small_config(2, 2, 16, 8);
    tg_model m;
    tg_model_file f;
    tg_float_buffer buffer = {0};
    const float *x;
    tg_err err = {0};

    c.linear_bias = c.layer_norm_bias = c.layer_norm_weight = false;
    small_model_create(&m, c, 1);
    save_own(&m);
    CHECK_OK(tg_model_file_open(&f, in_directory("model.npz"), NULL, &err), &err);
    write_parts(&f, "hf", &plain);
    tg_model_file_close(&f);
    CHECK_OK(tg_model_file_open(&f, directory, NULL, &err), &err);
    CHECK(f.config.linear_bias && f.config.layer_norm_bias && f.config.layer_norm_weight);
    for (size_t i = 0; i < f.table.n; i++) {
        const tg_param *p = &f.table.entry[i];
        const size_t own = tg_params_index(&m.table, p->kind, p->layer);

        CHECK_OK(tg_model_file_get(&x, &buffer, &f, i, false, &err), &err);
        for (size_t e = 0; e < p->count; e++)
            CHECK(x[e] == (own < m.table.n ? m.weight[own][e] : (float)p->mean));
    }
    free(buffer.x);
    tg_model_file_close(&f);
    tg_model_free(&m);
    clean();
}

static void expect_cannot(const tg_model_file *f, const char *format, tg_write_options o, const char *message)
{
    tg_notes notes = {0};
    tg_err err = {0};

    CHECK_EQ(tg_model_writer_named(format)->check(f, &o, &notes, &err), TG_EUSAGE);
    CHECK_HAS(err.message, message);
    tg_notes_free(&notes);
}

static void what_formats_lack(void)
{
    const tg_write_options plain = {0}, q8 = {.type = TG_WRITE_Q8_0}, half = {.type = TG_WRITE_F16},
                           split = {.split_qkv = true}, lossy = {.lossy = true};
    tg_config c = small_config(2, 2, 16, 8);
    tg_notes notes = {0};
    tg_model m;
    tg_model_file f;
    tg_err err = {0};

    c.head_bias = true;
    c.vocab_size = 100; /* a tokenizer of letters */
    small_model_create(&m, c, 1);
    save_own(&m);
    CHECK_OK(tg_model_file_open(&f, in_directory("model.npz"), NULL, &err), &err);
    expect_cannot(&f, "hf", plain, "kind \"char\"");
    expect_cannot(&f, "hf", q8, "q8_0");
    expect_cannot(&f, "hf", split, "q, k and v");
    expect_cannot(&f, "npz", half, "float32");
    expect_cannot(&f, "npz", split, "q, k and v");
    CHECK_OK(tg_model_writer_named("hf")->check(&f, &lossy, &notes, &err),
             &err); /* a bias of zeros is no loss */
    CHECK(notes.n == 1 && strstr(notes.line[0], "tokenizer is left out"));
    tg_notes_free(&notes);
    tg_model_file_close(&f);
    m.params[m.table.entry[tg_params_index(&m.table, TG_HEAD_B, 0)].offset + 99] = 1;
    save_own(&m);
    CHECK_OK(tg_model_file_open(&f, in_directory("model.npz"), NULL, &err), &err);
    expect_cannot(&f, "hf", plain, "lm_head.bias");
    expect_cannot(&f, "safetensors", plain, "lm_head.bias");
    CHECK_OK(tg_model_writer_named("hf")->check(&f, &lossy, &notes, &err), &err);
    CHECK(notes.n == 2 && strstr(notes.line[0], "lm_head.bias is left out"));
    tg_notes_free(&notes);
    tg_model_file_close(&f);
    tg_model_free(&m);
    CHECK(tg_model_writer_named("arrays") == NULL && tg_model_writer_named("") == NULL);
    clean();
}

/* A model's archive of ours, and what a format says about its settings. */
static void exact_gelu(void)
{
    const tg_write_options plain = {0};
    tg_config c = small_config(2, 2, 16, 8);
    tg_notes notes = {0};
    tg_model m;
    tg_model_file f;
    tg_err err = {0};

    c.activation = TG_GELU_ERF;
    small_model_create(&m, c, 1);
    save_own(&m);
    CHECK_OK(tg_model_file_open(&f, in_directory("model.npz"), NULL, &err), &err);
    CHECK_OK(tg_model_writer_named("safetensors")->check(&f, &plain, &notes, &err), &err);
    CHECK(notes.n == 1 && strstr(notes.line[0], "2 heads, gelu and LayerNorm"));
    tg_notes_free(&notes);
    tg_model_file_close(&f);
    tg_model_free(&m);
    clean();
}

/* A tokenizer that only counts its ids is in no format but ours, and nothing is lost with it. */
static void bare_tokenizers(void)
{
    static const char *const formats[] = {"gguf", "llmc"};
    const tg_write_options plain = {0};
    tg_model m = make(true, 24);
    list l = {0};
    tg_model_file f;
    tg_err err = {0};

    list_model(&l, &m, "", TG_F32, false);
    write_safetensors(&l, "model.safetensors");
    CHECK_OK(tg_model_file_open(&f, in_directory("model.safetensors"), &two_heads, &err), &err);
    CHECK(!f.tokenizer);
    CHECK_OK(tg_bare_ids_create(&f.tokenizer, 300, &err), &err);
    for (size_t i = 0; i < 2; i++) {
        tg_notes notes = {0};

        CHECK_OK(tg_model_writer_named(formats[i])->check(&f, &plain, &notes, &err), &err);
        CHECK_EQ(notes.n, 0);
        tg_notes_free(&notes);
    }
    tg_model_file_close(&f);
    tg_model_free(&m);
    list_free(&l);
    clean();
}

static void constants(void)
{
    tg_model m = make(true, 24);
    tg_model_file f;
    bool is = true;
    tg_err err = {0};

    save_own(&m);
    CHECK_OK(tg_model_file_open(&f, in_directory("model.npz"), NULL, &err), &err);
    CHECK_OK(tg_model_file_is_constant(&is, &f, f.table.n, 0, &err), &err);
    CHECK(!is); /* no such parameter */
    CHECK_OK(tg_model_file_is_constant(&is, &f, 0, 0, &err), &err);
    CHECK(!is);
    tg_model_file_close(&f);
    tg_model_free(&m);
    clean();
}

/* ---- calls that fail */

/* Whichever write of a format fails, the model is not written, and the error says why. */
static void failing_writes(void)
{
    static const char *const formats[] = {"npz", "safetensors", "gguf", "llmc"};
    const tg_write_options plain = {.lossy = true};
    const int null = open("/dev/null", O_WRONLY);
    tg_model m = make(true, 24);
    tg_model_file f;
    tg_err err = {0};

    save_own(&m);
    CHECK_OK(tg_model_file_open(&f, in_directory("model.npz"), NULL, &err), &err);
    for (size_t i = 0; i < 8; i++) {
        const tg_model_writer *to = tg_model_writer_named(formats[i / 2]);
        int n = 0;
        bool refused = true;

        while (refused && n < 1000) {
            tg_status status;

            refuse("write", ++n, EIO);
            status = to->part[0].write(null, &f, &plain, i % 2 ? &err : NULL);
            refused = refused_all();
            CHECK_EQ(status, refused ? TG_EIO : TG_OK);
            CHECK(i % 2 == 0 || !refused || err.sys == EIO);
        }
        CHECK(n > 1 && n < 1000);
    }
    close(null);
    tg_model_file_close(&f);
    tg_model_free(&m);
    clean();
}

/* Whether a tokenizer can be written is found out without opening a file. */
static void no_file_to_try(void)
{
    const tg_write_options plain = {0};
    tg_model m = make(true, 24);
    tg_model_file f;
    tg_notes notes = {0};
    tg_err err = {0};

    save_own(&m);
    CHECK_OK(tg_model_file_open(&f, in_directory("model.npz"), NULL, &err), &err);
    refuse("open", 1, EMFILE);
    CHECK_OK(tg_model_writer_named("hf")->check(&f, &plain, &notes, &err), &err);
    CHECK(!refused_all());
    tg_notes_free(&notes);
    tg_model_file_close(&f);
    tg_model_free(&m);
    clean();
}

/* The memory of parameters that are copied. */
static void no_memory_for_parameters(void)
{
    tg_status status = TG_ENOMEM;
    tg_model want = make(true, 24), got;
    list l = {0};
    tg_model_file f;
    tg_err err = {0};
    int n = 0;

    list_model(&l, &want, "", TG_F32, false);
    write_safetensors(&l, "model.safetensors");
    while (status == TG_ENOMEM) {
        CHECK_OK(tg_model_file_open(&f, in_directory("model.safetensors"), &two_heads, &err), &err);
        refuse("mmap", ++n, ENOMEM);
        status = tg_model_file_to_model(&got, &f, true, &err);
        CHECK(refused_all() == (status == TG_ENOMEM));
    }
    CHECK_OK(status, &err);
    CHECK(n > 1);
    tg_model_free(&got);
    /* a file that cannot be examined for being a directory is read all the same */
    refuse("fstat", 1, EIO);
    CHECK_OK(tg_model_file_open(&f, in_directory("model.safetensors"), &two_heads, &err), &err);
    CHECK(refused_all());
    tg_model_file_close(&f);
    list_free(&l);
    tg_model_free(&want);
    clean();
}

/* Read a checkpoint in two files, transposed, as a model; write it; with the nth allocation failing. */
static tg_status read_and_write(long n)
{
    static const char *const formats[] = {"npz", "hf", "safetensors", "gguf", "llmc"};
    const tg_write_options half = {.type = TG_WRITE_F16, .lossy = true}, plain = {.lossy = true};
    const int null = open("/dev/null", O_WRONLY);
    tg_model_file f;
    tg_model m;
    tg_notes notes = {0};
    tg_err err = {0};
    tg_status status;

    failing_after(n);
    status = tg_model_file_open(&f, directory, NULL, &err);
    for (size_t i = 0; i < 5 && !status; i++) {
        const tg_model_writer *to = tg_model_writer_named(formats[i]);
        const tg_write_options *o = i == 1 ? &half : &plain;

        if (!(status = to->check(&f, o, &notes, &err)))
            for (size_t part = 0; part < to->n_parts && !status; part++)
                status = to->part[part].write(null, &f, o, &err);
        failing_after(n); /* each format has its turn */
    }
    if (!status && !(status = tg_model_file_to_model(&m, &f, false, &err)))
        tg_model_free(&m);
    failing_after(-1);
    tg_model_file_close(&f);
    tg_notes_free(&notes);
    close(null);
    if (status && status != TG_ENOMEM)
        CHECK_OK(status, &err);
    return status;
}

static void no_memory(void)
{
    tg_model want = make(false, 10);
    tg_model_file f;
    list l = {0};
    const tg_write_options plain = {0};
    tg_err err = {0};
    long n = 0;

    save_own(&want);
    CHECK_OK(tg_model_file_open(&f, in_directory("model.npz"), NULL, &err), &err);
    write_parts(&f, "hf", &plain);
    tg_model_file_close(&f);
    list_model(&l, &want, "", TG_F16, false);
    write_safetensors(&l, "model.safetensors");
    while (read_and_write(n) == TG_ENOMEM)
        n++;
    CHECK(n > 20);
    list_free(&l);
    tg_model_free(&want);
    clean();
}

/* tg_model_open(): the same model whoever wrote it, also after its files are gone; with the nth allocation
 * failing, nothing is left. */
static void opened(void)
{
    const tg_write_options plain = {0};
    tg_model want = make(true, 24), got;
    tg_model_file f;
    tg_err err = {0};
    tg_status status = TG_ENOMEM;

    save_own(&want);
    CHECK_OK(tg_model_file_open(&f, in_directory("model.npz"), NULL, &err), &err);
    write_parts(&f, "hf", &plain);
    tg_model_file_close(&f);
    for (int own = 0; own < 2; own++) {
        for (long n = 0; status == TG_ENOMEM; n++) {
            failing_after(n);
            status = tg_model_open(&got, own ? in_directory("model.npz") : directory, &err);
            failing_after(-1);
        }
        CHECK_OK(status, &err);
        status = TG_ENOMEM;
        clean();
        for (size_t i = 0; i < want.table.n; i++)
            CHECK(memcmp(got.weight[i], want.weight[i], want.table.entry[i].count * sizeof(float)) == 0);
        CHECK(tg_tokenizer_same(want.tokenizer, got.tokenizer, &err) == TG_OK);
        tg_model_free(&got);
        save_own(&want);
    }
    tg_model_free(&want);
    clean();
    CHECK_EQ(tg_model_open(&got, in_directory("model.npz"), &err), TG_EIO);
    CHECK(strstr(err.message, "model.npz: ") == err.message + strlen(directory) + 1);
    tg_model_free(&got); /* allowed, not needed */
}

/* tg_model_prompt(): with the token that begins a text, where the model has it. */
static void prompts(void)
{
    tg_model m = make(true, 24);
    tg_tokens_prompt p;
    tg_err err = {0};
    tg_status status = TG_ENOMEM;

    CHECK_OK(tg_model_prompt(&p, &m, "ab", 2, &err), &err);
    CHECK(p.n == 2 && !p.begun);
    tg_tokens_prompt_free(&p);
    m.config.add_bos = true;
    m.config.bos_token = 1 + 7;
    for (long n = 0; status == TG_ENOMEM; n++) {
        failing_after(n);
        status = tg_model_prompt(&p, &m, "ab", 2, &err);
        failing_after(-1);
    }
    CHECK_OK(status, &err);
    CHECK(p.n == 3 && p.ids[0] == 7 && p.begun);
    tg_tokens_prompt_free(&p);
    tg_model_free(&m);
}

/* ---- rounding */

static tg_status round_to(tg_write_type type, uint16_t *out, const float *x, size_t n, const char *name,
                          tg_err *err)
{
    const void *bytes;
    const tg_status status = tg_write_convert(&bytes, out, x, n, type, name, err);

    CHECK(bytes == out);
    return status;
}

/* Every half; between two of them, the nearest, or the even one. */
static void halves(void)
{
    for (uint32_t bits = 0; bits < 0x7C00; bits++) {
        const float x = tg_float_from_half((uint16_t)bits), next = tg_float_from_half((uint16_t)(bits + 1));
        const float middle = bits == 0x7BFF ? 65520 : (x + next) / 2;
        const float try[4] = {x, -x, nextafterf(middle, 0), -nextafterf(middle, 0)};
        uint16_t got[4];
        tg_err err = {0};

        CHECK_OK(round_to(TG_WRITE_F16, got, try, 4, "x", &err), &err);
        CHECK(got[0] == bits && got[1] == (bits | 0x8000) && got[2] == bits && got[3] == (bits | 0x8000));
        if (bits == 0x7BFF)
            break;
        CHECK_OK(round_to(TG_WRITE_F16, got, (float[]){middle, nextafterf(middle, 1e9f)}, 2, "x", &err),
                 &err);
        CHECK(got[0] == (bits & 1 ? bits + 1 : bits) && got[1] == bits + 1);
    }
}

static void bfloats(void)
{
    static const uint32_t some[] = {0, 1, 0x7F, 0x80, 0x3F7F, 0x3F80, 0x4049, 0x7F7E};
    const float large[] = {0, 65519.996f, 65520}, huge[] = {3.4e38f, 0};
    uint16_t got[3];
    tg_err err = {0};

    for (size_t i = 0; i < sizeof some / sizeof some[0]; i++) {
        const uint32_t below = some[i] << 16 | 0x7FFF, tie = some[i] << 16 | 0x8000,
                       above = some[i] << 16 | 0x8001;
        const float x[3] = {tg_float_from_bits(below), tg_float_from_bits(tie), -tg_float_from_bits(above)};

        CHECK_OK(round_to(TG_WRITE_BF16, got, x, 3, "x", &err), &err);
        CHECK(got[0] == some[i] && got[1] == some[i] + (some[i] & 1) && got[2] == ((some[i] + 1) | 0x8000));
    }
    CHECK_OK(round_to(TG_WRITE_F16, got, large, 2, "x", &err), &err);
    CHECK_EQ(round_to(TG_WRITE_F16, got, large, 3, "x", &err), TG_EDATA);
    CHECK_HAS(err.message, "x[2] is 65520: f16 holds at most 65504");
    CHECK_EQ(round_to(TG_WRITE_BF16, got, huge, 2, "y", &err), TG_EDATA);
    CHECK_HAS(err.message, "y[0] is 3.4e+38");
}

/* Every size around the tile's. */
static void transposes(void)
{
    static const size_t sizes[] = {1, 2, 31, 32, 33, 65, 255, 256, 257};
    static float in[257 * 257], out[257 * 257 + 1];

    check_fill(in, 257 * 257, 7, 1);
    for (size_t i = 0; i < 81; i++) {
        const size_t R = sizes[i / 9], C = sizes[i % 9];

        const tg_stored s = {.array = {.dtype = TG_F32, .count = R * C}, .at = (const unsigned char *)in};
        tg_values v = {.piece = {&s}, .n = 1};
        tg_param p = {.name = "in", .ndim = 2, .shape = {R, C}, .count = R * C};
        const tg_model_file f = {.values = &v, .table = {.entry = &p, .n = 1}};
        tg_err err = {0};

        out[R * C] = NAN;
        CHECK_OK(tg_model_file_read(out, &f, 0, true, &err), &err);
        for (size_t r = 0; r < R; r++)
            for (size_t c = 0; c < C; c++)
                CHECK(out[c * R + r] == in[r * C + c]);
        CHECK(isnan(out[R * C]));
    }
}

int main(void)
{
    CHECK(mkdtemp(directory) != NULL);
    RUN(layouts);
    RUN(types);
    RUN(in_place);
    RUN(each_missing_vector);
    RUN(separate_qkv);
    RUN(missing_vectors);
    RUN(configs);
    RUN(long_architecture);
    RUN(tied_heads);
    RUN(tied_head_of_another_type);
    RUN(shards);
    RUN(refusals);
    RUN(heads);
    RUN(no_models);
    RUN(beginnings);
    RUN(directories);
    RUN(names_of_formats);
    RUN(many_notes);
    RUN(names);
    RUN(name_maps);
    RUN(mapped_names);
    RUN(there_and_back);
    RUN(without_biases);
    RUN(what_formats_lack);
    RUN(exact_gelu);
    RUN(bare_tokenizers);
    RUN(constants);
    RUN(failing_writes);
    RUN(no_file_to_try);
    RUN(no_memory_for_parameters);
    RUN(no_memory);
    RUN(opened);
    RUN(prompts);
    RUN(halves);
    RUN(bfloats);
    RUN(transposes);
    clean();
    rmdir(directory);
    return check_done();
}
