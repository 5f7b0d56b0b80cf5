/* Models as GGUF files for llama.cpp; of GPT-2 here, of other families by gguf_write_families.c. */

#include "formats/gguf_writer.h"
#include "lib/models/gguf_general.h"
#include "lib/models/gguf_vocab.h"
#include "lib/models/gguf_write_families.h"
#include "lib/models/writing.h"

/* ---- what is written */

/* A tensor of the file. */
struct tensor {
    char name[TG_GGUF_NAME_MAX];
    const tg_param *param; /* of the padded table */
    size_t shape[2];
    bool transposed; /* from [in,out] */
    bool tied_copy;  /* the embedding, as the output head that is tied to it */
    tg_gguf_kind kind;
};

/* Tensor i: entry i of the padded table; after the last one, the head that is tied to the embedding. */
static void describe(struct tensor *t, const tg_padded_params *padded, tg_write_type type, size_t i)
{
    const bool tied = i == padded->file.table.n;
    const tg_param *p = &padded->file.table.entry[tied ? tg_params_index(&padded->file.table, TG_WTE, 0) : i];

    *t = (struct tensor){.param = p, .transposed = tg_is_linear(p), .tied_copy = tied};
    tg_names_put(t->name, sizeof t->name, &tg_names_gguf, tied ? TG_HEAD_W : (int)p->kind, TG_NAME_WHOLE,
                 p->layer);
    t->shape[0] = p->shape[t->transposed];
    t->shape[1] = p->shape[!t->transposed];
    t->kind = tg_gguf_kind_of(t->param, t->shape[1], type);
}

/* ---- the file of GPT-2 */

static void put_config(tg_gguf_writer *w, const tg_config *c, tg_write_type type)
{
    tg_gguf_put_start(w, "gpt2", type);
    tg_gguf_put_u32(w, "gpt2.block_count", (uint32_t)c->n_layer);
    tg_gguf_put_u32(w, "gpt2.context_length", (uint32_t)c->n_ctx);
    tg_gguf_put_u32(w, "gpt2.embedding_length", (uint32_t)c->n_embd);
    tg_gguf_put_u32(w, "gpt2.feed_forward_length", (uint32_t)(4 * c->n_embd));
    tg_gguf_put_u32(w, "gpt2.attention.head_count", (uint32_t)c->n_head);
    tg_gguf_put_f32(w, "gpt2.attention.layer_norm_epsilon", (float)c->layer_norm_epsilon);
    tg_gguf_put_u32(w, "gpt2.vocab_size", (uint32_t)c->vocab_size);
}

static tg_status put_tensor(tg_gguf_writer *w, tg_padded_params *padded, const struct tensor *t,
                            const tg_write_options *o, tg_err *err)
{
    const size_t entry = (size_t)(t->param - padded->file.table.entry);
    const float *x;
    const tg_status status = tg_model_file_get(&x, &padded->buffer, &padded->file, entry, t->transposed, err);

    if (status)
        return status;
    tg_gguf_put_values(w, x, t->param->count);
    if (!t->tied_copy)
        tg_padded_params_done(padded, entry, o);
    return TG_OK;
}

static tg_status put_all(tg_gguf_writer *w, tg_padded_params *padded, const tg_write_options *o, tg_err *err)
{
    const size_t n = padded->file.table.n + padded->file.config.tied;
    struct tensor t;
    tg_status status = TG_OK;

    for (size_t i = 0; i < n; i++) {
        describe(&t, padded, o->type, i);
        tg_gguf_declare(w, t.name, t.param->ndim, t.shape, t.kind);
    }
    for (size_t i = 0; !status && !w->out.err.code && i < n; i++) {
        describe(&t, padded, o->type, i);
        status = put_tensor(w, padded, &t, o, err);
    }
    return status;
}

static tg_status put_tensors(tg_gguf_writer *w, const tg_model_file *f, const tg_write_options *o,
                             tg_err *err)
{
    tg_padded_params padded = {0};
    tg_status status = tg_padded_params_open(&padded, f, err);

    if (!status)
        status = put_all(w, &padded, o, err);
    tg_padded_params_close(&padded);
    return status;
}

/* ---- the file, of any family */

/* Which tokens begin and end a text, where that is not what the tokenizer says. */
static void put_vocab(tg_gguf_writer *w, tg_gguf_vocab *vocab, const tg_config *c)
{
    if (c->bos_token > 0)
        vocab->bos = (int64_t)c->bos_token - 1;
    if (c->eos_token > 0)
        vocab->eos = (int64_t)c->eos_token - 1;
    vocab->add_bos = c->add_bos;
    tg_gguf_vocab_put(w, vocab);
}

static tg_status write_model(int fd, const tg_model_file *f, const tg_write_options *o, tg_err *err)
{
    const bool gpt2 = f->config.family == 0;
    tg_notes unused = {0};
    tg_gguf_vocab vocab;
    tg_gguf_writer w;
    tg_status finished,
        status = tg_gguf_vocab_make(&vocab, f->tokenizer, f->config.vocab_size, true, &unused, err);

    tg_gguf_begin(&w, fd);
    if (!status) {
        (gpt2 ? put_config : tg_gguf_family_config)(&w, &f->config, o->type);
        tg_gguf_general_put(&w, f);
        put_vocab(&w, &vocab, &f->config);
        if (f->chat_template.p)
            tg_gguf_put_text(&w, "tokenizer.chat_template", f->chat_template.p, f->chat_template.n);
        status = (gpt2 ? put_tensors : tg_gguf_family_tensors)(&w, f, o, err);
    }
    tg_gguf_vocab_free(&vocab);
    tg_notes_free(&unused);
    finished = tg_gguf_finish(&w, status ? NULL : err);
    return status ? status : finished;
}

/* ---- what a file cannot hold */

static tg_status check_gpt2(const tg_model_file *f, const tg_write_options *o, tg_notes *notes, tg_err *err)
{
    char what[TG_OTHER_ACTIVATION_MAX];
    tg_status status = TG_OK;

    if (o->split_qkv)
        return tg_fail(err, TG_EUSAGE,
                       "llama.cpp's GPT-2 has q, k and v in one matrix: they cannot be split");
    if (tg_other_activation(what, &f->config))
        status = tg_lose(notes, o->lossy, err, "llama.cpp", what);
    if (status || (status = tg_check_head_bias(f, o, "llama.cpp's GPT-2", notes, err)))
        return status;
    return tg_gguf_note_types(&f->config, o->type, notes, err);
}

static tg_status check(const tg_model_file *f, const tg_write_options *o, tg_notes *notes, tg_err *err)
{
    tg_gguf_vocab vocab = {0};
    tg_status status = (f->config.family == 0 ? check_gpt2 : tg_gguf_family_check)(f, o, notes, err);

    if (status)
        return status;
    status = tg_gguf_vocab_make(&vocab, f->tokenizer, f->config.vocab_size, o->lossy, notes, err);
    tg_gguf_vocab_free(&vocab);
    return status;
}

/* ---- the format */

static const tg_model_part parts[] = {{.write = write_model}};

const tg_model_writer tg_writer_gguf = {.name = "gguf", .check = check, .part = parts, .n_parts = 1};
