/*
 * Models in files of any format, from a file and from a stream.
 *
 * Both ways give the same model, or are refused.  What opens has a valid config, and values for each
 * parameter, all finite or refused; what is written of it is read again with the same values.
 */
#include <string.h>

#include "formats/format.h"
#include "lib/models/model_file.h"
#include "lib/models/model_format.h"
#include "tests/fuzz/check_model.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/tiny_model.h"

/* A file that is read as another project's is not taken for one of ours, and the other way round. */
static void check_kind(const tg_model_file *f, const char *path, const uint8_t *data, size_t size)
{
    const bool own = strcmp(f->kind, "a model of tg") == 0;
    bool foreign;

    must(tg_model_file_is_foreign(path, &foreign, NULL) == TG_OK && foreign != own);
    must(tg_model_file_begins(data, size < TG_FORMAT_BYTES ? size : TG_FORMAT_BYTES) || own);
    must(f->kind[0] != '\0');
}

/* file: the same, or NULL if it was refused. */
static void read_stream(const uint8_t *data, size_t size, const tg_model_ask *ask, const tg_model_file *file)
{
    tg_source source;
    tg_model_file f;

    must(tg_source_open(&source, input_stream(data, size), NULL) == TG_OK);
    must((tg_model_file_open_source(&f, &source, "stream", ask, NULL) == TG_OK) == (file != NULL));
    if (!file)
        return;
    check_same_model(&f, file);
    tg_model_file_close(&f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const tg_model_ask asks[] = {
        {0}, {.heads = 1, .lossy = true, .fuse_qkv = true}, {.heads = 2, .activation = "gelu"}};
    const int fd = input_file(data, size);
    char path[32];

    for (size_t i = 0; i < sizeof asks / sizeof asks[0]; i++) {
        const bool piped = size % 3 == i;
        tg_model_file f;
        tg_model m;
        tg_err err = {0};

        if (tg_model_file_open(&f, input_path(path, fd), &asks[i], &err)) {
            must(err.message[0] != '\0');
            if (piped)
                read_stream(data, size, &asks[i], NULL);
            continue;
        }
        check_kind(&f, path, data, size);
        if (piped)
            read_stream(data, size, &asks[i], &f);
        check_model(&f, (unsigned)(size / 3 + i * 7) % CHECK_MODEL_WAYS);
        if (!tg_model_file_to_model(&m, &f, i == 1, &err))
            tg_model_free(&m);
    }
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    return tiny_model_mutate(data, size, max, seed);
}
