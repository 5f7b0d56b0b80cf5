#include "lib/models/model_file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/archive.h"
#include "formats/format.h"
#include "formats/llama2c.h"
#include "formats/path.h"
#include "formats/torch_file.h"
#include "lib/models/canonical.h"
#include "lib/models/model_format.h"

void tg_model_file_close(tg_model_file *f)
{
    tg_model_free(&f->own);
    for (size_t i = 0; i < f->n_files; i++)
        tg_loaded_free(f->file[i]);
    free(f->file);
    for (size_t i = 0; i < f->n_adapters; i++) {
        tg_adapter_free(f->adapter[i]);
        free(f->adapter[i]);
    }
    free(f->adapter);
    free(f->values);
    tg_params_free(&f->table);
    tg_tokenizer_free(f->tokenizer);
    tg_notes_free(&f->notes);
    *f = (tg_model_file){0};
}

/* The formats of other projects' models; a zip file may be one.  Without their table, so that a tool that
 * asks only this is not linked with their readers. */
static bool is_foreign(const unsigned char *first, size_t n)
{
    switch (tg_format_recognize(first, n)) {
    case TG_FORMAT_SAFETENSORS:
    case TG_FORMAT_GGUF:
    case TG_FORMAT_LLMC_MODEL:
        return true;
    case TG_FORMAT_PICKLE_2:
        return tg_torch_is_old(first, n);
    case TG_FORMAT_ZIP: /* with fewer bytes it is damaged */
        return n >= 38 && tg_format_zip(first, n) != TG_MEMBER_KIND;
    default:
        return tg_llama2c_begins(first, n);
    }
}

tg_status tg_model_file_is_foreign(const char *path, bool *foreign, tg_err *err)
{
    unsigned char first[TG_FORMAT_BYTES];
    struct stat st;
    size_t n = 0;
    bool exists;
    tg_status status;

    *foreign = false;
    if ((status = tg_path_examine(path, &st, &exists, err)))
        return status;
    if (S_ISREG(st.st_mode) && (status = tg_path_peek(path, first, sizeof first, &n, err)))
        return status;
    *foreign = S_ISDIR(st.st_mode) || is_foreign(first, n);
    return TG_OK;
}

bool tg_model_file_begins(const unsigned char *first, size_t n)
{
    return is_foreign(first, n) || tg_archive_begins(first, n, "model");
}

static tg_status unknown(const tg_loaded *file, tg_err *err)
{
    const char *what = tg_format_text(tg_format_recognize(file->bytes, file->n));

    if (file->n == 0)
        return tg_fail(err, TG_EDATA, "the file is empty, expected a model");
    return tg_fail(err, TG_EDATA, "%s%s",
                   what ? "expected a model, this is " : "not a model of a known format", what ? what : "");
}

/* What begins and ends a text is kept where it is a token. */
static void settle_ends(tg_model_file *f)
{
    tg_config *c = &f->config;

    if (c->bos_token > c->vocab_size)
        c->bos_token = 0;
    if (c->eos_token > c->vocab_size)
        c->eos_token = 0;
    c->add_bos = c->add_bos && c->bos_token > 0;
    tg_config_omit_ends(c, f->tokenizer);
}

/* Whether a file, or, if that is NULL, a directory, is of this format. */
static bool is_of(const tg_model_format *format, const tg_loaded *file)
{
    if (!file || format->directory)
        return !file && format->directory;
    if (format->recognize)
        return format->recognize(file->bytes, file->n);
    return tg_format_recognize(file->bytes, file->n) == format->format &&
           (format->format != TG_FORMAT_ZIP || tg_format_zip(file->bytes, file->n) == format->member);
}

/* source: taken over; path is then its name.  NULL: of the path. */
static tg_status open_any(tg_model_file *f, const char *path, tg_source *source, const tg_model_ask *ask,
                          tg_err *err)
{
    static const tg_model_ask nothing = {0};
    const char *const around = source ? NULL : path;
    const tg_model_format *const *format = tg_model_formats;
    tg_loaded *file = NULL;
    struct stat st = {0};
    bool exists;
    tg_status status;

    if ((!source && (status = tg_path_examine(path, &st, &exists, err))) ||
        (!S_ISDIR(st.st_mode) && (status = tg_model_file_add(f, path, source, &file, err))))
        return status;
    while (*format && !is_of(*format, file))
        format++;
    f->kind = *format ? (*format)->text : NULL;
    status = *format ? (*format)->open(f, around, ask ? ask : &nothing, err) : unknown(file, err);
    if (!status && f->tokenizer && f->table.n > 0)
        status = tg_model_check_vocab(&f->config, f->tokenizer, err);
    settle_ends(f);
    return status ? tg_err_in(err, path) : TG_OK;
}

tg_status tg_model_file_open_source(tg_model_file *f, tg_source *source, const char *name,
                                    const tg_model_ask *ask, tg_err *err)
{
    tg_status status;

    *f = (tg_model_file){0};
    if ((status = open_any(f, name, source, ask, err)))
        tg_model_file_close(f);
    return status;
}

tg_status tg_model_file_open(tg_model_file *f, const char *path, const tg_model_ask *ask, tg_err *err)
{
    return tg_model_file_open_source(f, NULL, path, ask, err);
}

tg_status tg_model_file_set_tokenizer(tg_model_file *f, const tg_tokenizer *tok, tg_err *err)
{
    tg_status status;

    if (f->tokenizer)
        return tg_tokenizer_same(f->tokenizer, tok, err);
    if ((status = tg_model_check_vocab(&f->config, tok, err)))
        return status;
    f->tokenizer = tg_tokenizer_ref(tok);
    tg_config_omit_ends(&f->config, tok);
    return TG_OK;
}
