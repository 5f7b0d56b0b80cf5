/* Writing a Hugging Face checkpoint. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/safetensors.h"
#include "formats/sink.h"
#include "lib/base/choice.h"
#include "lib/models/hf_settings.h"
#include "lib/models/hf_write_families.h"
#include "lib/models/reading.h"
#include "lib/models/writing.h"
#include "lib/text/ids.h"
#include "lib/vocab/vocab_file.h"

/* ---- the tokenizer */

/* Whether there is one that a tokenizer.json holds. */
static tg_status has_tokenizer(bool *has, const tg_model_file *f, tg_err *err)
{
    tg_status status;

    *has = false;
    if (!f->tokenizer || !tg_tokenizer_has_text(f->tokenizer))
        return TG_OK;
    status = tg_vocab_file_write(-1, f->tokenizer, TG_VOCAB_TOKENIZER_JSON, err);
    *has = status == TG_OK;
    return status == TG_EUSAGE ? TG_OK : status;
}

/* The token before each text, if a tokenizer.json can say it: a special or added one; else SIZE_MAX. */
static size_t first_token(const tg_model_file *f)
{
    const size_t first = f->config.bos_token - 1;
    const bool wanted = f->config.add_bos && f->tokenizer;
    const uint32_t *special = NULL, *added = NULL;
    const size_t specials = wanted ? tg_tokenizer_specials(f->tokenizer, &special) : 0;
    const size_t n_added = wanted ? tg_tokenizer_added(f->tokenizer, &added) : 0;

    return tg_ids_contain(special, specials, first) || tg_ids_contain(added, n_added, first) ? first
                                                                                             : SIZE_MAX;
}

static tg_status write_tokenizer(int fd, const tg_model_file *f, const tg_write_options *o, tg_err *err)
{
    (void)o;
    return tg_vocab_file_write_json(fd, f->tokenizer, first_token(f), err);
}

static tg_status check_tokenizer(const tg_model_file *f, const tg_write_options *o, tg_notes *notes,
                                 tg_err *err)
{
    tg_err why = {0};
    tg_status status;

    if (!f->tokenizer || !tg_tokenizer_has_text(f->tokenizer))
        return tg_notes_add(notes, err, "there is no tokenizer to write");
    status = tg_vocab_file_write(-1, f->tokenizer, TG_VOCAB_TOKENIZER_JSON, &why);
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
    const tg_write_options *o;
    tg_array *array; /* [n] */
    size_t n;
    float *part;       /* scratch memory for the largest tensor */
    uint16_t *rounded; /* likewise */
    tg_safetensors_writer writer;
};

static bool is_split(const struct plan *plan, const tg_param *p)
{
    return plan->o->split_qkv && (p->kind == TG_QKV_W || p->kind == TG_QKV_B);
}

static void add_array(struct plan *plan, const tg_param *p, const char *name, size_t share)
{
    static const tg_dtype types[] = {{'f', 4}, {'f', 2}, {'B', 2}};
    const bool prefix = !plan->o->split_qkv && p->kind != TG_HEAD_W;
    tg_array *a = &plan->array[plan->n++];

    *a = (tg_array){.dtype = types[plan->o->type], .ndim = p->ndim, .shape = {p->shape[0], p->shape[1]}};
    a->shape[p->ndim - 1] /= share;
    snprintf(a->name, sizeof a->name, "%s%s", prefix ? "transformer." : "", name);
}

static void list_arrays(struct plan *plan)
{
    char name[TG_NAME_MAX + 1];

    for (size_t i = 0; i < plan->padded.file.table.n; i++) {
        const tg_param *p = &plan->padded.file.table.entry[i];

        if (!is_split(plan, p)) {
            add_array(plan, p, p->name, 1);
            continue;
        }
        for (int part = TG_NAME_Q; part < TG_NAME_PARTS; part++) {
            tg_names_put(name, sizeof name, &tg_names_gpt2, (int)p->kind, part, p->layer);
            add_array(plan, p, name, 3);
        }
    }
}

static tg_status put(struct plan *plan, const float *x, size_t n, const char *name, tg_err *err)
{
    const tg_write_type type = plan->o->type;
    const void *bytes;
    tg_status status = tg_write_convert(&bytes, plan->rounded, x, n, type, name, err);

    return status ? status
                  : tg_safetensors_put(&plan->writer, bytes, n * (type == TG_WRITE_F32 ? 4 : 2), err);
}

