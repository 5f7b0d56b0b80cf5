/* Models in llm.c's files. */
#include "formats/llmc.h"
#include "lib/models/model_format.h"

/* All that a header gives, and what is the same in all models of llm.c. */
static void take_config(tg_model_file *f, const tg_llmc_config *c)
{
    tg_model_file_set_size(f, TG_CONFIG_N_LAYER, c->n_layer);
    tg_model_file_set_size(f, TG_CONFIG_N_HEAD, c->n_head);
    tg_model_file_set_size(f, TG_CONFIG_N_EMBD, c->n_embd);
    tg_model_file_set_size(f, TG_CONFIG_N_CTX, c->n_ctx);
    tg_model_file_set_size(f, TG_CONFIG_VOCAB_SIZE, c->vocab_size);
    tg_model_file_set_norm(f, TG_GELU_TANH, TG_LLMC_EPSILON);
    tg_model_file_set_tied(f, true);
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

const tg_model_format tg_llmc_format = {
    .text = "an llm.c model", .format = TG_FORMAT_LLMC_MODEL, .open = open_model};
