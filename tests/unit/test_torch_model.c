/*
 * Models in PyTorch's and llm.c's files, and tokens: what is read has the values of the model that was
 * written down here; every allocation fails once.
 */
#define _XOPEN_SOURCE 700
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/llmc.h"
#include "lib/base/finite.h"
#include "lib/gpt/family.h"
#include "lib/models/model_archive.h"
#include "lib/models/model_file.h"
#include "lib/models/model_format.h"
#include "lib/models/token_file.h"
#include "lib/text/bare_ids.h"
#include "lib/tokens/tokens_write.h"
#include "tests/unit/check.h"
#include "tests/unit/failing.h"
#include "tests/unit/refusing.h"
#include "tests/unit/small_model.h"
#include "tests/unit/torch_zip.h"

static char directory[] = "/tmp/test_torch_model.XXXXXX";

static const char *in_directory(const char *name)
{
    static char path[4096];

    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

static void write_file(const char *name, const void *bytes, size_t n)
{
    FILE *const f = fopen(in_directory(name), "wb");

    CHECK(f && fwrite(bytes, 1, n, f) == n && fclose(f) == 0);
}

static void write_text(const char *name, const char *text)
{
    write_file(name, text, strlen(text));
}

/* ---- pickles */

static char pickle[16384];
static size_t pickle_n;

static void put(const char *bytes, size_t n)
{
    CHECK(pickle_n + n <= sizeof pickle);
    memcpy(pickle + pickle_n, bytes, n);
    pickle_n += n;
}

#define PUT(text) put(text, sizeof(text) - 1)

static void put_int(long long value)
{
    PUT("J");
    for (size_t i = 0; i < 4; i++)
        put(&(char){(char)(value >> 8 * i & 0xFF)}, 1);
}

static void put_text(const char *text)
{
    PUT("X");
    put(&(char){(char)strlen(text)}, 1);
    PUT("\0\0\0");
    put(text, strlen(text));
}

#define OD "ccollections\nOrderedDict\n)R"

/* A tensor that is all of storage `key`. */
static void put_tensor(size_t key, size_t ndim, const size_t *shape, bool transposed)
{
    char name[16];

    sprintf(name, "%zu", key);
    PUT("ctorch._utils\n_rebuild_tensor_v2\n((");
    put_text("storage");
    PUT("ctorch\nFloatStorage\n");
    put_text(name);
    put_text("cpu");
    put_int((long long)(ndim == 2 ? shape[0] * shape[1] : shape[0]));
    PUT("tQ");
    put_int(0);
    PUT("(");
    for (size_t i = 0; i < ndim; i++)
        put_int((long long)shape[i]);
    PUT("t(");
    if (ndim == 2)
        put_int(transposed ? 1 : (long long)shape[1]);
    put_int(transposed ? (long long)shape[0] : 1);
    PUT("t\x89" OD "tR");
}

/* ---- files of PyTorch */

enum layout { OUT_IN, IN_OUT, VIEWS }; /* views: [out,in] whose data lie as [in,out] */

static bool is_linear(tg_param_kind kind)
{
    return kind == TG_QKV_W || kind == TG_ATT_PROJ_W || kind == TG_FC_W || kind == TG_FC_PROJ_W;
}

/* Add a parameter to the pickle, its values as storage `key` to the file. */
static void put_param(torch_zip *z, const tg_model *m, size_t key, enum layout layout)
{
    const tg_param *const p = &m->table.entry[key];
    const bool gpt2 = m->config.family == 0, turned = gpt2 && is_linear(p->kind) && layout != IN_OUT;
    const size_t shape[2] = {p->shape[turned], p->shape[!turned]};
    float values[1024];
    char name[128];

    CHECK(p->count <= 1024);
    for (size_t i = 0; i < p->count; i++)
        values[i] = turned && layout == OUT_IN
                        ? m->weight[key][i % p->shape[0] * p->shape[1] + i / p->shape[0]]
                        : m->weight[key][i];
    sprintf(name, "%s%s", gpt2 ? "transformer." : "", p->name);
    put_text(name);
    put_tensor(key, p->ndim, p->ndim == 2 ? shape : p->shape, turned && layout == VIEWS);
    sprintf(name, "ckpt/data/%zu", key);
    torch_zip_put(z, name, values, p->count * sizeof *values);
}

/* The entries of model_args, as they are, and `more`. */
static void put_args(const tg_config *c, const char *more, size_t more_n)
{
    const struct {
        const char *name;
        size_t value;
    } args[] = {{"n_layer", c->n_layer},
                {"n_head", c->n_head},
                {"n_embd", c->n_embd},
                {"block_size", c->n_ctx},
                {"vocab_size", c->vocab_size}};

    put_text("model_args");
    PUT("}(");
    for (size_t i = 0; i < 5; i++) {
        put_text(args[i].name);
        put_int((long long)args[i].value);
    }
    put_text("bias");
    PUT("\x89");
    put(more, more_n);
    PUT("u");
}

/* Write a checkpoint with model_args, or without a state dict alone. */
static void write_torch(const tg_model *m, enum layout layout, bool args, const char *more, size_t more_n)
{
    static torch_zip storages, z;

    storages = z = (torch_zip){0};
    pickle_n = 0;
    PUT("\x80\2}(");
    if (args)
        put_text("model");
    if (args)
        PUT(OD "(");
    for (size_t i = 0; i < m->table.n; i++)
        put_param(&storages, m, i, layout);
    if (args) {
        PUT("u");
        put_args(&m->config, more, more_n);
    }
    PUT("u.");
    torch_zip_begin(&z, pickle, pickle_n);
    for (size_t i = 0; i < storages.members; i++)
        torch_zip_put(&z, storages.member[i].name, storages.bytes + storages.member[i].data,
                      storages.member[i].size);
    torch_zip_end(&z);
    write_file("ckpt.pt", z.bytes, z.n);
}

/* ---- what is read */

static tg_model make(tg_activation activation, bool biases)
{
    tg_config config = small_config(1, 2, 4, 5);
    tg_model m;

    config.vocab_size = 9;
    config.activation = activation;
    config.linear_bias = config.layer_norm_bias = biases;
    small_model_create(&m, config, 1);
    small_model_stir(&m, 7, 0.5, 0.5);
    return m;
}

static void expect_values(const tg_model_file *f, const tg_model *want)
{
    tg_float_buffer buffer = {0};
    const float *x;
    tg_err err = {0};

    CHECK_EQ(f->table.n, want->table.n);
    for (size_t i = 0; i < want->table.n && i < f->table.n; i++) {
        CHECK_OK(tg_model_file_get(&x, &buffer, f, i, false, &err), &err);
        CHECK(memcmp(x, want->weight[i], want->table.entry[i].count * sizeof *x) == 0);
    }
    free(buffer.x);
}

static void expect_model(const char *name, const tg_model_ask *ask, const tg_model *want, size_t notes)
{
    tg_model_file f;
    tg_err err = {0};

    CHECK_OK(tg_model_file_open(&f, in_directory(name), ask, &err), &err);
    CHECK_EQ(f.config.n_layer, want->config.n_layer);
    CHECK_EQ(f.config.n_head, want->config.n_head);
    CHECK_EQ(f.config.n_ctx, want->config.n_ctx);
    CHECK_EQ(f.config.vocab_size, want->config.vocab_size);
    CHECK_EQ(f.config.activation, want->config.activation);
    CHECK_EQ(f.config.linear_bias, want->config.linear_bias);
    CHECK_EQ(f.config.layer_norm_bias, want->config.layer_norm_bias);
    CHECK_EQ(f.config.tied, want->config.tied);
    CHECK_EQ(f.notes.n, notes);
    expect_values(&f, want);
    tg_model_file_close(&f);
}

static void expect_refused(const tg_model_ask *ask, const char *message)
{
    tg_model_file f;
    tg_err err = {0};

    CHECK_EQ(tg_model_file_open(&f, in_directory("ckpt.pt"), ask, &err), TG_EDATA);
    CHECK_HAS(err.message, message);
}

static void test_nanogpt(void)
{
    for (int biases = 0; biases < 2; biases++)
        for (int layout = OUT_IN; layout <= VIEWS; layout += VIEWS) {
            tg_model m = make(TG_GELU_ERF, biases);

            write_torch(&m, (enum layout)layout, true, "", 0);
            expect_model("ckpt.pt", NULL, &m, 0);
            tg_model_free(&m);
        }
}

static void test_state_dict(void)
{
    const tg_model_ask ask = {.heads = 2};
    const tg_model_ask exact = {.heads = 2, .activation = "gelu"};

    for (int layout = OUT_IN; layout <= VIEWS; layout++) {
        tg_model m = make(TG_GELU_TANH, true), erf = make(TG_GELU_ERF, true);

        write_torch(&m, (enum layout)layout, false, "", 0);
        expect_model("ckpt.pt", &ask, &m, 1);
        expect_model("ckpt.pt", &exact, &erf, 1);
        tg_model_free(&m);
        tg_model_free(&erf);
    }
}

/* A config.json in the directory: minGPT's. */
static void test_mingpt(void)
{
    static const char *const sizes[] = {"n_layer", "n_head", "n_embd", "vocab_size", "block_size"};
    static const char config[] =
        "{\"model\": {\"n_layer\": 1, \"n_head\": 2, \"n_embd\": 4, \"vocab_size\": 9, \"block_size\": 5}}";
    const tg_model_ask ask = {.heads = 2};
    tg_model m = make(TG_GELU_TANH, true);
    tg_param *const wte = &m.table.entry[0];

    write_torch(&m, OUT_IN, false, "", 0);
    write_text("config.json", config);
    expect_model("ckpt.pt", NULL, &m, 0);
    for (size_t i = 0; i < 5; i++) {
        char text[64];

        sprintf(text, "{\"model\": {\"%s\": \"1\"}}", sizes[i]);
        write_text("config.json", text);
        expect_refused(&ask, "config.json: line 1");
    }
    write_text("config.json", "{\"model\": 5}");
    expect_refused(&ask, "config.json: line 1");
    write_text("config.json", "{");
    expect_refused(&ask, "config.json: line 1");
    write_text("config.json", "{}"); /* tells nothing */
    expect_model("ckpt.pt", &ask, &m, 1);
    wte->ndim = 1;
    wte->shape[0] = wte->count;
    write_torch(&m, OUT_IN, false, "", 0);
    write_text("config.json", "{\"model\": {\"vocab_size\": 9}}");
    expect_refused(&ask, "wte.weight has 1 dimensions, expected 2");
    CHECK(unlink(in_directory("config.json")) == 0 && mkfifo(in_directory("config.json"), 0600) == 0);
    expect_refused(&ask, "config.json: not a regular file"); /* which would be waited for */
    CHECK(unlink(in_directory("config.json")) == 0);
    tg_model_free(&m);
}

/* A config.json in the directory: another family's, all of whose conditions its tensors may have. */
static void test_llama(void)
{
    tg_config config = {.n_layer = 1,
                        .n_head = 2,
                        .n_embd = 4,
                        .n_ctx = 5,
                        .vocab_size = 9,
                        .n_kv_head = 1,
                        .head_dim = 2,
                        .n_inner = 6,
                        .layer_norm_epsilon = 1e-6,
                        .activation = TG_SILU,
                        .rope_theta = 10000,
                        .qk_norm = true};
    tg_model m;

    config = small_family_config("qwen3", config);
    small_model_create(&m, config, 1);
    small_model_stir(&m, 7, 0.5, 0.5);
    write_torch(&m, IN_OUT, false, "", 0);
    write_text("config.json",
               "{\"model_type\": \"qwen3\", \"num_hidden_layers\": 1, \"num_attention_heads\": 2, "
               "\"hidden_size\": 4, \"intermediate_size\": 6, \"num_key_value_heads\": 1, \"head_dim\": 2, "
               "\"vocab_size\": 9, \"max_position_embeddings\": 5}");
    expect_model("ckpt.pt", NULL, &m, 0);
    tg_model_free(&m);
    m = make(TG_GELU_TANH, true); /* which that config does not describe */
    write_torch(&m, IN_OUT, false, "", 0);
    expect_refused(NULL, "transformer.wte.weight is not a tensor of the family qwen3");
    unlink(in_directory("config.json"));
    tg_model_free(&m);
}

/* Of a stream no other file is looked for. */
static void test_stream(void)
{
    const tg_model_ask ask = {.heads = 2};
    tg_model m = make(TG_GELU_TANH, true);
    const int fd = (write_torch(&m, VIEWS, false, "", 0), open(in_directory("ckpt.pt"), O_RDONLY));
    tg_source source;
    tg_model_file f;
    tg_err err = {0};

    write_text("config.json", "{");
    CHECK_OK(tg_source_open(&source, fd, &err), &err);
    CHECK_OK(tg_model_file_open_source(&f, &source, "-", &ask, &err), &err);
    expect_values(&f, &m);
    tg_model_file_close(&f);
    close(fd);
    unlink(in_directory("config.json"));
    tg_model_free(&m);
}

/* Separate q, k and v, of which only some are views. */
static void test_split_views(void)
{
    static const char *const names[] = {"q", "k", "v"};
    const tg_model_ask ask = {.heads = 2, .fuse_qkv = true};
    tg_model m = make(TG_GELU_TANH, true);
    const size_t qkv = tg_params_index(&m.table, TG_QKV_W, 0);

    for (size_t views = 0; views <= 3; views++) {
        static torch_zip storages, z;
        static const float zeros[16];
        tg_model_file f;
        tg_err err = {0};

        storages = z = (torch_zip){0};
        pickle_n = 0;
        PUT("\x80\2}(");
        for (size_t i = 0; i < m.table.n; i++)
            if (i != qkv)
                put_param(&storages, &m, i, OUT_IN);
        for (size_t i = 0; i < 3; i++) {
            char name[64];

            sprintf(name, "h.0.attn.%s_proj.weight", names[i]);
            put_text(name);
            put_tensor(100 + i, 2, (size_t[]){4, 4}, i < views);
            sprintf(name, "ckpt/data/%zu", 100 + i);
            torch_zip_put(&storages, name, zeros, sizeof zeros);
        }
        PUT("u.");
        torch_zip_begin(&z, pickle, pickle_n);
        for (size_t i = 0; i < storages.members; i++)
            torch_zip_put(&z, storages.member[i].name, storages.bytes + storages.member[i].data,
                          storages.member[i].size);
        torch_zip_end(&z);
        write_file("ckpt.pt", z.bytes, z.n);
        if (views % 3 > 0) {
            expect_refused(&ask, "h.0.attn.c_attn.weight: of its q, k and v, some are transposed");
            continue;
        }
        CHECK_OK(tg_model_file_open(&f, in_directory("ckpt.pt"), &ask, &err), &err);
        CHECK_EQ(f.values[qkv].transposed, views == 0);
        tg_model_file_close(&f);
    }
    tg_model_free(&m);
}

static void test_no_args(void)
{
    static torch_zip z;
    static const char none[] = "\x80\2}(X\5\0\0\0model}X\x0A\0\0\0model_argsNu.";

    torch_zip_begin(&z, none, sizeof none - 1);
    torch_zip_end(&z);
    write_file("ckpt.pt", z.bytes, z.n);
    expect_refused(NULL, "model_args is None, expected a dict");
}

static void test_bad_args(void)
{
    const tg_model_ask lossy = {.lossy = true};
    tg_model m = make(TG_GELU_ERF, true);

#define ARGS(text) write_torch(&m, OUT_IN, true, text, sizeof(text) - 1)
    ARGS("X\4\0\0\0rope\x88");
    expect_refused(NULL, "model_args: rope is not nanoGPT's");
    expect_model("ckpt.pt", &lossy, &m, 1);
    ARGS("K\1K\2");
    expect_refused(NULL, "model_args: ? is not nanoGPT's");
    ARGS("X\7\0\0\0dropoutG\0\0\0\0\0\0\0\0");
    expect_model("ckpt.pt", NULL, &m, 0);
    ARGS("X\6\0\0\0n_headK\2");
    expect_refused(NULL, "a dict has the key \"n_head\" twice");
    m.config.n_head = 0;
    ARGS("");
    expect_refused(NULL, "model_args: n_head is 0, expected 1 to 16777216");
    m.config.n_head = 16777217;
    ARGS("");
    expect_refused(NULL, "model_args: n_head is 16777217, expected 1 to 16777216");
    m.config.n_head = 3;
    ARGS("");
    expect_refused(NULL, "3 heads do not divide C = 4");
    m.config.n_head = 2;
    m.config.n_layer = 2;
    ARGS("");
    expect_refused(NULL, "h.1.");
    m.config.n_layer = 1;
    m.config.vocab_size = 10;
    ARGS("");
    expect_refused(NULL, "wte.weight has shape (9, 4), expected (10, 4)");
    m.config.vocab_size = 9;
    tg_model_free(&m);
}

/* ---- llm.c */

static void write_with(const tg_model *m, const char *format, const char *name, const tg_write_options *o)
{
    int fd = open(in_directory("model.npz"), O_RDWR | O_CREAT | O_TRUNC, 0600);
    const tg_model_writer *const to = tg_model_writer_named(format);
    tg_notes notes = {0};
    tg_model_file f;
    tg_err err = {0};

    CHECK_OK(tg_model_write(m, fd, &err), &err);
    close(fd);
    CHECK_OK(tg_model_file_open(&f, in_directory("model.npz"), NULL, &err), &err);
    CHECK_OK(to->check(&f, o, &notes, &err), &err);
    fd = open(in_directory(name), O_RDWR | O_CREAT | O_TRUNC, 0600);
    CHECK_OK(to->part[0].write(fd, &f, o, &err), &err);
    close(fd);
    tg_notes_free(&notes);
    tg_model_file_close(&f);
}

/* Round all values to bfloat16. */
static void round_all(tg_model *m)
{
    for (size_t i = 0; i < m->table.n; i++)
        for (size_t j = 0; j < m->table.entry[i].count; j++) {
            float *const x = &m->params[m->table.entry[i].offset + j];
            uint32_t bits;

            memcpy(&bits, x, sizeof bits);
            bits &= 0xFFFF0000;
            memcpy(x, &bits, sizeof bits);
        }
}

static void test_llmc(void)
{
    for (int bf16 = 0; bf16 < 2; bf16++) {
        const tg_write_options o = {.type = bf16 ? TG_WRITE_BF16 : TG_WRITE_F32};
        tg_model m = make(TG_GELU_TANH, true);
        struct stat st;

        if (bf16)
            round_all(&m);
        write_with(&m, "llmc", "model.bin", &o);
        CHECK(stat(in_directory("model.bin"), &st) == 0);
        CHECK_EQ(st.st_size, 1024 + (bf16 ? 2 : 4) * (m.table.count + (128 - 9) * 4));
        expect_model("model.bin", NULL, &m, 0);
        tg_model_free(&m);
    }
}

/* What the model lacks is zeros in the file. */
static void test_llmc_without_biases(void)
{
    const tg_write_options o = {.lossy = true};
    tg_model m = make(TG_GELU_TANH, false);
    tg_model_file f;
    tg_err err = {0};
    bool zeros = false;

    write_with(&m, "llmc", "model.bin", &o);
    CHECK_OK(tg_model_file_open(&f, in_directory("model.bin"), NULL, &err), &err);
    CHECK(f.config.linear_bias && f.config.layer_norm_bias);
    CHECK_OK(tg_model_file_is_constant(&zeros, &f, tg_params_index(&f.table, TG_QKV_B, 0), 0, &err), &err);
    CHECK(zeros);
    tg_model_file_close(&f);
    tg_model_free(&m);
}

/* The last value of wte's padding, no longer zero. */
static void set_padding(const char *name)
{
    FILE *const f = fopen(in_directory(name), "r+b");

    CHECK(f && fseek(f, 1024 + 4 * (127 * 4 + 3), SEEK_SET) == 0 && fputc(1, f) == 1 && fclose(f) == 0);
}

static void test_llmc_padding(void)
{
    const tg_write_options o = {0};
    tg_model m = make(TG_GELU_TANH, true);
    FILE *f;

    write_with(&m, "llmc", "model.bin", &o);
    set_padding("model.bin");
    expect_model("model.bin", NULL, &m, 1);
    f = fopen(in_directory("model.bin"), "r+b"); /* wpe's first value is not padding */
    CHECK(f && fseek(f, 1024 + 4 * (127 * 4 + 3), SEEK_SET) == 0 && fputc(0, f) == 0 && fclose(f) == 0);
    expect_model("model.bin", NULL, &m, 0);
    tg_model_free(&m);
}

/* ---- tokens */

/* Convert a file to another; its bytes are in out, their number is returned. */
static tg_status convert(const char *from, bool raw, tg_token_format to, const char *name,
                         const tg_token_ask *ask, tg_token_copy *copied, tg_err *err)
{
    char source_path[4096];
    tg_source source;
    int in, out;
    tg_status status;

    strcpy(source_path, in_directory(from));
    in = open(source_path, O_RDONLY);
    out = open(in_directory(name), O_RDWR | O_CREAT | O_TRUNC, 0600);
    CHECK(in >= 0 && out >= 0);
    status = tg_source_open(&source, in, err);
    if (!status)
        status = tg_token_file_convert(out, to, &source, raw, ask, copied, err);
    close(in);
    close(out);
    return status;
}

static void expect_file(const char *name, const void *bytes, size_t n)
{
    FILE *const f = fopen(in_directory(name), "rb");
    char got[4096];

    CHECK(f != NULL);
    CHECK_EQ(fread(got, 1, sizeof got, f), n);
    CHECK(memcmp(got, bytes, n) == 0);
    fclose(f);
}

static bool has_tokens(const char *name)
{
    bool is = false;
    tg_err err;

    CHECK_OK(tg_token_file_recognize(name, &is, &err), &err);
    return is;
}

static void test_tokens(void)
{
    const uint16_t ids[] = {5, 300, 0, 7};
    const tg_token_ask none = {0};
    unsigned char llmc[TG_LLMC_HEADER + sizeof ids];
    tg_token_copy copied;
    tg_err err = {0};

    CHECK_OK(tg_llmc_tokens_header(llmc, 4, &err), &err);
    memcpy(llmc + TG_LLMC_HEADER, ids, sizeof ids);
    write_file("raw", ids, sizeof ids);
    CHECK(!has_tokens(in_directory("raw")));
    CHECK_OK(convert("raw", true, TG_TOKENS_LLMC, "llmc", &none, &copied, &err), &err);
    CHECK_EQ(copied.count, 4);
    expect_file("llmc", llmc, sizeof llmc);
    CHECK(has_tokens(in_directory("llmc")));
    CHECK_OK(convert("llmc", false, TG_TOKENS_NPZ, "tokens", &none, &copied, &err), &err);
    CHECK(has_tokens(in_directory("tokens")));
    CHECK_OK(convert("tokens", false, TG_TOKENS_UINT16, "again", &none, &copied, &err), &err);
    CHECK_EQ(copied.count, 4);
    expect_file("again", ids, sizeof ids);
    CHECK_OK(convert("tokens", false, TG_TOKENS_NPZ, "same", &none, &copied, &err), &err);
    CHECK_EQ(convert("raw", false, TG_TOKENS_NPZ, "x", &none, &copied, &err), TG_EDATA);
    CHECK(!has_tokens(in_directory("none")));
}

/* An archive of `n` ids of a tokenizer that has more than 16 bits hold. */
static void write_archive(const char *name, const int32_t *ids, size_t n)
{
    const int fd = open(in_directory(name), O_RDWR | O_CREAT | O_TRUNC, 0600);
    const tg_tokenizer *tok;
    tg_tokens_writer *w;
    tg_err err = {0};

    CHECK_OK(tg_bare_ids_create(&tok, 70000, &err), &err);
    CHECK_OK(tg_tokens_create(&w, fd, tok, &err), &err);
    CHECK_OK(tg_tokens_write(w, ids, n, &err), &err);
    CHECK_OK(tg_tokens_finish(w, &err), &err);
    tg_tokens_abandon(w);
    tg_tokenizer_free(tok);
    close(fd);
}

static void test_wide_tokens(void)
{
    const int32_t ids[] = {3, 65535, 65536};
    const uint16_t narrow[] = {3, 65535};
    const tg_token_ask none = {0};
    tg_token_copy copied;
    tg_err err = {0};

    write_archive("wide", ids, 3);
    CHECK_EQ(convert("wide", false, TG_TOKENS_UINT16, "x", &none, &copied, &err), TG_EUSAGE);
    CHECK_HAS(err.message, "id 65536 at position 2 does not fit in 16 bits");
    write_archive("wide", ids, 2);
    CHECK_OK(convert("wide", false, TG_TOKENS_UINT16, "x", &none, &copied, &err), &err);
    expect_file("x", narrow, sizeof narrow);
    write_archive("wide", ids, 0);
    CHECK_OK(convert("wide", false, TG_TOKENS_NPZ, "x", &none, &copied, &err), &err);
    CHECK_EQ(copied.count, 0);
    CHECK(has_tokens(in_directory("x")));
}

/* ---- calls that fail */

static void test_header_fails(void)
{
    static const struct {
        const char *call;
        int nth, error;
        tg_status want;
        const char *message;
    } cases[] = {{"lseek", 2, EIO, TG_EIO, "cannot reread"}, /* the first maps the source */
                 {"lseek", 3, EIO, TG_EIO, "where the header begins"},
                 {"lseek", 3, ESPIPE, TG_EUSAGE, "cannot be written to a pipe"},
                 {"pwrite", 1, EINTR, TG_OK, ""},
                 {"pwrite", 1, 0, TG_EIO, "cannot write the header: No space left"},
                 {"pwrite", 1, EIO, TG_EIO, "cannot write the header"}};
    const uint16_t ids[] = {5, 300, 0, 7};
    const tg_token_ask none = {0};
    const int fd = (write_file("raw", ids, sizeof ids), open(in_directory("raw"), O_RDONLY));
    tg_source source;
    tg_token_copy copied;
    tg_err err = {0};
    int out;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        refuse(cases[i].call, cases[i].nth, cases[i].error);
        CHECK_EQ(convert("raw", true, TG_TOKENS_LLMC, "x", &none, &copied, &err), cases[i].want);
        CHECK(refused_all());
        CHECK_HAS(err.message, cases[i].message);
    }
    out = open(in_directory("x"), O_RDWR | O_APPEND);
    CHECK_OK(tg_source_open(&source, fd, &err), &err);
    CHECK_EQ(tg_token_file_convert(out, TG_TOKENS_LLMC, &source, true, &none, &copied, &err), TG_EUSAGE);
    CHECK_HAS(err.message, "nor appended");
    close(out);
    close(fd);
}

