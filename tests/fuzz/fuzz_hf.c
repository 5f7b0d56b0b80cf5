/*
 * The JSON files of a Hugging Face checkpoint: config.json, and the index of several files.
 *
 * A config that is read is read again from the one that is written of it; the files of an index are in its
 * own directory.
 */
#define _GNU_SOURCE /* memfd_create */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "formats/safetensors.h"
#include "lib/gpt/family.h"
#include "lib/models/canonical.h"
#include "lib/models/hf_write_families.h"
#include "lib/models/reading.h"
#include "tests/fuzz/input.h"

#define LAYERS_MAX 70 /* of a model whose layers are listed in what is written */

/* Of a family after GPT-2: that it computes the same. */
static void check_family(const tg_config *a, const tg_config *b)
{
    const tg_config padded = tg_hf_class_padded(tg_hf_class_for(a), a);
    const tg_config want = tg_config_canonical(&padded), got = tg_config_canonical(b);

    for (size_t i = 0; i < TG_CONFIG_MEMBERS; i++) {
        const tg_field *const f = &tg_config_fields.row[i];

        if (!tg_config_has(a, i))
            continue;
        if (f->type == TG_FIELD_REAL)
            must(tg_same_float(*(const double *)tg_field_member(f, &want),
                               *(const double *)tg_field_member(f, &got)));
        else
            must(tg_field_equal(f, &want, &got));
    }
}

/* Whether it can be written. */
static bool has_class(const tg_model_file *f)
{
    const tg_hf_class *const class = tg_hf_class_for(&f->config);
    tg_err err = {0};
    tg_status status;

    if (f->config.family == 0)
        return true;
    status =
        f->config.n_layer > LAYERS_MAX ? TG_EUSAGE : tg_hf_class_check(class, &f->config, TG_WRITE_F32, &err);
    must(status == TG_OK || status == TG_EUSAGE);
    return status == TG_OK;
}

static void write_again(const tg_model_file *f)
{
    static const tg_model_ask ask = {0};
    const tg_write_options how = {0};
    const int fd = memfd_create("config", 0);
    tg_model_file again = {0};
    uint8_t text[8192];
    tg_err err = {0};

    must((f->config.family > 0 ? tg_hf_family_config : tg_hf_config_write)(fd, f, &how, &err) == TG_OK);
    must(tg_hf_config_read(&again, text, input_take(fd, text, sizeof text), &ask, &err) == TG_OK);
    must(again.config.family == f->config.family);
    if (f->config.family > 0)
        check_family(&f->config, &again.config);
    must(again.config.n_layer == f->config.n_layer && again.config.n_head == f->config.n_head);
    must(again.config.n_embd == f->config.n_embd && again.config.n_ctx == f->config.n_ctx);
    must(again.config.vocab_size == f->config.vocab_size && again.config.tied == f->config.tied);
    must(again.config.activation == f->config.activation);
    must(memcmp(&again.config.layer_norm_epsilon, &f->config.layer_norm_epsilon, sizeof(double)) == 0);
    tg_model_file_close(&again);
    close(fd);
}

static void read_config(const uint8_t *data, size_t size)
{
    for (int lossy = 0; lossy < 2; lossy++) {
        const tg_model_ask ask = {.lossy = lossy};
        tg_model_file f = {0};
        tg_err err = {0};

        if (tg_hf_config_read(&f, data, size, &ask, &err))
            must(err.message[0] != '\0');
        else if (tg_config_check(&f.config, &err) == TG_OK && has_class(&f))
            write_again(&f);
        tg_model_file_close(&f);
    }
}

static void read_index(const uint8_t *data, size_t size)
{
    tg_shards shards;
    tg_err err = {0};

    if (tg_shards_read(&shards, data, size, &err))
        must(err.message[0] != '\0');
    else
        for (size_t i = 0; i < shards.n_tensors; i++)
            must(shards.tensor[i].file[0] != '\0' && !strchr(shards.tensor[i].file, '/') &&
                 strcmp(shards.tensor[i].file, "..") != 0);
    tg_shards_free(&shards);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_config(data, size);
    read_index(data, size);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    static const char *const texts[] = {
        "{\"model_type\": \"gpt2\", \"vocab_size\": 300, \"n_positions\": 64, \"n_embd\": 32, \"n_layer\": "
        "2, "
        "\"n_head\": 2, \"n_inner\": null, \"activation_function\": \"gelu_new\", \"layer_norm_epsilon\": "
        "1e-05, "
        "\"tie_word_embeddings\": true, \"scale_attn_weights\": true, \"reorder_and_upcast_attn\": false}",
        "{\"metadata\": {\"total_size\": 8}, \"weight_map\": {\"wte.weight\": \"a.safetensors\", "
        "\"wpe.weight\": "
        "\"b.safetensors\"}}"};

    return LLVMFuzzerMutate(data, size < 10 ? input_seed(data, max, texts[seed % 2]) : size, max);
}
