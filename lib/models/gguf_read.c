/* Models from GGUF files; of GPT-2 here, of other families by gguf_families.c. */
#include "formats/gguf.h"
#include "lib/base/size.h"
#include "lib/models/gguf_archs.h"
#include "lib/models/gguf_families.h"
#include "lib/models/gguf_general.h"
#include "lib/models/gguf_keys.h"
#include "lib/models/gguf_vocab.h"
#include "lib/models/hf_settings.h"
#include "lib/models/model_format.h"
#include "lib/vocab/foreign.h"

/* ---- the config */

static const struct number {
    const char *key;
    tg_config_id id;
} numbers[] = {
    {"block_count", TG_CONFIG_N_LAYER},
    {"attention.head_count", TG_CONFIG_N_HEAD},
    {"embedding_length", TG_CONFIG_N_EMBD},
    {"context_length", TG_CONFIG_N_CTX},
};

/* Whether the model is GPT-2; otherwise it is one of the families. */
static bool check_architecture(tg_gguf *g)
{
    char shown[TG_TOKEN_SHOWN];
    const tg_span name = tg_gguf_get_text(g, "general.architecture");
    const bool gpt2 = tg_span_is(name, "gpt2");
    size_t parts;

    if (!g->status && !gpt2 && !tg_gguf_arch_named(name))
        g->status = tg_fail(g->err, TG_EDATA, "the architecture is \"%s\", expected one of gpt2, %s",
                            tg_token_shown(shown, name.p, name.n), tg_gguf_arch_names());
    parts = tg_gguf_find(g, "split.count") ? tg_gguf_get_size(g, "split.count") : 1;
    if (!g->status && parts > 1)
        g->status = tg_fail(g->err, TG_EDATA,
                            "the model is split into %zu files: join them (llama-gguf-split --merge)", parts);
    return gpt2;
}

/* The token that begins or ends a text, if the file has one; the vocabulary's reader checks it. */
static void read_end(size_t *token, tg_gguf *g, const char *key)
{
    if (tg_gguf_find(g, key)) {
        const size_t id = tg_gguf_get_size(g, key);

        *token = id < TG_SIZE_LIMIT ? id + 1 : 0;
    }
}

static void read_gpt2(tg_model_file *f, tg_gguf *g)
{
    const tg_config *c = &f->config;
    tg_gguf_keys k = {.g = g, .architecture = "gpt2"};

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        tg_model_file_set_size(f, numbers[i].id, tg_gguf_keys_size(&k, numbers[i].key));
    tg_gguf_keys_check(&k, "attention.head_count_kv", c->n_head, "gpt2.attention.head_count");
    tg_gguf_keys_check(&k, "feed_forward_length", tg_size_mul_sat(4, c->n_embd),
                       "4 times gpt2.embedding_length");
    /* llama.cpp computes this form of GELU */
    tg_model_file_set_norm(
        f, TG_GELU_TANH,
        tg_gguf_shortest(tg_gguf_get_real(g, tg_gguf_keys_whole(&k, "attention.layer_norm_epsilon"))));
}

/* *names: what the file calls the tensors. */
static void read_config(tg_model_file *f, tg_gguf *g, tg_names *names)
{
    *names = tg_names_gguf;
    if (check_architecture(g))
        read_gpt2(f, g);
    else
        tg_gguf_family_read(f, g, names);
    read_end(&f->config.bos_token, g, "tokenizer.ggml.bos_token_id");
    read_end(&f->config.eos_token, g, "tokenizer.ggml.eos_token_id");
}

/* llama.cpp wants tokens that begin and end a text, so that tg names one where its own tokenizer has none. */
static void drop_stopgap(tg_model_file *f, const tg_gguf *g)
{
    tg_config *c = &f->config;

    if (tg_gguf_find(g, TG_GGUF_KIND_KEY) && f->tokenizer && tg_tokenizer_end_of_text(f->tokenizer) < 0 &&
        c->bos_token == c->eos_token && !c->add_bos)
        c->bos_token = c->eos_token = 0;
}

/* ---- the format */

static tg_status keep_template(tg_model_file *f, tg_gguf *g, const tg_model_ask *ask, tg_err *err)
{
    const tg_status status = tg_chat_template_keep_gguf(f, g);

    if (status == TG_EDATA && !ask->lossy) {
        const tg_err why = *err;

        return tg_fail(err, status, "%s (--lossy leaves it out)", why.message);
    }
    if (status != TG_EDATA)
        return status;
    g->status = TG_OK;
    return tg_notes_add(&f->notes, err, "the template of conversations is left out: %s", err->message);
}

static tg_status open_model(tg_model_file *f, const char *path, const tg_model_ask *ask, tg_err *err)
{
    tg_loaded *file = f->file[0];
    tg_names names;
    tg_gguf g;
    tg_status status = tg_gguf_read(&file->list, &g, file->bytes, file->n, err);

    (void)path;
    if (!status && !ask->vocabulary)
        read_config(f, &g, &names);
    if (!status)
        status = tg_gguf_vocab_read(&f->tokenizer, &g, ask->lossy, &f->notes);
    if (!status && !(status = tg_gguf_vocab_adds_bos(&f->config.add_bos, &g)))
        drop_stopgap(f, &g);
    if (!status)
        status = tg_gguf_general_keep(f, &g, err);
    if (!status && ask->chat_template)
        status = keep_template(f, &g, ask, err);
    tg_gguf_free(&g);
    if (status || ask->vocabulary)
        return status;
    return tg_model_file_match(f, &names, ask, err);
}

const tg_model_format tg_gguf_format = {.text = "a GGUF file", .format = TG_FORMAT_GGUF, .open = open_model};
