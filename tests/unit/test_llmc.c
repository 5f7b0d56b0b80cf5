/* llm.c's files: written down here, read, written again, cut, with every number of the header wrong. */
#include "formats/llmc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/check.h"
#include "tests/unit/failing.h"

static void put(unsigned char *out, size_t word, uint32_t value)
{
    for (size_t i = 0; i < 4; i++)
        out[4 * word + i] = (unsigned char)(value >> 8 * i & 0xFF);
}

/* A copy that ends where the n bytes do, so that reading past them is noticed. */
static unsigned char *copy_of(const unsigned char *bytes, size_t n)
{
    unsigned char *const copy = malloc(n + 1);

    memcpy(copy + 1, bytes, n);
    return copy;
}

/* ---- models: L layers of width 4, 3 positions, 5 ids in 128 rows */

#define L 3

/* Elements of the file: wte, wpe, then 12 kinds for each layer, then ln_f. */
#define LAYER_FLOATS (4 + 4 + 48 + 12 + 16 + 4 + 4 + 4 + 64 + 16 + 64 + 4)
#define FLOATS (128 * 4 + 3 * 4 + L * LAYER_FLOATS + 4 + 4)

static size_t make_model(unsigned char *out, bool bf16)
{
    const size_t size = bf16 ? 2 : 4;

    memset(out, 0, TG_LLMC_HEADER);
    put(out, 0, 20240326);
    put(out, 1, bf16 ? 5 : 3);
    put(out, 2, 3);
    put(out, 3, 5);
    put(out, 4, L);
    put(out, 5, 2);
    put(out, 6, 4);
    put(out, 7, 128);
    for (size_t i = 0; i < FLOATS; i++) {
        const float x = (float)(i % 256); /* exact in bfloat16 */
        uint32_t bits;

        memcpy(&bits, &x, sizeof bits);
        for (size_t b = 0; b < size; b++)
            out[TG_LLMC_HEADER + i * size + b] = (unsigned char)(bits >> 8 * (b + 4 - size) & 0xFF);
    }
    return TG_LLMC_HEADER + FLOATS * size;
}

/* Check that a tensor begins with value `first`, counted from the file's first. */
static void check_tensor(const tg_tensor_list *list, const char *name, size_t rows, size_t columns,
                         size_t first)
{
    const tg_stored *const s = tg_tensor_list_find(list, name);
    float x[128 * 4];
    tg_err err = {0};

    CHECK(s != NULL);
    if (!s)
        return;
    CHECK_EQ(s->array.ndim, columns > 0 ? 2 : 1);
    CHECK_EQ(s->array.shape[0], rows);
    CHECK_EQ(s->array.shape[1], columns);
    CHECK_OK(tg_stored_load(x, s, 0, s->array.count, &err), &err);
    for (size_t i = 0; i < s->array.count; i++)
        CHECK(x[i] == (float)((first + i) % 256));
}

static void check_model(bool bf16)
{
    static unsigned char file[TG_LLMC_HEADER + 4 * FLOATS];
    unsigned char again[TG_LLMC_HEADER];
    const size_t n = make_model(file, bf16), blocks = 128 * 4 + 3 * 4;
    tg_tensor_list list = {0};
    tg_llmc_config config;
    tg_err err = {0};

    CHECK_OK(tg_llmc_model_read(&list, &config, file, n, &err), &err);
    CHECK_EQ(config.bf16, bf16);
    CHECK_EQ(config.n_ctx, 3);
    CHECK_EQ(config.vocab_size, 5);
    CHECK_EQ(config.n_layer, L);
    CHECK_EQ(config.n_head, 2);
    CHECK_EQ(config.n_embd, 4);
    CHECK_EQ(config.rows, 128);
    CHECK_EQ(list.n, 4 + 12 * L);
    check_tensor(&list, "wte.weight", 128, 4, 0);
    check_tensor(&list, "wpe.weight", 3, 4, 512);
    check_tensor(&list, "h.0.ln_1.weight", 4, 0, blocks);
    check_tensor(&list, "h.2.ln_1.weight", 4, 0, blocks + 8);
    check_tensor(&list, "h.0.ln_1.bias", 4, 0, blocks + 4 * L);
    check_tensor(&list, "h.1.attn.c_attn.weight", 12, 4, blocks + 8 * L + 48);
    check_tensor(&list, "h.2.attn.c_attn.bias", 12, 0, blocks + 56 * L + 24);
    check_tensor(&list, "h.2.attn.c_proj.weight", 4, 4, blocks + 68 * L + 32);
    check_tensor(&list, "h.0.attn.c_proj.bias", 4, 0, blocks + 84 * L);
    check_tensor(&list, "h.1.ln_2.weight", 4, 0, blocks + 88 * L + 4);
    check_tensor(&list, "h.1.ln_2.bias", 4, 0, blocks + 92 * L + 4);
    check_tensor(&list, "h.1.mlp.c_fc.weight", 16, 4, blocks + 96 * L + 64);
    check_tensor(&list, "h.1.mlp.c_fc.bias", 16, 0, blocks + 160 * L + 16);
    check_tensor(&list, "h.2.mlp.c_proj.weight", 4, 16, blocks + 176 * L + 128);
    check_tensor(&list, "h.2.mlp.c_proj.bias", 4, 0, blocks + 240 * L + 8);
    check_tensor(&list, "ln_f.weight", 4, 0, blocks + 244 * L);
    check_tensor(&list, "ln_f.bias", 4, 0, blocks + 244 * L + 4);
    tg_llmc_model_header(again, &config);
    CHECK(memcmp(again, file, sizeof again) == 0);
    tg_tensor_list_free(&list);
}

