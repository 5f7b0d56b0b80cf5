/*
 * Models in files of any format,.
 *
 * What opens has a valid config, and values for each parameter, all finite or refused; what is written of it
 * is read again with the same values.
 */
#define _GNU_SOURCE /* memfd_create */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/checkpoint/model_file.h"
#include "lib/checkpoint/model_format.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/tiny_model.h"

#define FLOATS_MAX 100000 /* of a model that is looked at closely */

/* Whether all values can be read. */
static int is_sound(const tg_model_file *f)
{
    tg_float_buffer buffer = {0};
    const float *x;
    tg_err err = {0};
    int sound = 1;

    for (size_t i = 0; i < f->table.n && sound; i++) {
        const tg_status status = tg_model_file_get(&x, &buffer, f, i, i % 2, &err);

        must(status == TG_OK || status == TG_EDATA);
        sound = status == TG_OK;
        for (size_t e = 0; sound && e < f->table.entry[i].count; e++)
            must(isfinite(x[e]));
    }
    free(buffer.x);
    return sound;
}

/* Write it in a format, which may be unable to hold it, and read that. */
static void write_again(const tg_model_file *f, const char *format)
{
    const tg_model_ask ask = {.heads = f->config.n_head};
    const tg_write_options plain = {0};
    const int fd = memfd_create("again", 0);
    char path[32];
    tg_model_file again;
    tg_err err = {0};
    const tg_status status = tg_model_format_named(format)->part[0].write(fd, f, &plain, &err);

    must(status == TG_OK || ((status == TG_EUSAGE || status == TG_EDATA) && strcmp(format, "npz") != 0));
    if (status) {
        close(fd);
        return;
    }
    must(tg_model_file_open(&again, input_path(path, fd), &ask, &err) == TG_OK);
    must(again.table.count == f->table.count);
    for (size_t i = 0; i < f->table.n; i++) {
        tg_float_buffer one = {0}, other = {0};
        const float *x, *y;

        must(tg_model_file_get(&x, &one, f, i, 0, &err) == TG_OK);
        must(tg_model_file_get(&y, &other, &again, i, 0, &err) == TG_OK);
        must(memcmp(x, y, f->table.entry[i].count * sizeof *x) == 0);
        free(one.x);
        free(other.x);
    }
    tg_model_file_close(&again);
    close(fd);
}

/* What the values must be for by the config, without the table that the readers compare with. */
static void check_sizes(const tg_model_file *f)
{
    const tg_config *const c = &f->config;
    const size_t C = c->n_embd, V = c->vocab_size, w = c->layer_norm_weight, b = c->layer_norm_bias;
    const size_t norm = C * (w + b);
    size_t n = V * C + c->n_ctx * C + norm + (c->tied ? 0 : V * C) + (c->head_bias ? V : 0);

    must(c->n_layer > 0 && c->n_head > 0 && C > 0 && c->n_ctx > 0 && V > 0 && C % c->n_head == 0);
    must(c->layer_norm_epsilon > 0 && c->layer_norm_epsilon < 1.0 / 0.0);
    must(!f->tokenizer || tg_tokenizer_vocab_size(f->tokenizer) <= V);
    n += c->n_layer * (2 * norm + 12 * C * C + (c->linear_bias ? 9 * C : 0));
    must(n == f->table.count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const tg_model_ask asks[] = {
        {0}, {.heads = 1, .lossy = true, .fuse_qkv = true}, {.heads = 2, .activation = "gelu"}};
    static const char *const formats[] = {"npz", "gguf", "llmc"};
    const int fd = input_file(data, size);
    char path[32];

    for (size_t i = 0; i < sizeof asks / sizeof asks[0]; i++) {
        tg_model_file f;
        tg_model m;
        uint64_t copied;
        tg_err err = {0};

        if (tg_model_file_open(&f, input_path(path, fd), &asks[i], &err)) {
            must(err.message[0] != '\0');
            continue;
        }
        check_sizes(&f);
        if (f.table.count <= FLOATS_MAX && is_sound(&f))
            write_again(&f, formats[size % 3]);
        if (!tg_model_file_to_model(&m, &f, i == 1, &copied, &err))
            tg_model_free(&m);
    }
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    return tiny_model_mutate(data, size, max, seed);
}
