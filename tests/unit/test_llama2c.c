/*
 * llama2.c's models: written down here in all versions, and read as the same model is from Hugging Face's
 * files, bit for bit; cut, with every number of the header wrong; and the tokenizer in the same directory.
 */
#include "formats/llama2c.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/format.h"
#include "formats/safetensors.h"
#include "formats/source.h"
#include "lib/gpt/family.h"
#include "lib/models/model_file.h"
#include "tests/unit/check.h"
#include "tests/unit/failing.h"
#include "tests/unit/hf_directory.h"
#include "tests/unit/small_model.h"

enum { L = 3, H = 4, KV = 2, D = 6, C = H * D, F = 20, V = 40, T = 16, FILE_MAX = 65536 };

/* ---- a file */

typedef struct bin {
    unsigned char bytes[FILE_MAX];
    size_t n;
} bin;

static void put32(bin *b, uint32_t x)
{
    for (size_t i = 0; i < 4; i++)
        b->bytes[b->n++] = (unsigned char)(x >> 8 * i & 0xFF);
}

static void put_float(bin *b, float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    put32(b, bits);
}

static void set32(bin *b, size_t at, uint32_t x)
{
    const size_t n = b->n;

    b->n = at;
    put32(b, x);
    b->n = n;
}

/* Element e of parameter i, as this library counts rows. */
static float value(size_t i, size_t e)
{
    return (float)i - (float)e / 4096;
}

/* The model's config; eos and bos are the file's. */
static tg_config config_of(bool tied)
{
    tg_config c = {.family = tg_family_number("llama")};

    tg_config_neutral(&c);
    c.n_layer = L;
    c.n_head = H;
    c.n_kv_head = KV;
    c.head_dim = D;
    c.n_embd = C;
    c.n_inner = F;
    c.n_ctx = T;
    c.vocab_size = V;
    c.layer_norm_epsilon = 1e-5;
    c.activation = TG_SILU;
    c.rope_theta = 10000;
    c.tied = tied;
    return c;
}

enum { GROUP = 6 }; /* of version 2, with rows of 24 and 20 */

static int8_t integer(size_t i, size_t e)
{
    return (int8_t)((int)((e * 7 + i) % 255) - 127);
}

static float scale(size_t i, size_t group)
{
    return 1 / (float)(100 + i + group);
}

/* Integers, then scales. */
static void put_groups(bin *b, size_t i, size_t count)
{
    for (size_t e = 0; e < count; e++)
        b->bytes[b->n++] = (unsigned char)integer(i, e);
    for (size_t group = 0; group < count / GROUP; group++)
        put_float(b, scale(i, group));
}

static void put_tensor(bin *b, const tg_params *table, const char *name, bool grouped)
{
    const tg_param *const p = tg_params_find(table, name);
    const bool pairs = strstr(name, "q_proj") || strstr(name, "k_proj");

    CHECK(p != NULL);
    if (p && grouped && p->ndim == 2) {
        put_groups(b, (size_t)(p - table->entry), p->count);
        return;
    }
    for (size_t e = 0; p && e < p->count; e++) {
        const size_t columns = p->ndim == 2 ? p->shape[1] : 1, r = e / columns, j = r % D;
        const size_t row = pairs ? r - j + j / 2 + (j % 2) * (D / 2) : r;

        put_float(b, value((size_t)(p - table->entry), row * columns + e % columns));
    }
}

static const char *const orders[2][13] = {
    {"model.embed_tokens.weight", "input_layernorm.weight", "self_attn.q_proj.weight",
     "self_attn.k_proj.weight", "self_attn.v_proj.weight", "self_attn.o_proj.weight",
     "post_attention_layernorm.weight", "mlp.gate_proj.weight", "mlp.down_proj.weight", "mlp.up_proj.weight",
     "model.norm.weight", "freqs", "lm_head.weight"},
    {"input_layernorm.weight", "post_attention_layernorm.weight", "model.norm.weight",
     "model.embed_tokens.weight", "self_attn.q_proj.weight", "self_attn.k_proj.weight",
     "self_attn.v_proj.weight", "self_attn.o_proj.weight", "mlp.gate_proj.weight", "mlp.down_proj.weight",
     "mlp.up_proj.weight", "lm_head.weight"}};