static void test_models(void)
{
    _Static_assert(LAYER_FLOATS == 244, "the offsets above");
    check_model(false);
    check_model(true);
}

/* The tensors that a writer is told are those that the reader finds, in that order. */
static void test_order(void)
{
    static unsigned char file[TG_LLMC_HEADER + 4 * FLOATS];
    const size_t n = make_model(file, false);
    size_t offset = TG_LLMC_HEADER;
    tg_tensor_list list = {0};
    tg_llmc_config config;
    tg_err err = {0};
    tg_array a;

    CHECK_OK(tg_llmc_model_read(&list, &config, file, n, &err), &err);
    for (size_t i = 0; i < tg_llmc_tensors(&config); i++) {
        tg_llmc_tensor(&a, &config, i);
        CHECK(strcmp(a.name, list.tensor[i].array.name) == 0);
        CHECK_EQ(list.tensor[i].offset, offset);
        offset += a.bytes;
    }
    CHECK_EQ(offset, n);
    tg_tensor_list_free(&list);
    CHECK_EQ(tg_llmc_rows(1), 128);
    CHECK_EQ(tg_llmc_rows(128), 128);
    CHECK_EQ(tg_llmc_rows(50257), 50304);
}

static void check_refused(const unsigned char *file, size_t n, const char *why)
{
    unsigned char *const copy = copy_of(file, n);
    tg_tensor_list list = {0};
    tg_llmc_config config;
    tg_err err = {0};

    CHECK_EQ(tg_llmc_model_read(&list, &config, copy + 1, n, &err), TG_EDATA);
    CHECK_HAS(err.message, why);
    tg_tensor_list_free(&list);
    free(copy);
}

static void test_bad_models(void)
{
    static unsigned char file[TG_LLMC_HEADER + 4 * FLOATS + 1];
    static const struct {
        size_t word;
        uint32_t value;
        const char *why;
    } wrong[] = {{0, 20240520, "begins with 20240520, expected 20240326"},
                 {1, 1, "version 1, expected 3 (float32) or 5 (bfloat16)"},
                 {1, 5, "its header says"},
                 {2, 0, "n_ctx is 0"},
                 {2, 4, "truncated: "},
                 {2, 0xFFFFFFFF, "n_ctx is 4294967295, expected 1 to 16777216"},
                 {3, 129, "wte.weight has 128 rows for a vocab_size of 129, expected 256"},
                 {7, 5, "wte.weight has 5 rows for a vocab_size of 5, expected 128"},
                 {3, 0, "vocab_size is 0"},
                 {4, 342, "n_layer is 342, expected 1 to 341"},
                 {4, 2, "its header says"},
                 {5, 0, "n_head is 0"},
                 {6, 0, "n_embd is 0"},
                 {6, 16777216, "truncated: "},
                 {7, 16777217, "rows is 16777217"},
                 {7, 256, "wte.weight has 256 rows for a vocab_size of 5, expected 128"},
                 {8, 1, "number 8 of the header is 1, expected 0"},
                 {255, 7, "number 255 of the header is 7, expected 0"}};
    size_t n;

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        n = make_model(file, false);
        put(file, wrong[i].word, wrong[i].value);
        check_refused(file, n, wrong[i].why);
    }
    n = make_model(file, false);
    check_refused(file, n + 1, "its header says");
    for (size_t cut = 0; cut < n; cut++)
        check_refused(file, cut, "truncated: ");
    n = make_model(file, false);
    for (size_t i = 2; i < 8; i++)
        put(file, i, 16777216);
    put(file, 4, 341);
    check_refused(file, n, "truncated: ");
}

static void test_no_memory(void)
{
    static unsigned char file[TG_LLMC_HEADER + 4 * FLOATS];
    const size_t size = make_model(file, false);
    tg_status status = TG_ENOMEM;
    long n = 0;

    for (; status && n < 20; n++) {
        tg_tensor_list list = {0};
        tg_llmc_config config;

        failing_after(n);
        status = tg_llmc_model_read(&list, &config, file, size, NULL);
        failing_after(-1);
        CHECK(status == TG_OK || status == TG_ENOMEM);
        tg_tensor_list_free(&list);
    }
    CHECK(n > 1 && n < 20);
}

/* ---- tokens */

