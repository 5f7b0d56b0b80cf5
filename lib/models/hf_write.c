/* Writing a Hugging Face checkpoint. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/safetensors.h"
#include "lib/bpe/bpe.h"
#include "lib/models/hf.h"
#include "lib/models/writing.h"
#include "lib/vocab/vocab_file.h"

/* ---- the tokenizer */

/* Whether there is one that a tokenizer.json holds: writing it is the test. */
static tg_status try_tokenizer(const tg_model_file *f, tg_err *err)
{
    tg_status status;
    int fd;

    do
        fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    while (fd < 0 && errno == EINTR);
    if (fd < 0)
        return tg_fail_sys(err, "cannot open /dev/null");
    status = tg_vocab_file_write(fd, f->tokenizer, TG_VOCAB_TOKENIZER_JSON, err);
    close(fd);
    return status;
}

static tg_status has_tokenizer(bool *has, const tg_model_file *f, tg_err *err)
{
    tg_status status;

    *has = false;
    if (!f->tokenizer || !tg_tokenizer_has_text(f->tokenizer))
        return TG_OK;
    status = try_tokenizer(f, err);
    *has = status == TG_OK;
    return status == TG_EUSAGE ? TG_OK : status;
}

static tg_status write_tokenizer(int fd, const tg_model_file *f, const tg_write_options *o, tg_err *err)
{
    (void)o;
    return tg_vocab_file_write(fd, f->tokenizer, TG_VOCAB_TOKENIZER_JSON, err);
}

static tg_status check_tokenizer(const tg_model_file *f, const tg_write_options *o, tg_notes *notes,
                                 tg_err *err)
{
    tg_err why = {0};
    tg_status status;

    if (!f->tokenizer || !tg_tokenizer_has_text(f->tokenizer))
        return tg_notes_add(notes, err, "there is no tokenizer to write");
    status = try_tokenizer(f, &why);
    if (status == TG_EUSAGE && o->lossy)
        return tg_notes_add(notes, err, "the tokenizer is left out: %s", why.message);
    if (status == TG_EUSAGE)
        return tg_fail(err, TG_EUSAGE, "%s (--lossy leaves it out)", why.message);
    if (status && err)
        *err = why;
    return status;
}

/* ---- tensors */

/* The tensors of the file: those of the padded table, each divided in three if it is split. */
struct plan {
    tg_padded_params padded;
    bool prefix; /* "transformer." */
    tg_write_type type;
    tg_array *array; /* [n] */
    size_t n;
};

static bool is_split(const tg_param *p, const tg_write_options *o)
{
    return o->split_qkv && (p->kind == TG_QKV_W || p->kind == TG_QKV_B);
}

static void add_array(struct plan *plan, const tg_param *p, const char *name, size_t share)
{
    static const tg_dtype types[] = {{'f', 4}, {'f', 2}, {'B', 2}};
    tg_array *a = &plan->array[plan->n++];

    *a = (tg_array){.dtype = types[plan->type], .ndim = p->ndim, .shape = {p->shape[0], p->shape[1]}};
    a->shape[p->ndim - 1] /= share;
    snprintf(a->name, sizeof a->name, "%s%s", plan->prefix && p->kind != TG_HEAD_W ? "transformer." : "",
             name);
}

static tg_status make_plan(struct plan *plan, const tg_model_file *f, const tg_write_options *o, tg_err *err)
{
    static const char *const parts[] = {"q", "k", "v"};
    char name[TG_NAME_MAX + 1];
    tg_status status = tg_padded_params_open(&plan->padded, f, err);

    if (status)
        return status;
    plan->type = o->type;
    plan->array = calloc(3 * plan->padded.table.n, sizeof *plan->array);
    if (!plan->array)
        return tg_fail_memory(err, 3 * plan->padded.table.n * sizeof *plan->array, "the list of tensors");
    for (size_t i = 0; i < plan->padded.table.n; i++) {
        const tg_param *p = &plan->padded.table.entry[i];

        if (!is_split(p, o)) {
            add_array(plan, p, p->name, 1);
            continue;
        }
        for (size_t part = 0; part < 3; part++) {
            snprintf(name, sizeof name, "h.%zu.attn.%s_proj.%s", p->layer, parts[part],
                     p->kind == TG_QKV_W ? "weight" : "bias");
            add_array(plan, p, name, 3);
        }
    }
    return TG_OK;
}

/* Scratch memory for the largest tensor. */
struct scratch {
    float *part;
    uint16_t *rounded;
};

