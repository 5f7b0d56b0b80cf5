#include "lib/info/info.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/archive.h"
#include "formats/path.h"
#include "lib/base/grow.h"
#include "lib/base/size.h"
#include "lib/info/parts.h"

/* ---- adding */

#define WHAT "what is in the file"

static char *copy_of(const char *text)
{
    char *copy = malloc(strlen(text) + 1);

    return copy ? strcpy(copy, text) : NULL;
}

tg_status tg_info_add_value(tg_info *info, const char *name, tg_info_type type, const char *text, tg_err *err)
{
    const tg_info_value *same = tg_info_find(info, name);
    tg_info_value v = {.type = type};
    tg_status status;

    if (same && strcmp(same->text, text) == 0)
        return TG_OK;
    status = tg_grow(&info->value, &info->values_capacity, info->n_values + 1, sizeof v, WHAT, err);
    if (status)
        return status;
    v.name = copy_of(name);
    v.text = copy_of(text);
    info->value[info->n_values++] = v;
    return v.name && v.text ? TG_OK : tg_fail_memory(err, strlen(name) + strlen(text), "a value");
}

tg_status tg_info_add_tensor(tg_info *info, const tg_stored *s, tg_info_tensor **t, tg_err *err)
{
    const tg_array *a = &s->array;
    char text[TG_ARRAY_TEXT_MAX];
    const tg_status status = tg_grow(&info->tensor, &info->capacity, info->n + 1, sizeof **t, WHAT, err);

    if (status)
        return status;
    *t = &info->tensor[info->n++];
    **t = (tg_info_tensor){
        .ndim = a->ndim, .count = a->count, .stored = s->stored, .file = tg_size_max(info->n_files, 1) - 1};
    memcpy((*t)->name, a->name, sizeof a->name);
    memcpy((*t)->shape, a->shape, sizeof a->shape);
    if (a->dtype.kind == 'S')
        snprintf((*t)->type, sizeof(*t)->type, "S%zu", a->dtype.size);
    else
        snprintf((*t)->type, sizeof(*t)->type, "%.23s", tg_stored_type(text, s));
    return TG_OK;
}

tg_status tg_info_add_file(tg_info *info, const char *path, uint64_t bytes, tg_err *err)
{
    char **files = realloc(info->file, (info->n_files + 1) * sizeof *files);
    char *copy = copy_of(path);

    if (files)
        info->file = files;
    if (!files || !copy) {
        free(copy);
        return tg_fail_memory(err, strlen(path), "a path");
    }
    info->file[info->n_files++] = copy;
    info->bytes += bytes;
    return TG_OK;
}

/* ---- numbers */

#define STEP ((size_t)1 << 16) /* numbers at a time */

static bool is_float(const tg_stored *s)
{
    return s->blocks || s->array.dtype.kind == 'f' || s->array.dtype.kind == 'B';
}

tg_status tg_info_add_stats(tg_info_tensor *t, const tg_stored *s, tg_err *err)
{
    float *x;
    tg_status status = TG_OK;

    if (!is_float(s) || s->array.count == 0)
        return TG_OK;
    if (!(x = malloc(STEP * sizeof *x)))
        return tg_fail_memory(err, STEP * sizeof *x, "numbers");
    t->has_stats = true;
    for (size_t i = 0, n; !status && i < s->array.count; i += n) {
        n = tg_size_min(STEP, s->array.count - i);
        if (!(status = tg_stored_load(x, s, i, n, err)))
            tg_stats_add(&t->stats, x, n);
    }
    free(x);
    return status;
}

tg_status tg_info_check_finite(const tg_info_tensor *t, tg_err *err)
{
    if (!t->has_stats || t->stats.not_finite == 0)
        return TG_OK;
    return tg_fail(err, TG_EDATA, "%s: %llu of %llu numbers are NaN or infinite", t->name,
                   (unsigned long long)t->stats.not_finite, (unsigned long long)t->stats.count);
}