static tg_status put_entry(struct plan *plan, size_t i, tg_err *err)
{
    const tg_param *p = &plan->padded.file.table.entry[i];
    const size_t rows = p->ndim == 1 ? 1 : p->shape[0], columns = p->count / rows / 3;
    const float *x;
    tg_status status = tg_model_file_get(&x, &plan->padded.buffer, &plan->padded.file, i, false, err);

    if (!status && !is_split(plan, p))
        status = put(plan, x, p->count, p->name, err);
    for (size_t part = 0; part < 3 && !status && is_split(plan, p); part++) {
        for (size_t r = 0; r < rows; r++) /* a third of the columns */
            memcpy(plan->part + r * columns, x + (3 * r + part) * columns, columns * sizeof *x);
        status = put(plan, plan->part, p->count / 3, p->name, err);
    }
    tg_padded_params_done(&plan->padded, i, plan->o);
    return status;
}

static tg_status put_all(struct plan *plan, int fd, tg_err *err)
{
    const size_t n = plan->padded.file.table.n, largest = plan->padded.largest;
    tg_status status;

    plan->array = calloc(3 * n, sizeof *plan->array);
    plan->part = malloc(largest * sizeof *plan->part);
    plan->rounded = malloc(largest * sizeof *plan->rounded);
    if (!plan->array || !plan->part || !plan->rounded)
        return tg_fail_memory(err, largest * (sizeof *plan->part + sizeof *plan->rounded), "a tensor");
    list_arrays(plan);
    status = tg_safetensors_begin(&plan->writer, fd, plan->array, plan->n, err);
    for (size_t i = 0; i < n && !status; i++)
        status = put_entry(plan, i, err);
    if (!status)
        tg_safetensors_end(&plan->writer);
    return status;
}

static tg_status write_tensors(int fd, const tg_model_file *f, const tg_write_options *o, tg_err *err)
{
    struct plan plan = {.o = o};
    tg_status status = tg_padded_params_open(&plan.padded, f, err);

    if (!status)
        status = put_all(&plan, fd, err);
    free(plan.array);
    free(plan.part);
    free(plan.rounded);
    tg_padded_params_close(&plan.padded);
    return status;
}

/* ---- files of a directory: GPT-2's, or another family's */

static tg_status write_weights(int fd, const tg_model_file *f, const tg_write_options *o, tg_err *err)
{
    return (f->config.family > 0 ? tg_hf_family_tensors : write_tensors)(fd, f, o, err);
}

static tg_status write_config(int fd, const tg_model_file *f, const tg_write_options *o, tg_err *err)
{
    return (f->config.family > 0 ? tg_hf_family_config : tg_hf_config_write)(fd, f, o, err);
}

/* ---- what programs for conversations read */

static tg_status write_template(int fd, const tg_model_file *f, const tg_write_options *o, tg_err *err)
{
    (void)o;
    return tg_write_all(fd, f->chat_template.p, f->chat_template.n, err);
}

static tg_status has_template(bool *has, const tg_model_file *f, tg_err *err)
{
    const tg_status status = has_tokenizer(has, f, err);

    *has = *has && f->chat_template.p && !f->chat_settings;
    return status;
}

static tg_status write_tokenizer_settings(int fd, const tg_model_file *f, const tg_write_options *o,
                                          tg_err *err)
{
    const tg_span settings = f->settings[TG_HF_TOKENIZER_SETTINGS];

    (void)o;
    return tg_write_all(fd, settings.p, settings.n, err);
}

static tg_status has_tokenizer_settings(bool *has, const tg_model_file *f, tg_err *err)
{
    const tg_status status = has_tokenizer(has, f, err);

    *has = *has && f->settings[TG_HF_TOKENIZER_SETTINGS].p;
    return status;
}

static tg_status write_generation_settings(int fd, const tg_model_file *f, const tg_write_options *o,
                                           tg_err *err)
{
    const tg_span settings = f->settings[TG_HF_GENERATION_SETTINGS];

    (void)o;
    return tg_write_all(fd, settings.p, settings.n, err);
}

static tg_status has_generation_settings(bool *has, const tg_model_file *f, tg_err *err)
{
    (void)err;
    *has = f->settings[TG_HF_GENERATION_SETTINGS].p;
    return TG_OK;
}

