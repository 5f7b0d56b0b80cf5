/*
 * Models in files of any format, under libFuzzer:
 *
 *     clang -fsanitize=fuzzer,address,undefined ... tests/fuzz/fuzz_model_file.c tests/fuzz/input.c
 *     ./fuzz_model_file -max_len=20000 CORPUS
 *
 * What opens has a valid config, and values for each parameter, all finite or refused; what is written of it
 * is read again with the same values.
 */
#define _GNU_SOURCE /* memfd_create */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/checkpoint/model_file.h"
#include "lib/checkpoint/model_format.h"
#include "lib/text/bare_ids.h"
#include "tests/fuzz/input.h"

#define FLOATS_MAX 100000 /* of a model that is looked at closely */

/* The path of a descriptor. */
static const char *path_of(char path[64], int fd)
{
    snprintf(path, 64, "/proc/self/fd/%d", fd);
    return path;
}

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
    }
    free(buffer.x);
    return sound;
}

static void write_again(const tg_model_file *f)
{
    const tg_model_format *npz = tg_model_format_named("npz");
    const tg_write_options plain = {0};
    const int fd = memfd_create("again", 0);
    char path[64];
    tg_model_file again;
    tg_err err = {0};

    must(npz->part[0].write(fd, f, &plain, &err) == TG_OK);
    must(tg_model_file_open(&again, path_of(path, fd), NULL, &err) == TG_OK);
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const tg_model_ask asks[] = {
        {0}, {.heads = 1, .lossy = true, .fuse_qkv = true}, {.heads = 2, .activation = "gelu"}};
    const int fd = input_file(data, size);
    char path[64];

    for (size_t i = 0; i < sizeof asks / sizeof asks[0]; i++) {
        tg_model_file f;
        tg_model m;
        uint64_t copied;
        tg_err err = {0};

        if (tg_model_file_open(&f, path_of(path, fd), &asks[i], &err)) {
            must(err.message[0] != '\0' && !strchr(err.message, '\n'));
            continue;
        }
        must(tg_config_check(&f.config, &err) == TG_OK);
        if (f.table.count <= FLOATS_MAX && is_sound(&f))
            write_again(&f);
        if (!tg_model_file_to_model(&m, &f, i == 1, &copied, &err))
            tg_model_free(&m);
    }
    return 0;
}

/* A small model in one of the formats, cut at max. */
static size_t begin_with(uint8_t *data, size_t max, size_t format)
{
    static const char *const formats[] = {"npz", "safetensors", "gguf", "llmc"};
    const tg_model_format *to = tg_model_format_named(formats[format % 4]);
    const tg_write_options how = {.lossy = true, .split_qkv = format / 4 % 2 && format % 4 == 1};
    tg_config c = tg_config_preset(TG_PRESET_DEFAULT);
    const int own = memfd_create("own", 0), fd = memfd_create("seed", 0);
    const tg_tokenizer *tok;
    char path[64];
    tg_model m;
    tg_model_file f;
    tg_err err = {0};
    size_t n;

    c.n_layer = 1;
    c.n_head = 2;
    c.n_embd = c.n_ctx = 2;
    c.vocab_size = 3;
    must(tg_bare_ids_create(&tok, 3, &err) == TG_OK && tg_model_create(&m, &c, tok, 1, &err) == TG_OK);
    must(tg_model_write(&m, own, &err) == TG_OK);
    must(tg_model_file_open(&f, path_of(path, own), NULL, &err) == TG_OK);
    must(to->part[0].write(fd, &f, &how, &err) == TG_OK);
    n = input_take(fd, data, max);
    tg_model_file_close(&f);
    tg_model_free(&m);
    tg_tokenizer_free(tok);
    close(own);
    close(fd);
    return n;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    if (size < 20)
        size = begin_with(data, max, seed);
    if (size > 4 && memcmp(data, "PK\3\4", 4) == 0)
        return input_mutate(data, size, max, seed);
    return LLVMFuzzerMutate(data, size, max);
}
