#include "tests/unit/hf_read.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/safetensors.h"
#include "lib/base/convert.h"
#include "tests/unit/check.h"
#include "tests/unit/hf_directory.h"
#include "tests/unit/small_model.h"

struct hf_stored hf_stored = {"", "", NULL, {'f', 4}};

void hf_write_json(const char *sizes, const char *members)
{
    FILE *f = fopen(hf_in_directory("config.json"), "w");

    CHECK(f && fprintf(f, "{%s%s}\n", sizes, members) > 0 && fclose(f) == 0);
}

void hf_write_config(const char *members)
{
    hf_write_json(SIZES ", ", members);
}

static void name_tensor(char name[TG_NAME_MAX + 1], const char *own)
{
    static const char model[] = "model.";
    const bool in_model = strncmp(own, model, sizeof model - 1) == 0;

    snprintf(name, TG_NAME_MAX + 1, "%s%s%s%s", hf_stored.prefix, in_model ? model : "",
             in_model ? hf_stored.inner : "", in_model ? own + sizeof model - 1 : own);
}

/* Tensor i, in one write: an element each would be millions. */
static void put(tg_safetensors_writer *w, size_t i, size_t count)
{
    const size_t size = hf_stored.dtype.size == 4 ? sizeof(float) : sizeof(uint16_t);
    unsigned char *const data = malloc(count * size + 1);
    tg_err err = {0};

    if (!data)
        abort();
    for (size_t e = 0; e < count; e++) {
        const float x = (float)i + (float)(e % 100) / 1024;
        uint16_t bits = tg_half_from_float(x);

        if (size == 2 && hf_stored.dtype.kind == 'B')
            CHECK(tg_round_to_bf16(&bits, &x, 1));
        memcpy(data + e * size, size == 4 ? (const void *)&x : &bits, size);
    }
    CHECK_OK(tg_safetensors_put(w, data, count * size, &err), &err);
    free(data);
}

void hf_write_tensors(const tg_config *c, const char *missing, const char *other)
{
    const int fd = open(hf_in_directory("model.safetensors"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    tg_array arrays[64];
    tg_safetensors_writer w;
    tg_params table;
    size_t n = 0;
    tg_err err = {0};

    CHECK_OK(tg_params_build(&table, c, &err), &err);
    for (size_t i = 0; i < table.n; i++) {
        const tg_param *p = &table.entry[i];

        if (missing && strcmp(p->name, missing) == 0)
            continue;
        arrays[n] = (tg_array){.dtype = hf_stored.dtype, .ndim = p->ndim, .count = p->count};
        name_tensor(arrays[n].name, p->name);
        arrays[n].shape[0] = p->shape[0] + (other && strcmp(p->name, other) == 0);
        arrays[n].shape[1] = p->shape[1];
        arrays[n].count = arrays[n].shape[0] * (p->ndim == 2 ? p->shape[1] : 1);
        n++;
    }
    if (hf_stored.besides) {
        arrays[n] = (tg_array){.dtype = hf_stored.dtype, .ndim = 1, .shape = {3}, .count = 3};
        snprintf(arrays[n++].name, sizeof arrays[0].name, "%s", hf_stored.besides);
    }
    CHECK_OK(tg_safetensors_begin(&w, fd, arrays, n, &err), &err);
    for (size_t i = 0; i < n; i++)
        put(&w, i, arrays[i].count);
    tg_safetensors_end(&w);
    tg_params_free(&table);
    close(fd);
}

tg_config hf_config(const char *family)
{
    return small_family_config(family, (tg_config){.n_layer = 2,
                                                   .n_head = 4,
                                                   .n_embd = 12,
                                                   .n_ctx = 64,
                                                   .vocab_size = 256,
                                                   .n_kv_head = 4,
                                                   .head_dim = 3,
                                                   .n_inner = 20,
                                                   .layer_norm_epsilon = 1e-6,
                                                   .activation = TG_SILU,
                                                   .rope_theta = 10000});
}

void hf_expect_read(tg_config want)
{
    tg_model_file f;
    tg_err err = {0};

    hf_write_tensors(&want, NULL, NULL);
    CHECK_OK(tg_model_file_open(&f, hf_directory, NULL, &err), &err);
    CHECK(small_config_equal(&f.config, &want));
    for (size_t i = 0; i < f.table.n; i++) {
        tg_float_buffer buffer = {0};
        const float *x;

        CHECK_OK(tg_model_file_get(&x, &buffer, &f, i, false, &err), &err);
        CHECK(x[0] == (float)i &&
              x[f.table.entry[i].count - 1] == (float)i + (float)((f.table.entry[i].count - 1) % 100) / 1024);
        free(buffer.x);
    }
    tg_model_file_close(&f);
}

void hf_expect(const char *members, tg_config want)
{
    hf_write_config(members);
    hf_expect_read(want);
}

static void refuse_read_asked(const tg_model_ask *ask, tg_status status, const char *message)
{
    tg_model_file f;
    tg_err err = {0};

    CHECK_EQ(tg_model_file_open(&f, hf_directory, ask, &err), status);
    CHECK_HAS(err.message, message);
    CHECK_HAS(err.message, hf_directory);
}

void hf_refuse_read(const char *message)
{
    refuse_read_asked(NULL, TG_EDATA, message);
}

void hf_refuse_asked(const char *members, const tg_model_ask *ask, tg_status status, const char *message)
{
    hf_write_config(members);
    refuse_read_asked(ask, status, message);
}

void hf_refuse(const char *members, const char *message)
{
    hf_refuse_asked(members, NULL, TG_EDATA, message);
}
