/*
 * Checkpoints of several files: a directory, or one file with others in its directory; their tokenizers.
 *
 * An input is three bytes, which say what is asked for, and the files: of each its name's number (with
 * DIRECTORY or DEVICE, what has that name instead), the length in two bytes, and the bytes.  What opens as
 * a model is checked as one, and what opens as a tokenizer is written, and must read back the same.
 */
#define _GNU_SOURCE /* memfd_create */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/threads.h"
#include "lib/bpe/bpe.h"
#include "lib/models/model_file.h"
#include "lib/vocab/vocab_file.h"
#include "tests/fuzz/check_model.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/input.h"
#include "tests/unit/torch_zip.h"

enum { HEAD = 3, PART = 3, PARTS_MAX = 8 };
enum { DIRECTORY = 32, DEVICE = 48 };
#define MAP "names.txt"

static const char *const names[] = {"config.json",
                                    "model.safetensors",
                                    "model.safetensors.index.json",
                                    "pytorch_model.bin",
                                    "tokenizer.json",
                                    "vocab.json",
                                    "pytorch_model.bin.index.json",
                                    "encoder.json",
                                    "merges.txt",
                                    "vocab.bpe",
                                    "a.safetensors",
                                    "b.bin",
                                    "ckpt.pt",
                                    MAP,
                                    "tokens.tiktoken",
                                    "x",
                                    "tokenizer.model",
                                    "tokenizer.bin",
                                    "tokenizer_config.json"};

/* ---- the parts */

/* What is no plain file has one of the first 16 names. */
static const char *name_of(uint8_t kind)
{
    return names[kind & DIRECTORY ? kind % 16 : kind % 32 % (sizeof names / sizeof names[0])];
}

struct parts {
    struct part {
        size_t at, n; /* of the bytes */
        uint8_t kind;
    } part[PARTS_MAX];
    size_t n;
};

static void divide(struct parts *p, const uint8_t *data, size_t size)
{
    size_t at = HEAD;

    for (p->n = 0; p->n < PARTS_MAX && at + PART <= size; p->n++) {
        const size_t n = data[at + 1] | (size_t)data[at + 2] << 8, left = size - at - PART;

        p->part[p->n] = (struct part){at + PART, n < left ? n : left, data[at]};
        at += PART + p->part[p->n].n;
    }
}

static void make_files(const struct parts *p, const uint8_t *data)
{
    for (size_t i = 0; i < p->n; i++) {
        const struct part *const part = &p->part[i];
        const char *const name = name_of(part->kind);
        int fd;

        folder_remove(FOLDER_INPUT, name);
        if ((part->kind & DEVICE) == DIRECTORY) {
            folder_make_directory(FOLDER_INPUT, name);
        } else if ((part->kind & DEVICE) == DEVICE) {
            folder_make_device(FOLDER_INPUT, name);
        } else {
            fd = folder_create(FOLDER_INPUT, name);
            must(write(fd, data + part->at, part->n) == (ssize_t)part->n);
            close(fd);
        }
    }
}

static void remove_files(const struct parts *p)
{
    for (size_t i = 0; i < p->n; i++)
        folder_remove(FOLDER_INPUT, name_of(p->part[i].kind));
}

/* ---- what is asked for */

static void open_model(const char *path, unsigned how, unsigned way)
{
    static const char *const activations[] = {NULL, NULL, "gelu_new", "gelu"};
    char map[128];
    const tg_model_ask ask = {.lossy = how & 1,
                              .fuse_qkv = how & 2,
                              .heads = how >> 2 & 3,
                              .activation = activations[how >> 4 & 3],
                              .map = how & 64 ? strcpy(map, folder_path(FOLDER_INPUT, MAP)) : NULL};
    tg_model_file f;
    bool foreign;
    tg_err err = {0};

    must(tg_model_file_is_foreign(path, &foreign, NULL) == TG_OK);
    if (tg_model_file_open(&f, path, &ask, &err)) {
        must(err.message[0] != '\0');
        return;
    }
    check_model(&f, way);
    tg_model_file_close(&f);
}

