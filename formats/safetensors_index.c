/* The index of a checkpoint in several safetensors files. */
#include <stdlib.h>
#include <string.h>

#include "formats/json.h"
#include "formats/safetensors.h"
#include "lib/base/grow.h"

#ifndef FILES_MAX /* tests/fuzz/limits.h */
#define FILES_MAX 1024
#endif
#define FILE_NAME_MAX 255 /* bytes */

void tg_shards_free(tg_shards *s)
{
    for (size_t i = 0; i < s->n_tensors; i++)
        free(s->tensor[i].name);
    for (size_t i = 0; i < s->n_files; i++)
        free(s->file[i]);
    free(s->tensor);
    free(s->file);
    *s = (tg_shards){0};
}

static tg_status copy(char **out, tg_json_text text, tg_err *err)
{
    if (!(*out = malloc(text.n + 1)))
        return tg_fail_memory(err, text.n + 1, "a name");
    memcpy(*out, text.p, text.n);
    (*out)[text.n] = '\0';
    return TG_OK;
}

/* A file in the index's own directory, not hidden. */
static bool is_plain_file_name(tg_json_text name)
{
    return name.n > 0 && name.n <= FILE_NAME_MAX && name.p[0] != '.' && !memchr(name.p, '/', name.n) &&
           !memchr(name.p, '\0', name.n);
}

/* Most tensors are in the file of the tensor before them, so the last file is compared first. */
static tg_status find_file(const char **file, tg_shards *s, tg_json *j, tg_json_text name, tg_err *err)
{
    tg_status status;

    for (size_t i = s->n_files; i-- > 0;)
        if (tg_json_is(name, s->file[i])) {
            *file = s->file[i];
            return TG_OK;
        }
    if (!is_plain_file_name(name))
        return tg_json_fail(j, err, "expected the name of a file in the same directory");
    if (s->n_files == FILES_MAX)
        return tg_json_fail(j, err, "more than %d files", FILES_MAX);
    if (!s->file && !(s->file = calloc(FILES_MAX, sizeof *s->file)))
        return tg_fail_memory(err, FILES_MAX * sizeof *s->file, "the list of files");
    if ((status = copy(&s->file[s->n_files], name, err)))
        return status;
    *file = s->file[s->n_files++];
    return TG_OK;
}

static tg_status add_tensor(tg_shards *s, tg_json *j, tg_json_text name, tg_err *err)
{
    char *copied;
    tg_status status;

    if (name.n > TG_NAME_MAX || (name.n > 0 && memchr(name.p, '\0', name.n)))
        return tg_json_fail(j, err, "a tensor's name has more than %d bytes, or a NUL", TG_NAME_MAX);
    if (s->n_tensors == TG_NAMES_MAX)
        return tg_json_fail(j, err, "more than %d tensors", TG_NAMES_MAX);
    if ((status = tg_grow(&s->tensor, &s->capacity, s->n_tensors + 1, sizeof *s->tensor,
                          "the list of tensors", err)) ||
        (status = copy(&copied, name, err)))
        return status;
    s->tensor[s->n_tensors++] = (struct tg_shard){.name = copied};
    return TG_OK;
}

static tg_status read_map(tg_shards *s, tg_json *j, tg_err *err)
{
    tg_json_text text;
    bool more;
    tg_status status = tg_json_enter(j, TG_JSON_OBJECT, err);

    while (!status && !(status = tg_json_key(j, &text, &more, err)) && more)
        if (!(status = add_tensor(s, j, text, err)) && !(status = tg_json_get_text(j, &text, err)))
            status = find_file(&s->tensor[s->n_tensors - 1].file, s, j, text, err);
    return status;
}

static int compare_tensors(const void *a, const void *b)
{
    const struct tg_shard *s = a, *t = b;

    return strcmp(s->name, t->name);
}

static tg_status arrange(tg_shards *s, tg_err *err)
{
    if (s->n_tensors == 0)
        return tg_fail(err, TG_EDATA, "weight_map is empty");
    qsort(s->tensor, s->n_tensors, sizeof *s->tensor, compare_tensors);
    for (size_t i = 1; i < s->n_tensors; i++)
        if (compare_tensors(&s->tensor[i - 1], &s->tensor[i]) == 0)
            return tg_fail(err, TG_EDATA, "weight_map has a tensor twice");
    return TG_OK;
}

tg_status tg_shards_read(tg_shards *shards, const void *text, size_t n, tg_err *err)
{
    static const char *const names[] = {"weight_map"};
    tg_json j, map;
    size_t at;
    tg_status status;

    *shards = (tg_shards){0};
    tg_json_open(&j, text, n);
    if (!(status = tg_json_members(&j, names, 1, &at, err)) && !(status = tg_json_end(&j, err))) {
        if (at == 0) {
            status = tg_fail(err, TG_EDATA, "there is no \"weight_map\"");
        } else {
            tg_json_open_at(&map, &j, at);
            if (!(status = read_map(shards, &map, err)))
                status = arrange(shards, err);
            tg_json_close(&map);
        }
    }
    tg_json_close(&j);
    return status;
}
