/* Files in memory: see model_format.h. */
#define _DEFAULT_SOURCE /* madvise */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/format.h"
#include "formats/path.h"
#include "lib/base/grow.h"
#include "lib/models/model_format.h"

void tg_loaded_free(tg_loaded *file)
{
    tg_tensor_list_free(&file->list);
    for (size_t i = 0; i < file->n_kept; i++)
        free(file->kept[i]);
    free(file->kept);
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
    tg_status status = tg_source_peek(source, TG_FORMAT_BYTES, err);

    if (status)
        return status;
    switch (tg_format_recognize(source->next, source->ready)) {
    case TG_FORMAT_ZIP:
    case TG_FORMAT_SAFETENSORS:
    case TG_FORMAT_GGUF:
    case TG_FORMAT_LLMC_MODEL:
        return tg_source_all(source, PTRDIFF_MAX, err);
    default:
        return tg_source_all(source, source->map ? PTRDIFF_MAX : OTHER_MAX, err);
    }
}

static tg_status open_path(tg_loaded *file, tg_err *err)
{
    struct stat st;
    int sys;

    file->fd = tg_path_open(file->path);
    if (file->fd < 0) {
        sys = errno;
        (void)tg_fail(err, TG_EIO, "%s", strerror(sys));
        if (err)
            err->sys = sys;
        return TG_EIO;
    }
    if (fstat(file->fd, &st) == 0 && S_ISDIR(st.st_mode))
        return tg_fail(err, TG_EDATA, "a directory, expected a file");
    return tg_source_open(&file->source, file->fd, err);
}

/* Load what the file's source has; open the path, if it has none. */
static tg_status load(tg_loaded *file, const char *path, tg_err *err)
{
    tg_status status;

    if (!(file->path = malloc(strlen(path) + 1)))
        return tg_fail_memory(err, strlen(path), "a path");
    strcpy(file->path, path);
    if ((file->source.fd < 0 && (status = open_path(file, err))) ||
        (status = read_to_end(&file->source, err)))
        return status;
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

tg_status tg_loaded_keep(tg_loaded *file, void *memory, tg_err *err)
{
    const tg_status status = tg_grow(&file->kept, &file->kept_capacity, file->n_kept + 1, sizeof(void *),
                                     "the list of tensors", err);

    if (status) {
        free(memory);
        return status;
    }
    file->kept[file->n_kept++] = memory;
    return TG_OK;
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
    if (load(file, path, err)) {
        tg_loaded_free(file);
        return tg_err_in(err, path);
    }
    *loaded = f->file[f->n_files++] = file;
    return TG_OK;
}

tg_status tg_model_file_load(tg_model_file *f, const char *path, tg_loaded **loaded, tg_err *err)
{
    return tg_model_file_add(f, path, NULL, loaded, err);
}

void tg_loaded_forget(const tg_loaded *file, const void *bytes, size_t n)
{
    unsigned char *at = (unsigned char *)bytes;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), before = (uintptr_t)at % page;
    const size_t after = ((uintptr_t)at + n) % page; /* bytes of the page that another tensor may need next */

    if (file->mapped && at >= file->bytes && at < file->bytes + file->n && before + n > after)
        (void)madvise(at - before, before + n - after, MADV_DONTNEED);
}