static void write_vocab(const tg_tokenizer *tok, tg_vocab_format format, tg_split split)
{
    const int fd = memfd_create("vocab", 0);
    const tg_tokenizer *back;
    char path[32];
    tg_err err = {0};
    const tg_status status = tg_vocab_file_write(fd, tok, format, &err);
    const bool differs = format == TG_VOCAB_TOKENIZER_JSON && !tg_bpe_vocab_of(tok); /* its kind, or scores */

    must(status == TG_OK || (format != TG_VOCAB_NPZ && status == TG_EUSAGE && err.message[0] != '\0'));
    if (!status) {
        must(tg_vocab_file_open(&back, input_path(path, fd), format == TG_VOCAB_TIKTOKEN ? &split : NULL,
                                NULL) == TG_OK);
        /* (a SentencePiece vocabulary loses ids without a text at its end) */
        must(format == TG_VOCAB_TIKTOKEN || tg_tokenizer_vocab_size(back) == tg_tokenizer_vocab_size(tok) ||
             (differs && tg_tokenizer_vocab_size(back) < tg_tokenizer_vocab_size(tok)));
        must(format == TG_VOCAB_TIKTOKEN || format == TG_VOCAB_LLMC || differs ||
             tg_tokenizer_same(tok, back, NULL) == TG_OK);
        tg_tokenizer_free(back);
    }
    close(fd);
}

static void open_vocab(const char *path, unsigned how)
{
    const tg_split split = (tg_split)((how >> 1) % TG_SPLITS);
    const tg_tokenizer *tok;
    tg_err err = {0};

    if (tg_vocab_file_open(&tok, path, how & 1 ? &split : NULL, &err)) {
        must(!tok && err.message[0] != '\0');
        return;
    }
    write_vocab(tok, (tg_vocab_format)(how >> 6), split);
    tg_tokenizer_free(tok);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct parts p;
    char path[128];

    if (size < HEAD + PART || size > INPUT_MAX)
        return 0;
    tg_threads_set(1);
    divide(&p, data, size);
    make_files(&p, data);
    strcpy(path, folder_path(FOLDER_INPUT, data[0] & 128 ? name_of(p.part[0].kind) : ""));
    open_model(path, data[0], data[1] % CHECK_MODEL_WAYS);
    open_vocab(path, data[2]);
    remove_files(&p);
    return 0;
}

/* ---- mutations */

static void set_length(uint8_t *data, const struct part *part, size_t n)
{
    data[part->at - 2] = (uint8_t)n;
    data[part->at - 1] = (uint8_t)(n >> 8);
}

/* Mutate a part in place; what follows moves. */
static size_t mutate_part(uint8_t *data, size_t size, size_t max, const struct part *part, unsigned seed)
{
    static uint8_t bytes[INPUT_MAX];
    const size_t after = size - part->at - part->n, room = max - size + part->n;
    size_t n = part->n;

    memcpy(bytes, data + part->at, n);
    n = LLVMFuzzerMutate(bytes, n, room < 0xFFFF ? room : 0xFFFF);
    if (n >= 22 && memcmp(bytes, "PK", 2) == 0 && seed % 8 > 0)
        torch_zip_repair(bytes, n);
    memmove(data + part->at + n, data + part->at + part->n, after);
    memcpy(data + part->at, bytes, n);
    set_length(data, part, n);
    return part->at + n + after;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    static const char text[] = "\1\0\0\0\x10\0{\"n_layer\": 1}  \4\x14\0{\"version\": \"1.0\"}  ";
    struct parts p;

    if (size < HEAD + PART) {
        size = sizeof text - 1 < max ? sizeof text - 1 : max;
        memcpy(data, text, size);
    }
    divide(&p, data, size);
    if (seed % 8 == 0 || p.n == 0 || size > max)
        return LLVMFuzzerMutate(data, size, max);
    if (seed % 8 == 1)
        data[(seed >> 8) % HEAD] = (uint8_t)(seed >> 16);
    return mutate_part(data, size, max, &p.part[(seed >> 3) % p.n], seed);
}
