/* Models in GGUF files: what is written is read again; what llama.cpp cannot compute; files of others, right
 * and wrong. */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/gguf_writer.h"
#include "lib/models/model_archive.h"
#include "lib/models/model_format.h"
#include "tests/unit/check.h"
#include "tests/unit/small_model.h"

static char directory[] = "/tmp/test_gguf_model.XXXXXX";
static char path[4096];

static const char *in_directory(const char *name)
{
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

static tg_model make_model(tg_config c)
{
    tg_model m;

    small_model_create(&m, c, 1);
    small_model_stir(&m, 100, 0.9, 0.3);
    return m;
}

/* Write m as an archive, and open that. */
static void open_model(tg_model_file *f, const tg_model *m)
{
    const int fd = open(in_directory("model.npz"), O_RDWR | O_CREAT | O_TRUNC, 0600);
    tg_err err = {0};

    CHECK_OK(tg_model_write(m, fd, &err), &err);
    close(fd);
    CHECK_OK(tg_model_file_open(f, path, NULL, &err), &err);
}

/* Write it as GGUF, and open that. */
static tg_status convert(tg_model_file *back, const tg_model *m, const tg_write_options *o, tg_notes *notes,
                         tg_err *err)
{
    const tg_model_writer *const to = tg_model_writer_named("gguf");
    tg_model_file f;
    tg_status status;
    int fd;

    open_model(&f, m);
    status = to->check(&f, o, notes, err);
    if (!status) {
        fd = open(in_directory("model.gguf"), O_RDWR | O_CREAT | O_TRUNC, 0600);
        CHECK_OK(to->part[0].write(fd, &f, o, err), err);
        close(fd);
        CHECK_OK(tg_model_file_open(back, path, NULL, err), err);
    }
    tg_model_file_close(&f);
    return status;
}

/* The largest difference of a parameter. */
static double distance(const tg_model_file *f, const tg_model *m)
{
    tg_float_buffer buffer = {0};
    double most = 0;
    const float *x;
    tg_err err = {0};

    for (size_t i = 0; i < f->table.n; i++) {
        const tg_param *p = &f->table.entry[i];
        const size_t j = tg_params_index(&m->table, p->kind, p->layer);

        CHECK_OK(tg_model_file_get(&x, &buffer, f, i, false, &err), &err);
        for (size_t k = 0; k < p->count; k++) {
            const double want = j < m->table.n ? (double)m->weight[j][k] : p->mean;

            most = fmax(most, fabs((double)x[k] - want));
        }
    }
    free(buffer.x);
    return most;
}

static void models_stay_the_same(void)
{
    for (int variant = 0; variant < 8; variant++) {
        tg_config c = small_config(2, 3, 36, 10);
        const tg_write_options o = {.type = TG_WRITE_F32};
        tg_notes notes = {0};
        tg_model_file back;
        tg_model m;
        tg_err err = {0};

        c.tied = variant % 2 == 0;
        c.linear_bias = variant % 4 < 2;
        c.layer_norm_weight = c.layer_norm_bias = variant < 4;
        c.vocab_size = 300;
        c.layer_norm_epsilon = (1 + variant) / 1e6;
        m = make_model(c);
        CHECK_OK(convert(&back, &m, &o, &notes, &err), &err);
        CHECK_EQ(notes.n, 0);
        CHECK(distance(&back, &m) == 0);
        CHECK(back.config.tied == c.tied && back.config.n_head == 3 && back.config.n_ctx == 10);
        CHECK(back.config.layer_norm_epsilon == (1 + variant) / 1e6);
        CHECK(back.config.activation == TG_GELU_TANH && back.config.vocab_size == 300);
        CHECK_OK(tg_tokenizer_same(m.tokenizer, back.tokenizer, &err), &err);
        CHECK(tg_tensor_list_find(&back.file[0]->list, "output.weight")); /* even when tied */
        tg_model_file_close(&back);
        tg_model_free(&m);
        tg_notes_free(&notes);
    }
}

/* With rows that are no tokens, one of which can end a text. */
static tg_model small(size_t C)
{
    tg_config c = small_config(1, 2, C, 10);

    c.vocab_size = 300;
    return make_model(c);
}

static void types_of_tensors(void)
{
    /* half a unit below 1; half a step, and what the scale's 11 bits lose */
    static const double bounds[] = {0, 0x1p-12, 0x1p-9, 0.9 / 254 + 0.9 * 0x1p-11};

    for (tg_write_type type = TG_WRITE_F32; type < TG_WRITE_TYPES; type++) {
        static const char *const want[] = {"f32", "f16", "bf16", "q8_0"};
        const tg_write_options o = {.type = type};
        tg_model m = small(64);
        tg_notes notes = {0};
        tg_model_file back;
        tg_err err = {0};
        size_t others = 0;

        CHECK_OK(convert(&back, &m, &o, &notes, &err), &err);
        CHECK(distance(&back, &m) <= bounds[type]);
        for (size_t i = 0; i < back.file[0]->list.n; i++) {
            const tg_stored *s = &back.file[0]->list.tensor[i];
            const bool matrix = s->array.ndim == 2 && strcmp(s->array.name, "position_embd.weight") != 0;
            char text[TG_ARRAY_TEXT_MAX];

            others += strcmp(tg_stored_type(text, s), matrix ? want[type] : "f32") != 0;
        }
        CHECK_EQ(others, 0);
        CHECK_EQ(back.file[0]->list.n, 5 + 12);
        CHECK_EQ(notes.n, 0);
        tg_model_file_close(&back);
        tg_model_free(&m);
    }
}

static void rows_that_are_no_blocks(void)
{
    const tg_write_options o = {.type = TG_WRITE_Q8_0};
    tg_model m = small(40);
    tg_notes notes = {0};
    tg_model_file back;
    char text[TG_ARRAY_TEXT_MAX];
    tg_err err = {0};

    CHECK_OK(convert(&back, &m, &o, &notes, &err), &err);
    CHECK(notes.n == 1 && strstr(notes.line[0], "rows of 40 values are written as f16"));
    CHECK(strcmp(tg_stored_type(text, tg_tensor_list_find(&back.file[0]->list, "token_embd.weight")),
                 "f16") == 0);
    CHECK(strcmp(tg_stored_type(text, tg_tensor_list_find(&back.file[0]->list, "blk.0.ffn_down.weight")),
                 "q8_0") == 0);
    tg_model_file_close(&back);
    tg_model_free(&m);
    tg_notes_free(&notes);
}

/* Refused, and noted if it may be lost. */
static void cannot(const tg_model *m, const char *message)
{
    tg_write_options o = {.type = TG_WRITE_F32};
    tg_notes notes = {0};
    tg_model_file back;
    tg_err err = {0};

    CHECK_EQ(convert(&back, m, &o, &notes, &err), TG_EUSAGE);
    CHECK_HAS(err.message, message);
    CHECK_EQ(notes.n, 0);
    o.lossy = true;
    CHECK_OK(convert(&back, m, &o, &notes, &err), &err);
    CHECK_EQ(notes.n, 1);
    tg_model_file_close(&back);
    tg_notes_free(&notes);
}

static void what_llama_cannot_compute(void)
{
    tg_config c = small_config(1, 2, 32, 10);
    tg_write_options o = {.split_qkv = true};
    tg_notes notes = {0};
    tg_model_file back;
    tg_model m;
    tg_err err = {0};

    c.vocab_size = 300;
    c.activation = TG_GELU_ERF;
    m = make_model(c);
    cannot(&m, "llama.cpp differs: its activation is gelu_new (tanh), the model's gelu (exact)");
    tg_model_free(&m);
    c.activation = TG_GELU_TANH;
    c.head_bias = true;
    c.tied = false;
    m = make_model(c);
    cannot(&m, "lm_head.bias is not zero");
    memset(m.params + m.table.entry[tg_params_index(&m.table, TG_HEAD_B, 0)].offset, 0, 300 * sizeof(float));
    o.split_qkv = false;
    CHECK_OK(convert(&back, &m, &o, &notes, &err), &err);
    CHECK_EQ(notes.n, 0);
    CHECK(!back.config.head_bias);
    tg_model_file_close(&back);
    o.split_qkv = true;
    CHECK_EQ(convert(&back, &m, &o, &notes, &err), TG_EUSAGE);
    CHECK_HAS(err.message, "they cannot be split");
    tg_model_free(&m);
}

/* ---- models of others */

struct model {
    const char *architecture;
    size_t width, heads, kv, ffn, parts; /* 0: right, or not told */
    const char *left_out;                /* a value or a tensor that is missing */
    const char *added;                   /* a tensor too many */
    bool apart;                          /* q, k and v are three matrices */
    bool head;                           /* the file has one, which is not the embedding */
};

static void put_word(tg_gguf_writer *w, const char *key, const char *word)
{
    if (word)
        tg_gguf_put_text(w, key, word, strlen(word));
}

static void put_number(tg_gguf_writer *w, const struct model *m, const char *key, size_t n)
{
    if (n > 0 && !(m->left_out && strcmp(m->left_out, key) == 0))
        tg_gguf_put_u32(w, key, (uint32_t)n);
}

/* Declare a tensor, or put its values, which depend on its name only. */
static void put_tensor(tg_gguf_writer *w, const struct model *m, const char *name, size_t rows,
                       size_t columns, bool declare)
{
    const size_t shape[] = {rows, columns};
    float x[4096];

    if (m->left_out && strcmp(m->left_out, name) == 0)
        return;
    if (declare) {
        tg_gguf_declare(w, name, columns ? 2 : 1, shape, TG_GGUF_AS_F32);
        return;
    }
    check_fill(x, rows * (columns ? columns : 1), strlen(name), 1);
    tg_gguf_put_values(w, x, rows * (columns ? columns : 1));
}

/* GPT-2 with one block, C = 8, T = 4, V = 5. */
static void put_tensors(tg_gguf_writer *w, const struct model *m, bool declare)
{
    static const struct {
        const char *name;
        size_t rows, columns;
    } tensors[] = {
        {"token_embd.weight", 5, 8},     {"position_embd.weight", 4, 8},     {"blk.0.attn_norm.weight", 8, 0},
        {"blk.0.attn_norm.bias", 8, 0},  {"blk.0.attn_output.weight", 8, 8}, {"blk.0.attn_output.bias", 8, 0},
        {"blk.0.ffn_norm.weight", 8, 0}, {"blk.0.ffn_norm.bias", 8, 0},      {"blk.0.ffn_up.weight", 32, 8},
        {"blk.0.ffn_up.bias", 32, 0},    {"blk.0.ffn_down.weight", 8, 32},   {"blk.0.ffn_down.bias", 8, 0},
        {"output_norm.weight", 8, 0},    {"output_norm.bias", 8, 0},
    };

    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++)
        put_tensor(w, m, tensors[i].name, tensors[i].rows, tensors[i].columns, declare);
    if (m->apart) {
        for (size_t i = 0; i < 3; i++) {
            static const char *const names[] = {"blk.0.attn_q.", "blk.0.attn_k.", "blk.0.attn_v."};
            char name[64];

            snprintf(name, sizeof name, "%sweight", names[i]);
            put_tensor(w, m, name, 8, 8, declare);
            snprintf(name, sizeof name, "%sbias", names[i]);
            put_tensor(w, m, name, 8, 0, declare);
        }
    } else {
        put_tensor(w, m, "blk.0.attn_qkv.weight", 24, 8, declare);
        put_tensor(w, m, "blk.0.attn_qkv.bias", 24, 0, declare);
    }
    if (m->head)
        put_tensor(w, m, "output.weight", 5, 8, declare);
    if (m->added)
        put_tensor(w, m, m->added, 8, 0, declare);
}

