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

/* A copy, to be freed; NULL after a failure. */
static char *copy(tg_json *j, tg_json_text text)
{
    char *const out = malloc(text.n + 1);

    if (!out) {
        j->status = tg_fail_memory(j->err, text.n + 1, "a name");
        return NULL;
    }
    memcpy(out, text.p, text.n);
    out[text.n] = '\0';
    return out;
}

/* A file in the index's own directory, not hidden. */
static bool is_plain_file_name(tg_json_text name)
{
    return name.n > 0 && name.n <= FILE_NAME_MAX && name.p[0] != '.' && !memchr(name.p, '/', name.n) &&
           !memchr(name.p, '\0', name.n);
}

/* The file of that name; NULL after a failure.  Most tensors are in the file of the tensor before them, so
 * the last file is compared first. */
static const char *find_file(tg_shards *s, tg_json *j, tg_json_text name)
{
    for (size_t i = s->n_files; i-- > 0;)
        if (tg_json_is(name, s->file[i]))
            return s->file[i];
    if (!is_plain_file_name(name))
        (void)tg_json_fail(j, "expected the name of a file in the same directory");
    else if (s->n_files == FILES_MAX)
        (void)tg_json_fail(j, "more than %d files", FILES_MAX);
    else if (!s->file && !(s->file = calloc(FILES_MAX, sizeof *s->file)))
        j->status = tg_fail_memory(j->err, FILES_MAX * sizeof *s->file, "the list of files");
    if (j->status || !(s->file[s->n_files] = copy(j, name)))
        return NULL;
    return s->file[s->n_files++];
}

static void read_map(tg_shards *s, tg_json *j)
{
    tg_json_text text;

    tg_json_enter(j, TG_JSON_OBJECT);
    while (tg_json_key(j, &text)) {
        if (text.n > TG_NAME_MAX || (text.n > 0 && memchr(text.p, '\0', text.n)))
            (void)tg_json_fail(j, "a tensor's name has more than %d bytes, or a NUL", TG_NAME_MAX);
        else if (s->n_tensors == TG_NAMES_MAX)
            (void)tg_json_fail(j, "more than %d tensors", TG_NAMES_MAX);
        else
            j->status = tg_grow(&s->tensor, &s->capacity, s->n_tensors + 1, sizeof *s->tensor,
                                "the list of tensors", j->err);
        if (j->status || !(s->tensor[s->n_tensors].name = copy(j, text)))
            return;
        s->tensor[s->n_tensors++].file = NULL;
        text = tg_json_get_text(j);
        s->tensor[s->n_tensors - 1].file = find_file(s, j, text);
    }
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
    tg_json j;
    size_t at;

    *shards = (tg_shards){0};
    tg_json_open(&j, text, n, err);
    tg_json_members(&j, names, 1, &at);
    tg_json_end(&j);
    if (!j.status && at == 0)
        j.status = tg_fail(err, TG_EDATA, "there is no \"weight_map\"");
    (void)tg_json_go(&j, at);
    read_map(shards, &j);
    if (!j.status)
        j.status = arrange(shards, err);
    return tg_json_close(&j);
}