static tg_status read_tokens(const unsigned char *file, size_t n, size_t *count, tg_err *err)
{
    unsigned char *const copy = copy_of(file, n);
    const unsigned char *ids;
    const tg_status status = tg_llmc_tokens_read(&ids, count, copy + 1, n, err);

    if (!status)
        CHECK(ids == copy + 1 + TG_LLMC_HEADER);
    free(copy);
    return status;
}

static void test_tokens(void)
{
    unsigned char file[TG_LLMC_HEADER + 6] = {0};
    size_t count;
    tg_err err = {0};

    CHECK_OK(tg_llmc_tokens_header(file, 3, &err), &err);
    CHECK(memcmp(file, "\x88\xD8\x34\x01\1\0\0\0\3\0\0\0\0\0\0\0", 16) == 0);
    CHECK_OK(read_tokens(file, sizeof file, &count, &err), &err);
    CHECK_EQ(count, 3);
    for (size_t n = 0; n < sizeof file; n++)
        CHECK_EQ(read_tokens(file, n, &count, &err), TG_EDATA);
    CHECK_HAS(err.message, "5 bytes of ids, its header says 3 ids of 2 bytes");
    put(file, 2, 0x80000003);
    CHECK_EQ(read_tokens(file, sizeof file, &count, &err), TG_EDATA);
    put(file, 2, 3);
    put(file, 1, 7);
    CHECK_EQ(read_tokens(file, sizeof file, &count, &err), TG_EDATA);
    CHECK_HAS(err.message, "version 7, expected 1");
    put(file, 1, 1);
    put(file, 3, 1);
    CHECK_EQ(read_tokens(file, sizeof file, &count, &err), TG_EDATA);
    CHECK_HAS(err.message, "number 3 of the header is 1");
    CHECK_EQ(tg_llmc_tokens_header(file, (size_t)1 << 31, &err), TG_EUSAGE);
    CHECK_OK(tg_llmc_tokens_header(file, ((size_t)1 << 31) - 1, &err), &err);
}

/* ---- tokenizers */

static tg_status read_tokenizer(const unsigned char *file, size_t n, tg_err *err)
{
    unsigned char *const copy = copy_of(file, n);
    tg_llmc_tokenizer t;
    const tg_status status = tg_llmc_tokenizer_read(&t, copy + 1, n, err);

    free(copy);
    return status;
}

static void test_tokenizers(void)
{
    unsigned char file[TG_LLMC_HEADER + 7] = {0};
    const unsigned char *token;
    tg_llmc_tokenizer t;
    tg_err err = {0};
    size_t n;

    tg_llmc_tokenizer_header(file, 3, 2);
    CHECK(memcmp(file, "\xC8\xD7\x34\x01\2\0\0\0\3\0\0\0\2\0\0\0\0\0\0\0", 20) == 0);
    memcpy(file + TG_LLMC_HEADER, "\1a\0\3bcd", 7);
    CHECK_OK(tg_llmc_tokenizer_read(&t, file, sizeof file, &err), &err);
    CHECK_EQ(t.n, 3);
    CHECK_EQ(t.end_of_text, 2);
    token = tg_llmc_tokenizer_next(&t, &n);
    CHECK(n == 1 && *token == 'a');
    (void)tg_llmc_tokenizer_next(&t, &n);
    CHECK_EQ(n, 0);
    token = tg_llmc_tokenizer_next(&t, &n);
    CHECK(n == 3 && memcmp(token, "bcd", 3) == 0);
    for (size_t cut = 0; cut < sizeof file; cut++) {
        CHECK_EQ(read_tokenizer(file, cut, &err), TG_EDATA);
        CHECK_HAS(err.message, "truncated");
    }
    put(file, 2, 2);
    put(file, 3, 1);
    CHECK_EQ(read_tokenizer(file, sizeof file, &err), TG_EDATA);
    CHECK_HAS(err.message, "4 bytes follow the last of 2 tokens");
    put(file, 3, 2);
    CHECK_EQ(read_tokenizer(file, sizeof file, &err), TG_EDATA);
    CHECK_HAS(err.message, "the end of a text is id 2 of 2");
    put(file, 2, 0xFFFFFFFF);
    CHECK_EQ(read_tokenizer(file, sizeof file, &err), TG_EDATA);
    CHECK_HAS(err.message, "token 3 of 4294967295 goes beyond the end");
    put(file, 1, 1);
    CHECK_EQ(read_tokenizer(file, sizeof file, &err), TG_EDATA);
    CHECK_HAS(err.message, "version 1, expected 2");
}

static void test_bad_tokens(void)
{
    const unsigned char header[TG_LLMC_HEADER] = {0};
    size_t count;
    tg_err err = {0};

    CHECK_EQ(tg_llmc_tokens_count(&count, header, &err), TG_EDATA);
    CHECK_HAS(err.message, "begins with 0, expected 20240520");
}

int main(void)
{
    RUN(test_models);
    RUN(test_order);
    RUN(test_bad_models);
    RUN(test_no_memory);
    RUN(test_tokens);
    RUN(test_bad_tokens);
    RUN(test_tokenizers);
    return check_done();
}