/* Whether the source can be read twice cannot be told. */
static void test_source_is_hidden(void)
{
    const uint16_t ids[] = {5, 300, 0, 7};
    const tg_token_ask none = {0};
    tg_token_copy copied;
    tg_err err = {0};

    write_file("raw", ids, sizeof ids);
    refuse("fstat", 2, EIO); /* the first maps the source */
    CHECK_EQ(convert("raw", true, TG_TOKENS_NPZ, "x", &none, &copied, &err), TG_EIO);
    CHECK(refused_all() && copied.source_failed);
    CHECK_HAS(err.message, "cannot be examined");
    refuse("pwrite", 1, EIO);
    CHECK_EQ(convert("raw", true, TG_TOKENS_LLMC, "x", &none, &copied, &err), TG_EIO);
    CHECK(refused_all() && !copied.source_failed);
}

static void test_recognize_fails(void)
{
    char longer[5000] = {0};
    bool is;
    tg_err err = {0};

    memset(longer, 'a', sizeof longer - 1);
    CHECK_EQ(tg_token_file_recognize(longer, &is, &err), TG_EIO);
    CHECK_EQ(err.sys, ENAMETOOLONG);
    write_text("text", "some text");
    refuse("open", 1, EACCES);
    CHECK_EQ(tg_token_file_recognize(in_directory("text"), &is, &err), TG_EIO);
    CHECK(refused_all() && err.sys == EACCES);
    CHECK_HAS(err.message, directory);
    refuse("mmap", 1, ENODEV);
    refuse("read", 1, EIO);
    CHECK_EQ(tg_token_file_recognize(in_directory("text"), &is, &err), TG_EIO);
    CHECK(refused_all() && err.sys == EIO && !is);
    CHECK_HAS(err.message, directory);
}

