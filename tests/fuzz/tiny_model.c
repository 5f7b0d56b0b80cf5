#define _GNU_SOURCE /* memfd_create */
#include "tests/fuzz/tiny_model.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/threads.h"
#include "lib/gpt/presets.h"
#include "lib/models/model_archive.h"
#include "lib/models/model_file.h"
#include "lib/models/model_format.h"
#include "lib/text/bare_ids.h"
#include "tests/fuzz/input.h"

/* A small model in one of the formats, cut at max. */
static size_t begin_with(uint8_t *data, size_t max, size_t format)
{
    static const char *const formats[] = {"npz", "safetensors", "gguf", "llmc"};
    const tg_model_writer *to = tg_model_writer_named(formats[format % 4]);
    const tg_write_options how = {.lossy = true, .split_qkv = format / 4 % 2 && format % 4 == 1};
    tg_config c = tg_config_preset(TG_PRESET_DEFAULT);
    const int own = memfd_create("own", 0), fd = memfd_create("seed", 0);
    const tg_tokenizer *tok;
    char path[32];
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
    must(tg_model_file_open(&f, input_path(path, own), NULL, &err) == TG_OK);
    must(to->part[0].write(fd, &f, &how, &err) == TG_OK);
    n = input_take(fd, data, max);
    tg_model_file_close(&f);
    tg_model_free(&m);
    tg_tokenizer_free(tok);
    close(own);
    close(fd);
    return n;
}

/* The same, made once for each format. */
static size_t copy_of(uint8_t *data, size_t max, size_t format)
{
    static uint8_t made[8][16384];
    static size_t n[8];

    format %= 8;
    if (n[format] == 0)
        n[format] = begin_with(made[format], sizeof made[format], format);
    memcpy(data, made[format], n[format] < max ? n[format] : max);
    return n[format] < max ? n[format] : max;
}

/* One in 8 is a sound model but for one change. */
size_t tiny_model_mutate(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    if (size < 20 || seed >> 29 == 0)
        size = copy_of(data, max, seed >> 20);
    return input_mutate(data, size, max, seed);
}
