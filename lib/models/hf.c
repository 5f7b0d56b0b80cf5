/* Hugging Face's checkpoints: a directory, or its safetensors file. */
#include "lib/models/reading.h"

#include <stdlib.h>
#include <string.h>

#include "formats/path.h"
#include "formats/safetensors.h"
#include "formats/torch_file.h"
#include "lib/models/canonical.h"
#include "lib/models/hf_settings.h"
#include "lib/vocab/foreign.h"
#include "lib/vocab/vocab_file.h"

#define CONFIG_MAX ((size_t)1 << 20) /* bytes of a config.json */
#define INDEX_MAX ((size_t)1 << 24)

#define INDEX_END ".index.json"

static const char *const weights[] = {"model.safetensors", "model.safetensors" INDEX_END, "pytorch_model.bin",
                                      "pytorch_model.bin" INDEX_END, NULL};

/* ---- config and tokenizer */

static tg_status read_config(tg_model_file *f, const char *directory, const tg_model_ask *ask, tg_err *err)
{
    tg_loaded *text;
    tg_status status = tg_model_file_add_found(f, &text, directory, "config.json", false, CONFIG_MAX, err);

    if (status || !text)
        return status;
    status = tg_hf_config_read(f, text->bytes, text->n, ask, err);
    return status ? tg_err_in(err, "config.json") : TG_OK;
}

const char *const tg_hf_tokenizers[] = {"tokenizer.json", "tokenizer.model", "vocab.json", "encoder.json",
                                        "merges.txt",     "vocab.bpe",       NULL};

static tg_status read_tokenizer(tg_model_file *f, const char *directory, const tg_model_ask *ask, tg_err *err)
{
    const char *what = "the tokenizer";
    char *path;
    tg_status status = tg_vocab_find_beside(&path, directory, tg_hf_tokenizers, true, err);

    if (!status && path)
        status = tg_vocab_file_open(&f->tokenizer, path, NULL, err);
    if (f->tokenizer) {
        what = "what begins a text";
        status = tg_hf_bos_read(f, directory, path, err);
    }
    if (status == TG_EDATA && ask->lossy)
        status = tg_notes_add(&f->notes, err, "%s is left out: %s", what, err->message);
    free(path);
    return status;
}

tg_status tg_hf_read_around(tg_model_file *f, const char *path, bool directory, const tg_model_ask *ask,
                            tg_err *err)
{
    char *in;
    tg_status status;

    if (!path) /* a stream */
        return TG_OK;
    in = directory ? tg_path_in(path, "") : tg_path_sibling(path, "");
    if (!in)
        return tg_fail_memory(err, strlen(path), "a path");
    if (!(status = read_config(f, in, ask, err)) && f->config_known &&
        !(status = read_tokenizer(f, in, ask, err)))
        status = tg_hf_settings_read(f, in, ask, err);
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
    tg_status status = tg_model_file_add_found(f, file, directory, name, true, SIZE_MAX, err);

    if (!status && (status = read_tensors(*file, err)))
        status = tg_err_in(err, name);
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
    tg_status status = tg_model_file_add_found(f, &index, directory, name, true, INDEX_MAX, err);

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

void tg_hf_round_scale(tg_model_file *f)
{
    double *scale = &f->config.embed_scale;
    const tg_stored *wte = f->values[tg_params_index(&f->table, TG_WTE, 0)].piece[0];

    if (*scale == 1 || !wte)
        return;
    if (tg_dtype_equal(wte->array.dtype, TG_BF16))
        *scale = tg_rounded_to(TG_WRITE_BF16, *scale);
    if (tg_dtype_equal(wte->array.dtype, TG_F16))
        *scale = tg_rounded_to(TG_WRITE_F16, *scale);
}

/* Without a config, [in,out] or [out,in] is told by the shapes. */
static tg_status match(tg_model_file *f, const tg_model_ask *ask, tg_err *err)
{
    const tg_status status =
        tg_model_file_match(f, f->config_known ? &tg_names_gpt2 : &tg_names_by_shape, ask, err);

    if (!status)
        tg_hf_round_scale(f);
    return status;
}

static tg_status find_weights(const char **name, const char *directory, tg_err *err)
{
    const tg_status status = tg_path_find(name, directory, weights, err);

    if (status || *name)
        return status;
    return tg_fail(
        err, TG_EDATA,
        "a directory without a model's files: expected config.json and "
        "model.safetensors, model.safetensors.index.json or pytorch_model.bin; a .gguf or .npz file is "
        "named itself");
}

static tg_status load_weights(tg_model_file *f, const char *directory, const char *name, tg_err *err)
{
    tg_loaded *file;

    return strstr(name, INDEX_END) ? load_shards(f, directory, name, err)
                                   : load_tensors(f, directory, name, &file, err);
}

/* A directory, or a file that has been loaded. */
static tg_status open_model(tg_model_file *f, const char *path, const tg_model_ask *ask, tg_err *err)
{
    const bool directory = f->n_files == 0;
    const char *name = NULL;
    tg_status status = directory ? find_weights(&name, path, err) : read_tensors(f->file[0], err);

    if (status || (status = tg_hf_read_around(f, path, directory, ask, err)) ||
        (directory && (status = load_weights(f, path, name, err))))
        return status;
    return match(f, ask, err);
}

/* ---- the formats */

const tg_model_format tg_hf_format = {
    .text = "a Hugging Face checkpoint", .directory = true, .open = open_model};
const tg_model_format tg_safetensors_format = {
    .text = "a safetensors file", .format = TG_FORMAT_SAFETENSORS, .open = open_model};