/* ---- memory */

static void fail_open(const char *name)
{
    tg_status status = TG_ENOMEM;
    tg_model_file f;
    tg_err err;
    long n = 0;

    for (; status && n < 1000; n++) {
        failing_after(n);
        status = tg_model_file_open(&f, in_directory(name), NULL, &err);
        failing_after(-1);
        CHECK(status == TG_OK || status == TG_ENOMEM || status == TG_EIO);
    }
    CHECK(n > 4 && n < 1000);
    tg_model_file_close(&f);
}

static void fail_write(const char *name)
{
    const tg_write_options o = {.type = TG_WRITE_BF16};
    const tg_model_writer *const to = tg_model_writer_named("llmc");
    const int fd = open("/dev/null", O_WRONLY);
    tg_status status = TG_ENOMEM;
    tg_model_file f;
    tg_err err = {0};
    long n = 0;

    CHECK_OK(tg_model_file_open(&f, in_directory(name), NULL, &err), &err);
    for (; status && n < 100; n++) {
        failing_after(n);
        status = to->part[0].write(fd, &f, &o, &err);
        failing_after(-1);
        CHECK(status == TG_OK || status == TG_ENOMEM);
    }
    CHECK(n > 2 && n < 100);
    tg_model_file_close(&f);
    close(fd);
}

