#include "lib/models/chat_template.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/format.h"
#include "formats/gguf.h"
#include "formats/json.h"
#include "formats/path.h"
#include "lib/models/model_format.h"

#define TEMPLATES_MAX 16 /* of an array; further ones are not looked at */

static tg_status recognize(tg_chat_template *kind, tg_span text, tg_err *err)
{
    *kind = tg_chat_recognize(text.p, text.n);
    if (*kind < TG_CHAT_TEMPLATES)
        return TG_OK;
    return tg_fail(err, TG_EDATA,
                   "the model's template of conversations is none of " TG_CHAT_NAMES
                   ": give one of these with --template");
}

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

static tg_status of_settings(tg_chat_template *kind, const tg_loaded *file, tg_err *err)
{
    tg_json j;
    tg_status status = TG_OK, closed;

    tg_json_open(&j, file->bytes, file->n, err);
    if (find_template(&j))
        status = recognize(kind, tg_json_get_text(&j), err);
    closed = tg_json_close(&j);
    return status ? status : closed;
}

static tg_status of_directory(tg_chat_template *kind, tg_model_file *f, const char *directory, tg_err *err)
{
    static const char *const names[] = {"chat_template.jinja", "tokenizer_config.json", NULL};
    const char *name;
    char *path;
    tg_loaded *file;
    tg_status status = tg_path_find(&name, directory, names, err);

    if (status || !name)
        return status;
    if (!(path = tg_path_in(directory, name)))
        return tg_fail_memory(err, strlen(directory), "a path");
    if (!(status = tg_model_file_add(f, path, NULL, &file, err))) {
        status = name == names[0] ? recognize(kind, (tg_span){(const char *)file->bytes, file->n}, err)
                                  : of_settings(kind, file, err);
        status = status ? tg_err_in(err, path) : TG_OK;
    }
    free(path);
    return status;
}

/* ---- GGUF */

static tg_status of_gguf(tg_chat_template *kind, tg_model_file *f, const char *path, tg_err *err)
{
    static const char key[] = "tokenizer.chat_template";
    tg_loaded *file;
    tg_gguf g;
    tg_status status = tg_model_file_add(f, path, NULL, &file, err);

    if (status)
        return status;
    status = tg_gguf_read(&file->list, &g, file->bytes, file->n, err);
    if (!status && tg_gguf_find(&g, key)) {
        const tg_span text = tg_gguf_get_text(&g, key);

        status = g.status ? g.status : recognize(kind, text, err);
    }
    tg_gguf_free(&g);
    return status ? tg_err_in(err, path) : TG_OK;
}

static bool is_gguf(const char *path)
{
    unsigned char first[TG_FORMAT_BYTES];
    size_t n;

    return !tg_path_peek(path, first, sizeof first, &n, NULL) &&
           tg_format_recognize(first, n) == TG_FORMAT_GGUF;
}

tg_status tg_chat_template_of(tg_chat_template *kind, const char *path, tg_err *err)
{
    tg_model_file f = {0};
    struct stat st;
    bool exists;
    tg_status status = tg_path_examine(path, &st, &exists, err);

    *kind = TG_CHAT_TEMPLATES;
    if (status || !exists)
        return status;
    if (S_ISDIR(st.st_mode))
        status = of_directory(kind, &f, path, err);
    else if (S_ISREG(st.st_mode) && is_gguf(path))
        status = of_gguf(kind, &f, path, err);
    tg_model_file_close(&f);
    return status;
}
