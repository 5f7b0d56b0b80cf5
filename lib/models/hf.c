/* Hugging Face's checkpoints of GPT-2: a directory, or its safetensors file. */
#include "lib/models/hf.h"

#include <stdlib.h>
#include <string.h>

#include "formats/format.h"
#include "formats/path.h"
#include "formats/safetensors.h"
#include "formats/torch_file.h"
#include "lib/models/torch.h"
#include "lib/vocab/vocab_file.h"

#define CONFIG_MAX ((size_t)1 << 20) /* bytes of a config.json */
#define INDEX_MAX ((size_t)1 << 24)

#define INDEX_END ".index.json"

static const char *const weights[] = {"model.safetensors", "model.safetensors" INDEX_END, "pytorch_model.bin",
                                      "pytorch_model.bin" INDEX_END, NULL};

static bool recognize_directory(const tg_loaded *file)
{
    return !file;
}

static bool recognize_file(const tg_loaded *file)
{
    return file && tg_format_recognize(file->bytes, file->n) == TG_FORMAT_SAFETENSORS;
}

/* ---- config and tokenizer */

/* Load a small text into f. */
static tg_status load_text(tg_model_file *f, tg_loaded **text, const char *path, size_t max, tg_err *err)
{
    bool exists;
    tg_status status = tg_path_examine_found(path, &exists, err);

    if (status || (status = tg_model_file_load(f, path, text, err)) || (*text)->n <= max)
        return status;
    (void)tg_fail(err, TG_EDATA, "the file has %zu bytes, expected at most %zu", (*text)->n, max);
    return tg_err_in(err, path);
}

static tg_status read_config(tg_model_file *f, bool *config, const char *directory, const tg_model_ask *ask,
                             tg_err *err)
{
    tg_loaded *text;
    char *path = tg_path_in(directory, "config.json");
    tg_status status;

    if (!path)
        return tg_fail_memory(err, strlen(directory), "a path");
    if (!(status = tg_path_examine_found(path, config, err)) && *config &&
        !(status = load_text(f, &text, path, CONFIG_MAX, err)) &&
        (status = tg_hf_config_read(f, text->bytes, text->n, ask, err)))
        status = tg_err_in(err, "config.json");
    free(path);
    return status;
}

const char *const tg_hf_tokenizers[] = {"tokenizer.json", "vocab.json", "encoder.json",
                                        "merges.txt",     "vocab.bpe",  NULL};

static tg_status read_tokenizer(tg_model_file *f, const char *directory, const tg_model_ask *ask, tg_err *err)
{
    const char *name;
    char *path;
    bool exists;
    tg_status status = tg_path_find(&name, directory, tg_hf_tokenizers, err);

    if (status || !name)
        return status;
    if (!(path = tg_path_in(directory, name)))
        return tg_fail_memory(err, strlen(directory), "a path");
    if (!(status = tg_path_examine_found(path, &exists, err)))
        status = tg_vocab_file_open(&f->tokenizer, path, NULL, err);
    if (status == TG_EDATA && ask->lossy) {
        status = tg_notes_add(&f->notes, err, "the tokenizer is left out: %s", err->message);
    }
    free(path);
    return status;
}

tg_status tg_hf_read_around(tg_model_file *f, bool *config, const char *path, bool directory,
                            const tg_model_ask *ask, tg_err *err)
{
    char *in;
    tg_status status;

    *config = false;
    if (!path) /* a stream */
        return TG_OK;
    in = directory ? tg_path_in(path, "") : tg_path_sibling(path, "");
    if (!in)
        return tg_fail_memory(err, strlen(path), "a path");
    if (!(status = read_config(f, config, in, ask, err)) && *config)
        status = read_tokenizer(f, in, ask, err);
    free(in);
    return status;
}

/* ---- tensors */

