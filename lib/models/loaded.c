/* Files in memory: see model_format.h. */
#define _DEFAULT_SOURCE /* madvise */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/format.h"
#include "formats/llama2c.h"
#include "formats/path.h"
#include "lib/base/grow.h"
#include "lib/base/size.h"
#include "lib/models/model_format.h"

struct tg_kept {
    struct tg_kept *next;
    max_align_t memory[];
};

void tg_loaded_free(tg_loaded *file)
{
    tg_tensor_list_free(&file->list);
    for (struct tg_kept *next, *kept = file->kept; kept; kept = next) {
        next = kept->next;
        free(kept);
    }
    tg_source_close(&file->source);
    if (file->fd >= 0)
        close(file->fd);
    free(file->path);
    free(file);
}

/* Bytes of a pipe or a device that are read at most, unless it begins like a file of tensors. */
#define OTHER_MAX ((size_t)64 << 20)

static tg_status read_to_end(tg_source *source, tg_err *err)
{
    const tg_status status = tg_source_peek(source, TG_FORMAT_BYTES, err);
    tg_format format;
    bool tensors;

    if (status)
        return status;
    format = tg_format_recognize(source->next, source->ready);
    tensors = format == TG_FORMAT_ZIP || format == TG_FORMAT_SAFETENSORS || format == TG_FORMAT_GGUF ||
              format == TG_FORMAT_LLMC_MODEL || tg_llama2c_begins(source->next, source->ready);
    return tg_source_all(source, tensors || source->map ? PTRDIFF_MAX : OTHER_MAX, err);
}

static tg_status open_path(tg_loaded *file, tg_err *err)
{
    struct stat st;

    if (fstat(file->fd, &st) == 0 && S_ISDIR(st.st_mode))
        return tg_fail(err, TG_EDATA, "a directory, expected a file");
    return tg_source_open(&file->source, file->fd, err);
}

/* Load what the file's source has; open the path, if it has none. */
static tg_status load(tg_loaded *file, const char *path, tg_err *err)
{
    tg_status status = TG_OK;

    if (file->source.fd < 0 && (file->fd = tg_path_open(path)) < 0)
        return tg_fail_sys(err, "%s", path);
    if (!(file->path = strdup(path)))
        status = tg_fail_memory(err, strlen(path), "a path");
    else if (file->fd >= 0)
        status = open_path(file, err);
    if (status || read_to_end(&file->source, err))
        return tg_err_in(err, path);
    file->bytes = file->source.next;
    file->n = file->source.ready;
    file->mapped = file->source.map != NULL;
    return TG_OK;
}

tg_source tg_loaded_take_source(tg_loaded *file)
{
    const tg_source source = file->source;

    file->source = (tg_source){.fd = -1};
    return source;
}

void *tg_loaded_alloc(tg_loaded *file, size_t n)
{
    struct tg_kept *kept = malloc(tg_size_add_sat(sizeof *kept, n));

    if (!kept)
        return NULL;
    kept->next = file->kept;
    file->kept = kept;
    return kept->memory;
}

tg_status tg_model_file_add(tg_model_file *f, const char *path, tg_source *source, tg_loaded **loaded,
                            tg_err *err)
{
    tg_loaded *file = calloc(1, sizeof *file);
    tg_status status =
        tg_grow(&f->file, &f->file_capacity, f->n_files + 1, sizeof(void *), "the list of files", err);

    if (!status && !file)
        status = tg_fail_memory(err, sizeof *file, "a file");
    if (status) {
        free(file);
        if (source)
            tg_source_close(source);
        return status;
    }
    file->fd = -1;
    file->source = source ? *source : (tg_source){.fd = -1};
    if ((status = load(file, path, err))) {
        tg_loaded_free(file);
        return status;
    }
    *loaded = f->file[f->n_files++] = file;
    return TG_OK;
}

tg_status tg_model_file_add_found(tg_model_file *f, tg_loaded **loaded, const char *directory,
                                  const char *name, bool needed, size_t max, tg_err *err)
{
    char *path = tg_path_in(directory, name);
    bool exists;
    tg_status status;

    *loaded = NULL;
    if (!path)
        return tg_fail_memory(err, strlen(directory), "a path");
    if (!(status = tg_path_examine_found(path, &exists, err)) && (exists || needed) &&
        !(status = tg_model_file_add(f, path, NULL, loaded, err)) && (*loaded)->n > max) {
        (void)tg_fail(err, TG_EDATA, "the file has %zu bytes, expected at most %zu", (*loaded)->n, max);
        status = tg_err_in(err, path);
    }
    free(path);
    return status;
}

void tg_loaded_forget(const tg_loaded *file, const void *bytes, size_t n)
{
    unsigned char *at = (unsigned char *)bytes;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), before = (uintptr_t)at % page;
    const size_t after = ((uintptr_t)at + n) % page; /* bytes of the page that another tensor may need next */

    if (file->mapped && at >= file->bytes && at < file->bytes + file->n && before + n > after)
        (void)madvise(at - before, before + n - after, MADV_DONTNEED);
}