static void fail_tokens(const char *name, bool raw, tg_token_format to)
{
    const tg_token_ask none = {0};
    tg_status status = TG_ENOMEM;
    tg_token_copy copied;
    tg_err err;
    long n = 0;

    for (; status && n < 100; n++) {
        failing_after(n);
        status = convert(name, raw, to, "x", &none, &copied, &err);
        failing_after(-1);
        CHECK(status == TG_OK || status == TG_ENOMEM);
    }
    CHECK(n > 1 && n < 100);
}

static void test_no_memory(void)
{
    const tg_write_options o = {0};
    tg_model m = make(TG_GELU_ERF, true), tanh = make(TG_GELU_TANH, true);

    write_torch(&m, VIEWS, true, "", 0);
    fail_open("ckpt.pt");
    write_with(&tanh, "llmc", "model.bin", &o);
    fail_open("model.bin");
    fail_write("model.bin");
    set_padding("model.bin");
    fail_open("model.bin");
    fail_tokens("raw", true, TG_TOKENS_NPZ);
    fail_tokens("raw", true, TG_TOKENS_LLMC);
    fail_tokens("tokens", false, TG_TOKENS_NPZ);
    tg_model_free(&m);
    tg_model_free(&tanh);
}

static void clean(void)
{
    static const char *const names[] = {"ckpt.pt", "model.npz", "model.bin", "raw", "llmc", "tokens",
                                        "again",   "same",      "none",      "x",   "text", "wide"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        unlink(in_directory(names[i]));
    rmdir(directory);
}

int main(void)
{
    CHECK(mkdtemp(directory) != NULL);
    RUN(test_nanogpt);
    RUN(test_state_dict);
    RUN(test_mingpt);
    RUN(test_llama);
    RUN(test_stream);
    RUN(test_split_views);
    RUN(test_no_args);
    RUN(test_bad_args);
    RUN(test_llmc);
    RUN(test_llmc_without_biases);
    RUN(test_llmc_padding);
    RUN(test_tokens);
    RUN(test_wide_tokens);
    RUN(test_header_fails);
    RUN(test_source_is_hidden);
    RUN(test_recognize_fails);
    RUN(test_no_memory);
    clean();
    return check_done();
}