static tg_status read_model(tg_model_file *f, const struct model *m, tg_err *err)
{
    const tg_model_ask ask = {.fuse_qkv = m->apart};
    const int fd = open(in_directory("model.gguf"), O_RDWR | O_CREAT | O_TRUNC, 0600);
    tg_gguf_writer w;

    tg_gguf_begin(&w, fd);
    put_word(&w, "general.architecture", m->architecture);
    put_number(&w, m, "gpt2.block_count", 1);
    put_number(&w, m, "gpt2.embedding_length", m->width ? m->width : 8);
    put_number(&w, m, "gpt2.context_length", 4);
    put_number(&w, m, "gpt2.attention.head_count", m->heads ? m->heads : 2);
    put_number(&w, m, "gpt2.attention.head_count_kv", m->kv);
    put_number(&w, m, "gpt2.feed_forward_length", m->ffn);
    put_number(&w, m, "split.count", m->parts);
    tg_gguf_put_f32(&w, "gpt2.attention.layer_norm_epsilon", 1e-5f);
    put_tensors(&w, m, true);
    put_tensors(&w, m, false);
    CHECK_OK(tg_gguf_finish(&w, err), err);
    close(fd);
    return tg_model_file_open(f, path, &ask, err);
}

static void models_of_others(void)
{
    struct model m = {.architecture = "gpt2", .kv = 2, .ffn = 32, .parts = 1};
    float q[8 * 8], x[8 * 24];
    tg_model_file f;
    tg_err err = {0};

    CHECK_OK(read_model(&f, &m, &err), &err);
    CHECK(f.config.tied && !f.tokenizer && f.config.vocab_size == 5 && f.config.layer_norm_epsilon == 1e-5);
    CHECK_OK(tg_model_file_read(x, &f, tg_params_index(&f.table, TG_QKV_W, 0), false, &err), &err);
    check_fill(q, 64, strlen("blk.0.attn_qkv.weight"), 1); /* the first 8 rows of [out,in] */
    for (size_t i = 0; i < 8; i++)
        for (size_t o = 0; o < 8; o++)
            CHECK(x[i * 24 + o] == q[o * 8 + i]);
    tg_model_file_close(&f);
    m.head = m.apart = true;
    CHECK_OK(read_model(&f, &m, &err), &err);
    CHECK(!f.config.tied);
    CHECK_OK(tg_model_file_read(x, &f, tg_params_index(&f.table, TG_QKV_W, 0), false, &err), &err);
    check_fill(q, 64, strlen("blk.0.attn_k.weight"), 1);
    for (size_t i = 0; i < 8; i++)
        for (size_t o = 0; o < 8; o++)
            CHECK(x[i * 24 + 8 + o] == q[o * 8 + i]);
    tg_model_file_close(&f);
}