static bool is_in_block(const char *name)
{
    return strncmp(name, "model.", 6) != 0 && strcmp(name, "lm_head.weight") != 0;
}

static void put_kind(bin *b, const tg_params *table, const char *kind, bool grouped)
{
    char name[64];

    for (size_t l = 0; l < (is_in_block(kind) ? L : 1); l++) {
        snprintf(name, sizeof name, "model.layers.%zu.%s", l, kind);
        put_tensor(b, table, is_in_block(kind) ? name : kind, grouped);
    }
}

static void put_header(bin *b, size_t version, bool tied)
{
    b->n = 0;
    if (version > 0) {
        put32(b, 0x616B3432);
        put32(b, (uint32_t)version);
    }
    put32(b, C);
    put32(b, F);
    put32(b, L);
    put32(b, H);
    put32(b, KV);
    put32(b, version > 0 || tied ? V : (uint32_t)-V);
    put32(b, T);
    if (version > 0)
        b->bytes[b->n++] = tied;
    if (version == 2)
        put32(b, GROUP);
    while (version > 0 && b->n < 256)
        b->bytes[b->n++] = 0;
}

static void make(bin *b, size_t version, bool tied)
{
    const tg_config c = config_of(tied);
    const char *const *const order = orders[version > 0];
    tg_params table;
    tg_err err = {0};

    CHECK_OK(tg_params_build(&table, &c, &err), &err);
    put_header(b, version, tied);
    for (size_t k = 0; k < 13 && order[k]; k++)
        if (strcmp(order[k], "freqs") == 0) /* which no reader uses */
            for (size_t i = 0; i < T * D; i++)
                put_float(b, 7);
        else if (!tied || strcmp(order[k], "lm_head.weight") != 0)
            put_kind(b, &table, order[k], version == 2);
    tg_params_free(&table);
}

/* ---- files in the test's directory */

static void write_file(const char *name, const void *bytes, size_t n)
{
    FILE *const f = fopen(hf_in_directory(name), "wb");

    CHECK(f && fwrite(bytes, 1, n, f) == n && fclose(f) == 0);
}

