/* Writing llm.c's models. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "formats/llmc.h"
#include "formats/sink.h"
#include "lib/models/writing.h"
#include "lib/text/tokenizer.h"

/* ---- what the format cannot hold */

static tg_status check_config(const tg_config *c, const tg_write_options *o, tg_notes *notes, tg_err *err)
{
    char what[TG_OTHER_ACTIVATION_MAX];
    tg_status status = TG_OK;

    if (tg_other_activation(what, c))
        status = tg_lose(notes, o->lossy, err, "llm.c", what);
    if (!status && !c->tied)
        status = tg_lose(notes, o->lossy, err, "llm.c",
                         "its output head is wte.weight, the model has lm_head.weight");
    if (!status && fabs(c->layer_norm_epsilon - TG_LLMC_EPSILON) > 1e-9)
        status = tg_lose(notes, o->lossy, err, "llm.c", "LayerNorm's epsilon is 1e-5, the model's another");
    return status;
}

static tg_status check(const tg_model_file *f, const tg_write_options *o, tg_notes *notes, tg_err *err)
{
    tg_status status;

    if ((status = tg_names_check_family(&tg_names_nanogpt, &f->config, "an llm.c model", err)))
        return status;
    if (o->type != TG_WRITE_F32 && o->type != TG_WRITE_BF16)
        return tg_fail(err, TG_EUSAGE, "llm.c's models are float32 or bfloat16: expected f32 or bf16");
    if (o->split_qkv)
        return tg_fail(err, TG_EUSAGE, "llm.c's models have q, k and v joined");
    if ((status = check_config(&f->config, o, notes, err)) ||
        (status = tg_check_head_bias(f, o, "an llm.c model", notes, err)) ||
        (status = tg_note_ends(&f->config, "an llm.c model", notes, err)))
        return status;
    if (!f->tokenizer || !tg_tokenizer_has_text(f->tokenizer))
        return TG_OK;
    return tg_notes_add(notes, err, "the tokenizer is left out: an llm.c model has it in a separate file");
}

/* ---- tensors */

struct writing {
    tg_padded_params padded;
    tg_llmc_config config;
    uint16_t *rounded; /* the largest tensor in bfloat16 */
    const tg_write_options *o;
    int fd;
};

/* Rows of zeros after wte.weight. */
static tg_status put_padding(const struct writing *w, tg_err *err)
{
    static const unsigned char zeros[4096];
    size_t left = (w->config.rows - w->config.vocab_size) * w->config.n_embd * (w->config.bf16 ? 2 : 4);
    tg_status status = TG_OK;

    while (left > 0 && !status) {
        const size_t n = left < sizeof zeros ? left : sizeof zeros;

        status = tg_write_all(w->fd, zeros, n, err);
        left -= n;
    }
    return status;
}

/* Write the tensor with this name in the format. */
static tg_status put_tensor(struct writing *w, const char *name, tg_err *err)
{
    const tg_param *const p = tg_params_find(&w->padded.file.table, name);
    const size_t i = (size_t)(p - w->padded.file.table.entry);
    const float *x;
    const void *bytes;
    tg_status status;

    assert(p);
    if ((status = tg_model_file_get(&x, &w->padded.buffer, &w->padded.file, i, tg_is_linear(p), err)) ||
        (status = tg_write_convert(&bytes, w->rounded, x, p->count, w->o->type, p->name, err)) ||
        (status = tg_write_all(w->fd, bytes, p->count * (w->config.bf16 ? 2 : 4), err)))
        return status;
    tg_padded_params_done(&w->padded, i, w->o);
    return p->kind == TG_WTE ? put_padding(w, err) : TG_OK;
}

static tg_status put_all(struct writing *w, tg_err *err)
{
    unsigned char header[TG_LLMC_HEADER];
    tg_status status;
    tg_array a;

    tg_llmc_model_header(header, &w->config);
    status = tg_write_all(w->fd, header, sizeof header, err);
    for (size_t i = 0; i < tg_llmc_tensors(&w->config) && !status; i++) {
        tg_llmc_tensor(&a, &w->config, i);
        status = put_tensor(w, a.name, err);
    }
    return status;
}

static tg_status write_model(int fd, const tg_model_file *f, const tg_write_options *o, tg_err *err)
{
    const tg_config *const c = &f->config;
    struct writing w = {.config = {.bf16 = o->type == TG_WRITE_BF16,
                                   .n_ctx = c->n_ctx,
                                   .vocab_size = c->vocab_size,
                                   .n_layer = c->n_layer,
                                   .n_head = c->n_head,
                                   .n_embd = c->n_embd,
                                   .rows = tg_llmc_rows(c->vocab_size)},
                        .o = o,
                        .fd = fd};
    tg_status status = tg_padded_params_open(&w.padded, f, err);

    if (!status && w.config.bf16 && !(w.rounded = malloc(w.padded.largest * sizeof *w.rounded)))
        status = tg_fail_memory(err, w.padded.largest * sizeof *w.rounded, "a tensor");
    if (!status)
        status = put_all(&w, err);
    free(w.rounded);
    tg_padded_params_close(&w.padded);
    return status;
}

static const tg_model_part parts[] = {{.write = write_model}};

const tg_model_writer tg_writer_llmc = {.name = "llmc", .check = check, .part = parts, .n_parts = 1};
