/* GPT-2 as a GGUF file for llama.cpp. */
#include <string.h>

#include "formats/gguf_writer.h"
#include "lib/models/gguf_vocab.h"
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

/* How a tensor is stored: vectors and positions in float32, as llama.cpp wants them; a matrix whose rows are
 * no whole blocks in float16, as its own tools do. */
static tg_gguf_kind kind_of(const struct tensor *t, tg_write_type type)
{
    static const tg_gguf_kind kinds[TG_WRITE_TYPES] = {[TG_WRITE_F32] = TG_GGUF_AS_F32,
                                                       [TG_WRITE_F16] = TG_GGUF_AS_F16,
                                                       [TG_WRITE_BF16] = TG_GGUF_AS_BF16,
                                                       [TG_WRITE_Q8_0] = TG_GGUF_AS_Q8_0};

    if (t->param->ndim == 1 || t->param->kind == TG_WPE)
        return TG_GGUF_AS_F32;
    return tg_gguf_can_store(kinds[type], t->shape[1]) ? kinds[type] : TG_GGUF_AS_F16;
}

/* Tensor i: entry i of the padded table; after the last one, the head that is tied to the embedding. */
static void describe(struct tensor *t, const tg_padded_params *padded, tg_write_type type, size_t i)
{
    const bool tied = i == padded->file.table.n;
    const tg_param *p = &padded->file.table.entry[tied ? tg_params_index(&padded->file.table, TG_WTE, 0) : i];

    *t = (struct tensor){.param = p, .transposed = tg_is_linear(p), .tied_copy = tied};
    tg_names_put(t->name, sizeof t->name, &tg_names_gguf, tied ? TG_HEAD_W : p->kind, TG_NAME_WHOLE,
                 p->layer);
    t->shape[0] = p->shape[t->transposed];
    t->shape[1] = p->shape[!t->transposed];
    t->kind = kind_of(t, type);
}

/* ---- the file */

static void put_config(tg_gguf_writer *w, const tg_config *c, tg_write_type type)
{
    static const char architecture[] = "gpt2";
    static const uint32_t file_types[TG_WRITE_TYPES] = {
        [TG_WRITE_F32] = 0, [TG_WRITE_F16] = 1, [TG_WRITE_BF16] = 32, [TG_WRITE_Q8_0] = 7}; /* llama.cpp's */

    tg_gguf_put_text(w, "general.architecture", architecture, strlen(architecture));
    tg_gguf_put_u32(w, "general.file_type", file_types[type]);
    if (type == TG_WRITE_Q8_0)
        tg_gguf_put_u32(w, "general.quantization_version", 2);
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

static tg_status put_tensors(tg_gguf_writer *w, tg_padded_params *padded, const tg_write_options *o,
                             tg_err *err)
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

static tg_status write_model(int fd, const tg_model_file *f, const tg_write_options *o, tg_err *err)
{
    tg_notes unused = {0};
    tg_gguf_vocab vocab;
    tg_padded_params padded = {0};
    tg_gguf_writer w;
    tg_status finished,
        status = tg_gguf_vocab_make(&vocab, f->tokenizer, f->config.vocab_size, true, &unused, err);

    tg_gguf_begin(&w, fd);
    if (!status)
        status = tg_padded_params_open(&padded, f, err);
    if (!status) {
        put_config(&w, &f->config, o->type);
        if (f->config.bos_token > 0) /* where that is not what the tokenizer says */
            vocab.bos = (uint32_t)(f->config.bos_token - 1);
        if (f->config.eos_token > 0)
            vocab.eos = (uint32_t)(f->config.eos_token - 1);
        vocab.add_bos = f->config.add_bos;
        tg_gguf_vocab_put(&w, &vocab);
        status = put_tensors(&w, &padded, o, err);
    }
    tg_padded_params_close(&padded);
    tg_gguf_vocab_free(&vocab);
    tg_notes_free(&unused);
    finished = tg_gguf_finish(&w, status ? NULL : err);
    return status ? status : finished;
}

/* ---- what a file cannot hold */

static tg_status check_config(const tg_model_file *f, const tg_write_options *o, tg_notes *notes, tg_err *err)
{
    char what[TG_OTHER_ACTIVATION_MAX];
    tg_status status;

    if ((status = tg_names_check_family(&tg_names_gguf, &f->config, "a GGUF file", err)))
        return status;
    if (o->split_qkv)
        return tg_fail(err, TG_EUSAGE,
                       "llama.cpp's GPT-2 has q, k and v in one matrix: they cannot be split");
    if (tg_other_activation(what, &f->config))
        status = tg_gguf_lose(notes, o->lossy, err, what);
    return status ? status : tg_check_head_bias(f, o, "llama.cpp's GPT-2", notes, err);
}

/* What a matrix's rows cannot be. */
static tg_status note_types(const tg_model_file *f, const tg_write_options *o, tg_notes *notes, tg_err *err)
{
    if (o->type != TG_WRITE_Q8_0 || tg_gguf_can_store(TG_GGUF_AS_Q8_0, f->config.n_embd))
        return TG_OK;
    return tg_notes_add(notes, err,
                        "matrices with rows of %zu values are written as f16: q8_0 needs a multiple of 32",
                        f->config.n_embd);
}

static tg_status check(const tg_model_file *f, const tg_write_options *o, tg_notes *notes, tg_err *err)
{
    tg_gguf_vocab vocab = {0};
    tg_status status;

    if ((status = check_config(f, o, notes, err)) || (status = note_types(f, o, notes, err)))
        return status;
    status = tg_gguf_vocab_make(&vocab, f->tokenizer, f->config.vocab_size, o->lossy, notes, err);
    tg_gguf_vocab_free(&vocab);
    return status;
}

/* ---- the format */

static const tg_model_part parts[] = {{.write = write_model}};

const tg_model_writer tg_writer_gguf = {.name = "gguf", .check = check, .part = parts, .n_parts = 1};
