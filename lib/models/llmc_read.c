/* Models in llm.c's files. */
#include "lib/models/llmc.h"

#include "formats/format.h"
#include "formats/llmc.h"
#include "lib/models/model_format.h"

static bool recognize(const tg_loaded *file)
{
    return file && tg_format_recognize(file->bytes, file->n) == TG_FORMAT_LLMC_MODEL;
}

/* All that a header tells, and what is the same in all models of llm.c. */
static void take_config(tg_model_file *f, const tg_llmc_config *c)
{
    static const tg_config_id known[] = {TG_CONFIG_N_LAYER,    TG_CONFIG_N_HEAD,
                                         TG_CONFIG_N_EMBD,     TG_CONFIG_N_CTX,
                                         TG_CONFIG_VOCAB_SIZE, TG_CONFIG_LAYER_NORM_EPSILON,
                                         TG_CONFIG_ACTIVATION, TG_CONFIG_TIED};

    f->config.n_layer = c->n_layer;
    f->config.n_head = c->n_head;
    f->config.n_embd = c->n_embd;
    f->config.n_ctx = c->n_ctx;
    f->config.vocab_size = c->vocab_size;
    f->config.layer_norm_epsilon = TG_LLMC_EPSILON;
    f->config.activation = TG_GELU_TANH;
    f->config.tied = true;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        tg_config_set_known(f, known[i]);
}

/* A note, if rows of wte.weight that belong to no id have values. */
static tg_status check_padding(tg_model_file *f, const tg_llmc_config *c, tg_err *err)
{
    const tg_stored *const wte = tg_tensor_list_find(&f->file[0]->list, "wte.weight");
    const size_t row = wte->stored / c->rows;

    for (size_t i = c->vocab_size * row; i < wte->stored; i++)
        if (wte->at[i] != 0)
            return tg_notes_add(&f->notes, err,
                                "wte.weight: %zu rows of padding are left out, which are not zeros",
                                c->rows - c->vocab_size);
    return TG_OK;
}

static tg_status open_model(tg_model_file *f, const char *path, const tg_model_ask *ask, tg_err *err)
{
    tg_loaded *const file = f->file[0];
    tg_names names = tg_names_nanogpt;
    tg_llmc_config c;
    tg_status status = tg_llmc_model_read(&file->list, &c, file->bytes, file->n, err);

    (void)path;
    names.padded = true;
    if (status)
        return status;
    take_config(f, &c);
    status = check_padding(f, &c, err);
    return status ? status : tg_model_file_match(f, &names, ask, err);
}

const tg_model_format tg_llmc_format = {.text = "an llm.c model", .recognize = recognize, .open = open_model};
