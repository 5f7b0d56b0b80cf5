/* Other projects' files: a model that this library computes, or at least a list of tensors. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/format.h"
#include "formats/gguf.h"
#include "formats/llmc.h"
#include "formats/path.h"
#include "formats/safetensors.h"
#include "formats/torch_file.h"
#include "lib/base/decimal.h"
#include "lib/gpt/family.h"
#include "lib/info/parts.h"
#include "lib/models/model_format.h"
#include "lib/vocab/vocab_file.h"

#define TEXT_MAX 200 /* bytes of a text that is shown */

/* ---- tensors */

static tg_status take_files(tg_info *info, const tg_model_file *f, const tg_info_want *want, tg_err *err)
{
    tg_status status = TG_OK;

    for (size_t i = 0; !status && i < f->n_files; i++) {
        if (!(status = tg_info_add_file(info, f->file[i]->path, f->file[i]->n, err)) &&
            (status = tg_info_add_list(info, &f->file[i]->list, want, err)))
            status = tg_err_in(err, f->file[i]->path);
    }
    return status;
}

/* ---- what the formats say besides */

/* Cut a text, and replace what does not belong in a line. */
static void shown(char out[TEXT_MAX + 4], const char *text, size_t n)
{
    const size_t kept = n > TEXT_MAX ? TEXT_MAX : n;

    for (size_t i = 0; i < kept; i++) {
        const bool printable = text[i] >= ' ' && text[i] < 0x7F;

        out[i] = '?';
        if (printable)
            out[i] = text[i];
    }
    snprintf(out + kept, 4, "%s", kept < n ? "..." : "");
}

static tg_status take_gguf_value(tg_info *info, const tg_gguf_value *v, tg_err *err)
{
    char name[TEXT_MAX + 4], text[TEXT_MAX + 4];
    const unsigned char *at = v->at;
    tg_info_type type = TG_INFO_NUMBER;

    shown(name, v->key.p, v->key.n);
    if (v->array) {
        snprintf(text, sizeof text, "%zu of type %s", v->n, tg_gguf_types[v->type].name);
        type = TG_INFO_OTHER;
    } else if (v->type == TG_GGUF_TEXT) {
        const tg_span t = tg_gguf_next_text(&at);

        shown(text, t.p, t.n);
        type = TG_INFO_TEXT;
    } else if (v->type == TG_GGUF_F32 || v->type == TG_GGUF_F64) {
        *tg_decimal_general(text, v->type == TG_GGUF_F32 ? 9 : 15, tg_gguf_real(v, 0)) = '\0';
        type = strpbrk(text, "ni") ? TG_INFO_TEXT : TG_INFO_NUMBER; /* nan, inf */
    } else {
        snprintf(text, sizeof text, "%lld", (long long)tg_gguf_integer(v, 0));
    }
    return tg_info_add_value(info, name, type, text, err);
}

static tg_status read_gguf(tg_info *info, tg_loaded *file, tg_tensor_list *list, tg_err *err)
{
    tg_gguf g = {0};
    tg_status status = tg_gguf_read(list, &g, file->bytes, file->n, err);

    for (size_t i = 0; !status && i < g.n_values; i++)
        status = take_gguf_value(info, &g.value[i], err);
    tg_gguf_free(&g);
    return status;
}

static tg_status read_safetensors(tg_info *info, tg_loaded *file, tg_tensor_list *list, tg_err *err)
{
    tg_metadata m = {0};
    tg_status status = tg_safetensors_read(list, &m, file->bytes, file->n, err);

    for (size_t i = 0; !status && i < m.n; i++) {
        char name[TEXT_MAX + 4], text[TEXT_MAX + 4];

        shown(name, m.pair[i].key, strlen(m.pair[i].key));
        shown(text, m.pair[i].value, strlen(m.pair[i].value));
        status = tg_info_add_value(info, name, TG_INFO_TEXT, text, err);
    }
    tg_metadata_free(&m);
    return status;
}