static tg_status read_tensors(tg_loaded *file, tg_err *err)
{
    tg_metadata metadata;
    const tg_format format = tg_format_recognize(file->bytes, file->n);
    const char *what = tg_format_text(format);
    tg_status status;

    if (tg_torch_recognize(file->bytes, file->n))
        return tg_torch_read_tensors(file, err);
    if (format != TG_FORMAT_SAFETENSORS && file->n >= 9)
        return tg_fail(err, TG_EDATA, "expected a safetensors or PyTorch file%s%s", what ? ", this is " : "",
                       what ? what : "");
    status = tg_safetensors_read(&file->list, &metadata, file->bytes, file->n, err);
    tg_metadata_free(&metadata);
    return status;
}

static tg_status load_tensors(tg_model_file *f, const char *directory, const char *name, tg_loaded **file,
                              tg_err *err)
{
    char *path = tg_path_in(directory, name);
    bool exists;
    tg_status status;

    if (!path)
        return tg_fail_memory(err, strlen(directory), "a path");
    if (!(status = tg_path_examine_found(path, &exists, err)) &&
        !(status = tg_model_file_load(f, path, file, err)) && (status = read_tensors(*file, err)))
        status = tg_err_in(err, name);
    free(path);
    return status;
}

/* Every tensor of the index must be where it says. */
static tg_status check_shards(const tg_shards *shards, const char *name, const tg_loaded *file, tg_err *err)
{
    for (size_t i = 0; i < shards->n_tensors; i++)
        if (shards->tensor[i].file == name && !tg_tensor_list_find(&file->list, shards->tensor[i].name))
            return tg_fail(err, TG_EDATA, "%s lacks %s, which the index says it has", name,
                           shards->tensor[i].name);
    return TG_OK;
}

static tg_status load_shards(tg_model_file *f, const char *directory, const char *name, tg_err *err)
{
    tg_loaded *index, *file;
    tg_shards shards;
    char *path = tg_path_in(directory, name);
    tg_status status =
        path ? load_text(f, &index, path, INDEX_MAX, err) : tg_fail_memory(err, strlen(directory), "a path");

    free(path);
    if (status)
        return status;
    if ((status = tg_shards_read(&shards, index->bytes, index->n, err)))
        status = tg_err_in(err, name);
    for (size_t i = 0; i < shards.n_files && !status; i++)
        if (!(status = load_tensors(f, directory, shards.file[i], &file, err)))
            status = check_shards(&shards, shards.file[i], file, err);
    tg_shards_free(&shards);
    return status;
}

/* ---- opening */

static tg_status open_directory(tg_model_file *f, const char *path, const tg_model_ask *ask, tg_err *err)
{
    const char *name;
    tg_loaded *file;
    bool config;
    tg_status status = tg_path_find(&name, path, weights, err);

    if (status)
        return status;
    if (!name)
        return tg_fail(err, TG_EDATA,
                       "a directory without a model's files: expected config.json and "
                       "model.safetensors, model.safetensors.index.json or pytorch_model.bin");
    if ((status = tg_hf_read_around(f, &config, path, true, ask, err)))
        return status;
    status =
        strstr(name, INDEX_END) ? load_shards(f, path, name, err) : load_tensors(f, path, name, &file, err);
    if (status) /* without a config, [in,out] or [out,in] is told by the shapes */
        return status;
    return tg_model_file_match(f, config ? &tg_names_gpt2 : &tg_names_by_shape, ask, err);
}

static tg_status open_file(tg_model_file *f, const char *path, const tg_model_ask *ask, tg_err *err)
{
    tg_loaded *file = f->file[0];
    bool config;
    tg_status status;

    if ((status = read_tensors(file, err)) || (status = tg_hf_read_around(f, &config, path, false, ask, err)))
        return status;
    return tg_model_file_match(f, config ? &tg_names_gpt2 : &tg_names_by_shape, ask, err);
}

/* ---- the formats */

const tg_model_format tg_hf_format = {
    .text = "a Hugging Face checkpoint", .recognize = recognize_directory, .open = open_directory};
const tg_model_format tg_safetensors_format = {
    .text = "a safetensors file", .recognize = recognize_file, .open = open_file};
