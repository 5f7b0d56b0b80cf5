#include "lib/models/hf_settings.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/format.h"
#include "formats/json.h"
#include "formats/path.h"
#include "lib/base/utf8.h"
#include "lib/models/model_format.h"

#define TEMPLATES_MAX 16 /* of an array; further ones are not looked at */

/* A template's text, and the file that it is of; text.p is NULL without one. */
struct found {
    tg_span text;
    tg_loaded *file;
};

/* ---- a directory */

/* Go to the template: a text, or that of the object named "default" in an array. */
static bool find_template(tg_json *j)
{
    size_t at[TEMPLATES_MAX];
    const size_t n = tg_json_find_objects(j, 0, "chat_template", at, TEMPLATES_MAX);

    for (size_t i = 0; i < n; i++)
        if (tg_json_find_kind(j, at[i], "name", TG_JSON_STRING) && tg_span_is(tg_json_get_text(j), "default"))
            return tg_json_find_kind(j, at[i], "template", TG_JSON_STRING);
    return tg_json_find_kind(j, 0, "chat_template", TG_JSON_STRING);
}

/* The reader's text is gone with the reader. */
static tg_status copy(struct found *found, tg_span text, tg_err *err)
{
    char *p = tg_loaded_alloc(found->file, text.n + 1);

    if (!p)
        return tg_fail_memory(err, text.n, "a template");
    memcpy(p, text.p, text.n);
    found->text = (tg_span){p, text.n};
    return TG_OK;
}

static tg_status in_settings(struct found *found, tg_err *err)
{
    tg_json j;
    tg_status status = TG_OK, closed;

    tg_json_open(&j, found->file->bytes, found->file->n, err);
    if (find_template(&j))
        status = copy(found, tg_json_get_text(&j), err);
    closed = tg_json_close(&j);
    return status ? status : closed;
}

/* All of a file is the template. */
static tg_status take_file(struct found *found, tg_err *err)
{
    const tg_loaded *file = found->file;

    if (file->n > TG_HF_SETTINGS_MAX)
        (void)tg_fail(err, TG_EDATA, "the file has %zu bytes, expected at most %zu", file->n,
                      TG_HF_SETTINGS_MAX);
    else if (file->n == 0 || !tg_utf8_valid(file->bytes, file->n))
        (void)tg_fail(err, TG_EDATA, file->n == 0 ? "the template is empty" : "the template is not UTF-8");
    else {
        found->text = (tg_span){(const char *)file->bytes, file->n};
        return TG_OK;
    }
    return tg_err_in(err, file->path);
}

/* The first of two files that it has. */
static tg_status in_directory(struct found *found, tg_model_file *f, const char *directory, tg_err *err)
{
    tg_status status = tg_model_file_add_found(f, &found->file, directory, TG_CHAT_TEMPLATE_FILE, false,
                                               TG_HF_SETTINGS_MAX, err);

    if (status)
        return status;
    if (found->file)
        return take_file(found, err);
    status = tg_model_file_add_found(f, &found->file, directory, TG_CHAT_SETTINGS_FILE, false,
                                     TG_HF_SETTINGS_MAX, err);
    if (status || !found->file)
        return status;
    status = in_settings(found, err);
    return status ? tg_err_in(err, found->file->path) : TG_OK;
}

/* A model's weights, beside the other files of its directory. */
static tg_status beside(struct found *found, tg_model_file *f, const char *path, tg_err *err)
{
    char *directory = tg_path_sibling(path, "");
    tg_status status;

    if (!directory)
        return tg_fail_memory(err, strlen(path), "a path");
    status = in_directory(found, f, directory, err);
    free(directory);
    return status;
}

/* ---- files */

/* In a file that has been read. */
static tg_status find_in_gguf(tg_span *text, tg_gguf *g)
{
    static const char key[] = "tokenizer.chat_template";

    if (tg_gguf_find(g, key))
        *text = tg_gguf_get_text(g, key);
    return g->status;
}