/* The values in a file that has some, besides its tensors. */
static tg_status take_values_of(tg_info *info, tg_loaded *file, tg_err *err)
{
    const tg_format format = tg_format_recognize(file->bytes, file->n);
    tg_tensor_list list = {0};
    tg_status status = TG_OK;

    if (format == TG_FORMAT_GGUF)
        status = read_gguf(info, file, &list, err);
    else if (format == TG_FORMAT_SAFETENSORS)
        status = read_safetensors(info, file, &list, err);
    tg_tensor_list_free(&list);
    return status;
}

/* ---- a model */

static tg_status take_config(tg_info *info, const tg_config *config, tg_err *err)
{
    tg_status status = config->family == 0 ? TG_OK
                                           : tg_info_add_value(info, "config/family", TG_INFO_TEXT,
                                                               tg_config_family(config)->name, err);

    for (size_t i = 0; !status && i < tg_config_fields.n; i++) {
        const tg_field *f = &tg_config_fields.row[i];
        char text[128];

        if (!tg_config_has(config, i))
            continue;
        tg_field_text(text, sizeof text, f, config);
        status = tg_info_add_value(info, f->name, f->type == TG_FIELD_CHOICE ? TG_INFO_TEXT : TG_INFO_NUMBER,
                                   text, err);
    }
    return status;
}

static tg_status take_end(tg_info *info, const char *name, size_t token, tg_err *err)
{
    char id[32];

    if (token == 0)
        return TG_OK;
    snprintf(id, sizeof id, "%zu", token - 1);
    return tg_info_add_value(info, name, TG_INFO_NUMBER, id, err);
}

/* The tokens that begin and end a text, under the names that archives have. */
static tg_status take_ends(tg_info *info, const tg_config *config, tg_err *err)
{
    tg_status status = take_end(info, "config/bos_token_id", config->bos_token, err);

    if (!status)
        status = take_end(info, "config/eos_token_id", config->eos_token, err);
    if (!status && config->add_bos)
        status = tg_info_add_value(info, "config/add_bos", TG_INFO_NUMBER, "1", err);
    return status;
}

static tg_status take_model(tg_info *info, tg_model_file *f, const tg_info_want *want, tg_err *err)
{
    tg_status status;

    strcpy(info->kind, "model");
    info->format = f->kind;
    info->parameters = f->table.count;
    if (f->tokenizer)
        info->tokenizer = tg_tokenizer_ref(f->tokenizer);
    info->notes = f->notes;
    f->notes = (tg_notes){0};
    if ((status = take_config(info, &f->config, err)) || (status = take_ends(info, &f->config, err)))
        return status;
    for (size_t i = 0; i < f->n_files; i++)
        if (take_values_of(info, f->file[i], err))
            return tg_err_in(err, f->file[i]->path);
    return take_files(info, f, want, err);
}

/* ---- tensors of something else */

static tg_status read_torch(tg_loaded *file, tg_tensor_list *list, tg_err *err)
{
    tg_torch t;
    tg_status status = tg_torch_open(&t, file->bytes, file->n, err);

    if (!status)
        status = tg_torch_list(list, &t, t.pickle.root, true, err);
    tg_torch_close(&t);
    return status;
}

static tg_status read_llmc_tokenizer(tg_info *info, const tg_loaded *file, tg_err *err)
{
    tg_llmc_tokenizer t;
    char text[24];
    tg_status status = tg_llmc_tokenizer_read(&t, file->bytes, file->n, err);

    if (status)
        return status;
    strcpy(info->kind, "tokenizer");
    info->format = "an llm.c tokenizer";
    snprintf(text, sizeof text, "%zu", t.n);
    if ((status = tg_info_add_value(info, "tokens", TG_INFO_NUMBER, text, err)))
        return status;
    snprintf(text, sizeof text, "%zu", t.end_of_text);
    return tg_info_add_value(info, "end_of_text", TG_INFO_NUMBER, text, err);
}

/* Whether this status says what the file is, and not that it could not be read. */
static bool is_of_the_file(tg_status status)
{
    return status == TG_EDATA || status == TG_EUSAGE;
}

