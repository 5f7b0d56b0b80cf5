/*
 * The readers of llm.c's files, and of llama2.c's models.
 *
 * A header that is read is the one that would be written, and what follows it is all of the file.
 */
#include <string.h>

#include "formats/llama2c.h"
#include "formats/llmc.h"
#include "tests/fuzz/input.h"

static void read_model(const uint8_t *data, size_t size)
{
    unsigned char header[TG_LLMC_HEADER];
    tg_tensor_list list = {0};
    tg_llmc_config config;
    tg_err err = {0};
    const tg_status status = tg_llmc_model_read(&list, &config, data, size, &err);
    size_t at = TG_LLMC_HEADER;

    must(status == TG_OK || (status == TG_EDATA && err.message[0] != '\0'));
    if (!status) {
        tg_llmc_model_header(header, &config);
        must(memcmp(header, data, sizeof header) == 0);
        for (size_t i = 0; i < list.n; i++) {
            must(list.tensor[i].offset == at && list.tensor[i].at == data + at);
            at += list.tensor[i].stored;
        }
        must(at == size && list.n == tg_llmc_tensors(&config));
    }
    tg_tensor_list_free(&list);
}

/* What is read is recognized. */
static void read_llama2c(const uint8_t *data, size_t size)
{
    tg_tensor_list list = {0};
    tg_llama2c_config config;
    tg_err err = {0};
    const tg_status status = tg_llama2c_read(&list, &config, data, size, &err);

    must(status == TG_OK || (status == TG_EDATA && err.message[0] != '\0'));
    must((status == TG_OK) <= tg_llama2c_begins(data, size));
    if (!status) {
        size_t at = config.version == 0 ? 28 : 256;

        for (size_t i = 0; i < list.n; i++) {
            must(list.tensor[i].offset == at && list.tensor[i].at == data + at);
            at += list.tensor[i].stored;
        }
        must(at == size && list.n == tg_llama2c_tensors(&config));
    }
    tg_tensor_list_free(&list);
}

static void read_tokens(const uint8_t *data, size_t size)
{
    unsigned char header[TG_LLMC_HEADER];
    const unsigned char *ids;
    size_t count;
    tg_err err = {0};

    if (tg_llmc_tokens_read(&ids, &count, data, size, &err)) {
        must(err.message[0] != '\0');
        return;
    }
    must(ids + 2 * count == data + size);
    if (!tg_llmc_tokens_header(header, count, &err))
        must(memcmp(header, data, sizeof header) == 0);
}

static void read_tokenizer(const uint8_t *data, size_t size)
{
    unsigned char header[TG_LLMC_HEADER];
    tg_llmc_tokenizer t;
    tg_err err = {0};
    size_t n;

    if (tg_llmc_tokenizer_read(&t, data, size, &err)) {
        must(err.message[0] != '\0');
        return;
    }
    for (size_t i = 0; i < t.n; i++)
        must(tg_llmc_tokenizer_next(&t, &n) + n <= data + size);
    must(t.next == data + size);
    tg_llmc_tokenizer_header(header, t.n, t.end_of_text);
    must(memcmp(header, data, sizeof header) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_model(data, size);
    read_llama2c(data, size);
    read_tokens(data, size);
    read_tokenizer(data, size);
    return 0;
}

/* dim, hidden_dim, n_layers, n_heads, n_kv_heads, vocab_size, seq_len */
static const char numbers[28] = "\4\0\0\0\3\0\0\0\2\0\0\0\2\0\0\0\1\0\0\0\5\0\0\0\2\0\0";

/* A model of llama2.c, tied. */
static size_t make_llama2c(uint8_t *data, unsigned version)
{
    static const unsigned char magic[8] = {'2', '4', 'k', 'a'};
    const bool old = version == 0;
    const tg_llama2c_config config = {version, 4, 3, 2, 2, 1, 5, 2, true, version == 2 ? 2 : 0};
    size_t n = old ? 28 : 256;
    tg_array a;

    memset(data, 0, n);
    memcpy(data + (old ? 0 : 8), numbers, 28);
    if (!old) {
        memcpy(data, magic, sizeof magic);
        data[4] = (uint8_t)version;
        data[36] = 1;
        data[37] = (uint8_t)config.group;
    }
    for (size_t i = 0; i < tg_llama2c_tensors(&config); i++) {
        tg_llama2c_tensor(&a, &config, i);
        memset(data + n, 0, tg_llama2c_stored(&config, &a));
        n += tg_llama2c_stored(&config, &a);
    }
    return n;
}

/* A file of one of the kinds. */
static size_t make_seed(uint8_t *data, size_t max, unsigned seed)
{
    const tg_llmc_config config = {seed & 1, 2, 3, 1 + (seed >> 1 & 1), 1, 2, 128};
    size_t n = TG_LLMC_HEADER;
    tg_array a;

    if (max < 4096)
        return 0;
    if (seed % 8 > 5)
        return make_llama2c(data, seed % 8 == 6 ? 0 : 1 + (seed >> 3 & 1));
    if (seed % 4 == 0) {
        must(tg_llmc_tokens_header(data, 2, NULL) == TG_OK);
        memcpy(data + n, "\1\0\2\0", 4);
        return n + 4;
    }
    if (seed % 4 == 1) {
        tg_llmc_tokenizer_header(data, 2, 0);
        memcpy(data + n, "\1a\2bc", 5);
        return n + 5;
    }
    tg_llmc_model_header(data, &config);
    for (size_t i = 0; i < tg_llmc_tensors(&config); i++) {
        tg_llmc_tensor(&a, &config, i);
        memset(data + n, 0, a.bytes);
        n += a.bytes;
    }
    return n;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    return input_mutate(data, size < 100 ? make_seed(data, max, seed) : size, max, seed);
}