/* ---- reading */

/* Whether the file begins like an archive of arrays; PyTorch's are zip files, too. */
static tg_status begins_archive(tg_source *source, bool *archive, tg_err *err)
{
    size_t n;
    tg_status status = tg_archive_sniff(source, archive, err);

    if (status || !*archive || (status = tg_source_peek(source, 512, err)) || source->ready < 34)
        return status;
    n = (size_t)(source->next[26] | source->next[27] << 8);
    *archive = n < 5 || 30 + n > source->ready || memcmp(source->next + 30 + n - 4, ".npy", 4) == 0;
    return TG_OK;
}

/* Read the archives in a source, which this closes. */
static tg_status read_archive(tg_info *info, tg_source *source, const char *path, const tg_info_want *want,
                              tg_err *err)
{
    struct stat st;
    const int fd = source->fd;
    const bool known = fstat(fd, &st) == 0, regular = known && S_ISREG(st.st_mode);
    tg_status status = known ? tg_info_add_file(info, path, regular ? (uint64_t)st.st_size : 0, err)
                             : tg_fail_sys(err, "cannot be examined");

    if (!status && want->check && !regular)
        status = tg_fail(err, TG_EUSAGE, "a pipe cannot be checked, because that takes two passes");
    if (status) {
        tg_source_close(source);
        return status;
    }
    if ((status = tg_info_read_archives(info, source, want, err)) || !want->check)
        return status;
    return tg_info_check_archive(info, fd, path, err);
}

static tg_status read_fd(tg_info *info, int fd, const char *path, const tg_info_want *want, bool *archive,
                         tg_err *err)
{
    tg_source source;
    tg_status status = tg_source_open(&source, fd, err);

    if (status)
        return status;
    if (!(status = begins_archive(&source, archive, err)) && *archive)
        return read_archive(info, &source, path, want, err);
    tg_source_close(&source);
    return status;
}

static tg_status read_path(tg_info *info, const char *path, const tg_info_want *want, tg_err *err)
{
    const bool dash = strcmp(path, "-") == 0;
    const int fd = dash ? STDIN_FILENO : tg_path_open(path);
    const char *name = dash ? "standard input" : path;
    struct stat st;
    bool archive = false;
    tg_status status = TG_OK;

    if (fd < 0 || fstat(fd, &st) != 0)
        status = tg_fail_sys(err, "%s", name);
    else if (!S_ISDIR(st.st_mode) && (status = read_fd(info, fd, path, want, &archive, err)))
        status = tg_err_in(err, name);
    if (fd >= 0 && !dash)
        close(fd);
    if (status || archive)
        return status;
    if (dash)
        return tg_fail(err, TG_EDATA, "standard input is no archive of arrays (.npz); name other files");
    return tg_info_read_foreign(info, path, want, err);
}

tg_status tg_info_open(tg_info *info, const char *path, const tg_info_want *want, tg_err *err)
{
    tg_status status;

    *info = (tg_info){0};
    if (!(info->path = copy_of(path)))
        return tg_fail_memory(err, strlen(path), "a path");
    if ((status = read_path(info, path, want, err)))
        tg_info_close(info);
    return status;
}

void tg_info_close(tg_info *info)
{
    for (size_t i = 0; i < info->n_values; i++) {
        free(info->value[i].name);
        free(info->value[i].text);
    }
    for (size_t i = 0; i < info->n_files; i++)
        free(info->file[i]);
    free(info->value);
    free(info->tensor);
    free(info->file);
    free(info->path);
    free(info->history.step);
    free(info->history.loss);
    free(info->history.val_loss);
    tg_notes_free(&info->notes);
    tg_tokenizer_free(info->tokenizer);
    *info = (tg_info){0};
}

const tg_info_value *tg_info_find(const tg_info *info, const char *name)
{
    for (size_t i = 0; i < info->n_values; i++)
        if (strcmp(info->value[i].name, name) == 0)
            return &info->value[i];
    return NULL;
}
