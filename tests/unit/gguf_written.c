#include "tests/unit/gguf_written.h"

#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "lib/models/model_format.h"
#include "tests/unit/check.h"
#include "tests/unit/hf_written.h"

tg_config gguf_base(const char *family)
{
    tg_config c = hf_base(family);

    if (strcmp(family, "qwen2") == 0 || strcmp(family, "olmo2") == 0 || strcmp(family, "phi3") == 0)
        c.n_embd = 24;
    if (strcmp(family, "qwen2") == 0)
        c.qkv_bias = true;
    if (strcmp(family, "qwen3") == 0 || strcmp(family, "olmo2") == 0 || strcmp(family, "gemma3") == 0)
        c.qk_norm = true;
    if (strncmp(family, "gemma", 5) == 0)
        c.embed_scale = sqrt((double)c.n_embd);
    if (strcmp(family, "gemma") == 0 || strcmp(family, "gemma2") == 0)
        c.tied = true;
    if (strcmp(family, "gemma2") == 0) {
        c.attn_cap = 20;
        c.final_logit_softcapping = 30;
        c.window = 8;
        c.window_layers = 1;
    }
    if (strcmp(family, "stablelm") == 0) {
        c.n_embd = 24;
        c.rope_dim = 4;
        c.qkv_bias = true;
    }
    if (strcmp(family, "gpt_neox") == 0) {
        c.n_embd = 32;
        c.n_inner = 40;
        c.rope_dim = 4;
        c.activation = TG_GELU_ERF;
        c.qkv_bias = c.out_bias = true;
    }
    return c;
}

tg_status gguf_check(const tg_model_file *f, const tg_write_options *o, tg_notes *notes, tg_err *err)
{
    return tg_model_writer_named("gguf")->check(f, o, notes, err);
}

void gguf_write_file(const tg_model_file *f, const tg_write_options *o)
{
    const int fd = open(hf_in_directory("model.gguf"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    tg_notes notes = {0};
    tg_err err = {0};

    CHECK_OK(gguf_check(f, o, &notes, &err), &err);
    CHECK_OK(tg_model_writer_named("gguf")->part[0].write(fd, f, o, &err), &err);
    tg_notes_free(&notes);
    close(fd);
}
