#include "tests/unit/hf_written.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/gpt/family.h"
#include "lib/gpt/presets.h"
#include "lib/models/model_archive.h"
#include "lib/models/model_format.h"
#include "tests/unit/check.h"
#include "tests/unit/small_model.h"

const tg_write_options hf_f32 = {.type = TG_WRITE_F32};

tg_config hf_base(const char *family)
{
    tg_config c = {.n_layer = 2,
                   .n_head = 4,
                   .n_embd = 12,
                   .n_ctx = 64,
                   .vocab_size = 256,
                   .layer_norm_epsilon = 1e-6,
                   .activation = TG_SILU,
                   .rope_theta = 10000};

    if (strncmp(family, "gemma", 5) == 0) {
        c.activation = TG_GELU_TANH;
        c.norm_offset = 1;
    }
    if (strcmp(family, "gpt_neox") != 0) {
        c.n_kv_head = 2;
        c.head_dim = strcmp(family, "stablelm") != 0 ? 6 : 0;
        c.n_inner = 20;
    }
    return small_family_config(family, c);
}

void hf_open_model(tg_model_file *f, const tg_config *c)
{
    const char *path = hf_in_directory("model.npz");
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    tg_model m;
    tg_err err = {0};

    small_model_create(&m, *c, 5);
    small_model_stir(&m, 7, 1, 1);
    CHECK_OK(tg_model_write(&m, fd, &err), &err);
    close(fd);
    tg_model_free(&m);
    CHECK_OK(tg_model_file_open(f, path, NULL, &err), &err);
    unlink(path);
}

static void write_part(const tg_model_file *f, const tg_model_part *part, const tg_write_options *o)
{
    const int fd = open(hf_in_directory(part->name), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    tg_err err = {0};

    CHECK_OK(part->write(fd, f, o, &err), &err);
    close(fd);
}

void hf_write_directory(const tg_model_file *f, const tg_write_options *o)
{
    const tg_model_writer *w = tg_model_writer_named("hf");
    tg_notes notes = {0};
    tg_err err = {0};

    CHECK_OK(w->check(f, o, &notes, &err), &err);
    CHECK_EQ(notes.n, 0);
    for (size_t i = 0; i < w->n_parts; i++)
        write_part(f, &w->part[i], o);
    tg_notes_free(&notes);
}