static void wrong_models(void)
{
    static const struct {
        struct model m;
        const char *message;
    } cases[] = {
        {{.architecture = "mamba"},
         "the architecture is \"mamba\", expected one of gpt2, llama, smollm3, qwen2"},
        {{.architecture = "\x1B[2J"}, "\"\\x1B[2J\""},
        {{.architecture = NULL}, "general.architecture is missing"},
        {{.architecture = "gpt2", .left_out = "gpt2.block_count"}, "gpt2.block_count is missing"},
        {{.architecture = "gpt2", .left_out = "gpt2.attention.head_count"}, "head_count is missing"},
        {{.architecture = "gpt2", .kv = 1},
         "gpt2.attention.head_count_kv is 1, expected 2, gpt2.attention.head_count"},
        {{.architecture = "gpt2", .ffn = 16}, "gpt2.feed_forward_length is 16, expected 32, 4 times"},
        {{.architecture = "gpt2", .parts = 3}, "split into 3 files"},
        {{.architecture = "gpt2", .width = 12}, "token_embd.weight"},
        {{.architecture = "gpt2", .heads = 3}, "3"},
        {{.architecture = "gpt2", .left_out = "blk.0.ffn_up.weight"}, "h.0.mlp.c_fc.weight"},
        {{.architecture = "gpt2", .left_out = "token_embd.weight"}, "wte.weight"},
        {{.architecture = "gpt2", .added = "rope_freqs.weight"},
         "rope_freqs.weight is not a tensor of GPT-2"},
        {{.architecture = "gpt2", .added = "blk.7.attn_norm.bias"}, "tensors of layer 7"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tg_model_file f;
        tg_err err = {0};

        CHECK_EQ(read_model(&f, &cases[i].m, &err), TG_EDATA);
        CHECK_HAS(err.message, cases[i].message);
        CHECK_HAS(err.message, "model.gguf");
    }
}

int main(void)
{
    if (!mkdtemp(directory))
        return 1;
    RUN(models_stay_the_same);
    RUN(types_of_tensors);
    RUN(rows_that_are_no_blocks);
    RUN(what_llama_cannot_compute);
    RUN(models_of_others);
    RUN(wrong_models);
    unlink(in_directory("model.npz"));
    unlink(in_directory("model.gguf"));
    rmdir(directory);
    return check_done();
}