static void write_hf(bool tied)
{
    const tg_config c = config_of(tied);
    const int fd = open(hf_in_directory("model.safetensors"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    FILE *const json = fopen(hf_in_directory("config.json"), "w");
    tg_array arrays[64];
    tg_safetensors_writer w;
    tg_params table;
    tg_err err = {0};

    CHECK(json &&
          fprintf(json,
                  "{\"model_type\": \"llama\", \"hidden_size\": %d, \"intermediate_size\": %d, "
                  "\"num_hidden_layers\": %d, \"num_attention_heads\": %d, \"num_key_value_heads\": %d, "
                  "\"vocab_size\": %d, \"max_position_embeddings\": %d, \"rms_norm_eps\": 1e-05, "
                  "\"tie_word_embeddings\": %s, \"bos_token_id\": 1, \"eos_token_id\": 2}",
                  C, F, L, H, KV, V, T, tied ? "true" : "false") > 0 &&
          fclose(json) == 0);
    CHECK_OK(tg_params_build(&table, &c, &err), &err);
    for (size_t i = 0; i < table.n; i++) {
        const tg_param *const p = &table.entry[i];

        arrays[i] = (tg_array){
            .dtype = TG_F32, .ndim = p->ndim, .count = p->count, .shape = {p->shape[0], p->shape[1]}};
        snprintf(arrays[i].name, sizeof arrays[i].name, "%s", p->name);
    }
    CHECK_OK(tg_safetensors_begin(&w, fd, arrays, table.n, &err), &err);
    for (size_t i = 0; i < table.n; i++)
        for (size_t e = 0; e < table.entry[i].count; e++)
            CHECK_OK(tg_safetensors_put(&w, &(float){value(i, e)}, sizeof(float), &err), &err);
    tg_safetensors_end(&w);
    tg_params_free(&table);
    close(fd);
}

/* ---- models */

static void check_same(const tg_model_file *f, const tg_model_file *want)
{
    tg_config c = f->config;

    c.add_bos = want->config.add_bos; /* of a directory without a tokenizer, nothing says it */
    CHECK(small_config_equal(&c, &want->config));
    CHECK_EQ(f->table.n, want->table.n);
    for (size_t i = 0; i < want->table.n; i++) {
        tg_float_buffer a = {0}, b = {0};
        const float *x, *y;
        tg_err err = {0};

        CHECK_OK(tg_model_file_get(&x, &a, f, i, false, &err), &err);
        CHECK_OK(tg_model_file_get(&y, &b, want, i, false, &err), &err);
        CHECK(memcmp(x, y, want->table.entry[i].count * sizeof *x) == 0);
        free(a.x);
        free(b.x);
    }
}

static void check_model(bin *b, size_t version, bool tied)
{
    tg_model_file f, want;
    bool foreign;
    tg_err err = {0};

    make(b, version, tied);
    write_file("model.bin", b->bytes, b->n);
    write_hf(tied);
    CHECK_OK(tg_model_file_is_foreign(hf_in_directory("model.bin"), &foreign, &err), &err);
    CHECK(foreign && tg_model_file_begins(b->bytes, TG_FORMAT_BYTES));
    CHECK_OK(tg_model_file_open(&f, hf_in_directory("model.bin"), NULL, &err), &err);
    CHECK_OK(tg_model_file_open(&want, hf_directory, NULL, &err), &err);
    CHECK(strcmp(f.kind, "a llama2.c model") == 0);
    CHECK(!f.tokenizer && f.notes.n == 0 && f.config.add_bos);
    check_same(&f, &want);
    tg_model_file_close(&f);
    tg_model_file_close(&want);
}

static void test_models(void)
{
    static bin b;

    for (size_t version = 0; version < 2; version++)
        for (int tied = 0; tied < 2; tied++)
            check_model(&b, version, tied);
}

/* Version 2: integers times the scale of their group. */
static void test_groups(void)
{
    static bin b;
    tg_model_file f;
    tg_float_buffer buffer = {0};
    const float *x;
    tg_err err = {0};

    make(&b, 2, false);
    write_file("model.bin", b.bytes, b.n);
    CHECK_OK(tg_model_file_open(&f, hf_in_directory("model.bin"), NULL, &err), &err);
    for (size_t i = 0; i < f.table.n; i++) {
        const tg_param *p = &f.table.entry[i];
        const bool pairs = p->kind == TG_Q_W || p->kind == TG_K_W;
        const size_t columns = p->ndim == 2 ? p->shape[1] : 1;

        CHECK_OK(tg_model_file_get(&x, &buffer, &f, i, false, &err), &err);
        for (size_t e = 0; e < p->count; e++) {
            const size_t r = e / columns, j = r % D;
            const size_t row = pairs ? r - j + j % (D / 2) * 2 + j / (D / 2) : r,
                         at = row * columns + e % columns;

            CHECK(x[e] == (p->ndim == 2 ? (float)integer(i, at) * scale(i, at / GROUP) : value(i, e)));
        }
    }
    free(buffer.x);
    tg_model_file_close(&f);
    make(&b, 2, true);
    write_file("model.bin", b.bytes, b.n);
    CHECK_OK(tg_model_file_open(&f, hf_in_directory("model.bin"), NULL, &err), &err);
    CHECK(f.config.tied && f.notes.n == 0);
    tg_model_file_close(&f);
}

/* From a pipe, of which the size is not known before all of it is there. */
static void test_stream(void)
{
    static bin b;

    for (size_t version = 0; version < 2; version++) {
        tg_source source;
        tg_model_file f;
        tg_err err = {0};
        int ends[2];

        make(&b, version, true);
        CHECK(pipe(ends) == 0 && write(ends[1], b.bytes, b.n) == (ssize_t)b.n);
        close(ends[1]);
        CHECK_OK(tg_source_open(&source, ends[0], &err), &err);
        CHECK_OK(tg_model_file_open_source(&f, &source, "pipe", NULL, &err), &err);
        CHECK_EQ(f.config.n_inner, F);
        tg_model_file_close(&f);
        close(ends[0]);
    }
}

/* ---- what is refused */

static void refuse(const bin *b, size_t n, const char *why)
{
    tg_model_file f;
    tg_err err = {0};

    write_file("model.bin", b->bytes, n);
    CHECK_EQ(tg_model_file_open(&f, hf_in_directory("model.bin"), NULL, &err), TG_EDATA);
    CHECK_HAS(err.message, why);
    CHECK_HAS(err.message, "model.bin: ");
}

/* With a magic number, each wrong number has its message; without one, it is no model. */
static void test_numbers(void)
{
    static const struct {
        size_t number;
        uint32_t value;
        const char *why;
    } wrong[] = {{0, 0, "dim is 0, expected 1 to 16777216"},
                 {0, 26, "4 heads do not divide dim = 26"},
                 {0, 20, "a head has 5 channels, expected an even number"},
                 {1, 16777217, "hidden_dim is 16777217, expected 1 to 16777216"},
                 {2, 0, "n_layers is 0, expected 1 to 454"},
                 {2, 455, "n_layers is 455"},
                 {3, 0xFFFFFFFF, "n_heads is -1"},
                 {4, 3, "3 heads of keys and values do not divide n_heads = 4"},
                 {4, 8, "8 heads of keys and values do not divide n_heads = 4"},
                 {6, 0x80000000, "seq_len is -2147483648"}};
    static bin b;

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        make(&b, 1, true);
        set32(&b, 8 + 4 * wrong[i].number, wrong[i].value);
        refuse(&b, b.n, wrong[i].why);
        make(&b, 0, true);
        set32(&b, 4 * wrong[i].number, wrong[i].value);
        refuse(&b, b.n, "not a model of a known format");
        CHECK(!tg_llama2c_begins(b.bytes, b.n));
    }
    make(&b, 1, true);
    set32(&b, 28, (uint32_t)-V);
    refuse(&b, b.n, "vocab_size is -40, expected 1 to 16777216");
}

static void test_headers(void)
{
    static bin b;

    make(&b, 1, true);
    b.bytes[36] = 2;
    refuse(&b, b.n, "byte 36 of the header is 2, expected 0 or 1");
    b.bytes[36] = 1;
    b.bytes[255] = 9;
    refuse(&b, b.n, "byte 255 of the header is 9, expected 0");
    make(&b, 1, true);
    set32(&b, 4, 0);
    refuse(&b, b.n, "version 0, expected 1");
    set32(&b, 4, 3);
    refuse(&b, b.n, "version 3, expected 1 or 2");
    set32(&b, 4, 2);
    refuse(&b, b.n, "group_size is 0, expected 1 to 16777216");
    set32(&b, 37, 7);
    refuse(&b, b.n, "group_size is 7, which does not divide the 960 values of tok_embeddings.weight");
    b.bytes[41] = 1;
    refuse(&b, b.n, "byte 41 of the header is 1, expected 0");
    set32(&b, 4, 65536);
    refuse(&b, b.n, "not a model of a known format");
    make(&b, 1, true);
    for (size_t i = 0; i < 7; i++)
        set32(&b, 8 + 4 * i, i == 2 ? 454 : i == 3 || i == 4 ? 1 : 1 << 24);
    refuse(&b, b.n, "truncated: ");
}

/* Too short and too long, in memory of exactly that size. */
static void test_sizes(void)
{
    static bin b;
    char want[64];

    for (size_t version = 0; version < 3; version++) {
        make(&b, version, false);
        snprintf(want, sizeof want, "its header says %zu", b.n);
        refuse(&b, b.n - 1, want);
        refuse(&b, b.n - 1, "truncated: ");
        refuse(&b, b.n + 1, want);
        refuse(&b, 300, "truncated: 300 bytes");
        for (size_t n = 0; n < 600; n++) {
            unsigned char *const copy = malloc(n + 1);
            tg_tensor_list list = {0};
            tg_llama2c_config config;
            tg_err err = {0};

            memcpy(copy + 1, b.bytes, n);
            CHECK(tg_llama2c_begins(copy + 1, n) == (n >= (version > 0 ? 8 : 28)));
            CHECK_EQ(tg_llama2c_read(&list, &config, copy + 1, n, &err), TG_EDATA);
            CHECK_HAS(err.message, "truncated: ");
            tg_tensor_list_free(&list);
            free(copy);
        }
    }
}

/* ---- the tokenizer */

/* n pieces, at least 3: of a character each, all different. */
static void write_tokenizer(size_t n)
{
    static bin b;
    static const char *const first[] = {"<unk>", "\n<s>\n", "\n</s>\n"};

    b.n = 0;
    put32(&b, 8);
    for (size_t i = 0; i < n; i++) {
        const char piece[] = {(char)('!' + (i - 3) % 90), '\0'};
        const char *const text = i < 3 ? first[i] : piece;

        put_float(&b, -(float)i);
        put32(&b, (uint32_t)strlen(text));
        memcpy(b.bytes + b.n, text, strlen(text));
        b.n += strlen(text);
    }
    write_file("tokenizer.bin", b.bytes, b.n);
}

static void test_tokenizer(void)
{
    const tg_model_ask lossy = {.lossy = true};
    static bin b;
    tg_model_file f;
    tg_err err = {0};

    make(&b, 0, true);
    write_file("model.bin", b.bytes, b.n);
    write_tokenizer(V);
    CHECK_OK(tg_model_file_open(&f, hf_in_directory("model.bin"), NULL, &err), &err);
    CHECK(f.tokenizer && f.notes.n == 0);
    CHECK(f.config.add_bos && f.config.bos_token == 2);
    CHECK_EQ(f.config.eos_token, 0); /* it is the tokenizer's */
    tg_model_file_close(&f);
    for (size_t n = V - 1; n <= V + 1; n += 2) {
        write_tokenizer(n);
        CHECK_OK(tg_model_file_open(&f, hf_in_directory("model.bin"), NULL, &err), &err);
        CHECK(!f.tokenizer && f.notes.n == 1);
        CHECK_HAS(f.notes.line[0], n < V ? "tokenizer.bin is left out: it has 39 tokens, the model 40"
                                         : "tokenizer.bin is left out: it has 41 tokens, the model 40");
        tg_model_file_close(&f);
    }
    write_file("tokenizer.bin", "\x08\0\0\0\0\0\0\0\5\0\0\0<unk>\0\0", 19);
    refuse(&b, b.n, "tokenizer.bin: the file ends in token 1");
    CHECK_OK(tg_model_file_open(&f, hf_in_directory("model.bin"), &lossy, &err), &err);
    CHECK(!f.tokenizer && f.notes.n == 1);
    CHECK_HAS(f.notes.line[0], "the tokenizer is left out: ");
    tg_model_file_close(&f);
    unlink(hf_in_directory("tokenizer.bin"));
}

/* ---- no memory */

static void test_no_memory(void)
{
    static bin b;
    tg_status status = TG_ENOMEM;
    long n = 0;

    make(&b, 0, false);
    for (; status && n < 20; n++) {
        tg_tensor_list list = {0};
        tg_llama2c_config config;

        failing_after(n);
        status = tg_llama2c_read(&list, &config, b.bytes, b.n, NULL);
        failing_after(-1);
        CHECK(status == TG_OK || status == TG_ENOMEM);
        tg_tensor_list_free(&list);
    }
    CHECK(n > 1 && n < 20);
    write_file("model.bin", b.bytes, b.n);
    write_tokenizer(V);
    for (status = TG_ENOMEM, n = 0; status && n < 500; n++) {
        tg_model_file f;
        tg_err err = {0};

        failing_after(n);
        status = tg_model_file_open(&f, hf_in_directory("model.bin"), NULL, &err);
        failing_after(-1);
        CHECK(status == TG_OK || status == TG_ENOMEM);
        if (!status)
            tg_model_file_close(&f);
    }
    CHECK(n > 20 && n < 500);
    unlink(hf_in_directory("tokenizer.bin"));
}

int main(void)
{
    if (!hf_begin())
        return 1;
    RUN(test_models);
    RUN(test_groups);
    RUN(test_stream);
    RUN(test_numbers);
    RUN(test_headers);
    RUN(test_sizes);
    RUN(test_tokenizer);
    RUN(test_no_memory);
    unlink(hf_in_directory("model.bin"));
    return hf_done();
}
