/* Whether texts for one of Hugging Face's models begin with a token, as transformers 5 decides it. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/json.h"
#include "formats/path.h"
#include "formats/source.h"
#include "lib/models/reading.h"

#define FILE_MAX ((size_t)1 << 30) /* bytes of a JSON text */
#define PARTS_MAX 16               /* of a post-processor; further ones are not looked at */
#define SHOWN 60                   /* bytes of a token's text in a note */

static bool has_text(tg_json *j, size_t object, const char *name, const char *text)
{
    return tg_json_find_kind(j, object, name, TG_JSON_STRING) && tg_span_is(tg_json_get_text(j), text);
}

/* ---- the token */

/* Texts begin with the special token of this text. */
static tg_status begin_with(tg_model_file *f, tg_span text, tg_err *err)
{
    const int32_t id = tg_tokenizer_special_id(f->tokenizer, text.p, text.n);

    if (id < 0)
        return tg_notes_add(&f->notes, err,
                            "the token that begins a text, \"%.*s\", is left out: the tokenizer has no such "
                            "special token",
                            (int)(text.n < SHOWN ? text.n : SHOWN), text.p);
    f->config.bos_token = (size_t)id + 1;
    f->config.add_bos = true;
    return TG_OK;
}

/* ---- tokenizer.json */

/* The template at an offset: the tokens before and after a text. */
static tg_status read_template(tg_model_file *f, tg_json *j, size_t template, tg_err *err)
{
    size_t at[PARTS_MAX], first = 0, before = 0, after = 0;
    const size_t n = tg_json_find_objects(j, template, "single", at, PARTS_MAX);
    bool text = false;
    tg_status status;

    for (size_t i = 0; i < n; i++) {
        const bool special = tg_json_find_kind(j, at[i], "SpecialToken", TG_JSON_OBJECT);

        if (special && !text && before++ == 0)
            first = j->at;
        after += special && text;
        text = text || !special;
    }
    if (after > 0 && (status = tg_notes_add(&f->notes, err,
                                            "what tokenizer.json puts after a text is left out: it would end "
                                            "there")))
        return status;
    if (before > 1)
        return tg_notes_add(&f->notes, err,
                            "the %zu tokens that tokenizer.json puts before a text are left out: expected "
                            "at most one",
                            before);
    return before > 0 && tg_json_find_kind(j, first, "id", TG_JSON_STRING)
               ? begin_with(f, tg_json_get_text(j), err)
               : TG_OK;
}

/* The post-processor is a template, or one of several, or none. */
static tg_status read_post_processor(tg_model_file *f, tg_json *j, tg_err *err)
{
    size_t at[PARTS_MAX], n = 1;
    tg_status status = TG_OK;

    if (!tg_json_find_kind(j, 0, "post_processor", TG_JSON_OBJECT))
        return TG_OK;
    at[0] = j->at;
    if (has_text(j, at[0], "type", "Sequence"))
        n = tg_json_find_objects(j, at[0], "processors", at, PARTS_MAX);
    for (size_t i = 0; i < n && !status; i++)
        if (has_text(j, at[i], "type", "TemplateProcessing"))
            status = read_template(f, j, at[i], err);
    return status;
}

/* ---- tokenizer_config.json */

/* Its token is a text, or an object with one. */
static tg_status read_settings(tg_model_file *f, tg_json *j, tg_err *err)
{
    size_t token = 0;

    if (!tg_json_find_kind(j, 0, "add_bos_token", TG_JSON_BOOL) || !tg_json_get_bool(j))
        return TG_OK;
    if (tg_json_find_kind(j, 0, "bos_token", TG_JSON_OBJECT))
        token = j->at;
    if (tg_json_find_kind(j, token, token > 0 ? "content" : "bos_token", TG_JSON_STRING))
        return begin_with(f, tg_json_get_text(j), err);
    f->config.add_bos = f->config.bos_token > 0;
    return TG_OK;
}

/* ---- all */

typedef tg_status reader(tg_model_file *f, tg_json *j, tg_err *err);

static tg_status read_text(tg_model_file *f, reader *read, const void *text, size_t n, tg_err *err)
{
    tg_json j;
    tg_status status, closed;

    tg_json_open(&j, text, n, err);
    status = read(f, &j, err);
    closed = tg_json_close(&j);
    return status ? status : closed;
}

static tg_status read_file(tg_model_file *f, reader *read, const char *path, tg_err *err)
{
    const int fd = tg_path_open(path);
    tg_source source;
    tg_status status;

    if (fd < 0)
        return tg_fail_sys(err, "%s", path);
    if (!(status = tg_source_open(&source, fd, err))) {
        if (!(status = tg_source_all(&source, FILE_MAX, err)))
            status = read_text(f, read, source.next, source.ready, err);
        tg_source_close(&source);
    }
    close(fd);
    return status ? tg_err_in(err, path) : TG_OK;
}

tg_status tg_hf_bos_read(tg_model_file *f, const char *directory, const char *tokenizer, tg_err *err)
{
    static const char *const settings[] = {"tokenizer_config.json", NULL};
    const char *name;
    char *path;
    tg_status status;

    if (strcmp(tg_path_name(tokenizer), "tokenizer.json") == 0)
        return read_file(f, read_post_processor, tokenizer, err);
    if ((status = tg_path_find(&name, directory, settings, err)) || !name)
        return status;
    if (!(path = tg_path_in(directory, name)))
        return tg_fail_memory(err, strlen(directory), "a path");
    status = read_file(f, read_settings, path, err);
    free(path);
    return status;
}