static tg_status in_gguf(struct found *found, tg_model_file *f, const char *path, tg_err *err)
{
    tg_gguf g;
    tg_status status = tg_model_file_add(f, path, NULL, &found->file, err);

    if (status)
        return status;
    status = tg_gguf_read(&found->file->list, &g, found->file->bytes, found->file->n, err);
    if (!status)
        status = find_in_gguf(&found->text, &g);
    tg_gguf_free(&g);
    return status ? tg_err_in(err, path) : TG_OK;
}

static tg_status in_jinja(struct found *found, tg_model_file *f, const char *path, tg_err *err)
{
    const tg_status status = tg_model_file_add(f, path, NULL, &found->file, err);

    return status ? status : take_file(found, err);
}

static tg_format format_of(const char *path)
{
    unsigned char first[TG_FORMAT_BYTES];
    size_t n;

    return tg_path_peek(path, first, sizeof first, &n, NULL) ? TG_FORMAT_UNKNOWN
                                                             : tg_format_recognize(first, n);
}

static bool is_jinja(const char *path)
{
    const char *dot = strrchr(path, '.');

    return dot && strcmp(dot, ".jinja") == 0;
}

/* ---- what a path names */

static tg_status find(struct found *found, tg_model_file *f, const char *path, tg_err *err)
{
    struct stat st;
    bool exists;
    const tg_status status = tg_path_examine(path, &st, &exists, err);

    *found = (struct found){0};
    if (status || !exists)
        return status;
    if (S_ISDIR(st.st_mode))
        return in_directory(found, f, path, err);
    if (!S_ISREG(st.st_mode))
        return TG_OK;
    if (is_jinja(path))
        return in_jinja(found, f, path, err);
    switch (format_of(path)) {
    case TG_FORMAT_GGUF:
        return in_gguf(found, f, path, err);
    case TG_FORMAT_SAFETENSORS:
        return beside(found, f, path, err);
    default:
        return TG_OK;
    }
}

static void keep(tg_model_file *f, const struct found *found)
{
    if (!found->text.p)
        return;
    f->chat_template = found->text;
    f->chat_settings = strcmp(tg_path_name(found->file->path), TG_CHAT_SETTINGS_FILE) == 0;
}

tg_status tg_chat_template_keep(tg_model_file *f, const char *path, tg_err *err)
{
    struct found found;
    const tg_status status = find(&found, f, path, err);

    if (!status)
        keep(f, &found);
    return status;
}

tg_status tg_chat_template_keep_gguf(tg_model_file *f, tg_gguf *g)
{
    return find_in_gguf(&f->chat_template, g);
}

/* ---- all that a directory has */

static tg_status load(tg_model_file *f, const char *directory, tg_err *err)
{
    static const char *const names[TG_HF_SETTINGS] = {
        [TG_HF_TOKENIZER_SETTINGS] = TG_CHAT_SETTINGS_FILE,
        [TG_HF_GENERATION_SETTINGS] = TG_HF_GENERATION_FILE,
    };
    tg_loaded *file;
    tg_status status;

    for (int i = 0; i < TG_HF_SETTINGS; i++) {
        status = tg_model_file_add_found(f, &file, directory, names[i], false, TG_HF_SETTINGS_MAX, err);
        if (status)
            return status;
        if (file)
            f->settings[i] = (tg_span){(const char *)file->bytes, file->n};
    }
    return TG_OK;
}

tg_status tg_hf_settings_read(tg_model_file *f, const char *directory, const tg_model_ask *ask, tg_err *err)
{
    tg_err why = {0};
    struct found found = {0};
    tg_status status = ask->chat_template ? in_directory(&found, f, directory, &why) : TG_OK;

    if (!status)
        keep(f, &found);
    if (!status && ask->hf_settings)
        status = load(f, directory, &why);
    if (!status)
        return TG_OK;
    tg_hf_settings_drop(f);
    if (status != TG_EDATA)
        return tg_fail(err, status, "%s", why.message);
    if (!ask->lossy)
        return tg_fail(err, status, "%s (--lossy leaves it out)", why.message);
    return tg_notes_add(&f->notes, err, "the template of conversations and its settings are left out: %s",
                        why.message);
}

void tg_hf_settings_drop(tg_model_file *f)
{
    f->chat_template = (tg_span){0};
    f->chat_settings = false;
    for (int i = 0; i < TG_HF_SETTINGS; i++)
        f->settings[i] = (tg_span){0};
}
