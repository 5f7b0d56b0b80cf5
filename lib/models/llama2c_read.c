/* Models in llama2.c's files, which are Llama's. */
#include <stdlib.h>
#include <string.h>

#include "formats/llama2c.h"
#include "formats/path.h"
#include "lib/gpt/family.h"
#include "lib/models/model_format.h"
#include "lib/vocab/foreign.h"
#include "lib/vocab/vocab_file.h"

/* The ids of what begins and ends a text, in every tokenizer of llama2.c's. */
enum { BEGIN = 1, END = 2 };

/* ---- the tensors */

static const tg_name rows[] = {
    {.pattern = "tok_embeddings.weight", .kind = TG_WTE},
    {.pattern = "layers.N.attention_norm.weight", .kind = TG_LN1_W},
    {.pattern = "layers.N.attention.wq.weight", .kind = TG_Q_W},
    {.pattern = "layers.N.attention.wk.weight", .kind = TG_K_W},
    {.pattern = "layers.N.attention.wv.weight", .kind = TG_V_W},
    {.pattern = "layers.N.attention.wo.weight", .kind = TG_ATT_PROJ_W},
    {.pattern = "layers.N.ffn_norm.weight", .kind = TG_LN2_W},
    {.pattern = "layers.N.feed_forward.w1.weight", .kind = TG_GATE_W},
    {.pattern = "layers.N.feed_forward.w2.weight", .kind = TG_FC_PROJ_W},
    {.pattern = "layers.N.feed_forward.w3.weight", .kind = TG_UP_W},
    {.pattern = "norm.weight", .kind = TG_LNF_W},
    {.pattern = "freqs_cos", .kind = TG_NAME_IGNORED}, /* they follow from the config */
    {.pattern = "freqs_sin", .kind = TG_NAME_IGNORED},
    {.pattern = "output.weight", .kind = TG_HEAD_W},
};

static const tg_names names = {.family = "llama",
                               .what = "Llama",
                               .row = rows,
                               .n = sizeof rows / sizeof *rows,
                               .layout = TG_LAYOUT_OUT_IN,
                               .pairs = true};

/* ---- the config */

static void take_config(tg_model_file *f, const tg_llama2c_config *header)
{
    tg_config *c = &f->config;

    c->family = tg_family_number("llama");
    tg_config_neutral(c);
    c->n_layer = header->n_layers;
    c->n_head = header->n_heads;
    c->n_embd = header->dim;
    c->n_ctx = header->seq_len;
    c->vocab_size = header->vocab_size;
    c->n_kv_head = header->n_kv_heads;
    c->head_dim = header->dim / header->n_heads;
    c->n_inner = header->hidden_dim;
    c->layer_norm_epsilon = TG_LLAMA2C_EPSILON;
    c->activation = TG_SILU;
    c->rope_theta = TG_LLAMA2C_THETA;
    c->tied = header->tied;
    c->bos_token = BEGIN + 1;
    c->eos_token = END + 1;
    c->add_bos = true; /* as llama2.c does */
    f->config_known = ~(uint64_t)0;
}

/* ---- the tokenizer */

/* With another number of tokens it is another model's.  tok: taken over. */
static tg_status use_tokenizer(tg_model_file *f, const tg_tokenizer *tok, tg_err *err)
{
    const size_t n = tg_tokenizer_vocab_size(tok);

    if (n != f->config.vocab_size) {
        tg_tokenizer_free(tok);
        return tg_notes_add(&f->notes, err, "tokenizer.bin is left out: it has %zu tokens, the model %zu", n,
                            f->config.vocab_size);
    }
    f->tokenizer = tok;
    return TG_OK;
}

/* path NULL: a stream, which is in no directory. */
static tg_status read_tokenizer(tg_model_file *f, const char *path, const tg_model_ask *ask, tg_err *err)
{
    static const char *const beside[] = {"tokenizer.bin", NULL};
    const tg_tokenizer *tok;
    char *found = NULL;
    tg_status status = path ? tg_vocab_find_beside(&found, path, beside, false, err) : TG_OK;

    if (status || !found)
        return status;
    if (!(status = tg_vocab_file_open(&tok, found, NULL, err)))
        status = use_tokenizer(f, tok, err);
    else if (status == TG_EDATA && ask->lossy)
        status = tg_notes_add(&f->notes, err, "the tokenizer is left out: %s", err->message);
    free(found);
    return status;
}

/* ---- the format */

static tg_status open_model(tg_model_file *f, const char *path, const tg_model_ask *ask, tg_err *err)
{
    tg_loaded *const file = f->file[0];
    tg_llama2c_config header;
    tg_status status = tg_llama2c_read(&file->list, &header, file->bytes, file->n, err);

    if (status)
        return status;
    take_config(f, &header);
    if ((status = read_tokenizer(f, path, ask, err)))
        return status;
    return tg_model_file_match(f, &names, ask, err);
}

const tg_model_format tg_llama2c_format = {
    .text = "a llama2.c model", .recognize = tg_llama2c_begins, .open = open_model};