/* Text may be a vocabulary.  *known: whether it is.  Its reader names the file in errors. */
static tg_status read_vocabulary(tg_info *info, const tg_loaded *file, bool *known, tg_err *err)
{
    tg_err why = {0};
    tg_status status;

    if (tg_format_recognize(file->bytes, file->n) != TG_FORMAT_TEXT)
        return TG_OK;
    strcpy(info->kind, "tokenizer");
    info->format = "another project's vocabulary";
    status = tg_vocab_file_open(&info->tokenizer, file->path, NULL, &why);
    *known = status == TG_OK;
    if (*known || is_of_the_file(status))
        return TG_OK;
    *err = why;
    return status;
}

/* List the tensors of a file whose model is not known.  *known: whether its format is. */
static tg_status read_tensors(tg_info *info, tg_loaded *file, bool *known, tg_err *err)
{
    const unsigned char *ids;
    size_t n;
    tg_status status;

    switch (tg_format_recognize(file->bytes, file->n)) {
    case TG_FORMAT_GGUF:
        info->format = "a GGUF file";
        return read_gguf(info, file, &file->list, err);
    case TG_FORMAT_SAFETENSORS:
        info->format = "a safetensors file";
        return read_safetensors(info, file, &file->list, err);
    case TG_FORMAT_ZIP:
        info->format = "a PyTorch file";
        return read_torch(file, &file->list, err);
    case TG_FORMAT_LLMC_TOKENS:
        strcpy(info->kind, "tokens");
        info->format = "llm.c's tokens";
        status = tg_llmc_tokens_read(&ids, &n, file->bytes, file->n, err);
        info->tokens = status ? 0 : n;
        return status;
    case TG_FORMAT_LLMC_TOKENIZER:
        return read_llmc_tokenizer(info, file, err);
    case TG_FORMAT_TEXT:
        *known = tg_info_is_log(file->bytes, file->n);
        return *known ? tg_info_read_log(info, file->bytes, file->n, err) : TG_OK;
    default:
        *known = false;
        return TG_OK;
    }
}

/* After the model could not be opened, for the reason in `why`. */
static tg_status read_list(tg_info *info, const char *path, const tg_info_want *want, const tg_err *why,
                           tg_err *err)
{
    tg_model_file f = {0};
    tg_loaded *file;
    bool exists, known = true;
    struct stat st;
    tg_status status = tg_path_examine(path, &st, &exists, err);

    if (status)
        return status;
    if (exists && S_ISDIR(st.st_mode) && tg_info_is_peft(path))
        return tg_info_read_peft(info, want, err);
    if (!exists || S_ISDIR(st.st_mode)) {
        *err = *why;
        return err->code;
    }
    strcpy(info->kind, "tensors");
    if ((status = tg_model_file_add(&f, path, NULL, &file, err))) {
        tg_model_file_close(&f);
        return status;
    }
    if (read_tensors(info, file, &known, err))
        status = tg_err_in(err, path);
    else if (!known)
        status = read_vocabulary(info, file, &known, err);
    if (!status && !known) {
        *err = *why;
        status = err->code;
    } else if (!status && !(status = take_files(info, &f, want, err)) && strcmp(info->kind, "tensors") == 0) {
        status = tg_notes_add(&info->notes, err, "no model that tg computes: %s", why->message);
    }
    tg_model_file_close(&f);
    return status;
}

/* ---- either */

tg_status tg_info_read_foreign(tg_info *info, const char *path, const tg_info_want *want, tg_err *err)
{
    tg_model_ask ask = {.fuse_qkv = true, .lossy = true};
    tg_model_file f;
    tg_err why = {0};
    tg_status status = tg_model_file_open(&f, path, &ask, &why);

    if (status == TG_EUSAGE) {
        ask.heads = 1;
        status = tg_model_file_open(&f, path, &ask, &why);
    }
    if (!status) {
        status = take_model(info, &f, want, err);
        for (size_t i = 0; ask.heads > 0 && i < info->n_values; i++)
            if (strcmp(info->value[i].name, "config/n_head") == 0) { /* one was assumed, which divides all */
                strcpy(info->value[i].text, "?");
                info->value[i].type = TG_INFO_OTHER;
            }
        if (!status && ask.heads > 0)
            status = tg_notes_add(&info->notes, err, "the file does not give the number of heads");
        tg_model_file_close(&f);
        return status;
    }
    if (is_of_the_file(status))
        return read_list(info, path, want, &why, err);
    *err = why;
    return status;
}