static tg_status put(tg_safetensors_writer *w, struct plan *plan, struct scratch *s, const float *x, size_t n,
                     const char *name, tg_err *err)
{
    const void *bytes;
    tg_status status = tg_write_convert(&bytes, s->rounded, x, n, plan->type, name, err);

    return status ? status : tg_safetensors_put(w, bytes, n * (plan->type == TG_WRITE_F32 ? 4 : 2), err);
}

static tg_status put_entry(tg_safetensors_writer *w, struct plan *plan, struct scratch *s, size_t i,
                           const tg_write_options *o, tg_err *err)
{
    const tg_param *p = &plan->padded.table.entry[i];
    const size_t rows = p->ndim == 1 ? 1 : p->shape[0], columns = p->count / rows / 3;
    const float *x;
    tg_status status = tg_padded_params_get(&x, &plan->padded, i, false, err);

    if (!status && !is_split(p, o))
        status = put(w, plan, s, x, p->count, p->name, err);
    for (size_t part = 0; part < 3 && !status && is_split(p, o); part++) {
        for (size_t r = 0; r < rows; r++) /* a third of the columns */
            memcpy(s->part + r * columns, x + (3 * r + part) * columns, columns * sizeof *x);
        status = put(w, plan, s, s->part, p->count / 3, p->name, err);
    }
    tg_padded_params_done(&plan->padded, i, o);
    return status;
}

static tg_status put_all(int fd, struct plan *plan, const tg_write_options *o, tg_err *err)
{
    tg_safetensors_writer w;
    struct scratch s = {0};
    const size_t largest = plan->padded.largest;
    tg_status status;

    s.part = malloc(largest * sizeof *s.part);
    s.rounded = malloc(largest * sizeof *s.rounded);
    if (!s.part || !s.rounded)
        status = tg_fail_memory(err, largest * (sizeof *s.part + sizeof *s.rounded), "a tensor");
    else
        status = tg_safetensors_begin(&w, fd, plan->array, plan->n, err);
    for (size_t i = 0; i < plan->padded.table.n && !status; i++)
        status = put_entry(&w, plan, &s, i, o, err);
    if (!status)
        tg_safetensors_end(&w);
    free(s.part);
    free(s.rounded);
    return status;
}

static tg_status write_tensors(int fd, const tg_model_file *f, const tg_write_options *o, tg_err *err)
{
    struct plan plan = {.prefix = !o->split_qkv};
    tg_status status = make_plan(&plan, f, o, err);

    if (!status)
        status = put_all(fd, &plan, o, err);
    free(plan.array);
    tg_padded_params_close(&plan.padded);
    return status;
}

/* ---- what the formats cannot hold */

static tg_status check_both(const tg_model_file *f, const tg_write_options *o, const char *format,
                            tg_notes *notes, tg_err *err)
{
    if (o->type == TG_WRITE_Q8_0)
        return tg_fail(err, TG_EUSAGE, "%s has no type q8_0: expected f32, f16 or bf16", format);
    return tg_check_head_bias(f, o, format, notes, err);
}

static tg_status check_directory(const tg_model_file *f, const tg_write_options *o, tg_notes *notes,
                                 tg_err *err)
{
    tg_status status = check_both(f, o, "Hugging Face's GPT-2", notes, err);

    if (status)
        return status;
    if (o->split_qkv)
        return tg_fail(err, TG_EUSAGE,
                       "Hugging Face's GPT-2 has q, k and v joined: only --to safetensors splits them");
    return check_tokenizer(f, o, notes, err);
}

static tg_status check_file(const tg_model_file *f, const tg_write_options *o, tg_notes *notes, tg_err *err)
{
    tg_status status = check_both(f, o, "a safetensors file of GPT-2", notes, err);

    if (status || (status = tg_note_ends(&f->config, "a safetensors file", notes, err)))
        return status;
    return tg_notes_add(notes, err,
                        "a safetensors file has only tensors: %zu heads, %s and LayerNorm's epsilon %g are "
                        "not in it",
                        f->config.n_head, f->config.activation == TG_GELU_TANH ? "gelu_new" : "gelu",
                        f->config.layer_norm_epsilon);
}

/* ---- the formats */

static const tg_model_part parts[] = {
    {"model.safetensors", write_tensors, NULL, NULL}, /* the only one that damaged values can stop */
    {"tokenizer.json", write_tokenizer, has_tokenizer, tg_hf_tokenizers},
    {"config.json", tg_hf_config_write, NULL, NULL},
};

const tg_model_writer tg_writer_hf = {
    .name = "hf", .check = check_directory, .part = parts, .n_parts = sizeof parts / sizeof parts[0]};

static const tg_model_part tensors_only[] = {{.write = write_tensors}};

const tg_model_writer tg_writer_safetensors = {
    .name = "safetensors", .check = check_file, .part = tensors_only, .n_parts = 1};