/* ---- what the formats cannot hold */

static tg_status check_type(const tg_write_options *o, const char *format, tg_err *err)
{
    if (o->type != TG_WRITE_Q8_0)
        return TG_OK;
    return tg_fail(err, TG_EUSAGE, "%s has no type q8_0: expected f32, f16 or bf16", format);
}

static tg_status check_both(const tg_model_file *f, const tg_write_options *o, const char *format,
                            tg_notes *notes, tg_err *err)
{
    tg_status status = tg_names_check_family(&tg_names_gpt2, &f->config, format, err);

    if (status || (status = check_type(o, format, err)))
        return status;
    return tg_check_head_bias(f, o, format, notes, err);
}

static tg_status check_gpt2(const tg_model_file *f, const tg_write_options *o, tg_notes *notes, tg_err *err)
{
    const tg_status status = check_both(f, o, "Hugging Face's GPT-2", notes, err);

    if (status || !o->split_qkv)
        return status;
    return tg_fail(err, TG_EUSAGE,
                   "Hugging Face's GPT-2 has q, k and v joined: only --to safetensors splits them");
}

static tg_status check_other(const tg_model_file *f, const tg_write_options *o, tg_err *err)
{
    const tg_status status = tg_hf_family_check(f, o, err);

    return status ? status : check_type(o, "a Hugging Face checkpoint", err);
}

static tg_status check_directory(const tg_model_file *f, const tg_write_options *o, tg_notes *notes,
                                 tg_err *err)
{
    tg_status status = f->config.family > 0 ? check_other(f, o, err) : check_gpt2(f, o, notes, err);

    if (!status && f->config.add_bos && first_token(f) == SIZE_MAX)
        status = tg_notes_add(notes, err, "tokenizer.json does not say that token %zu begins texts",
                              f->config.bos_token - 1);
    return status ? status : check_tokenizer(f, o, notes, err);
}

static tg_status check_file(const tg_model_file *f, const tg_write_options *o, tg_notes *notes, tg_err *err)
{
    char activation[TG_CHOICE_SIZE];
    tg_status status = check_both(f, o, "a safetensors file of GPT-2", notes, err);

    if (status || (status = tg_note_ends(&f->config, "a safetensors file", notes, err)))
        return status;
    return tg_notes_add(notes, err,
                        "a safetensors file has only tensors: %zu heads, %s and LayerNorm's epsilon %g are "
                        "not in it",
                        f->config.n_head, tg_choice_name(activation, TG_ACTIVATIONS, f->config.activation),
                        f->config.layer_norm_epsilon);
}

/* ---- the formats */

static const char *const template_file[] = {TG_CHAT_TEMPLATE_FILE, NULL};
static const char *const settings_file[] = {TG_CHAT_SETTINGS_FILE, NULL};
static const char *const generation_file[] = {TG_HF_GENERATION_FILE, NULL};

static const tg_model_part parts[] = {
    {.name = "model.safetensors", .write = write_weights}, /* the only one that damaged values can stop */
    {.name = "tokenizer.json",
     .write = write_tokenizer,
     .wanted = has_tokenizer,
     .instead = tg_hf_tokenizers,
     .what = "tokenizer"},
    {.name = "config.json", .write = write_config},
    {.name = TG_CHAT_TEMPLATE_FILE,
     .write = write_template,
     .wanted = has_template,
     .instead = template_file,
     .what = "template of conversations"},
    {.name = TG_CHAT_SETTINGS_FILE,
     .write = write_tokenizer_settings,
     .wanted = has_tokenizer_settings,
     .instead = settings_file,
     .what = "settings of the tokenizer"},
    {.name = TG_HF_GENERATION_FILE,
     .write = write_generation_settings,
     .wanted = has_generation_settings,
     .instead = generation_file,
     .what = "settings of generation"},
};

const tg_model_writer tg_writer_hf = {
    .name = "hf", .check = check_directory, .part = parts, .n_parts = sizeof parts / sizeof parts[0]};

static const tg_model_part tensors_only[] = {{.write = write_tensors}};

const tg_model_writer tg_writer_safetensors = {
    .name = "safetensors", .check = check_file, .part = tensors_only, .n_parts = 1};
